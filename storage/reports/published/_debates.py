"""ScaleEval's Tables 3 to 5 and Figure 3, and opinions by round (Chern et al. 2024, arXiv:2401.16788)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from core.items import pair_numbers
from core.labels import Kind, Target, Value, majority_value
from core.verdicts import Stance
from core.wording import scenario_name
from storage.db import connections
from storage.labels import targets
from storage.reports import references
from storage.reports.alignment import FIRST_OPINION
from storage.reports.opinions import opinion_frame
from storage.reports.published.rows import PublishedRow, PublishedTable, Request, evaluators, share, with_mean
from storage.reports.references import Reference
from storage.runs import events, runs

if TYPE_CHECKING:
    import pandas as pd


PAPER = "ScaleEval, Chern et al. 2024"
PREFERENCE: Kind = "preference"
# The source of a decision if a debate ended without agreement and no person decided.
MAJORITY = "majority of the panel"
# Targets and the preferences on them, None if there is none. A target that was judged in several repeats has each.
Verdicts = list[tuple[Target, Value | None]]
# What a debate and people concluded on a target, and the source.
Decision = tuple[Value, str]


@dataclass(frozen=True)
class Debates:
    """The runs of a panel that debated different targets, with their conclusions."""

    runs: tuple[str, ...]
    decisions: Mapping[Target, Decision]
    first: Mapping[str, Mapping[Target, Value | None]]
    """Panel member -> its opinions before the debate; None if there is none."""
    origin: tuple[int | None, int] = (None, 1)
    """The experiment of the runs, None for other runs, and their repeat."""

    @property
    def title(self) -> str:
        """The name of the run, or the number of runs, their experiment and their repeat."""
        if len(self.runs) == 1:
            return f"the debate {self.runs[0]}"
        experiments = {run.partition(" · ")[0] for run in self.runs}
        repeat = self.runs[0].rpartition(" · ")[2]
        return f"{len(self.runs)} debates of {experiments.pop() if len(experiments) == 1 else 'a panel'}" + (
            f" · {repeat}" if repeat == f"repeat {self.origin[1]}" else ""
        )

    @cached_property
    def targets(self) -> set[Target]:
        """Every target that was debated."""
        return {target for opinions in self.first.values() for target in opinions}

    def merge(self, other: "Debates") -> "Debates":
        """Return both together."""
        first = {judge: {**opinions, **other.first[judge]} for judge, opinions in self.first.items()}
        return Debates((*self.runs, *other.runs), {**self.decisions, **other.decisions}, first, self.origin)

    def can_merge(self, other: "Debates") -> bool:
        """Return whether the same panel debated other targets, as in a release with one run for each criterion."""
        if self.origin != other.origin:
            return False
        return self.first.keys() == other.first.keys() and not self.targets & other.targets


def load_debates(request: Request) -> list[Debates]:
    """Return the debates of a study, oldest first."""
    with connections.reading(request.engine) as session:
        names = references.debate_runs(session, request.study.id)
        if not names:
            return []
        found = runs.of_study(session, request.study.id)
        by_id = {run.id: run.name for run in found}
        origins = {run.name: (run.experiment_id, run.repeat) for run in found}
        opinions = opinion_frame(session, request.study.id, [PREFERENCE])
        golds = {
            name: references.frame(session, request.study.id, Reference("debate", name), request.data.scales)
            for name in names
        }
    opinions = opinions.assign(run=opinions["run"].map(by_id))
    merged: list[Debates] = []
    for name in names:
        debate = replace(_load_debate(name, opinions[opinions["run"] == name], golds[name]), origin=origins[name])
        place = next((n for n, other in enumerate(merged) if other.can_merge(debate)), None)
        if place is None:
            merged.append(debate)
        else:
            merged[place] = merged[place].merge(debate)
    return [debate for debate in merged if debate.targets]


def _load_debate(run: str, opinions: "pd.DataFrame", gold: "pd.DataFrame") -> Debates:
    panel = opinions[opinions["stage"] != "verdict"]
    first: dict[str, dict[Target, Value | None]] = defaultdict(dict)
    last: dict[Target, list[Value]] = defaultdict(list)
    columns = (panel[name] for name in ("rater", "stage", "value"))
    for judge, stage, value, target in zip(*columns, targets.of_frame(panel), strict=True):
        if stage == "first":
            first[judge][target] = value
        elif value is not None:
            last[target].append(value)
    return Debates((run,), _decisions(gold, last), first)


def _other_verdicts(request: Request) -> dict[str, Verdicts]:
    """Return the verdicts of the judges of runs that are no debates."""
    with connections.reading(request.engine) as session:
        debates = {*references.debate_runs(session, request.study.id)}
        own = {run.id for run in runs.of_study(session, request.study.id) if run.name in debates}
    opinions = request.data.opinions
    return _verdicts(request, opinions[~opinions["run"].isin(own)])


def _verdicts(request: Request, opinions: "pd.DataFrame") -> dict[str, Verdicts]:
    """Return evaluator -> its preferences in all its repeats."""
    rows = opinions[opinions["kind"] == PREFERENCE] if len(opinions) else opinions
    values: dict[str, Verdicts] = defaultdict(list)
    if len(rows):
        names = evaluators(request, map(str, rows["judge"].unique()))
        for judge, target, value in zip(rows["judge"], targets.of_frame(rows), rows["value"], strict=True):
            values[names[judge]].append((target, value))
    return values


def _decisions(gold: "pd.DataFrame", last: Mapping[Target, Sequence[Value]]) -> dict[Target, Decision]:
    """Return the decisions: by people, by agreement, or by the majority of the panel's last opinions."""
    gold = gold[(gold["kind"] == PREFERENCE) & gold["value"].notna()]
    decided = {
        target: (value, source)
        for target, value, source in zip(targets.of_frame(gold), gold["value"], gold["source"], strict=True)
    }
    majorities = {target: majority_value(values) for target, values in last.items()}
    return {t: (v, MAJORITY) for t, v in majorities.items() if v is not None} | decided


def agreement_with_debate(request: Request) -> list[PublishedRow]:
    """Return how often each evaluator's verdict is what the debate and people concluded (Tables 4 and 5)."""
    rows: list[PublishedRow] = []
    others = _other_verdicts(request)
    scenarios = pairs_and_scenarios(request)
    for debates in load_debates(request):
        first = {f"{name}{FIRST_OPINION}": [*values.items()] for name, values in debates.first.items()}
        every = first | others
        for name, values in every.items():
            debated = [(target, value) for target, value in values if target in debates.targets]
            rows += _agreement(debates, name, debated, scenarios)
    return rows


def _agreement(
    debates: Debates, name: str, values: Sequence[tuple[Target, Value | None]], scenarios: Mapping[str, str]
) -> Iterator[PublishedRow]:
    """Yield the agreement in each criterion and scenario, then the mean of these cells."""
    cells: dict[str, list[tuple[Target, Value | None]]] = defaultdict(list)
    for target, value in values:
        cells[_cell(target, scenarios)].append((target, value))
    rows = []
    for group, of_cell in sorted(cells.items()):
        used = [(target, value) for target, value in of_cell if target in debates.decisions]
        equal = [value == debates.decisions[target][0] for target, value in used]
        hits = sum(equal)
        sources = Counter(debates.decisions[target][1] for target, _ in used)
        note = ", ".join(f"{count} {source}" for source, count in sorted(sources.items()))
        if undecided := len(of_cell) - len(used):
            low, high = hits / len(of_cell), (hits + undecided) / len(of_cell)
            note += f"; {undecided} undecided and left out, which could make it {low:.3f} to {high:.3f}"
        rows.append(
            share(name, group, f"agreement with {debates.title}", equal, [target.item for target, _ in used], note)
        )
    yield from with_mean(rows, len({target.item for target, _ in values if target in debates.decisions}))


def _cell(target: Target, scenarios: Mapping[str, str]) -> str:
    return " · ".join(filter(None, (target.criterion, scenarios.get(target.item, "")))) or "all"


def example_level(request: Request) -> list[PublishedRow]:
    """Return the share of items on which people and each evaluator decide equally, no verdict being none (Table 3)."""
    people, note = request.preferences, "no verdict is a disagreement"
    scenarios = pairs_and_scenarios(request)
    rows: list[PublishedRow] = []
    for judge, values in _verdicts(request, request.data.opinions).items():
        cells: dict[str, list[tuple[str, bool]]] = defaultdict(list)
        for target, value in values:
            if target in people:
                cells[_cell(target, scenarios)].append((target.item, value == people[target]))
        own = [
            share(judge, group, "example-level agreement", [hit for _, hit in of], [item for item, _ in of], note)
            for group, of in sorted(cells.items())
        ]
        rows += with_mean(own, len({item for of_cell in cells.values() for item, _ in of_cell}))
    return rows


def pairs_and_scenarios(request: Request) -> dict[str, str]:
    """Return item -> the names of its two systems, if items compare several pairs of systems, and its scenario."""
    systems = {item: names for item, (_, names) in request.data.systems.items()}
    named = {item: sorted(filter(None, names)) for item, names in systems.items() if len(names) == 2 and all(names)}
    several = len({tuple(names) for names in named.values()}) > 1
    pairs = {item: " and ".join(names) for item, names in named.items()} if several else {}
    scenarios = _scenarios(request)
    return {item: " · ".join(filter(None, (pairs.get(item, ""), scenarios.get(item, "")))) for item in systems}


def _scenarios(request: Request) -> dict[str, str]:
    """Return item -> the display name of its scenario; "" if no item has a scenario."""
    found = {item: scenario for item, (scenario, _) in request.data.systems.items()}
    return {item: scenario_name(scenario) for item, scenario in found.items()} if any(found.values()) else found


def system_wins(request: Request) -> list[PublishedRow]:
    """Return how often each of two systems wins, by people, by each debate and by each judge (Figure 3)."""
    data = request.data
    systems = {
        item: tuple(system or f"response {n}" for n, system in enumerate(names, 1))
        for item, (_, names) in data.systems.items()
    }
    scorers: dict[str, Verdicts] = {}
    if data.reference.type != "debate":  # debates follow, with every decision on them
        scorers[data.reference.title] = [*request.preferences.items()]
    scenarios = _scenarios(request)
    for debates in load_debates(request):
        scorers[debates.title] = [(target, value) for target, (value, _) in debates.decisions.items()]
    scorers |= _other_verdicts(request)
    return [row for name, values in scorers.items() for row in _wins(name, values, systems, scenarios)]


def _wins(
    name: str, values: Verdicts, systems: Mapping[str, tuple[str, ...]], scenarios: Mapping[str, str]
) -> Iterator[PublishedRow]:
    games: dict[tuple[str, tuple[str, str]], list[tuple[str, Value]]] = defaultdict(list)
    for target, value in values:
        names = systems.get(target.item, ())
        a, b = pair_numbers(target.part) or (1, 2)
        if value is not None and b <= len(names) and (target.part or len(names) == 2):
            games[_cell(target, scenarios), (names[a - 1], names[b - 1])].append((target.item, value))
    for (cell, (first, second)), choices in sorted(games.items()):
        for statistic, choice in ((f"{first} wins", 1), ("tie", 0), (f"{second} wins", 2)):
            hits = [value == choice for _, value in choices]
            yield share(name, f"{cell}: {first} vs {second}", statistic, hits, [item for item, _ in choices])


def by_round(request: Request) -> list[PublishedRow]:
    """Return each judge's accuracy after every round of a discussion, and the panel's majority (ChatEval, Figure 4)."""
    people = request.preferences
    opinions = request_opinions(request)
    rows = []
    for run, by_trace in opinions.items():
        rounds = sorted({one.round for _, stances in by_trace for one in stances if one.value is not None})
        standing = [(target, _standing(stances, rounds)) for target, stances in by_trace if target in people]
        judges = dict.fromkeys(judge for _, of_trace in standing for latest in of_trace.values() for judge in latest)
        for number in rounds if len(rounds) > 1 else ():
            for judge in judges:
                given = [(target, latest[number].get(judge)) for target, latest in standing]
                rows.append(_round_row(f"{judge} · {run}", number, given, request))
            given = [(target, majority_value([*latest[number].values()])) for target, latest in standing]
            rows.append(_round_row(f"{MAJORITY} · {run}", number, given, request))
    return rows


def request_opinions(request: Request) -> dict[str, list[tuple[Target, list[Stance]]]]:
    """Return run -> the stances of each trace with a preference as its only target; its repeats are one run.

    Without the debate that is the reference, which is not compared with its own verdicts.
    """
    with connections.reading(request.engine) as session:
        frame = opinion_frame(session, request.study.id, [PREFERENCE])
        of_responses = frame["part"].map(lambda part: not part or pair_numbers(part) is not None)  # not of critiques
        frame = frame[of_responses.astype(bool)]
        own = request.reference_runs
        names = {run.id: run.name_of_cell for run in runs.of_study(session, request.study.id) if run.name not in own}
        of_trace = events.targets_by_trace(frame)
        stances_by_debate: dict[str, list[tuple[Target, list[Stance]]]] = defaultdict(list)
        for trace in events.turns_by_trace(session, request.study.id, sorted({*frame["run"]} & {*names})):
            for target in of_trace.get(trace.trace, ()):
                stances = [
                    Stance(n, turn.speaker, turn.round, turn.reading, turn.problem, None)
                    for n, turn in enumerate(trace.of_criterion(target.criterion))
                    if turn.reading in (0, 1, 2) or turn.problem
                ]
                stances_by_debate[names[trace.run]].append((target, stances))
    return stances_by_debate


def _standing(stances: Sequence[Stance], rounds: Sequence[int]) -> dict[int, dict[str, Value]]:
    """Return round -> judge -> its latest readable opinion up to that round: a debate that ended early stands."""
    return {
        number: {
            stance.judge: stance.value for stance in stances if stance.round <= number and stance.value is not None
        }
        for number in rounds
    }


def _round_row(name: str, number: int, given: Sequence[tuple[Target, Value | None]], request: Request) -> PublishedRow:
    read = [(target.item, value == request.preferences[target]) for target, value in given if value is not None]
    return share(name, f"after round {number}", "accuracy", [hit for _, hit in read], [item for item, _ in read])


TABLES = (
    PublishedTable(
        "scaleeval-3", PAPER, "Table 3: example-level agreement with people",
        "Does the debate decide as people do, more often than one model?", "people's preferences", example_level,
        kinds=("preference",),
    ),
    PublishedTable(
        "scaleeval-4", PAPER, "Tables 4 and 5: agreement with the debate",
        "How often does each evaluator decide as the debate does, also with other wordings of a criterion?",
        "a debate; people's decisions on its disputes; for Table 5 runs with other wordings", agreement_with_debate,
        has_reference=False, labels="no value", kinds=("preference",),
    ),
    PublishedTable(
        "scaleeval-figure-3", PAPER, "Figure 3: win rates of systems",
        "Do people and the debate prefer the same system?",
        "preferences of people, or a debate", system_wins, against=False, labels="values of people",
        kinds=("preference",),
    ),
    PublishedTable(
        "rounds", f"{PAPER}; ChatEval, Chan et al. 2023, Figure 4", "Accuracy by round",
        "Do judges come closer to people as they discuss?", "people's preferences, and a run with several rounds",
        by_round, kinds=("preference",),
    ),
)  # fmt: skip
