"""What the design of a criterion's pairs has come to, in numbers and in sentences, and what more labels would give."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from core.designs import AGREED, CONTENTION, CONTENTION_STRATA, DISPUTED, UNJUDGED, WHOLE, Design, Form, composed
from core.errors import TiebreakError
from core.statistics.measures.designs import allocate, expected_half_width
from core.wording import format_count, stored_criterion
from storage.labels import current_labels, designs
from storage.labels.designs import Stratum
from storage.studies.studies import Study

# Labelled targets of a stratum from which their standard deviation counts instead of the largest one.
MIN_LABELLED = 10
LARGEST_SPREAD = 0.5


@dataclass(frozen=True)
class DesignReport:
    """The newest round of a design with its strata."""

    design: Design
    strata: tuple[Stratum, ...]
    spreads: Mapping[str, float]
    """Stratum -> the standard deviation of the win of the first response, 0.5 until there are labels."""

    def half_width(self, more: Mapping[str, int] | None = None) -> float | None:
        """Return half of the interval of the win rate of all pairs once every drawn one, and `more`, have a label.

        None if a stratum with targets has no drawn one: then nothing is known of all pairs.
        """
        labels = [min(one.targets, one.drawn + (more or {}).get(one.name, 0)) for one in self.strata]
        spreads = [self.spreads.get(one.name, LARGEST_SPREAD) for one in self.strata]
        return expected_half_width([one.targets for one in self.strata], labels, spreads)

    @property
    def chosen(self) -> int:
        """Labelled pairs that were not drawn."""
        return sum(one.chosen for one in self.strata)


def find(session: Session, study_id: int, criterion: str) -> DesignReport | None:
    """Return the design of a criterion's pairs; None if there is none."""
    design = designs.current(session, study_id).get((designs.KIND, criterion))
    if design is None:
        return None
    strata = designs.counts(session, study_id, criterion)
    if design.by == CONTENTION:
        strata = sorted(strata, key=lambda one: CONTENTION_STRATA.index(one.name))
    return DesignReport(design, tuple(strata), _spreads(session, study_id, criterion))


def preview(session: Session, study_id: int, criterion: str, design: Design) -> DesignReport:
    """Return what another design of a criterion's pairs would come to."""
    present = designs.current(session, study_id).get((designs.KIND, criterion))
    has_spreads = present is not None and present.by == design.by
    spreads = _spreads(session, study_id, criterion) if has_spreads else {}
    return DesignReport(design, tuple(designs.preview(session, study_id, criterion, design)), spreads)


def _spreads(session: Session, study_id: int, criterion: str) -> dict[str, float]:
    """Return stratum -> the standard deviation of its drawn pairs' mean labels, where enough of them have one."""
    frame = designs.frame(session, study_id)
    if frame is None:
        return {}
    own = frame[(frame["kind"] == designs.KIND) & (frame["criterion"].map(stored_criterion) == criterion)]
    codes, values = current_labels.codes_by_target(session, study_id)
    wins = {1: 1.0, 2: 0.0, 0: 0.5}
    by_stratum: dict[str, list[float]] = defaultdict(list)
    for target_id, stratum in own.loc[own["drawn"], "stratum"].items():
        given = [wins[values[code]] for code in codes.get(target_id, ()) if values[code] in wins]
        if given:
            by_stratum[str(stratum)].append(float(np.mean(given)))
    return {name: float(np.std(own, ddof=1)) for name, own in by_stratum.items() if len(own) >= MIN_LABELLED}


def sizes_of_change(
    session: Session, study: Study, criterion: str, size: int, *, neyman: bool = False, **changes: Any
) -> dict[str, int]:
    """Return the `sizes` of a design after changes (`storage.labelling.offers.change_design`)."""
    present = designs.current(session, study.id).get((designs.KIND, criterion))
    wanted = composed(present, **changes)
    if wanted.draws_unjudged:
        designs.create_pairs(session, study.id, criterion)
    return sizes(preview(session, study.id, criterion, wanted), size, neyman=neyman)


def sizes(report: DesignReport, size: int, *, neyman: bool = False) -> dict[str, int]:
    """Return stratum -> how many of `size` pairs in all to draw in it; strata that are drawn completely stay so.

    In proportion to the pairs of each stratum, or with `neyman` to pairs x standard deviation of their labels. Raises
    TiebreakError if the complete strata have more.
    """
    drawn = sum(one.targets for one in report.strata if one.share == 1)
    if size < drawn:
        raise TiebreakError(f"{drawn:,} pairs are drawn with the share 1, so {size:,} in all are too few.")
    strata = [one for one in report.strata if one.share < 1]
    strata = [one for one in strata if one.name != UNJUDGED or report.design.draws_unjudged]
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


def form_name(design: Design) -> str:
    """Return what a design draws, as the beginning of a sentence."""
    if design.form == Form.stratified and design.by == CONTENTION:
        return "Disputed pairs and a random part of the others"
    return FORMS[design.form]


def stratum_name(name: str) -> str:
    """Return the name of a stratum in a sentence."""
    return {UNJUDGED: "not judged", WHOLE: "all"}.get(name, name)


def describe(report: DesignReport | None) -> str:
    """Return which pairs people label, with their counts."""
    if report is None:
        return "There is no design: which pairs have labels was not drawn, so figures are of the labelled pairs."
    parts = [
        f"{one.drawn:,} of {format_count(one.targets, f'{stratum_name(one.name)} pair'.replace('all pair', 'pair'))}"
        for one in report.strata
        if one.targets
    ]
    labelled, missing = (sum(getattr(one, name) for one in report.strata) for name in ("labelled", "missing"))
    text = f"People label {' and '.join(parts) or 'no pair'}; {labelled:,} have labels and {missing:,} are missing."
    if report.chosen:
        text += f" {report.chosen:,} more were labelled without being drawn, and do not count in figures of all pairs."
    return text


def consequence(report: DesignReport, more: Mapping[str, int] | None = None) -> str:
    """Return what the win rate of all pairs will be known to, once the drawn pairs and `more` of them have labels."""
    half = report.half_width(more)
    if half is None:
        names = [stratum_name(one.name) for one in report.strata if one.drawn or (more or {}).get(one.name)]
        if names == [DISPUTED]:
            return (
                "Agreement, accuracy and win rates then describe disputed pairs alone, and those of all pairs are not "
                "known."
            )
        return f"Figures then describe {' and '.join(names) or 'no'} pairs alone, and those of all pairs are not known."
    return f"The win rate of all pairs is then known to about ±{100 * half:.0f} points."


def consequence_of_agreed(report: DesignReport, number: int) -> str:
    """Return what it gives to label this many agreed pairs in all."""
    agreed = next((one for one in report.strata if one.name == AGREED), None)
    if agreed is None:
        return consequence(report)
    number = min(max(number, agreed.drawn), agreed.targets)
    if not number:
        return consequence(report)
    half = report.half_width({AGREED: number - agreed.drawn})
    if half is None:
        return consequence(report, {AGREED: number - agreed.drawn})
    return (
        f"{format_count(number, 'agreed pair')} of {agreed.targets:,} make the win rate known to about "
        f"±{100 * half:.0f} points."
    )
