"""What the values and the names of a table's columns are: the evidence from which a mapping is suggested."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from core.formats.mapping.fields import key_of, parse_path
from core.formats.mapping.guess import MAX_CATEGORIES, REMARK, Draft, last_key, scale_of, with_value
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.scope import LEVEL

# Usual names of criteria.
RATED = frozenset(
    (
        *("accuracy", "clarity", "coherence", "complexity", "completeness", "conciseness", "consistency"),
        *("correctness", "creativity", "depth", "empathy", "engagement", "engaging", "factuality", "faithfulness"),
        *("fluency", "grammar", "groundedness", "harmlessness", "helpfulness", "honesty", "informativeness"),
        *("instruction_following", "natural", "naturalness", "overall", "overall_quality", "quality", "readability"),
        *("relevance", "safety", "surprise", "tone", "truthfulness", "understandable", "usefulness", "verbosity"),
        *("reliability", "security", "instruction_adherence", "plan_opt"),
    )
)
TRUTH = frozenset(("true", "false"))
# What a batch shows its workers.
INPUT = re.compile(r"input[.:]", re.IGNORECASE)
# Mean words from which on a column is prose; structured prompts such as `inform(name=X, near=Y)` are prose, too.
PROSE = 3.5
# Characters of scripts without blanks between words, of which a word has about two.
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1780-\u17ff]")
LETTERS = re.compile(r"[^\W\d_]")
SEPARATORS = re.compile(r"[\s,;=()\[\]{}|]+")
# Characters of the longest id.
MAX_ID = 200
# Parts of names, at the beginning of a word.
RESPONSE = re.compile(
    r"\b(summ|simp|output|generat|candidate|hyp|completion|repl|response|utterance|answer|transl|mt\b|decoded|predict|story)"
)
PROMPT = re.compile(
    r"\b(prompt|question|quer|instruction|input|orig|src|sources?\b|doc|article|passage|message|topic|title|complex"
    r"|problem|text\b|mr\b|post\b)"
)
CONTEXT = re.compile(r"\b(context|knowledge|background|evidence|facts?\b|history|passage|article|doc)")
REFERENCE = re.compile(r"\b(refs?\b|reference|gold|target|ground)")
ASIDE = re.compile(r"\b(comment|note|reason|rational|justif|feedback|span|why|url|link|time|date|path|file|explan)")
WHY = re.compile(r"\b(comment|note|reason|rational|justif|feedback|why|explan)")
SYSTEM = re.compile(r"\b(sys|system|model|team|submission|method|bot|generator|agent|policy)(s|id|name)?\b")
PERSON = re.compile(
    r"\b(ann(ot)?\b|assignment|worker|rater|annotator|coder|label+er|judge|assessor|user|evaluator|participant|turker|expert)"
)
CRITERION = re.compile(r"\b(criteri|aspect|dimension|metric|attribute)")
LABEL = re.compile(
    r"\b(label|rat(e(?!r)|ing)|score|quality|annotation|decision|verdict|judge?ment|prefer|winner|better|choice|is|has|error|hallucin|"
    r"success|correct|simpl|gramma|meaning|adequa|natural|inform|fluen|coher|relevan|consist|faith|factual)"
)
FACT = re.compile(
    r"\b(id|idx|index|count|num|n|len|length|size|time|date|day|seconds?|start|end|turn|seed|split|fold|version|age|year"
    r"|tokens?|page|price|cost|duration|lead|norm|normalized|zscore|z|std|sd|ave|avg|category|domain|topic|subset|dataset"
    r"|genre|\w*lang|language|country|region|city|channel|gender|type|row|rank|ranking|total"
    r"|number|conf|confidence|name|benchmark|task)\b"
)
NO_VALUE = re.compile(r"\b(z ?score|norm|normalized|std|sd|rank|ranking|id)s?$")
RATING = re.compile(r"\b(rating|score)s?$")
# What a batch of Amazon Mechanical Turk or Toloka has beside the input and the answers, apart from who answered.
OF_BATCH = re.compile(r"(Input|Answer|Output|Golden)\b|(assignment:)?(worker_?|hit)id$", re.IGNORECASE)
COUNTED = re.compile(r"\.?[^.]*(^|[\W_])counts?([\W_][^.]*)?\.", re.IGNORECASE)
FEW_ROWS = 10
SPLITS = frozenset(("train", "training", "val", "valid", "validation", "dev", "test", "eval", "evaluation"))
SCALES = ((0, 1), (0, 2), (0, 3), (1, 3), (0, 4), (1, 5), (0, 5), (1, 6), (1, 7), (0, 10), (1, 10), (0, 100))
# Values of numbers that people choose: round ones, or means of a few.
ROUND, MEANS = 5, (1, 2, 3, 4, 5, 6)


@dataclass(frozen=True)
class Column:
    """What the values of a column are."""

    path: str
    words: str
    """The words of its name, in lower case."""
    cells: tuple[str, ...]
    distinct: frozenset[str]
    """Without empty cells."""

    def is_called(self, *names: re.Pattern[str]) -> bool:
        """Return whether the name has a word of one of the patterns."""
        return any(name.search(self.words) for name in names)

    @cached_property
    def filled(self) -> int:
        return sum(cell in self.distinct for cell in self.cells)

    @cached_property
    def is_nested(self) -> bool:
        return any(isinstance(parse_cell(text), list | dict) for text in self.distinct)

    @cached_property
    def is_prose(self) -> bool:
        sizes = [
            max(len([word for word in SEPARATORS.split(text) if word]), len(UNSPACED.findall(text)) / 2)
            for text in self.distinct
        ]
        if not any(map(LETTERS.search, self.distinct)):  # lists of numbers, such as those of systems
            return False
        are_few = len(sizes) <= MAX_CATEGORIES < len(self.cells) / 2
        if are_few and self.path.rstrip().endswith("?"):  # the answers to a question of a form
            return False
        return not self.is_nested and sum(sizes) / len(sizes) >= (2 * PROSE if are_few else PROSE)

    @cached_property
    def is_short(self) -> bool:
        return not self.is_prose and not self.is_nested and max(map(len, self.distinct)) < MAX_ID

    @cached_property
    def numbers(self) -> list[float]:
        """The distinct values, if all of them are numbers."""
        try:
            found = [float(text) for text in self.distinct]
        except ValueError:
            return []
        return found if all(map(math.isfinite, found)) else []

    @cached_property
    def is_truth(self) -> bool:
        return {text.lower() for text in self.distinct} <= TRUTH

    @cached_property
    def is_label(self) -> bool:
        """Whether the values are few words, or numbers as people give them."""
        is_named = self.is_called(LABEL) or self.words.replace(" ", "_") in RATED or self.path.startswith("OUTPUT:")
        is_fact = self.is_called(NO_VALUE) or (self.is_called(FACT) and not is_named)
        is_fact = is_fact or (self.is_truth and self.words.startswith("agree"))  # of others of the row
        is_fact = is_fact or COUNTED.match(self.path) is not None or self.words.startswith("number of")
        # One value in all of many rows says how the rows were chosen.
        is_stated = self.is_truth and self.words.startswith("is ") and len(self.cells) < FEW_ROWS
        is_fact = is_fact or {text.lower() for text in self.distinct} <= SPLITS
        is_stated |= self.words.replace(" ", "_") in RATED and bool(self.numbers)
        is_fact |= INPUT.match(key_of(self.path)) is not None
        if (len(self.distinct) < 2 and not is_stated) or not self.is_short or is_fact:
            return False
        if self.numbers:
            return self._is_given(is_named=is_named)
        most = sum(
            count for text, count in Counter(self.cells).most_common(MAX_CATEGORIES + 1) if text in self.distinct
        )
        share = 2 if len(self.distinct) <= MAX_CATEGORIES else 10
        return most >= 0.9 * self.filled and len(self.distinct) <= max(self.filled / share, 2)

    def _is_given(self, *, is_named: bool) -> bool:
        """Return whether numbers are few whole ones, means of a few, or mostly round: other ones are measured."""
        low, high = min(self.numbers), max(self.numbers)
        if low < -MAX_CATEGORIES or high > 100:
            return False
        are_few = len(self.numbers) <= MAX_CATEGORIES and all(number.is_integer() for number in self.numbers)
        if are_few and high <= MAX_CATEGORIES:
            return True
        are_means = len(self.numbers) <= 30 and any(
            all(abs(number * n - round(number * n)) < 0.01 for number in self.numbers) for n in MEANS
        )
        round_ones = sum(float(cell) % ROUND == 0 for cell in self.cells if cell in self.distinct)
        return is_named or (are_means and high <= MAX_CATEGORIES) or (high > 10 and 2 * round_ones > self.filled)


def compared_with_zero(column: Column) -> Draft | None:
    """Return the block of numbers that prefer one of two responses, some below 0, such as -3 to 3; None for others.

    The file does not say which one the negative numbers prefer.
    """
    numbers = column.numbers
    if not numbers or not -MAX_CATEGORIES < min(numbers) < 0 or max(numbers) >= MAX_CATEGORIES:
        return None
    return {"kind": "preference", "value": {"compare": [{"constant": "0"}, column.path]}, "confirmed": False}


def profile(preview: Preview) -> list[Column]:
    """Return the columns with values."""
    found = []
    for path in (own for own in preview.columns if not LEVEL.fullmatch(own)):
        words = " ".join(
            re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", REMARK.sub(" ", last_key(path)) or last_key(path))
        ).lower()
        cells = tuple(row.get(path, "").strip() for row in preview.rows)
        found.append(Column(path, words, cells, frozenset(with_value(cells))))
    is_batch = {"assignmentid", "workerid"} <= {last_key(path).lower().replace("_", "") for path in preview.columns}
    return [own for own in found if own.distinct and (not is_batch or OF_BATCH.match(parse_path(own.path)[0]))]


def count_groups(columns: Iterable[Column]) -> int:
    """Return how many different combinations of values rows have in some columns."""
    return len(set(zip(*(own.cells for own in columns), strict=True)))


def depends(on: Sequence[Column], column: Column) -> bool:
    """Return whether rows with the same values of some columns have the same one of another."""
    return count_groups(on) == count_groups((*on, column))


def name_words(column: Column) -> list[str]:
    """Return the words of all keys of a path."""
    keys = parse_path(column.path)[:-1]
    return [*(key.lower() for key in keys), *column.words.split()]


def name_parts(column: Column) -> list[str]:
    """Return what underscores, hyphens and blanks divide in the keys of a path, or its words without these."""
    *parents, key = parse_path(column.path)
    parts = [part for part in re.split(r"[_\s-]+", key.lower()) if part]
    return [*map(str.lower, parents), *parts] if len(parts) > 1 else name_words(column)


def beside_name(column: Column, text: Column) -> tuple[str, ...] | None:
    """Return what the first key of a column has beside the name of a text: `("grade",)` of `grade-gpt4.ann`; None if
    it does not have the name, or nothing else."""
    first, name = ([*map(str.lower, re.split(r"[_\s-]+", parse_path(own.path)[0]))] for own in (column, text))
    places = [at for at in range(len(first) - len(name) + 1) if first[at : at + len(name)] == name]
    return (*first[: places[0]], *first[places[0] + len(name) :]) or None if places else None


def number_marks(column: Column) -> set[str]:
    return {word for word in column.words.split() if re.fullmatch(r"\d+|[a-h]", word)}


def families(columns: Sequence[Column]) -> list[list[Column]]:
    """Return the columns whose names differ only in a number together: they are of several annotators."""
    found: dict[str, list[Column]] = {}
    for own in columns:
        found.setdefault(stem([own, own]) if number_marks(own) else own.path, []).append(own)
    return [*found.values()]


def stem(columns: Sequence[Column]) -> str:
    words = columns[0].words.split()
    kept = [word for word in words if not re.fullmatch(r"\d+|[a-h]", word)] if len(columns) > 1 else words
    return " ".join(kept) or last_key(columns[0].path)


def narrow_scale(numbers: Sequence[float]) -> Draft:
    """Return the narrowest usual scale that contains all numbers."""
    low, high = min(numbers), max(numbers)
    most = math.ceil(max(-low, high))
    ends = [(-most, most)] if low < 0 else [own for own in SCALES if own[0] <= low and high <= own[1]]
    ends = ends or [(math.floor(low), math.ceil(high))]
    low, high = min(ends, key=lambda own: (own[1] - own[0], -own[0]))
    return scale_of(low, high, numbers)
