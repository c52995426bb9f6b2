"""What usual names of columns are, and what usual values of cells mean."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.formats.mapping.fields import key_of, parse_path
from core.formats.validation_errors import join_names, quote_value

# A mapping as in YAML, possibly incomplete; `core.formats.mapping.mapping.build_mapping` validates it.
Draft = dict[str, Any]

# Usual names of columns; earlier names take precedence.
NUMBERING = r"[ _-]?(?P<which>[0-9]|[a-h]|first|second)?"
IDS = (
    *("id", "item_id", "question_id", "instance_id", "original_id", "sample_id", "example_id", "idx", "index", "uid"),
    *("pair_id", "comparison_id", "message_id", "story_id", "seg_id", "item", "item_name", "prompt_id", "hitid"),
    *("query_id", "response_id", "output_id", "completion_id", "span_id", "run_id", "trace_id", "task_id"),
)
PROMPTS = (
    *("prompt", "question", "instruction", "orig_instruction", "query", "user_prompt", "history", "post", "full_text"),
    *("src", "problem", "goal", "context", "text", "user_query", "prompt_text", "question_text", "problem_statement"),
    *("user_input", "user_message", "task_description", "source"),
)
# Other fields of an item -> the usual names of their columns.
USUAL = {
    "context": ("context", "passage", "document", "article", "fact", "history", "system_prompt", "rubric"),
    "reference": (
        *("reference", "reference_answer", "orig_reference_answer", "reference_response", "ground_truth"),
        *("gold_answer", "gt_answer", "correct_answer", "expected_output", "target", "ref"),
    ),
    "scenario": ("scenario", "category", "domain", "task", "topic", "subset", "dataset"),
    "group": (
        *("group", "dialogue_id", "dialog_id", "conversation_id", "document_id", "doc_id", "debate_id", "post_id"),
        *("message_tree_id", "original_id"),
    ),
}
RESPONSES = re.compile(
    r"(?P<prefix>.+_(?=(?:response|answer|output|completion)[ _-]?[0-9a-h]$))?"
    r"(response|answer|final_answer|output|mt|system_output|completion|submission|reply|generation|text|conversation"
    r"|assistant|human_ref|story|decoded|orig_response|(?:response|answer|output|generated)_text|model_(?:output|response|answer)|"
    r"(?:summary|translation|candidate|convo|dialogue|messages|trajectory|transcript|trace)"
    r"(?=[ _-]?(?:[0-9]|[a-h]|first|second)$))" + NUMBERING
)
SYSTEMS = re.compile(r"(model|system|agent|model_name|system_name|model_id|system_id|generator)" + NUMBERING)
ANNOTATORS = (
    *("annotator", "annotator_id", "annotator_name", "rater", "rater_id", "worker_id", "workerid", "worker"),
    *("completed_by", "participant_id", "user_id", "judge"),
)
VALUES = (
    *("label", "labels", "value", "score", "rating", "preference", "choice", "winner", "judgement", "judgment"),
    "preferred",
    *("preference_label", "better_response_id", "orig_score"),
)
REASONS = ("reason", "comment", "rationale", "explanation", "justification")
# The annotator in the name of a column with the values of one: `tone_annotator_1`.
ONE_ANNOTATOR = re.compile(
    r"(?<![^_])(annotator|rater|human|worker|coder|expert|annotation|label|ann)_?(\d+|[a-z])(?![^_])"
)
# How such a name ends if the column has no response of a system.
NO_SYSTEM = re.compile(
    r"(^|.*[. _-])(ground_truth|gold|gt|correct|right|reference|ref|chosen|preferred|better|best|expected)",
    re.IGNORECASE,
)
# A column such as `Annotator: Ada`.
NAMED_ANNOTATOR = re.compile(r"(annotator|rater|human|worker|coder)\s*:\s*(?P<name>.*\S)\s*", re.IGNORECASE | re.DOTALL)
BATCH_PREFIX = re.compile(r"^((Input|Answer)\.|(INPUT|OUTPUT|GOLDEN|ASSIGNMENT|HINT):)(?=.)")
# What a name has in parentheses, unless it is one letter or digit: `Response (1)`.
REMARK = re.compile(r"\((?!\w\))[^()]*\)")


def suggest_mapping(columns: Sequence[str]) -> Draft:
    """Return a draft for the user to correct, with only those fields for which a column has a usual name."""
    names = names_of([column for column in columns if not column.startswith(("OUTPUT:", "GOLDEN:"))])
    draft: Draft = {"id": first_of(names, IDS) or "{row}"}
    draft["responses"], prefix = _suggest_responses(names)
    texts = {response["text"] for response in draft["responses"]}
    others = {name: column for name, column in names.items() if column not in texts}
    usual = [prefix + name for name in PROMPTS] if prefix else []
    prompts = [column for column in (first_of(others, (*usual, *PROMPTS)), others.get("input")) if column]
    draft["prompt"] = prompts if len(prompts) > 1 else next(iter(prompts), None)
    fields = {field: first_of(names, usual) for field, usual in USUAL.items()}
    draft |= {field: column for field, column in fields.items() if column not in (*prompts, *texts)}
    return {field: guess for field, guess in draft.items() if guess}


def names_of(columns: Sequence[str]) -> dict[str, str]:
    """Return normalized name -> the first column with it, or the only one that has it apart from a remark."""
    names = {normalize(column): column for column in reversed(columns)}
    names |= {normalize(column): column for column in reversed(columns) if last_key(column).lower() in names}
    short = {column: _words(REMARK.sub(" ", last_key(column))) for column in columns}
    counts = Counter(short.values())
    return names | {name: column for column, name in short.items() if counts[name] == 1 and name not in names}


def normalize(column: str) -> str:
    """Return the words of the last key of a path in lower case, joined by underscores."""
    return _words(last_key(column))


def last_key(column: str) -> str:
    """Return the last key of a path, without the prefix that columns of Amazon Mechanical Turk and Toloka have."""
    try:
        key = parse_path(column)[-1]
    except ValueError:  # a name of a field, which is no path
        key = column
    return BATCH_PREFIX.sub("", key)


def _words(name: str) -> str:
    return "_".join(re.findall(r"[^\W_]+", name.casefold()))


def first_of(names: dict[str, str], usual: Sequence[str]) -> str | None:
    """Return the column with the first of the usual names; None if there is none."""
    return next((names[name] for name in usual if name in names), None)


def _suggest_responses(names: dict[str, str]) -> tuple[list[Draft], str]:
    """Return the responses in the order of their numbers or letters, each with the system of the same number; and how
    their names begin, such as `first_turn_`."""
    texts, systems = _numbered_columns(names, RESPONSES), _numbered_columns(names, SYSTEMS)
    if not texts and {"source", "target"} <= names.keys():  # of a translation
        texts = {"": names["target"]}
    match = RESPONSES.fullmatch(normalize(next(iter(texts.values())))) if texts else None
    found = [
        {"text": texts[which]} | ({"system": systems[which]} if which in systems else {}) for which in sorted(texts)
    ]
    return found, (match and match["prefix"]) or ""


def _numbered_columns(names: dict[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Return number or letter -> column of those columns with the same name apart from it of which there are most,
    otherwise "" -> the column without one."""
    found: dict[str, dict[str, str]] = {}
    for name, column in names.items():
        match = pattern.fullmatch(name)
        if match and not NO_SYSTEM.match(match.groupdict().get("prefix") or ""):
            which = match["which"] or ""
            columns = found.setdefault(name.removesuffix(which) if which else "", {})
            if which not in columns or name not in PROMPTS:  # `text` beside a response is its prompt
                columns[which] = column
    return max(reversed(found.values()), key=lambda own: (len(own), "" not in own), default={})


# The values of columns: which of them are verdicts of judges, and what the values mean.

# How names of judges begin, or what names of judges in cells contain.
MODEL = re.compile(r"gpt|claude|llama|mistral|mixtral|gemini|qwen|deepseek|judge|evaluator|llm", re.IGNORECASE)
# A part of an annotator's name that names of models have and those of people rarely: not the "llm" of Hellman.
MODEL_PART = re.compile(
    r"(?<![a-z])((chat)?gpt|llama|qwen|mistral|mixtral|deepseek|reward|(claude|gemini|judge|llm)s?(?![a-z]))",
    re.IGNORECASE,
)
# Words in the name of a column of verdicts beside that of the judge, and of one with its confidence; and of people.
VERDICTS = frozenset(("verdict", "verdicts", "judgement", "judgment"))
CONFIDENCES = frozenset(("confidence", "conf", "certainty", "probability", "prob"))
PEOPLE = frozenset(("human", "annotator", "rater", "worker", "coder", "expert", "gold", "majority", "final"))
# Usual names of columns with decided values.
GOLD = re.compile(r"(gold|final)(_label|_answer)?|adjudicated|ground_truth|(human_)?majority|expert")
# Words for a preference that name the response: `Response A`, `A-is-clearly-better`.
DIRECTED = re.compile(
    r"(?:slightly_|strongly_)?(?:prefer_)?(?:(?:assistant|model|response|answer|output|completion|system|text)_?)?(?P<which>[ab12])"
    r"(?:_is|_was)?(?:_(?:slightly|somewhat|clearly|much|far|significantly|strongly))?(?:_(?:better|preferred|winner|wins|won))?"
)
# Other usual words for a preference -> the response, or 0 for a tie.
PREFERENCES: Mapping[str, int] = {
    **dict.fromkeys(("first", "left", "a>b", "a>>b"), 1),
    **dict.fromkeys(("second", "right", "b>a", "b>>a", "a<b", "a<<b"), 2),
    **dict.fromkeys(("0", "a=b", "="), 0),
}
# How words for a tie begin.
TIE = re.compile(
    r"(tied?|ties|equal(ly)?|similar(ly)?|same|both|neither|draw|about_the_same|no_(clear_)?(preference|difference|winner))"
    r"([_(].*)?|both(bad|good)"
)
# Places that two responses can have had on a page, which need not be their order in the file: a person states it.
SIDES: Mapping[str, int] = {"left": 1, "right": 2}
NUMBER = re.compile(r"-?\d+([.,]\d+)?([eE]-?\d+)?")
# Usual scales; the narrowest that contains all values is suggested.
SCALES = ((0, 1), (0, 2), (0, 3), (1, 3), (0, 4), (1, 5), (0, 5), (1, 6), (1, 7), (0, 10), (1, 10), (0, 100))
MAX_CATEGORIES = 11
# What is written in place of an empty cell, and other usual words for no value.
EMPTY = ("n/a", "na", "nan", "none", "null", "-")
NO_VALUE = (*EMPTY, "error", "unknown", "refused")


def guess_values(cells: Iterable[str]) -> Draft | None:
    """Return kind, scale and values of a column's cells; None if they are neither preferences nor scores.

    0 and 1 alone can be a tie and the first response, the first and the second one, or scores: they are not guessed.
    Fewer than half of the distinct values may have no meaning: the import refuses them, unless they are words of
    NO_VALUE.
    """
    texts = list(cells)
    distinct = with_value(texts)
    known = meanings(distinct)
    if distinct == {"0", "1"}:
        return None
    if 2 * len(known) <= len(distinct):
        return guess_scores(texts)
    stated = {text: known[text] for text in sorted(known) if text != str(known[text]) and text.lower() not in SIDES}
    return _without_value({"kind": "preference", "values": stated}, texts)


def guess_scores(cells: Iterable[str]) -> Draft | None:
    """Return kind, scale and words for no value of cells of which most are numbers; None for others."""
    texts = list(cells)
    distinct = with_value(texts)
    numbers = [number for text in distinct if (number := number_of(text)) is not None]
    if 2 * len(numbers) <= len(distinct):
        return None
    low, high = min(numbers), max(numbers)
    ends = [own for own in SCALES if own[0] <= low and high <= own[1]] or [(math.floor(low), math.ceil(high))]
    low, high = min(ends, key=lambda own: (own[1] - own[0], -own[0]))
    return _without_value({"kind": "score", "scale": scale_of(low, high, numbers)}, texts) if low < high else None


def number_of(text: str) -> float | None:
    """Return the number that a cell is, also with a decimal comma; None for another text."""
    return float(text.replace(",", ".")) if NUMBER.fullmatch(text) else None


def scale_of(low: float, high: float, numbers: Iterable[float]) -> Draft:
    """Return the categories of a scale with few whole numbers, otherwise its ends."""
    if high - low < MAX_CATEGORIES and all(float(number).is_integer() for number in (*numbers, low, high)):
        return {"level": "ordinal", "categories": [*range(int(low), int(high) + 1)]}
    return {"level": "interval", "low": low, "high": high}


def with_value(cells: Iterable[str]) -> set[str]:
    """Return the distinct cells that are neither empty nor a word of EMPTY, without blanks around them."""
    return {text for cell in cells if (text := cell.strip()) and text.lower() not in EMPTY}


def _without_value(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block with the cells that are usual words for no value among its values."""
    nothing = {text: None for text in sorted({cell.strip() for cell in cells}) if text.lower() in NO_VALUE}
    return block | ({"values": block.get("values", {}) | nothing} if nothing else {})


def meanings(texts: Iterable[str]) -> dict[str, int]:
    """Return text -> the response, or 0 for a tie, of those texts that are usual words for a preference.

    `T` is a tie beside A or B; C is not, because it can be a third response or "cannot decide".
    """
    keys = {text: re.sub(r"[\s-]+", "_", text.strip().lower()) for text in texts}
    known = {**PREFERENCES, **({"t": 0} if {"a", "b"} & {*keys.values()} else {})}
    known |= {key: 0 for key in keys.values() if TIE.fullmatch(key)}
    known |= {key: 1 if own["which"] in "a1" else 2 for key in keys.values() if (own := DIRECTED.fullmatch(key))}
    return {text: known[key] for text, key in keys.items() if key in known}


def leave_open(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block, not confirmed if the file does not state what it says: which response a number means, or the
    scale."""
    has_numbers = any(is_position(cell.strip()) for cell in cells)
    is_stated = block["kind"] == "answer" or (block["kind"] == "preference" and not has_numbers)
    return block if is_stated else block | {"confirmed": False}


def is_position(text: str) -> bool:
    """Return whether a preference is a number or a side: only the file's authors know of which response."""
    return re.fullmatch(r"[+-]?[\d.]+", text) is not None or text.lower() in SIDES


def find_judges(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the columns that look like verdicts of judges of one kind, by their names and values."""
    named = [column for column in columns if _is_judge(column)]
    blocks = {column: guess_values(row.get(column, "") for row in rows) for column in named}
    kinds = {column: block["kind"] for column, block in blocks.items() if block}
    return [column for column, kind in kinds.items() if kind == next(iter(kinds.values()))]


def _is_judge(column: str) -> bool:
    words = _name_words(column)
    is_named = MODEL.match(key_of(column)) or (words & VERDICTS and not words & PEOPLE)
    return bool(is_named) and not words & CONFIDENCES


def guess_confidence(columns: Sequence[str], judges: Sequence[str]) -> dict[str, str]:
    """Return column of a judge -> the column with its confidence, by the names of both: `gpt_verdict`, `conf_gpt`."""
    named = {
        _name_words(column) - VERDICTS - CONFIDENCES: column for column in columns if _name_words(column) & CONFIDENCES
    }
    return {judge: named[words] for judge in judges if (words := _name_words(judge) - VERDICTS) in named}


def _name_words(column: str) -> frozenset[str]:
    return frozenset(normalize(column).split("_"))


def warn_of_models(annotators: Iterable[str]) -> str:
    """Return a sentence on annotators with names of models, which may be judges; "" if there are none."""
    names = [quote_value(name) for name in sorted(set(annotators)) if MODEL_PART.search(name)]
    what = f"{len(names)} of the annotators have names of models: {join_names(names)}"
    return f"{what}; if they are no people, map their rows as judges." if names else ""
