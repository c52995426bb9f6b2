"""Suggests a mapping for a table from the names of its columns."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.formats.mapping.fields import key_of, parse_path

Draft = dict[str, Any]
"""A mapping as in YAML, possibly incomplete; `core.formats.mapping.mapping.build_mapping` validates it."""

# Usual names of columns; earlier names take precedence.
NUMBERING = r"[ _-]?(?P<which>[0-9]|[a-h]|first|second)?"
NUMBERS = {"first": "1", "second": "2"}
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
    "prompt_id",
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
NAMED_ANNOTATOR = re.compile(r"(annotator|rater|human|worker|coder)\s*:\s*(?P<name>.*\S)\s*", re.IGNORECASE | re.DOTALL)
"""A column such as `Annotator: Ada`."""
REMARK = re.compile(r"\((?!\w\))[^()]*\)")
"""What a name has in parentheses, unless it is one letter or digit: `Response (1)`."""


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
    """Return normalized name -> the first column with it, or the only one that has it apart from a remark."""
    names = {normalize(column): column for column in reversed(columns)}
    names |= {normalize(column): column for column in reversed(columns) if _last_key(column).lower() in names}
    short = {column: _words(REMARK.sub(" ", _last_key(column))) for column in columns}
    counts = Counter(short.values())
    return names | {name: column for column, name in short.items() if counts[name] == 1 and name not in names}


def normalize(column: str) -> str:
    """Return the words of the last key of a path in lower case, joined by underscores."""
    return _words(_last_key(column))


def annotator_name(column: str) -> str:
    """Return the name of the annotator whose labels a column has: what follows `annotator:`, or the column's name."""
    named = NAMED_ANNOTATOR.fullmatch(_last_key(column))
    return named["name"] if named else key_of(column)


def _last_key(column: str) -> str:
    try:
        return parse_path(column)[-1]
    except ValueError:  # a name of a field, which is no path
        return column


def _words(name: str) -> str:
    return "_".join(re.findall(r"[^\W_]+", name.casefold()))


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
            which = match["which"] or ""
            columns[NUMBERS.get(which, which)] = column
    return columns


def _suggest_labels(names: dict[str, str], responses: int) -> list[Draft]:
    kind = "preference" if responses == 2 else "score"
    annotator, value = first_of(names, ANNOTATORS), first_of(names, VALUES)
    if annotator and value:
        optional = {"criterion_field": CRITERIA, "reason": REASONS, "seconds": SECONDS}
        more = {field: column for field, usual in optional.items() if (column := first_of(names, usual))}
        return [{"layout": "long", "kind": kind, "annotator": annotator, "value": value, **more}]
    columns = {column for name, column in names.items() if _is_annotator(name, column)}
    if len(columns) > 1:
        annotators = {column: annotator_name(column) for column in sorted(columns)}
        return [{"layout": "wide", "kind": kind, "annotators": annotators}]
    return []


def _is_annotator(name: str, column: str) -> bool:
    return bool(ANNOTATOR_COLUMNS.fullmatch(name) or NAMED_ANNOTATOR.fullmatch(_last_key(column)))
