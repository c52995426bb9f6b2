"""Suggests a mapping for a table from the names of its columns."""

import re
from collections.abc import Sequence
from typing import Any

Draft = dict[str, Any]
"""A mapping as in YAML, possibly incomplete; `core.formats.mapping.mapping.build_mapping` validates it."""

# Usual names of columns; earlier names take precedence.
NUMBERING = r"[ _-]?(?P<which>[0-9]|[a-h])?"
IDS = (
    "id",
    "item_id",
    "question_id",
    "instance_id",
    "original_id",
    "sample_id",
    "example_id",
    "idx",
    "index",
    "uid",
    "pair_id",
    "message_id",
    "story_id",
    "seg_id",
    "item",
)
PROMPTS = (
    *("prompt", "question", "instruction", "orig_instruction", "query", "user_prompt", "history", "post", "full_text"),
    *("source", "context"),
)
INPUTS = ("input",)
CONTEXTS = ("context", "passage", "document", "article", "fact", "history", "system_prompt")
REFERENCES = (
    "reference",
    "reference_answer",
    "orig_reference_answer",
    "reference_response",
    "ground_truth",
    "gold_answer",
    "target",
)
SCENARIOS = ("scenario", "category", "domain", "task", "topic", "subset", "dataset")
GROUPS = (
    "group",
    "dialogue_id",
    "dialog_id",
    "conversation_id",
    "document_id",
    "doc_id",
    "debate_id",
    "post_id",
    "message_tree_id",
    "original_id",
)
RESPONSES = re.compile(
    r"(response|answer|output|completion|submission|reply|generation|text|conversation|assistant|human_ref|story"
    r"|decoded|orig_response)" + NUMBERING
)
SYSTEMS = re.compile(r"(model|system|model_name|system_name|model_id|generator)" + NUMBERING)
ANNOTATORS = (
    *("annotator", "annotator_id", "rater", "rater_id", "worker_id", "worker", "completed_by", "user_id", "judge"),
)
VALUES = (
    *("label", "labels", "value", "score", "rating", "preference", "choice", "winner", "judgement", "judgment"),
    *("better_response_id", "orig_score"),
)
CRITERIA = ("criterion", "aspect", "dimension", "metric")
REASONS = ("reason", "comment", "rationale", "explanation", "justification")
SECONDS = ("seconds", "lead_time_s", "lead_time", "duration")
ANNOTATOR_COLUMNS = re.compile(r"(annotator|rater|human|worker|coder|annotation|label|ann)[ _-]?(\d+|[a-z])")


def suggest_mapping(columns: Sequence[str], explode: str | None = None) -> Draft:
    """Return a draft for the user to correct, with only those fields for which a column has a usual name."""
    names = names_of(columns)
    draft: Draft = {"explode": explode, "id": "{row}-{element}" if explode else first_of(names, IDS) or "{row}"}
    draft["prompt"] = _suggest_prompt(names)
    draft["responses"] = _suggest_responses(names)
    used = {*_as_list(draft["prompt"])}
    for field, usual in (("context", CONTEXTS), ("reference", REFERENCES), ("scenario", SCENARIOS), ("group", GROUPS)):
        column = first_of(names, usual)
        if column and column not in used:
            draft[field] = column
    draft["labels"] = _suggest_labels(names, len(draft["responses"]))
    return {field: guess for field, guess in draft.items() if guess}


def names_of(columns: Sequence[str]) -> dict[str, str]:
    """Return normalized name -> the first column with it."""
    return {normalize(column): column for column in reversed(columns)}


def normalize(column: str) -> str:
    """Return the last key of a path in lower case with underscores."""
    return re.sub(r"[\s-]+", "_", column.rpartition(".")[2].strip('"').strip().lower())


def first_of(names: dict[str, str], usual: Sequence[str]) -> str | None:
    """Return the column with the first of the usual names; None if there is none."""
    return next((names[name] for name in usual if name in names), None)


def _suggest_prompt(names: dict[str, str]) -> str | list[str] | None:
    prompt, extra = first_of(names, PROMPTS), first_of(names, INPUTS)
    return [prompt, extra] if prompt and extra else prompt or extra


def _as_list(prompt: str | list[str] | None) -> list[str]:
    return [prompt] if isinstance(prompt, str) else prompt or []


def _suggest_responses(names: dict[str, str]) -> list[Draft]:
    """Return the responses in the order of their numbers or letters, each with the system of the same number."""
    texts, systems = _numbered_columns(names, RESPONSES), _numbered_columns(names, SYSTEMS)
    texts = {which: text for which, text in texts.items() if which} or texts
    return [
        {"text": texts[which], **({"system": systems[which]} if which in systems else {})} for which in sorted(texts)
    ]


def _numbered_columns(names: dict[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return number or letter -> column, "" for a column without one."""
    columns: dict[str, str] = {}
    for name, column in names.items():
        if match := pattern.fullmatch(name):
            columns[match["which"] or ""] = column
    return columns


def _suggest_labels(names: dict[str, str], responses: int) -> list[Draft]:
    kind = "preference" if responses == 2 else "score"
    annotator, value = first_of(names, ANNOTATORS), first_of(names, VALUES)
    if annotator and value:
        optional = {"criterion_field": CRITERIA, "reason": REASONS, "seconds": SECONDS}
        more = {field: column for field, usual in optional.items() if (column := first_of(names, usual))}
        return [{"layout": "long", "kind": kind, "annotator": annotator, "value": value, **more}]
    columns = [column for name, column in names.items() if ANNOTATOR_COLUMNS.fullmatch(name)]
    if len(columns) > 1:
        return [{"layout": "wide", "kind": kind, "annotators": {column: column for column in sorted(columns)}}]
    return []
