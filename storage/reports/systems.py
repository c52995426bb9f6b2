"""The systems of a study: win rates and mean scores from people's decisions and a judge's verdicts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.tables import Column
from core.items import pair_numbers
from core.provenance import CLUSTERED_T, PREDICTION_POWERED
from core.statistics.data.frames import ALL, select_rows
from core.statistics.data.sample import SEPARATOR
from core.statistics.reports.systems import (
    DRAW_COLUMNS,
    GAME_COLUMNS,
    SCORE_COLUMNS,
    SystemRow,
    describe_draws,
    rate_by_games,
    rate_by_scores,
    without_value_of_all,
)
from storage.reports import alignment, opinions, references
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.chosen_labels import ALL_TARGETS, CAVEATS, NO_VALUES, NOT_KNOWN, Population, of_key
from storage.studies.studies import Study

if TYPE_CHECKING:
    import pandas as pd

UNNAMED = "unnamed system"
KINDS = ("preference", "score")
TARGET = ["item", "criterion", "part"]
VALUE_COLUMNS = (*TARGET, "people", "has_labels")
VALUE_TYPES = {"people": float, "judge": float, "asked": bool, "undecided": bool}


@dataclass(frozen=True)
class SystemReport:
    """The systems by one kind and criterion."""

    kind: str
    criterion: str
    judge: str
    """The judge whose verdicts are used; empty for none."""
    reference: str
    rows: tuple[SystemRow, ...]
    note: str = ""
    """That labels are mainly of disputed targets or of some scenarios, so no row is of all; empty if they are not."""
    population: Population = ALL_TARGETS
    """The targets that the rows of all scenarios together are of."""
    design: str = ""
    """How the labelled targets were drawn; "" if no design is known."""


@dataclass(frozen=True)
class Choice:
    """A kind and criterion that a page offers, with its judges: most verdicts first, equals by name."""

    kind: str
    criterion: str
    judges: tuple[str, ...]
    labelled: int = 0
    """Targets with a value of the reference, where choices are in the order of these."""


# The columns of a page; the first only if there are several scenarios.
COLUMNS = (
    Column("Scenario", "scenario"),
    Column("System", "system"),
    Column(
        "Together", "value low high", "estimate",
        help="The win rate (a tie is half a win) or the mean score, from the judge's verdicts on all targets, "
        "corrected by its errors on the labelled ones, with the 95 % interval.",
    ),
    Column(
        "People alone", "people people_low people_high", "estimate",
        help="The same from people's labels alone, of all targets that have one.",
    ),
    Column(
        "Verdicts", "verdicts", "estimate", help="The mean of the judge's verdicts alone. Its bias is not corrected."
    ),
    Column(
        "n", lambda row: f"{row.labelled:,}" + ("" if row.verdicts is None else f" + {row.judged:,}"), "figure",
        help="Targets with a label of people + targets without one, of those that the judge was asked about; without a "
        "judge, targets with a label. A missing verdict counts as the mean of the judge's verdicts.",
    ),
    Column(
        "Saved", lambda row: "–" if row.labels_saved is None else f"{row.labels_saved:,.0f}", "figure",
        help="How many further labels of people alone would give an interval as narrow.",
    ),
    Column(
        "Bradley-Terry", "strength strength_low strength_high", "estimate",
        help="The log strength of a system in the Bradley-Terry model of people's preferences; the mean of all systems "
        "is 0.",
    ),
)  # fmt: skip


def choices(data: AlignmentData) -> list[Choice]:
    """Return the kinds and criteria for comparing systems; criteria that share a scale are pooled in "all"."""
    options = []
    for kind in KINDS:
        labelled = select_rows(data.gold, kind)
        judged = select_rows(data.opinions, kind)
        criteria = sorted({*labelled["criterion"].unique(), *judged["criterion"].unique()})
        pooled = [ALL] if len(criteria) > 1 and kind == "preference" else []
        options += [Choice(kind, criterion, _judges(data, kind, criterion)) for criterion in (*pooled, *criteria)]
    return options


def _one_criterion(criterion: str) -> str | None:
    """Return the criterion for `select_rows`; None for all of them, which are pooled for preferences only."""
    return None if criterion == ALL else criterion


def _judges(data: AlignmentData, kind: str, criterion: str) -> tuple[str, ...]:
    opinions = select_rows(data.opinions, kind, _one_criterion(criterion))
    opinions = opinions[opinions["value"].notna() & (opinions["stage"] != "first")]
    # As text: those without an opinion are categories too. By name: equals are in the same order in every database.
    counts = opinions["judge"].astype("str").value_counts().sort_index()
    return tuple(map(str, counts.sort_values(ascending=False, kind="stable").index))


def report(
    engine: Engine,
    study: Study,
    *,
    kind: str | None = None,
    criterion: str | None = None,
    judge: str | None = None,
    reference: str | None = None,
    resamples: int = 1000,
) -> SystemReport:
    """Rate the systems of a study; raises TiebreakError for a kind, criterion or judge that it does not have."""
    data = load_data(engine, study, reference)
    offered = [
        choice for choice in choices(data) if kind in (None, choice.kind) and criterion in (None, choice.criterion)
    ]
    if not offered:
        alignment.check_key(data, kind, criterion)
        raise TiebreakError(
            "No systems can be compared: there are no labels and no verdicts of that kind and criterion."
        )
    choice = offered[0]
    if judge and judge not in choice.judges:
        raise TiebreakError(f"There is no judge called {judge!r} here; there are {', '.join(choice.judges) or 'none'}.")
    return rate(data, choice, judge if judge is not None else next(iter(choice.judges), ""), resamples)


def table(report: SystemReport) -> list[dict[str, Any]]:
    """Return one row for each system and scenario."""
    source: Mapping[str, Any] = {"kind": report.kind, "criterion": report.criterion, "judge": report.judge}
    return [{**source, **asdict(row)} for row in report.rows]


def shown_estimate(row: SystemRow) -> tuple[float | None, float | None, float | None]:
    """Return the value of a row with its interval; that of people alone if it is not of all targets."""
    if row.population != ALL_TARGETS:
        return row.people, row.people_low, row.people_high
    return row.value, row.low, row.high


def basis(report: SystemReport) -> str:
    """Return the labels, verdicts and targets of the figures of a report."""
    caveat = CAVEATS.get(report.population, "")
    return f"people's labels, and by verdicts, {caveat}" if caveat else "labels and verdicts together"


def method(report: SystemReport) -> str:
    """Return what a caption has to state: how the figures were computed, and that none is of all targets."""
    caveat = CAVEATS.get(report.population, "")
    found = f"{caveat[0].upper()}{caveat[1:]}. {CLUSTERED_T}" if caveat else PREDICTION_POWERED
    return f"Labels {report.design}. {found}" if report.design else found


def rate(data: AlignmentData, choice: Choice, judge: str, resamples: int = 1000) -> SystemReport:
    """Rate the systems by one kind and criterion, with the verdicts of a judge; "" for people's labels alone."""
    subject = choice.kind, choice.criterion
    read = _games if choice.kind == "preference" else _scores
    by_people = opinions.once(data, ("systems", subject), lambda: read(_targets(data, choice), data))
    values = _with_judge(by_people, data, choice, judge)
    of_debate = data.reference.type == "debate"
    of_people = data.choices.of_labels if of_debate else data.choices.of_reference
    if chosen := of_key(of_people, choice.kind, choice.criterion):
        values = values[np.any([one.has(values) for one in chosen], axis=0)]
    draw = [name for name in DRAW_COLUMNS if name in values.columns]
    if choice.kind == "preference":
        columns = values[[*GAME_COLUMNS, *draw]].astype(VALUE_TYPES)
        rows = rate_by_games(
            columns,
            resamples=resamples,
            once=lambda part, compute: opinions.once(data, ("strengths", subject, part, resamples), compute),
        )
    else:
        rows = rate_by_scores(values[[*SCORE_COLUMNS, *draw]].astype(VALUE_TYPES))

    def population(one_scenario: bool) -> Population:
        return data.choices.population(choice.kind, choice.criterion, of_labels=of_debate, one_scenario=one_scenario)

    of_rows = [population(row.scenario != ALL) if row.people_labelled else NOT_KNOWN for row in rows]
    rows = [
        row if one == ALL_TARGETS else without_value_of_all(row, one, NO_VALUES.get(one, ""))
        for row, one in zip(rows, of_rows, strict=True)
    ]
    of_all, design = population(one_scenario=False), describe_draws(values)
    note = data.choices.note(choice.kind, choice.criterion) if of_all != ALL_TARGETS else ""
    title = data.reference.title
    if of_debate:  # its verdicts are no labels of people
        title = f"people's decisions, without verdicts of the debate {data.reference.name}"
    return SystemReport(choice.kind, choice.criterion, judge, title, tuple(rows), note, of_all, design)


def _targets(data: AlignmentData, choice: Choice) -> "pd.DataFrame":
    """Return TARGET with the columns people and has_labels, one row per target with a label, a value or an opinion.

    `has_labels`: the reference has labels of the target, whether or not it has a value; the labels of all annotators
    do not count if the reference is one annotator or a debate. A debate's own verdicts are no labels of people.
    """
    import pandas as pd

    criterion = _one_criterion(choice.criterion)
    gold = select_rows(data.gold, choice.kind, criterion)
    gold = gold[gold["source"] != references.BY_THE_DEBATE]
    people = gold.assign(people=gold["value" if choice.kind == "preference" else "number"])[[*TARGET, "people"]]
    opinions = select_rows(data.opinions, choice.kind, criterion)[TARGET].drop_duplicates()
    labelled = gold[TARGET]
    if data.reference.type in ("gold", "majority", "mean"):
        labels = select_rows(data.labels if data.all_labels is None else data.all_labels, choice.kind, criterion)
        labelled = pd.concat([labelled, labels.loc[labels["value"].notna(), TARGET]])
    values = people.merge(opinions, on=TARGET, how="outer")
    values = values.merge(labelled.drop_duplicates(), on=TARGET, how="outer", indicator="source")
    return values.assign(has_labels=values["source"] != "left_only")


def _games(targets: "pd.DataFrame", data: AlignmentData) -> "pd.DataFrame":
    """Return the pairs of responses of different systems, with the columns of GAME_COLUMNS that people give."""
    import pandas as pd

    rows = []
    columns = (targets[name].tolist() for name in VALUE_COLUMNS)
    for item, criterion, part, people, has_labels in zip(*columns, strict=True):
        scenario, systems = data.systems[item]
        numbers = pair_numbers(part)
        if numbers is None or numbers[1] > len(systems):  # the part names no pair: it is of the whole item
            numbers = (1, 2) if len(systems) == 2 else None
        if numbers is not None:
            first, second = (systems[number - 1] or UNNAMED for number in numbers)
            winner = people if people in (0.0, 1.0, 2.0) else float("nan")  # a mean of two preferences names neither
            undecided = has_labels and isnan(winner)
            rows.append((item, criterion, part, scenario, first, second, winner, undecided))
    games = pd.DataFrame(rows, columns=[*TARGET, "scenario", "first", "second", "people", "undecided"])
    return games[games["first"] != games["second"]]


def _scores(targets: "pd.DataFrame", data: AlignmentData) -> "pd.DataFrame":
    """Return the scored responses with the columns of SCORE_COLUMNS that people give.

    They are of items with one response, or of a part that names a system or has the number of a response.
    """
    import pandas as pd

    rows = []
    columns = (targets[name].tolist() for name in VALUE_COLUMNS)
    for item, criterion, part, people, has_labels in zip(*columns, strict=True):
        scenario, names = data.systems[item]
        systems = [name or UNNAMED for name in names]
        system = part if part in systems else alignment.scored_system(systems, part)
        if system is not None:
            rows.append((item, criterion, part, scenario, system, people, has_labels and isnan(people)))
    return pd.DataFrame(rows, columns=[*TARGET, "scenario", "system", "people", "undecided"])


def with_draws(values: "pd.DataFrame", data: AlignmentData, choice: Choice) -> "pd.DataFrame":
    """Return targets with the `DRAW_COLUMNS` of their design; without, if one of their criteria has no design."""
    if data.design is None:
        return values
    design = select_rows(data.design, choice.kind, _one_criterion(choice.criterion))
    if not set(values["criterion"].unique()) <= set(design["criterion"].unique()):
        return values
    drawn = values.merge(design[[*TARGET, *DRAW_COLUMNS]], on=TARGET, how="left")
    drawn["stratum"] = drawn["criterion"].astype(str) + SEPARATOR + drawn["stratum"].fillna("").astype(str)
    return drawn.assign(probability=drawn["probability"].fillna(0.0), drawn=drawn["drawn"].eq(True))


def _with_judge(by_people: "pd.DataFrame", data: AlignmentData, choice: Choice, judge: str) -> "pd.DataFrame":
    """Return the targets that people labelled or a judge was asked about, with its verdicts.

    `asked`: the judge was asked about the target, whether or not it has a verdict.
    """
    of_judge = data.opinions[data.opinions["judge"] == judge]
    opinions = select_rows(of_judge, choice.kind, _one_criterion(choice.criterion))
    judged = opinions.assign(judge=opinions["value"].astype(float), asked=True)[[*TARGET, "judge", "asked"]]
    values = by_people.merge(judged.drop_duplicates(TARGET), on=TARGET, how="left")
    values["asked"] = values["asked"].notna()
    drawn = with_draws(values, data, choice)
    if drawn is not values:  # strata are counted with their targets that nobody has labelled
        return drawn
    return values[values["people"].notna() | values["undecided"].astype(bool) | values["asked"]]
