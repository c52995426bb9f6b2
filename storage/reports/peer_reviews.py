"""Peer reviews (ReFeR) compared with the annotators: errors of peers and chair, labels that may be shown, rated
items."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.answers.answer import Answer
from core.errors import TiebreakError, UnreadableReply
from core.frozen import Frozen
from core.items import Item
from core.labels import Kind, Label, Target, Value, majority_value, mean_value
from core.protocols import criteria_of, registry, settings_of_criterion
from core.protocols.refer.auto_prompt import RatedItem
from core.protocols.refer.protocol import Alteration, altered_reviews, expected_answer, summarize_samples
from core.protocols.refer.settings import Settings
from core.statistics.data.arrays import Estimate
from core.statistics.measures.means import mean_estimate
from core.statistics.reports.peer_errors import PeerInfluence, ReviewedTrace, error_of, peer_influence
from core.trace import Turn, Usage
from core.wording import report_criterion
from storage.db.tables import ItemRow, OpinionRow, TargetRow
from storage.labels import labels, targets
from storage.reports.judge_costs import RunCost, efficient
from storage.runs import events, experiments, runs
from storage.runs.runs import Run
from storage.studies import items

if TYPE_CHECKING:
    import pandas as pd

KIND: Kind = "misleading_peer"
Fields = TypeVar("Fields", bound=Frozen)
# The end of the name of an experiment that leaves out each peer of a run.
INFLUENCE = " · influence"
# The longest name of a peer in the label of a level.
MAX_PEER = 40
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)
# How many samples of a chair a front has points for.
SAMPLES = (1, 2, 3, 5, 10, 20, 50, 100, 200)
# Judge, stage, value.
StagedOpinion = tuple[str, str, Value | None]


@dataclass(frozen=True)
class PeerErrors:
    """The traces of a run, each with the true value of its item."""

    settings: Settings
    reviewed: tuple[ReviewedTrace, ...]
    without_truth: int
    """Traces left out: no label and no reference, or no majority for an answer."""
    hidden: frozenset[str]
    """Items that the viewer has not labelled: their labels are not to be shown."""
    misleading: Mapping[int, int]
    """Trace -> people's number of the peer that misled the chair, 0 for none: gold of the kind `misleading_peer`."""


def find_runs(session: Session, study_id: int) -> list[Run]:
    """Return the study's peer reviews, newest first."""
    protocols = registry.with_artifact("peer reviews")
    return [run for run in runs.of_study(session, study_id) if run.protocol in protocols]


def criteria_of_run(run: Run) -> list[str]:
    """Return the names of the criteria that a run scores; empty if it scores none or its settings are not valid."""
    settings = valid_settings(run, Settings)
    return [criterion.name for criterion in criteria_of(settings) if criterion.name] if settings else []


def valid_settings(run: Run, model: type[Fields]) -> Fields | None:
    """Return the settings of a run; None if they are not valid: those of imported runs can be any."""
    try:
        return model.model_validate(run.settings)
    except ValidationError:
        return None


def load_errors(session: Session, run: Run, viewer: str | None = None, criterion: str = "") -> PeerErrors:
    """Return the input of `core.statistics.reports.peer_errors`; raises TiebreakError for settings of another protocol.

    Of a run on several criteria, the reviews on `criterion`, by default the first.

    The true value of an item is its adjudication, otherwise the annotators' mean score or majority answer, otherwise
    its reference answer.
    """
    settings = valid_settings(run, Settings)
    if settings is None:
        raise TiebreakError(f"The settings of run {run.name!r} are not those of a peer review.")
    settings = settings_of_criterion(settings, criterion)
    opinions = _opinions_by_trace(session, run.id, settings.criterion.name)
    values = _current_labels(session, run.study_id, settings.kind, settings.criterion.name)
    truths = _true_values(session, run, settings, values)
    reviewed = [
        ReviewedTrace(
            trace=trace,
            item=item,
            truth=truths[item],
            peers=tuple((judge, value) for judge, stage, value in staged if stage == "last"),
            chair=next((value for _, stage, value in staged if stage == "verdict"), None),
        )
        for (trace, item), staged in opinions.items()
        if item in truths
    ]
    hidden: frozenset[str] = frozenset()
    if viewer is not None and settings.kind == "score":
        hidden = frozenset({item for _, item in opinions} - set(values.loc[values["rater"] == viewer, "item"]))
    by_item = {item: trace for trace, item in opinions}
    misleading = {
        by_item[gold.target.item]: gold.value
        for gold in labels.gold_labels(session, run.study_id, [KIND])
        if (gold.target.criterion, gold.target.part) == (settings.criterion.name, run.name)
        and isinstance(gold.value, int)
        and gold.target.item in by_item
    }
    without_truth = sum(item not in truths for _, item in opinions)
    return PeerErrors(settings, tuple(reviewed), without_truth, hidden, misleading)


def influence_name(run: str, *, altered: bool = False) -> str:
    """Return the name of the experiment that asks the chair of a run again without each peer, or altered reviews."""
    return f"{run}{INFLUENCE}{', altered reviews' * altered}"


def peer_labels(names: Sequence[str]) -> dict[str, str]:
    """Return name of a peer -> its name in labels of levels, which are part of the names of runs.

    Of a long name, such as a model's with its provider, the end; all with numbers if one is long too, or not unique.
    """
    ends = [" ".join(name.rpartition("/" if len(name) > MAX_PEER else "\0")[2].split()) for name in names]
    if len({*ends}) < len(ends) or any(not 0 < len(end) <= MAX_PEER for end in ends):
        ends = [f"{number}. {end[: MAX_PEER - 4]}".strip() for number, end in enumerate(ends, 1)]
    return dict(zip(names, ends, strict=True))


def load_altered(session: Session, run: Run) -> dict[str, dict[str, dict[str, dict[str, str]]]]:
    """Return name of the alteration -> `altered_reviews` of the settings, for each peer of a run."""
    settings = Settings.model_validate(run.settings)
    reviews: dict[str, dict[str, dict[str, Turn]]] = {peer.name: {} for peer in settings.peers}
    for trace in events.turns_by_trace(session, run.study_id, [run.id]):
        for turn in trace.turns:
            if turn.step == "peer" and turn.reading is not None:
                criterion = turn.criterion or settings.criterion.name
                reviews[turn.speaker].setdefault(criterion, {})[trace.item] = turn
    found: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    named = peer_labels([*reviews])
    for how, (peer, by_criterion) in product(ALTERATIONS, reviews.items()):
        texts = {
            criterion: altered_reviews(of_items, how, settings_of_criterion(settings, criterion))
            for criterion, of_items in by_criterion.items()
        }
        if any(texts.values()):
            found[f"{named[peer]}: {how}"] = {peer: texts}
    return found


def load_influences(session: Session, run: Run, errors: PeerErrors, criterion: str = "") -> list[PeerInfluence]:
    """Return the influence of each peer on the chair's verdicts, as far as its experiments have run.

    The last rows are other chairs of the study in place of the run's, and a jury of all: the mean of their scores, or
    the answer of more than half. The items of hidden labels have no true value here.
    """
    name = criterion or errors.settings.criterion.name
    truths = {one.item: one.truth for one in errors.reviewed if one.item not in errors.hidden}
    whole = _chair_values(session, run.id, name)
    again = {
        next(iter((other.cell or {}).values()), ""): _chair_values(session, other.id, name)
        for other in _influence_runs(session, run)
    }
    others = _other_runs(session, run, name, lambda settings: settings.chair.spec.model)
    chairs = {f"chair {model}": _chair_values(session, other.id, name) for model, other in others.items()}
    if again and chairs:
        every = [whole, *chairs.values()]
        summarize = mean_value if errors.settings.kind == "score" else majority_value
        both = [item for item in whole if all(chair.get(item) is not None for chair in every)]
        jury = {item: summarize([value for chair in every if (value := chair[item]) is not None]) for item in both}
        again |= {**chairs, f"jury of {len(every)} chairs": jury}
    return [peer_influence(label, whole, values, truths) for label, values in again.items() if values]


def _influence_runs(session: Session, run: Run) -> list[Run]:
    """Return the runs of the experiments that ask the chair of a run again."""
    names = (influence_name(run.name, altered=altered) for altered in (False, True))
    found = [experiments.find(session, run.study_id, name) for name in names]
    return [other for one in found if one is not None for other in experiments.runs_of(session, one.id)]


def _other_runs(session: Session, run: Run, criterion: str, key: Callable[[Settings], Value]) -> dict[Value, Run]:
    """Return `key` of the settings -> the newest other review of the study with the same form of verdict.

    It has a verdict on at least half of the run's: reviews on other criteria or items would leave none in common.
    """
    own, found = Settings.model_validate(run.settings), dict[Value, Run]()
    judged = _readable(session, run, criterion)
    for other in find_runs(session, run.study_id):
        settings = None if INFLUENCE in other.name else valid_settings(other, Settings)
        if settings is None or settings.verdict != own.verdict or key(settings) in (key(own), *found):
            continue
        if 2 * len(judged & _readable(session, other, criterion)) >= len(judged):
            found[key(settings)] = other
    return found


def _readable(session: Session, run: Run, criterion: str) -> set[str]:
    """Return the items on which the chair has a verdict."""
    return {item for item, value in _chair_values(session, run.id, criterion).items() if value is not None}


@dataclass(frozen=True)
class FrontPoint:
    """The error and the cost of a chair with these peers and the first of its samples."""

    peers: str
    peer_count: int
    samples: int
    items: int
    error: Estimate
    """The mean distance from the true value; of answers the share that is wrong."""
    dollars: float | None
    """Of 1,000 traces; None if the price of a call is unknown."""
    tokens: float | None
    """Of a trace; samples of one request share its prompt."""
    on_front: bool = False
    """Whether no other point is at least as good for less, in dollars or, if a price is unknown, in tokens."""


def load_front(session: Session, run: Run, errors: PeerErrors, criterion: str = "") -> list[FrontPoint]:
    """Return the error and the cost of the run's chair by its peers and by how many of its samples are used.

    The runs are this one, those without one of its peers, and the newest ones of the study with the same chair and
    other peers; the items those with a true value on which every point has a verdict. No model is called: the first
    samples that are stored are used.
    """
    name = criterion or errors.settings.criterion.name
    others = [other for other in _influence_runs(session, run) if "altered_reviews" not in other.settings]
    by_peers = _other_runs(session, run, name, lambda settings: ", ".join(peer.name for peer in settings.peers))
    reviews = {other.id: Settings.model_validate(other.settings) for other in (run, *others, *by_peers.values())}
    chair = errors.settings.chair.spec.model
    reviews = {key: one for key, one in reviews.items() if one.chair.spec.model == chair}
    found: dict[tuple[str, int, int], dict[str, tuple[Value | None, list[Usage]]]] = {}
    for trace in events.turns_by_trace(session, run.study_id, list(reviews)):
        settings, own = reviews[trace.run], trace.of_criterion(name)
        peers, samples = ([turn for turn in own if turn.step == step] for step in ("peer", "chair"))
        for count in (one for one in SAMPLES if one <= len(samples)):
            used = samples[:count]
            value = summarize_samples([turn.reading for turn in used if turn.reading is not None], settings)
            key = (", ".join(peer.name for peer in settings.peers), len(settings.peers), count)
            found.setdefault(key, {}).setdefault(trace.item, (value, [turn.usage for turn in (*peers, *used)]))
    truths = {one.item: one.truth for one in errors.reviewed if one.item not in errors.hidden}
    items = [i for i in truths if all(i in of and of[i][0] is not None for of in found.values())]
    return _with_front(
        [_point(key, [by_item[i] for i in items], [truths[i] for i in items]) for key, by_item in found.items()]
    )


def _point(
    key: tuple[str, int, int], used: Sequence[tuple[Value | None, Sequence[Usage]]], truths: Sequence[Value]
) -> FrontPoint:
    errors = [error_of(value, truth) for (value, _), truth in zip(used, truths, strict=True) if value is not None]
    cost = RunCost.of_usages(len(used), [usage for _, usages in used for usage in usages])
    return FrontPoint(*key, len(used), mean_estimate(errors), cost.dollars_per_thousand, cost.tokens_per_trace)


def _with_front(points: Sequence[FrontPoint]) -> list[FrontPoint]:
    """Return the points, the cheapest first, each with whether it is on the front."""
    is_priced = all(point.dollars is not None for point in points)
    costs = {point: point.dollars if is_priced else point.tokens for point in points}
    known = {p: (cost, -p.error.value) for p, cost in costs.items() if cost is not None and p.error.value is not None}
    front = efficient(known)
    ordered = sorted(points, key=lambda point: (costs[point] is None, costs[point] or 0.0, point.error.value or 0.0))
    return [replace(point, on_front=point in front) for point in ordered]


def _chair_values(session: Session, run_id: int, criterion: str) -> dict[str, Value | None]:
    """Return item -> the verdict of the chair."""
    opinions = _opinions_by_trace(session, run_id, criterion)
    return {item: value for (_, item), staged in opinions.items() for _, stage, value in staged if stage == "verdict"}


def visible_labels(session: Session, study_id: int, target: Target, viewer: str | None) -> list[Label] | None:
    """Return all current labels of a target; None if the viewer has not labelled it. No viewer sees all."""
    newest = {label.annotator: label for label in labels.history(session, study_id, target)}
    current = [label for label in newest.values() if label.value is not None]
    if viewer is not None and all(label.annotator != viewer for label in current):
        return None
    return current


def verdict_targets(session: Session, trace_id: int) -> list[Target]:
    """Return the targets of a trace's verdict that are scores or answers."""
    query = (
        select(col(ItemRow.key), col(TargetRow.kind), col(TargetRow.criterion), col(TargetRow.part))
        .join(TargetRow, col(TargetRow.item_id) == col(ItemRow.id))
        .join(OpinionRow, col(OpinionRow.target_id) == col(TargetRow.id))
        .where(col(OpinionRow.trace_id) == trace_id, col(OpinionRow.stage) == "verdict")
        .where(col(TargetRow.kind).in_(("score", "answer")))
    )
    return [targets.from_columns(*row) for row in session.execute(query)]


def rated_items(session: Session, study_id: int, criterion: str) -> list[RatedItem]:
    """Return the items with one response and a label, with their mean score on a criterion, in the study's order."""
    values = _current_labels(session, study_id, "score", criterion)
    means: dict[str, float] = {
        str(item): fmean(float(value) for value in rows["value"]) for item, rows in values.groupby("item", sort=False)
    }
    scored = items.of_study(session, study_id) if means else []
    return [RatedItem(item, means[item.id]) for item in scored if item.id in means and len(item.responses) == 1]


def _opinions_by_trace(session: Session, run_id: int, criterion: str) -> dict[tuple[int, str], list[StagedOpinion]]:
    """Return (trace id, item) -> its opinions on a criterion in the order of the settings."""
    query = (
        select(
            col(OpinionRow.trace_id),
            col(ItemRow.key),
            col(OpinionRow.judge),
            col(OpinionRow.stage),
            col(OpinionRow.value),
        )
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .where(col(OpinionRow.run_id) == run_id, col(TargetRow.criterion) == criterion)
        .order_by(col(ItemRow.position), col(OpinionRow.id))
    )
    opinions: dict[tuple[int, str], list[StagedOpinion]] = defaultdict(list)
    for trace, item, judge, stage, value in session.execute(query):
        opinions[trace, item].append((judge, stage, value))
    return opinions


def _current_labels(session: Session, study_id: int, kind: str, criterion: str) -> "pd.DataFrame":
    """Return the current labels of whole items, as `labels.frame`."""
    values = labels.frame(session, study_id)
    return values[
        (values["kind"] == kind) & (values["criterion"] == report_criterion(criterion)) & (values["part"] == "")
    ]


def _true_values(session: Session, run: Run, settings: Settings, values: "pd.DataFrame") -> dict[str, Value]:
    """Return item -> its true value; see `load_errors`."""
    summarize = mean_value if settings.kind == "score" else majority_value
    has_references = settings.kind == "answer"
    all_items = items.of_study(session, run.study_id) if has_references else []
    truths: dict[str, Value] = reference_answers(all_items, expected_answer(settings)) if has_references else {}
    for item, rows in values.groupby("item", sort=False):
        value = summarize(rows["value"].tolist())
        if value is not None:
            truths[str(item)] = value
    key = (settings.kind, settings.criterion.name, "")
    for adjudication in labels.adjudications(session, run.study_id):
        target = adjudication.target
        if (target.kind, target.criterion, target.part) == key:
            truths[target.item] = adjudication.value
    return truths


def reference_answers(all_items: Iterable[Item], answer: Answer[Any]) -> dict[str, Value]:
    """Return item -> its reference answer, if it can be read: `B`, `B) 60 km/h`, `1,200`, `... #### 42`."""
    references = {item.id: item.reference for item in all_items if item.reference}
    texts = {item: f"Answer: {reference.rpartition('####')[2].strip()}" for item, reference in references.items()}
    return read_answers(texts, answer)


def read_answers(texts: Mapping[str, str], answer: Answer[Any]) -> dict[str, Value]:
    """Return item -> the answer in its text, without those that cannot be read."""
    answers: dict[str, Value] = {}
    for item, text in texts.items():
        try:
            answers[item] = answer.parse(text).value
        except UnreadableReply:
            continue
    return answers
