"""The desk for AIUs: a critique with its AIUs marked in place, one question at a time, all of it by keys."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.labels import Target
from pages.parts import assets, colours
from pages.watch.parts.critique import marked_segments
from storage.labelling.critique_workbench import CritiqueTask, JudgeAnswer, Question

_aius = st.components.v2.component(
    "aius",
    html='<div class="root"></div>',
    css=assets.read("parts/marked.css", "label/parts/aius.css"),
    js=assets.read("parts/marked.js", "label/parts/aius_parts.js", "label/parts/aius.js"),
)
RATING = ("#7A8794",) * 7
ASKED = {
    "aiu_precision": ("Is it factual?", "Factual", "Not factual"),
    "aiu_recall": ("Does the critique cover it?", "Covered", "Not covered"),
}


@dataclass(frozen=True)
class Did:
    """One thing that was done at the desk; `told` is what came with it."""

    number: float
    unit: str
    action: str
    told: dict[str, Any]


@dataclass(frozen=True)
class Around:
    """What the desk shows beside the critique."""

    name: str
    """The piece of work, as the browser knows it."""
    acknowledged: float
    problem: str
    skipped: bool
    note: str
    can: dict[str, bool]
    waits: bool
    """Whether judges' answers are shown after one's own."""
    adopts: bool
    """Whether a run has AIUs that can be taken over."""


def show(sheet: CritiqueTask, around: Around, do: Callable[[list[Did]], None]) -> None:
    """The desk; `do` is called with what was done since the last time, oldest first."""

    def told() -> None:
        act = st.session_state["aius"].act
        if act is not None:
            do([_did(one) for one in act["actions"]])

    with st.container(key="aiu-desk"):
        _aius(key="aius", data=_data(sheet, around), on_act_change=told)


def name_of(target: Target) -> str:
    """A target as the browser knows it."""
    return target.model_dump_json()


def _did(told: dict[str, Any]) -> Did:
    return Did(float(told["id"]), str(told["unit"]), str(told["action"]), told)


def _data(sheet: CritiqueTask, around: Around) -> dict[str, Any]:
    held = sheet.reference
    return {
        "unit": around.name,
        "acked": around.acknowledged,
        "problem": around.problem,
        "skipped": around.skipped,
        "note": around.note,
        "can": around.can,
        "waits": around.waits,
        "adopts": around.adopts,
        "texts": [
            {
                "id": sheet.critique.id,
                "title": "Critique",
                "kind": "aiu_precision",
                "segments": marked_segments(sheet.critique),
            },
            *(
                [
                    {
                        "id": held.id,
                        "title": "Reference critique",
                        "kind": "aiu_recall",
                        "segments": marked_segments(held),
                    }
                ]
                if held
                else []
            ),
        ],
        "rows": [_row(question) for question in sheet.questions],
    }


def _row(question: Question) -> dict[str, Any]:
    row: dict[str, Any] = {
        "key": name_of(question.target),
        "kind": question.target.kind,
        "aiu": question.aiu.id if question.aiu else "",
        "number": question.number,
        "own": question.value,
        "value": question.value,
        "flagged": question.flagged,
        "notAtomic": question.not_atomic,
        "judges": [_said(one) for one in question.judges],
    }
    if question.criterion is not None:
        levels = [line.partition(" - ") for line in question.criterion.rubric]
        return row | {
            "text": f"Rate the {question.criterion.name}",
            "question": question.criterion.definition,
            "options": [
                _option(str(n), n, f"{name}: {words}", RATING[n - 1]) for n, (name, _, words) in enumerate(levels, 1)
            ],
        }
    asked, yes, no = ASKED[question.target.kind]
    return row | {
        "text": question.aiu.text if question.aiu else "",
        "question": asked,
        "options": [_option("1", True, yes, colours.TRUE), _option("2", False, no, colours.FALSE)],
    }


def _option(key: str, value: bool | int, label: str, colour: str) -> dict[str, Any]:
    return {"key": key, "value": value, "label": label, "colour": colour, "ink": colours.text_colour(colour)}


def _said(one: JudgeAnswer) -> dict[str, Any]:
    return {
        "name": one.judge,
        "value": one.value,
        "problem": one.problem,
        "evidence": one.evidence,
        "reasoning": one.reasoning,
    }
