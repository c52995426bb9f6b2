"""The rows of an export of gold: people's decisions with their origin, and judges only if the owner selects them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations
from typing import TextIO

from sqlalchemy import ColumnElement, Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.aius import apply_edits
from core.critiques import RECALL_SEPARATOR
from core.errors import TiebreakError
from core.formats.gold import GoldRow, write_csv
from core.items import Item, target_item
from core.labels import Gold, Label, Scale, Target, Value, judges_gold, policy_gold
from core.protocols.critique_baselines.protocol import QUALITY, pair_name
from core.verdicts import contention
from storage.db import connections
from storage.db.tables import ItemRow, OpinionRow, RunRow, TargetRow, TraceRow
from storage.labels import labels, targets
from storage.reports import certificates
from storage.runs import aius, runs
from storage.studies import items, studies, transcripts
from storage.transfer import participation

AIU_KINDS = ("aiu_precision", "aiu_recall")
# Targets whose items and labels are in memory at once.
BATCH = items.MAX_KEYS_IN_QUERY
Scales = Mapping[tuple[str, str], Scale]
# Target -> run or judge -> value; None for no verdict.
Judged = Mapping[Target, Mapping[str, Value | None]]


@dataclass(frozen=True)
class GoldOptions:
    """The options of an export of gold."""

    judges: tuple[str, ...] = ()
    """Runs whose agreed verdicts become gold for unlabelled targets, with the source "judges"."""
    judge_columns: bool = False
    """Whether columns with the judges' verdicts and opinions are added."""
    pseudonyms: bool = False
    """Whether annotators have pseudonyms: the same ones in every export of the study."""
    policy: Mapping[Target, tuple[Value, str]] = field(default_factory=dict)
    """The verdicts that stand without a person become gold for unlabelled targets, with the source "policy": see
    `storage.reports.certificates.standing_values`."""


def verdict_runs(session: Session, study: studies.Study) -> list[str]:
    """Return the names of the runs that came to verdicts, oldest first."""
    judged = select(col(OpinionRow.run_id)).where(
        col(OpinionRow.study_id) == study.id, col(OpinionRow.stage) == "verdict"
    )
    query = select(col(RunRow.name)).where(col(RunRow.id).in_(judged)).order_by(col(RunRow.id))
    return list(session.scalars(query))


def write(
    engine: Engine, study: studies.Study, stream: TextIO, options: GoldOptions, *, with_policy: bool = False
) -> Counter[str]:
    """Write the gold of a study as CSV, with the verdicts that stand by its policies if wanted; return source -> rows.

    Raises TiebreakError as `gold_rows` and `standing_values` do.
    """
    if with_policy:
        options = replace(options, policy=certificates.standing_values(engine, study))
    with connections.reading(engine) as session:
        columns = verdict_runs(session, study) if options.judge_columns else None
        return write_csv(gold_rows(session, study, options), stream, columns, with_policy=with_policy)


def gold_rows(session: Session, study: studies.Study, options: GoldOptions | None = None) -> Iterator[GoldRow]:
    """Yield the gold of a study, in the order of its items.

    Raises TiebreakError for a run that the study does not have.
    """
    options = options or GoldOptions()
    known = {run.name for run in runs.of_study(session, study.id)}
    unknown = [name for name in options.judges if name not in known]
    if unknown:
        raise TiebreakError(
            f"There is no run {unknown[0]!r} in this study; there are {', '.join(sorted(known)) or 'none'}."
        )
    rename = participation.pseudonyms(session, study.id) if options.pseudonyms else str
    verdicts = _judged_values(session, study.id, "verdict") if options.judges or options.judge_columns else {}
    opinions = _judged_values(session, study.id, "last") if options.judge_columns else {}
    agreed = _agreed(session, study.id, options.judges)
    for row in _rows(session, study, _with_judges(session, study.id, agreed, options.policy)):
        renamed, target = _rename(row, rename), row.gold.target
        if options.judge_columns:
            renamed = replace(renamed, verdicts=verdicts.get(target, {}), opinions=opinions.get(target, {}))
        if row.gold.source == "policy":
            renamed = replace(renamed, policy=options.policy[target][1])
        yield renamed


def _rows(session: Session, study: studies.Study, golds: Iterator[Gold]) -> Iterator[GoldRow]:
    """Yield the rows of targets; the items and labels of some of them are in memory at once."""
    export = _GoldExport(session, study)
    while batch := list(islice(golds, BATCH)):
        export.load({gold.target.item for gold in batch})
        yield from map(export.row, batch)


def _with_judges(
    session: Session,
    study_id: int,
    agreed: Mapping[Target, Mapping[str, Value]],
    policy: Mapping[Target, tuple[Value, str]],
) -> Iterator[Gold]:
    """Yield people's gold, and the judges' for the targets that people neither labelled nor adjudicated."""
    if not agreed and not policy:
        yield from labels.gold_labels(session, study_id)
        return
    by_people = {gold.target: gold for gold in labels.gold_labels(session, study_id)}
    for _, target in targets.of_study(session, study_id):
        if target in by_people:
            yield by_people[target]
        elif target in policy:
            yield policy_gold(target, *policy[target])
        elif target in agreed:
            yield judges_gold(target, agreed[target])


@dataclass
class _TargetHistory:
    """The labels of a target that an export shows."""

    blind: dict[str, Value] = field(default_factory=dict)
    """Annotator -> the last value before judges or other annotators were seen."""
    final: dict[str, Label] = field(default_factory=dict)
    """Annotator -> the newest label, unless it was withdrawn."""

    def add(self, label: Label) -> None:
        """Add a later label."""
        self.final.pop(label.annotator, None)
        if label.value is not None:
            self.final[label.annotator] = label
            if label.blind:
                self.blind[label.annotator] = label.value

    def values(self) -> dict[str, Value]:
        """Return annotator -> the newest value, by the annotators' names."""
        return {name: label.value for name, label in sorted(self.final.items()) if label.value is not None}

    def passages(self, texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        """Yield (annotator, text, passage); positions in place of a passage in a text that is not the item's."""
        for name, label in sorted(self.final.items()):
            for place in label.evidence:
                text = texts.get(place.block)
                yield name, place.block, f"{place.start}-{place.end}" if text is None else text[place.start : place.end]


class _GoldExport:
    """The data common to the rows of some items of one study."""

    def __init__(self, session: Session, study: studies.Study) -> None:
        self.session, self.study = session, study
        self.scales: Scales = dict(studies.scales(session, study.id))  # type: ignore[arg-type]
        self.adjudications = labels.newest_adjudications(session, study.id)

    def load(self, keys: Collection[str]) -> None:
        """Load the items with these keys and their labels, in place of those before."""
        found = items.by_keys(self.session, self.study.id, keys)
        self.items = transcripts.with_texts(self.session, self.study.id, found)
        edits = aius.edits_by_item(self.session, self.study.id, self.items.keys())
        self.aiu_texts = {  # also of AIUs that were edited away: they may have labels
            (key, id): aiu.text
            for key, item in self.items.items()
            for count in range(len(edits.get(key, ())) + 1 if item.critiques else 0)
            for id, aiu in apply_edits(item, edits.get(key, [])[:count]).aius().items()
        }
        self.histories: dict[Target, _TargetHistory] = defaultdict(_TargetHistory)
        for label in labels.of_items(self.session, self.study.id, keys):
            self.histories[label.target].add(label)
        self.step_lines = transcripts.step_lines(self.session, self.study.id, self.items, self.histories)

    def row(self, gold: Gold) -> GoldRow:
        """Return the row of a target."""
        target, item = gold.target, target_item(self.items[gold.target.item], gold.target)
        history = self.histories.get(target, _TargetHistory())
        adjudication = self.adjudications.get(target)
        newest = max((label.at for label in history.final.values() if label.at is not None), default=None)
        return GoldRow(
            self.study.name,
            gold,
            item.scenario or "",
            item.group or "",
            tuple(response.system or "" for response in item.responses),
            self.part_text(target, history),
            contention(history.values().values(), self.scales.get((target.kind, target.criterion))),
            dict(sorted(history.blind.items())),
            history.values(),
            adjudication.adjudicator if adjudication else "",
            adjudication.rule if adjudication else "",
            adjudication.reason if adjudication else gold.reason,
            adjudication.at if adjudication else newest,
            tuple(sorted({label.guidelines for label in history.final.values() if label.guidelines is not None})),
            tuple(history.passages(_texts(item, target))),
        )

    def part_text(self, target: Target, history: _TargetHistory) -> str:
        """Return the text of an AIU or of a step, or the names of the weighed aspects."""
        if target in self.step_lines:
            return self.step_lines[target]
        if target.kind in AIU_KINDS:
            aiu, _, critique = target.part.partition(RECALL_SEPARATOR)
            text = self.aiu_texts.get((target.item, aiu), "")
            return f"{text} (in {critique})" if critique and text else text
        weights = Target.model_construct(item=target.item, kind="aspect_weights", criterion="", part=target.part)
        known = history if target.kind == "aspect_weights" else self.histories.get(weights, _TargetHistory())
        return ", ".join(next((label.value for label in known.final.values() if isinstance(label.value, dict)), ()))


def _texts(item: Item, target: Target) -> dict[str, str]:
    """Return the texts of a target as evidence names them."""
    texts = {"question": item.prompt, "context": item.context or "", "reference": item.reference or ""}
    texts |= {f"response-{number}": response.text for number, response in enumerate(item.responses, 1)}
    if target.criterion != QUALITY:
        return texts
    critiques = item.critiques or ()
    rated = next((critique.text for critique in critiques if critique.id == target.part), None)
    texts |= {} if rated is None else {"critique": rated}
    pairs = (pair for pair in permutations(critiques, 2) if pair_name(*pair) == target.part)
    return texts | {f"critique-{number}": critique.text for pair in pairs for number, critique in enumerate(pair, 1)}


def _opinions(
    session: Session, study_id: int, stage: str, *conditions: ColumnElement[bool]
) -> Iterator[tuple[Target, str, str, Value | None]]:
    """Yield (target, run, judge, value) of the opinions of one stage, oldest first."""
    query = (
        select(col(RunRow.name), col(OpinionRow.judge), col(OpinionRow.value), col(ItemRow.key), col(TargetRow.kind))
        .add_columns(col(TargetRow.criterion), col(TargetRow.part))
        .select_from(OpinionRow)
        .join(TargetRow, col(TargetRow.id) == col(OpinionRow.target_id))
        .join(ItemRow, col(ItemRow.id) == col(TargetRow.item_id))
        .join(RunRow, col(RunRow.id) == col(OpinionRow.run_id))
        .join(TraceRow, col(TraceRow.id) == col(OpinionRow.trace_id))
        .where(col(OpinionRow.study_id) == study_id, col(OpinionRow.stage) == stage, *conditions)
        .order_by(col(OpinionRow.id))
    )
    for run, judge, value, *key in session.execute(query):
        yield targets.from_columns(*key), run, judge, value


def _judged_values(session: Session, study_id: int, stage: str) -> Judged:
    """Return target -> name -> value. The name of a verdict is its run, that of a last opinion "judge (run)"."""
    values: dict[Target, dict[str, Value | None]] = defaultdict(dict)
    for target, run, judge, value in _opinions(session, study_id, stage):
        values[target][run if stage == "verdict" else f"{judge} ({run})"] = value
    return values


def _agreed(session: Session, study_id: int, names: Sequence[str]) -> dict[Target, dict[str, Value]]:
    """Return target -> run -> verdict, of the runs called `names` and without those that the run disputed."""
    agreed: dict[Target, dict[str, Value]] = defaultdict(dict)
    chosen = (targets.own_outcome() != "disputed", col(RunRow.name).in_(names))
    for target, run, _, value in _opinions(session, study_id, "verdict", *chosen) if names else ():
        if value is not None:
            agreed[target][run] = value
    return agreed


def _rename(row: GoldRow, rename: Callable[[str], str]) -> GoldRow:
    final = dict(sorted((rename(name), value) for name, value in row.final.items()))
    blind = dict(sorted((rename(name), value) for name, value in row.blind.items()))
    evidence = tuple((rename(name), block, passage) for name, block, passage in row.evidence)
    return replace(row, final=final, blind=blind, adjudicator=rename(row.adjudicator), evidence=evidence)
