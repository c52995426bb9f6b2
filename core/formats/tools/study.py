"""What the writers of other tools' files share: each item with its labels, gold and judges' verdicts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.current_events import current_events
from core.formats.records import AdjudicationRecord, ItemRecord, LabelRecord, Record, ScaleRecord, TraceRecord
from core.items import Item
from core.labels import Adjudication, Kind, Label, Opinion, Scale, Target, Value
from core.trace import VerdictReached

KINDS: tuple[Kind, ...] = ("preference", "score", "answer", "likert", "aspect_quality")
"""Kinds that every annotation tool has a control for. AIUs and aspect weights have none."""
TIE = "tie"


@dataclass
class LabelledItem:
    """An item with what people and judges said about it."""

    item: Item
    labels: dict[tuple[str, Target], Label] = field(default_factory=dict)
    """The newest label of each annotator and target."""
    gold: dict[Target, Adjudication] = field(default_factory=dict)
    verdicts: list[tuple[str, Opinion]] = field(default_factory=list)
    """(run, verdict)."""


@dataclass
class ExportedStudy:
    """The items of a study in their order, and the scales of its questions."""

    items: dict[str, LabelledItem] = field(default_factory=dict)
    scales: dict[tuple[Kind, str], Scale] = field(default_factory=dict)
    left_out: int = 0
    """Labels, adjudications and verdicts of kinds that have no form in other tools."""

    def questions(self) -> dict[tuple[Kind, str], str]:
        """Return (kind, criterion) -> the question's name: the criterion, with the kind if several kinds have it."""
        keys = {(target.kind, target.criterion): None for entry in self.items.values() for target in _targets(entry)}
        names: dict[tuple[Kind, str], str] = {}
        for kind, criterion in keys:
            name = criterion or kind
            names[kind, criterion] = name if name not in names.values() else f"{name} ({kind})"
        return names


def _targets(entry: LabelledItem) -> Iterator[Target]:
    yield from (target for _, target in entry.labels)
    yield from entry.gold
    for _, opinion in entry.verdicts:
        yield Target(item=entry.item.id, kind=opinion.kind, criterion=opinion.criterion)


def collect(records: Iterable[Record]) -> ExportedStudy:
    """Return the items of records with their labels, gold and verdicts."""
    study = ExportedStudy()
    for record in records:
        match record:
            case ItemRecord(item=item):
                study.items[item.id] = LabelledItem(item)
            case ScaleRecord(kind=kind, criterion=criterion, scale=scale):
                study.scales[kind, criterion] = scale
            case LabelRecord(label=label) if _has_form(study, label.target.kind, label.target.part):
                study.items[label.target.item].labels[label.annotator, label.target] = label
            case AdjudicationRecord(ruling=ruling) if _has_form(study, ruling.target.kind, ruling.target.part):
                study.items[ruling.target.item].gold[ruling.target] = ruling
            case TraceRecord(run=run, item=key):
                study.items[key].verdicts += [(run, opinion) for opinion in _verdicts(study, record)]
    for entry in study.items.values():
        entry.labels = {key: label for key, label in entry.labels.items() if label.value is not None}
    return study


def _has_form(study: ExportedStudy, kind: Kind, part: str) -> bool:
    has_form = kind in KINDS and not part
    study.left_out += not has_form
    return has_form


def _verdicts(study: ExportedStudy, record: TraceRecord) -> Iterator[Opinion]:
    for event in current_events(record.events):
        if isinstance(event, VerdictReached):
            for opinion in event.verdict.opinions:
                if opinion.stage == "verdict" and _has_form(study, opinion.kind, opinion.part):
                    yield opinion


def response_name(number: int) -> str:
    """Return the name of a response's field: "response_1"."""
    return f"response_{number}"


def item_fields(item: Item) -> dict[str, str]:
    """Return an item's texts under usual names, which the readers recognise."""
    fields = {"prompt": item.prompt, "context": item.context, "reference": item.reference}
    texts = {name: text for name, text in fields.items() if text}
    return texts | {response_name(number): response.text for number, response in enumerate(item.responses, 1)}


def item_names(item: Item) -> dict[str, str]:
    """Return an item's scenario, group and systems under usual names."""
    names = {"scenario": item.scenario, "group": item.group}
    for number, response in enumerate(item.responses, 1):
        names[f"system_{number}"] = response.system
    return {name: text for name, text in names.items() if text}


def choice_text(kind: Kind, value: Value) -> str | int | float:
    """Return a label's value as a tool's control holds it."""
    if kind == "preference" and isinstance(value, int):
        return response_name(value) if value else TIE
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return str(value).lower()
    return value
