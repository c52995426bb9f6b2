"""What the design of a criterion's pairs has come to, in numbers and in sentences, and what more labels would give."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from core.designs import AGREED, CONTENTION, CONTENTION_STRATA, DISPUTED, UNJUDGED, WHOLE, Design, Form, composed
from core.errors import TiebreakError
from core.labels import Kind
from core.statistics.measures.designs import allocate, expected_half_width
from core.wording import format_count, stored_criterion
from storage.labelling import offers
from storage.labels import current_labels, designs
from storage.labels.designs import Stratum
from storage.studies.studies import Study

# Labelled targets of a stratum from which their standard deviation counts instead of the largest one.
MIN_LABELLED = 10
LARGEST_SPREAD = 0.5
WINS = {1: 1.0, 2: 0.0, 0: 0.5}


@dataclass(frozen=True)
class DesignReport:
    """The newest round of a design with its strata."""

    design: Design
    strata: tuple[Stratum, ...]
    spreads: Mapping[str, float]
    """Stratum -> the standard deviation of the win of the first response, 0.5 until there are labels; of scores as a
    share of the length of their scale."""
    length: float = 0.0
    """Of the scale of scores; 0 for pairs, and for scores without a scale."""
    kind: Kind = designs.KIND

    def half_width(self, more: Mapping[str, int] | None = None) -> float | None:
        """Return half of the interval of the win rate, or mean score, once every drawn target, and `more`, has a label.

        None if a stratum with targets has no drawn one: then nothing is known of all targets.
        """
        labels = [min(one.targets, one.drawn + (more or {}).get(one.name, 0)) for one in self.strata]
        spreads = [self.spreads.get(one.name, LARGEST_SPREAD) for one in self.strata]
        half = expected_half_width([one.targets for one in self.strata], labels, spreads)
        return half if half is None else half * (self.length or 1)

    @property
    def noun(self) -> str:
        """What one target is called."""
        return "pair" if self.kind == designs.KIND else self.kind

    @property
    def figure(self) -> str:
        """What the design makes known."""
        return "win rate" if self.kind == designs.KIND else "mean score"

    def error(self, half: float) -> str:
        """Return half of an interval of the figure, in points or on the scale of the scores."""
        if self.kind == designs.KIND:
            return f"±{100 * half:.0f} points"
        return f"±{half:.2g}" if self.length else f"±{100 * half:.0f} % of the scale"

    @property
    def is_judged(self) -> bool:
        """Whether a judge has seen a target, or strata are not those of contention."""
        return any(one.targets for one in self.strata if one.name != UNJUDGED)

    @property
    def chosen(self) -> int:
        """Labelled pairs that were not drawn."""
        return sum(one.chosen for one in self.strata)


def find(session: Session, study_id: int, criterion: str, kind: Kind = designs.KIND) -> DesignReport | None:
    """Return the design of a criterion's pairs, or of its scores; None if there is none."""
    design = designs.current(session, study_id).get((kind, criterion))
    if design is None:
        return None
    strata = designs.counts(session, study_id, criterion, kind)
    if design.by == CONTENTION:
        strata = sorted(strata, key=lambda one: CONTENTION_STRATA.index(one.name))
    length = _length(session, study_id, criterion, kind)
    return DesignReport(design, tuple(strata), _spreads(session, study_id, criterion, kind, length), length, kind)


def preview(session: Session, study_id: int, criterion: str, design: Design, kind: Kind = designs.KIND) -> DesignReport:
    """Return what another design of a criterion's pairs, or of its scores, would come to."""
    present = designs.current(session, study_id).get((kind, criterion))
    has_spreads = present is not None and present.by == design.by
    length = _length(session, study_id, criterion, kind)
    spreads = _spreads(session, study_id, criterion, kind, length) if has_spreads else {}
    strata = designs.preview(session, study_id, criterion, design, kind)
    return DesignReport(design, tuple(strata), spreads, length, kind)


def _length(session: Session, study_id: int, criterion: str, kind: Kind) -> float:
    scale = offers.scales(session, study_id).get(("score", criterion)) if kind == "score" else None
    if scale is None:
        return 0.0
    ends = [one for one in (*scale.categories, scale.low, scale.high) if isinstance(one, int | float)]
    return float(max(ends) - min(ends)) if len(ends) > 1 else 0.0


def _spreads(session: Session, study_id: int, criterion: str, kind: Kind, length: float) -> dict[str, float]:
    """Return stratum -> the standard deviation of its drawn targets' mean labels, where enough of them have one."""
    frame = designs.frame(session, study_id)
    if frame is None:
        return {}
    own = frame[(frame["kind"] == kind) & (frame["criterion"].map(stored_criterion) == criterion)]
    codes, values = current_labels.codes_by_target(session, study_id)
    numbers = [value for value in values if isinstance(value, int | float)]
    worth = WINS if kind == designs.KIND else {value: value / (length or 1) for value in numbers}
    by_stratum: dict[str, list[float]] = defaultdict(list)
    for target_id, stratum in own.loc[own["drawn"], "stratum"].items():
        given = [worth[values[code]] for code in codes.get(target_id, ()) if values[code] in worth]
        if given:
            by_stratum[str(stratum)].append(float(np.mean(given)))
    return {name: float(np.std(own, ddof=1)) for name, own in by_stratum.items() if len(own) >= MIN_LABELLED}


def sizes_of_change(
    session: Session,
    study: Study,
    criterion: str,
    size: int,
    *,
    neyman: bool = False,
    kind: Kind = designs.KIND,
    **changes: Any,
) -> dict[str, int]:
    """Return the `sizes` of a design after changes (`storage.labelling.offers.change_design`)."""
    present = designs.current(session, study.id).get((kind, criterion))
    wanted = composed(present, **changes)
    report = preview(session, study.id, criterion, wanted, kind)
    if kind == designs.KIND and (wanted.draws_unjudged or not report.is_judged):
        designs.create_pairs(session, study.id, criterion)
        report = preview(session, study.id, criterion, wanted, kind)
    return sizes(report, size, neyman=neyman)


def sizes(report: DesignReport, size: int, *, neyman: bool = False) -> dict[str, int]:
    """Return stratum -> how many of `size` pairs in all to draw in it; strata that are drawn completely stay so.

    In proportion to the pairs of each stratum, or with `neyman` to pairs x standard deviation of their labels. Raises
    TiebreakError if the complete strata have more.
    """
    drawn = sum(one.targets for one in report.strata if one.share == 1)
    if size < drawn:
        raise TiebreakError(f"{drawn:,} {report.noun}s are drawn with the share 1, so {size:,} in all are too few.")
    strata = [one for one in report.strata if one.share < 1]
    strata = [one for one in strata if one.name != UNJUDGED or report.design.draws_unjudged or not report.is_judged]
    spreads = [report.spreads.get(one.name, LARGEST_SPREAD) for one in strata] if neyman else None
    wanted = allocate([one.targets for one in strata], size - drawn, spreads)
    return {one.name: number for one, number in zip(strata, wanted, strict=True)}


# The sentences.

FORMS = {
    Form.random: "A random part of all pairs",
    Form.stratified: "A part of each stratum",
    Form.weighted: "The more uncertain the judges, the more likely",
    Form.everything: "Every pair",
    Form.disputed: "Disputed pairs only",
}


def form_name(report: DesignReport) -> str:
    """Return what a design draws, as the beginning of a sentence."""
    if report.design.form == Form.stratified and report.design.by == CONTENTION:
        return f"Disputed {report.noun}s and a random part of the others"
    return FORMS[report.design.form].replace("pair", report.noun)


def stratum_name(name: str) -> str:
    """Return the name of a stratum in a sentence."""
    return {UNJUDGED: "not judged", WHOLE: "all"}.get(name, name)


def describe(report: DesignReport | None, kind: Kind = designs.KIND) -> str:
    """Return which targets of a kind people label, with their counts."""
    if report is None and kind != designs.KIND:
        return f"There is no design: people are asked about every {kind}."
    if report is None:
        return "There is no design: which pairs have labels was not drawn, so figures are of the labelled pairs."
    parts = [
        f"{one.drawn:,} of {format_count(one.targets, f'{stratum_name(one.name)} {report.noun}'.replace('all ', ''))}"
        for one in report.strata
        if one.targets
    ]
    labelled, missing = (sum(getattr(one, name) for one in report.strata) for name in ("labelled", "missing"))
    own = " and ".join(parts) or f"no {report.noun}"
    text = f"People label {own}; {labelled:,} have labels and {missing:,} are missing."
    if report.design.by == CONTENTION:
        between = " or two runs differ" if report.design.between_runs else ""
        text += f" Disputed are {report.noun}s on which a run has no agreement{between}."
    if report.chosen:
        text += f" {report.chosen:,} more were labelled without being drawn, and do not count in figures of all "
        text += f"{report.noun}s."
    return text


def consequence(report: DesignReport, more: Mapping[str, int] | None = None) -> str:
    """Return what the win rate of all pairs will be known to, once the drawn pairs and `more` of them have labels."""
    half = report.half_width(more)
    if half is None:
        names = [stratum_name(one.name) for one in report.strata if one.drawn or (more or {}).get(one.name)]
        if names == [DISPUTED]:
            return (
                f"Agreement, accuracy and {'win rates' if report.noun == 'pair' else 'means'} then describe disputed "
                f"{report.noun}s alone, and those of all {report.noun}s are not known."
            )
        own = f"{' and '.join(names) or 'no'} {report.noun}s"
        return f"Figures then describe {own} alone, and those of all {report.noun}s are not known."
    return f"The {report.figure} of all {report.noun}s is then known to about {report.error(half)}."


def consequence_of_agreed(report: DesignReport, number: int) -> str:
    """Return what it gives to label this many agreed pairs in all."""
    agreed = next((one for one in report.strata if one.name == AGREED), None)
    return consequence(report, {} if agreed is None else {AGREED: max(min(number, agreed.targets) - agreed.drawn, 0)})
