"""A first guess of what a table's columns mean, from the names that they usually have."""

import re
from collections.abc import Sequence
from typing import Any

Draft = dict[str, Any]
"""A mapping as YAML has it, possibly incomplete; `core.formats.mapping.mapping.build` turns it into a `Mapping`."""

# In the order in which they are believed.
ONE = r"[ _-]?(?P<which>[1-9]|[a-h])?"
IDS = ("id", "item_id", "question_id", "instance_id", "original_id", "sample_id", "example_id", "idx", "index", "uid")
PROMPTS = ("prompt", "question", "instruction", "query", "user_prompt", "source", "context")
INPUTS = ("input",)
CONTEXTS = ("context", "passage", "document", "article", "fact", "history", "system_prompt")
REFERENCES = ("reference", "reference_answer", "reference_response", "ground_truth", "gold_answer", "target")
SCENARIOS = ("scenario", "category", "domain", "task", "topic")
GROUPS = ("group", "dialogue_id", "dialog_id", "conversation_id", "document_id", "doc_id", "debate_id")
RESPONSES = re.compile(r"(response|answer|output|completion|submission|reply|generation|text)" + ONE)
SYSTEMS = re.compile(r"(model|system|model_name|system_name|model_id)" + ONE)
ANNOTATORS = ("annotator", "annotator_id", "rater", "rater_id", "worker_id", "worker", "completed_by", "user_id")
VALUES = ("label", "value", "score", "rating", "preference", "choice", "winner", "judgement", "judgment")
CRITERIA = ("criterion", "aspect", "dimension", "metric")
REASONS = ("reason", "comment", "rationale", "explanation", "justification")
SECONDS = ("seconds", "lead_time_s", "lead_time", "duration")
PEOPLE = re.compile(r"(annotator|rater|human|worker|coder|annotation|label|ann)[ _-]?(\d+|[a-z])")


def suggest(columns: Sequence[str], explode: str | None = None) -> Draft:
    """A first guess for a person to correct: only fields whose names are usual, nothing that is not there."""
    names = {_plain(column): column for column in reversed(columns)}
    draft: Draft = {"explode": explode, "id": "{row}-{element}" if explode else _among(names, IDS) or "{row}"}
    draft["prompt"] = _prompt(names)
    draft["responses"] = _responses(names)
    chosen = {*_listed(draft["prompt"])}
    for field, usual in (("context", CONTEXTS), ("reference", REFERENCES), ("scenario", SCENARIOS), ("group", GROUPS)):
        found = _among(names, usual)
        if found and found not in chosen:
            draft[field] = found
    draft["labels"] = _labels(names, len(draft["responses"]))
    return {field: guess for field, guess in draft.items() if guess}


def _plain(column: str) -> str:
    """The last key of a path, without its spelling."""
    return re.sub(r"[\s-]+", "_", column.rpartition(".")[2].strip('"').strip().lower())


def _among(names: dict[str, str], usual: Sequence[str]) -> str | None:
    return next((names[name] for name in usual if name in names), None)


def _prompt(names: dict[str, str]) -> str | list[str] | None:
    prompt, extra = _among(names, PROMPTS), _among(names, INPUTS)
    return [prompt, extra] if prompt and extra else prompt or extra


def _listed(prompt: str | list[str] | None) -> list[str]:
    return [prompt] if isinstance(prompt, str) else prompt or []


def _responses(names: dict[str, str]) -> list[Draft]:
    """In the order of their numbers or letters, each with the system whose column ends the same."""
    texts, systems = _numbered(names, RESPONSES), _numbered(names, SYSTEMS)
    several = {which: text for which, text in texts.items() if which} or texts
    return [
        {"text": several[which], **({"system": systems[which]} if which in systems else {})}
        for which in sorted(several)
    ]


def _numbered(names: dict[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, column in names.items():
        if match := pattern.fullmatch(name):
            found[match["which"] or ""] = column
    return found


def _labels(names: dict[str, str], responses: int) -> list[Draft]:
    kind = "preference" if responses == 2 else "score"
    annotator, value = _among(names, ANNOTATORS), _among(names, VALUES)
    if annotator and value:
        optional = {"criterion_field": CRITERIA, "reason": REASONS, "seconds": SECONDS}
        more = {field: found for field, usual in optional.items() if (found := _among(names, usual))}
        return [{"layout": "long", "kind": kind, "annotator": annotator, "value": value, **more}]
    people = [column for name, column in names.items() if PEOPLE.fullmatch(name)]
    if len(people) > 1:
        return [{"layout": "wide", "kind": kind, "annotators": {column: column for column in sorted(people)}}]
    return []
