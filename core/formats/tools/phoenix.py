"""Annotations as Phoenix's routes `/v1/span_annotations` and `/v1/trace_annotations` take them.

A label about a step is about the last span that the step stands for, one about the whole about the trace, whose id is
that of the item. Annotators have their name as identifier, so that they do not replace each other's annotations.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from core.formats.records import Record
from core.formats.tools.answers import ExportedStudy, Statement, collect, question_name
from core.items import Item
from core.transcripts import FIRST_WRONG_STEP, step_of


def write(records: Iterable[Record], stream: TextIO) -> int:
    """Write the annotations of spans and of traces; returns the number of labels that have no form here.

    Those are also labels of items that were not recorded as traces, and about steps that stand for no span.
    """
    study = collect(records)
    annotations: dict[str, list[dict[str, Any]]] = {"span_annotations": [], "trace_annotations": []}
    for item in study.items.values():
        spans = _spans(study, item)
        for own in study.statements(item.id):
            step = _step(own)
            if step is None and spans:
                annotations["trace_annotations"].append({"trace_id": item.id, **_annotation(own)})
            elif step is not None and step in spans:
                annotations["span_annotations"].append({"span_id": spans[step], **_annotation(own)})
            else:
                study.left_out += 1
    json.dump(annotations, stream, ensure_ascii=False, indent=1, allow_nan=False)
    stream.write("\n")
    return study.left_out


def _step(own: Statement) -> tuple[str, int] | None:
    """Return the response and the step that a statement is about; None for the whole."""
    if own.criterion == FIRST_WRONG_STEP and isinstance(own.value, int | float) and own.value:
        return own.part, int(own.value)
    return step_of(own.part)


def _spans(study: ExportedStudy, item: Item) -> Mapping[tuple[str, int], str]:
    """Return the response, "" for the only one that has a transcript, and step -> the id of its last span."""
    found: dict[tuple[str, int], str] = {}
    digests = [(str(number), own.transcript) for number, own in enumerate(item.responses, 1) if own.transcript]
    for number, digest in digests:
        for part in study.transcripts[digest].parts if digest in study.transcripts else ():
            if part.spans:
                found[number, part.number] = part.spans[-1]
                if len(digests) == 1:
                    found["", part.number] = part.spans[-1]
    return found


def _annotation(own: Statement) -> dict[str, Any]:
    is_number = isinstance(own.choice, int | float) and own.criterion != FIRST_WRONG_STEP
    label = None if is_number else FIRST_WRONG_STEP if own.criterion == FIRST_WRONG_STEP and own.value else own.choice
    return {
        "name": question_name(own.subject if step_of(own.part) is None else (*own.subject[:2], "")),
        "annotator_kind": "LLM" if own.source == "verdict" else "HUMAN",
        "result": {
            "label": None if label is None else str(label),
            "score": own.choice if is_number else None,
            "explanation": own.reason or None,
        },
        "metadata": {"source": own.source},
        "identifier": own.who,
    }
