"""Reads the verdicts of judges in a table; they become recorded runs, one trace for each item."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from core.aspects import aspect_set_id, normalize_weights
from core.errors import FileFormatError
from core.formats.mapping.fields import MISSING, ValueSource, source_name
from core.formats.mapping.labels import Declared, cell_of, declare, lacks_mark, part_of, ranked_pairs
from core.formats.mapping.mapping import JudgeBlock, Ranking, WeightsBlock
from core.formats.mapping.rows import expect_number, is_empty, parse_label, parse_list, parse_name
from core.formats.mapping.scope import Scope, current_omissions
from core.formats.records import LabelRecord, Record, RunRecord, TraceRecord
from core.formats.validation_errors import join_names, quote_value
from core.labels import Label, Opinion, Scale, Target, Value
from core.trace import Outcome, Turn, TurnCompleted, Usage, Verdict, VerdictReached
from core.verdicts import choice_of_orders, scale_length

CHANGED_WITH_ORDER = "the choice changed with the order of the responses"
# Kind of verdicts -> the protocol of their run; of others it is single-score.
PROTOCOLS = {"preference": "single-judge", "aspect_weights": "dna_baselines"}
Scales = Mapping[tuple[str, str | None], Scale]
# Judge, stage, kind, criterion and part.
OpinionKey = tuple[str, ...]
Given = tuple[Opinion, Sequence[Turn]]


@dataclass
class RecordedRun:
    """The judgements of one run."""

    protocol: str
    criterion: str
    models: dict[str, str] = field(default_factory=dict)
    """Judge -> its model, "" if it is not known."""
    given: dict[str, dict[OpinionKey, Given]] = field(default_factory=dict)
    """Item -> opinion with the turns behind it."""


class JudgeReader:
    """Collects verdicts; their runs are yielded at the end, because an item may have several rows."""

    def __init__(
        self, blocks: Sequence[JudgeBlock], scales: Scales, declared: Declared | None = None, *, repeats: bool = False
    ) -> None:
        """`scales` are those of labels and gold by (kind, criterion), None for one that differs between rows.

        Scores are converted to them.

        With `repeats`, the rows of an item, one for each label, repeat a judge's verdict, which has to be the same.
        """
        self.blocks, self.scales, self.repeats = blocks, scales, repeats
        self.declared = {} if declared is None else declared
        self.recorded: dict[str, RecordedRun] = {}
        self.omissions = current_omissions()

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the criteria and scales that only judges have, and collect the verdicts of one row."""
        for block in self.blocks:
            if block.each and block.criterion_field is None:
                yield from declare(self.declared, block, block.criterion, self._scale(block, block.criterion))
            for element in scope.of_block(block):
                criterion = element.criterion(block)
                yield from declare(self.declared, block, criterion, self._scale(block, criterion))
                if block.ranking is not None:
                    self._read_ranking(block, block.ranking, element, item, criterion)
                for source in block.value_sources():
                    cell = element.cell(source)
                    if not is_empty(cell) or ("" in block.values and cell is not MISSING):
                        self._read_verdict(block, element, item, criterion, source)
                    else:
                        is_half = block.swapped is not None and not is_empty(element.get(block.swapped))
                        self.omissions.verdicts += is_half or lacks_mark(element, source)

    def _scale(self, block: JudgeBlock, criterion: str) -> Scale:
        """Return the scale of people's values of a criterion; without them the judge's own."""
        of_people = self.scales.get((block.kind, criterion))
        if of_people is None and block.criterion_field is not None:
            of_people = self.scales.get((block.kind, None))
        return of_people or block.scale

    def _read_ranking(self, block: JudgeBlock, ranking: Ranking, scope: Scope, item: str, criterion: str) -> None:
        """Add the preference of each pair of ranked responses."""
        judge = scope.name(block.judge)
        model = (scope.resolve(block.model) if block.model else None) or ""
        pairs = list(ranked_pairs(scope, ranking, block.values))
        ranked = ", ".join(f"{part or '1-2'}: {value}" for part, value in pairs)
        reply = scope.reason(block.reason) or ranked
        shared = {"round": 0, "model": model, "criterion": criterion}
        turns = [Turn(speaker=judge, step="ranking", reply=reply, reading=ranked, **shared)]
        fields = {"kind": "preference", "judge": judge, "stage": block.stage, "criterion": criterion}
        for part, value in pairs:
            self.add(block.run or judge, item, Opinion(part=part, value=value, **fields), turns, scope.line)
            turns = []

    def runs(self) -> Iterator[Record]:
        """Yield every run, and its traces."""
        for name, run in self.recorded.items():
            yield RunRecord(name=name, protocol=run.protocol, criterion=run.criterion, settings=_settings(run))
            for item, given in run.given.items():
                verdict = _verdict(name, [*given.values()])
                all_turns = chain.from_iterable(turns for _, turns in given.values())
                turns = [TurnCompleted(ask=ask, turn=turn) for ask, turn in enumerate(all_turns)]
                yield TraceRecord(run=name, item=item, events=(*turns, VerdictReached(verdict=verdict)))

    def add(self, run: str, item: str, opinion: Opinion, turns: Sequence[Turn], line: int) -> None:
        """Add an opinion with the turns behind it; raises FileFormatError for a second, or different, one."""
        protocol = PROTOCOLS.get(opinion.kind, "single-score")
        recorded = self.recorded.setdefault(run, RecordedRun(protocol, opinion.criterion))
        if recorded.criterion != opinion.criterion:
            recorded.criterion = ""
        for turn in turns[:1]:
            recorded.models.setdefault(opinion.judge, turn.model)
        own = recorded.given.setdefault(item, {})
        key = (opinion.judge, opinion.stage, opinion.kind, opinion.criterion, opinion.part)
        if key in own and self.repeats and own[key][0] == opinion:
            return
        if key in own:
            message = f"expected one verdict, and {opinion.judge!r} already has one on item {item!r}"
            if self.repeats:
                message = f"expected the verdict of {opinion.judge!r} on item {item!r} to be the same in all its rows"
                message = f"{message}, and it differs"
            raise FileFormatError(message, line=line)
        own[key] = (opinion, turns)
        self.omissions.verdicts += opinion.value is None

    def _read_verdict(self, block: JudgeBlock, scope: Scope, item: str, criterion: str, source: ValueSource) -> None:
        judge = block.columns[str(source)] if block.columns else scope.name(block.judge)
        cell, order = scope.cell(source), _shown_order(block, scope)
        if (part := part_of(scope, block, self.omissions)) is None:
            return
        named = cell_of(scope, block, cell, source_name(source), self.omissions)
        raw = parse_label(named, block.scale, block.values, scope.line, source_name(source))
        reply = scope.reason(block.reason) or ("" if is_empty(cell) else str(cell))
        model = (scope.resolve(block.model) if block.model else None) or ""
        usage = Usage(dollars=scope.amount(block.cost, "dollars"))
        step = "choice" if block.kind == "preference" else "rating"
        shared = {"speaker": judge, "step": step, "round": 0, "model": model, "criterion": criterion}
        value = _own_number(raw, order) if block.as_shown else raw
        problem = "" if value is not None else f"the file has no verdict: {quote_value(cell)}"
        turns = [Turn(**shared, reply=reply, reading=value, problem=problem, shown=order, usage=usage)]
        if block.swapped and not is_empty(scope.get(block.swapped)):
            other_cell = scope.get(block.swapped)
            other = parse_label(other_cell, block.scale, block.values, scope.line, block.swapped)
            other = _own_number(other, (2, 1))
            other_problem = "" if other is not None else f"the file has no verdict: {quote_value(other_cell)}"
            turns[0] = turns[0].model_copy(update={"shown": order or (1, 2)})
            turns.append(Turn(**shared, reply=str(other_cell), reading=other, problem=other_problem, shown=(2, 1)))
            if block.orders == "JudgeBench":
                agreed = choice_of_orders(value, other)
                value, problem = agreed, "" if agreed is not None else problem or other_problem or CHANGED_WITH_ORDER
            elif value != other and value is not None:
                value, problem = None, other_problem or CHANGED_WITH_ORDER
        converted = convert(value, block.scale, self._scale(block, criterion))
        self.omissions.converted += converted != value
        opinion = Opinion(
            kind=block.kind, judge=judge, stage=block.stage, value=converted, criterion=criterion, problem=problem,
            part=part,
        )  # fmt: skip
        path = block.confidence.get(str(source)) if isinstance(block.confidence, dict) else block.confidence
        if path:
            confidence = expect_number(scope.get(path), scope.line, path, "a confidence")
            opinion = opinion.model_copy(update={"confidence": confidence})
        self.add(block.run or judge, item, opinion, turns, scope.line)


def convert(value: Value | None, scale: Scale, onto: Scale) -> Value | None:
    """Return a score on another scale: linearly, so the lowest score is the lowest and the highest the highest."""
    length, new_length = scale_length(scale), scale_length(onto)
    if not length or not new_length or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    (worst, best), (new_worst, new_best) = _ends(scale), _ends(onto)
    if (worst, best) == (new_worst, new_best):
        return value
    return new_worst + (value - worst) / (best - worst) * (new_best - new_worst)


def _ends(scale: Scale) -> tuple[float, float]:
    """Return the numbers at the beginning and the end of a scale: of categories from 5 to 1, 1 is the best."""
    if scale.low is not None and scale.high is not None:
        return float(scale.low), float(scale.high)
    numbers = [float(category) for category in scale.categories if isinstance(category, int | float)]
    return numbers[0], numbers[-1]


def _shown_order(block: JudgeBlock, scope: Scope) -> tuple[int, ...]:
    if block.order is None or is_empty(scope.get(block.order)):
        return ()
    text = parse_name(scope.get(block.order), scope.line, block.order)
    if text not in block.order_values:
        message = f"expected one of {join_names(list(block.order_values))}, not {quote_value(text)}; see `order_values`"
        raise FileFormatError(message, line=scope.line, field=block.order)
    return block.order_values[text]


def _own_number(value: Value | None, order: tuple[int, ...]) -> Value | None:
    """Return the response's own number for a position in the order shown; a tie is a tie."""
    return order[value - 1] if isinstance(value, int) and 1 <= value <= len(order) else value


def _settings(run: RecordedRun) -> dict[str, Any]:
    """Return the known fields of the judges, as a protocol's settings."""
    judges = [{"name": name, "spec": {"model": model or name}} for name, model in run.models.items()]
    criterion = {"criterion": {"name": run.criterion}} if run.criterion else {}
    return criterion | ({"judge": judges[0]} if len(judges) == 1 else {"judges": judges})


def _verdict(run: str, given: Sequence[Given]) -> Verdict:
    """Return the verdict of a trace: the one in the file, otherwise the value on which the last opinions agree.

    It is disputed if a judge's readings differ by the order of the responses, so that it has no value.
    """
    opinions = [opinion for opinion, _ in given]
    own = [opinion for opinion in opinions if opinion.stage == "verdict"]
    derived = [] if own else list(_derived(run, opinions))
    verdicts = own or derived
    values = [opinion.value for opinion in verdicts]
    is_disputed = (derived and None in values) or any(
        opinion.value is None and len({turn.reading for turn in turns} - {None}) > 1
        for opinion, turns in given
        if opinion.stage == "verdict"
    )
    outcome: Outcome = "disputed" if is_disputed else "agreed" if any(v is not None for v in values) else "no_verdict"
    reason = next((opinion.problem for opinion in verdicts if opinion.problem), "")
    value = values[0] if len(values) == 1 else None
    return Verdict(outcome=outcome, value=value, reason=reason, opinions=(*opinions, *derived))


def _derived(run: str, opinions: Sequence[Opinion]) -> Iterator[Opinion]:
    """Yield the verdict of a panel on each target: the value of all its last opinions."""
    last = [opinion for opinion in opinions if opinion.stage == "last"] or list(opinions)
    for key in dict.fromkeys((opinion.kind, opinion.criterion, opinion.part) for opinion in last):
        members = [opinion for opinion in last if (opinion.kind, opinion.criterion, opinion.part) == key]
        first = members[0]
        agreed = all(member.value == first.value for member in members) and first.value is not None
        yield first.model_copy(
            update={
                "judge": run,
                "stage": "verdict",
                "value": first.value if agreed else None,
                "problem": "" if agreed else "the judges did not agree",
                "confidence": None,
            }
        )


# Reads aspect weights of a table: a field for each aspect, or a list of aspects and one of weights in each row.

KIND = "aspect_weights"


class WeightsReader:
    """Reads the weights of one annotator or judge in each row."""

    def __init__(self, block: WeightsBlock, judges: JudgeReader) -> None:
        self.block, self.judges = block, judges
        self.labelled: set[tuple[str, str, str]] = set()

    def read(self, scope: Scope, item: str) -> Iterator[Record]:
        """Yield the label of a row; a judge's weights are collected. Weights that are all empty or 0 are none."""
        block = self.block
        weights = self._weights(scope)
        if weights is None:
            return
        part = aspect_set_id([*weights])
        rater = scope.name(block.annotator if block.judge is None else block.judge)
        if block.judge is not None:
            opinion = Opinion(kind=KIND, judge=rater, stage="verdict", value=weights, part=part)
            turn = Turn(speaker=rater, step="weights", round=0, model="", reply=str(weights), reading=weights)
            self.judges.add(rater, item, opinion, [turn], scope.line)
            return
        if (item, rater, part) in self.labelled:
            message = f"expected one set of weights, and {rater!r} already has one on item {item!r}"
            raise FileFormatError(message, line=scope.line)
        self.labelled.add((item, rater, part))
        target = Target(item=item, kind=KIND, part=part)
        yield LabelRecord(label=Label(target=target, annotator=rater, value=weights))

    def _weights(self, scope: Scope) -> dict[str, float] | None:
        raw = {}
        for aspect, (cell, path) in self._cells(scope).items():
            text = cell.strip().removesuffix("%") if isinstance(cell, str) else cell
            raw[aspect] = expect_number(text, scope.line, path, "a weight") or 0.0
        if not any(raw.values()):
            return None
        try:
            return dict(zip(raw, normalize_weights([*raw.values()]), strict=True))
        except ValueError as error:
            raise FileFormatError(f"expected weights: {error}", line=scope.line) from None

    def _cells(self, scope: Scope) -> dict[str, tuple[Any, str]]:
        """Return aspect -> its cell, and the field that it is in."""
        block = self.block
        if block.value is None:
            return {aspect: (scope.get(path), path) for aspect, path in block.aspects.items()}
        weights = scope.get(block.value)
        if isinstance(weights, dict):
            return {str(aspect): (weight, block.value) for aspect, weight in weights.items()}
        if block.aspects_field is None:
            message = "expected an object aspect -> weight; add `aspects_field` if the weights are a list"
            raise FileFormatError(message, line=scope.line, field=block.value)
        aspects = parse_list(scope.get(block.aspects_field), scope.line, block.aspects_field, block.separator)
        values = parse_list(weights, scope.line, block.value, block.separator)
        if not values:
            return {}
        names = [str(parse_name(aspect, scope.line, block.aspects_field)) for aspect in aspects]
        if len(names) != len(values) or len(set(names)) < len(names):
            message = f"expected one weight for each of {len(names)} different aspects, and there are {len(values)}"
            raise FileFormatError(message, line=scope.line, field=block.value)
        return {name: (value, block.value) for name, value in zip(names, values, strict=True)}
