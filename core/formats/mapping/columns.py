"""What the values and the names of a table's columns are: the evidence from which a mapping is suggested."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from core.formats.mapping.fields import key_of, parse_path
from core.formats.mapping.guess import MAX_CATEGORIES, REMARK, last_key, normalize, with_value
from core.formats.mapping.preview import Preview, flatten, parse_cell
from core.formats.mapping.rows import format_value
from core.formats.mapping.scope import LEVEL
from core.formats.transcripts.messages import is_messages

# Usual names of criteria.
RATED = frozenset(
    (
        *("accuracy", "clarity", "coherence", "complexity", "completeness", "conciseness", "consistency"),
        *("correctness", "creativity", "depth", "empathy", "engagement", "engaging", "factuality", "faithfulness"),
        *("fluency", "grammar", "groundedness", "harmlessness", "helpfulness", "honesty", "informativeness"),
        *("instruction_following", "natural", "naturalness", "overall", "overall_quality", "quality", "readability"),
        *("relevance", "safety", "surprise", "tone", "truthfulness", "understandable", "usefulness", "verbosity"),
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
    r"\b(ann(ot)?\b|assignment|worker|rater|annotator|coder|label+er|judge|assessor|evaluator|participant|turker|expert)"
)
# The name of a column with the values of one of several people or judges.
ONE_PERSON = re.compile(
    r"\b(ann|human|user|worker|rater|annotator|coder|label+er|judge|assessor|evaluator|participant|turker|expert)"
    r" ?(\d+|[a-h])$"
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
RATING = re.compile(r"\b(rating|score|rank)s?\b")
# What a batch of Amazon Mechanical Turk or Toloka has beside the input and the answers, apart from who answered.
OF_BATCH = re.compile(r"(Input|Answer|Output|Golden)\b|(assignment:)?(worker_?|hit)id$|AssignmentStatus", re.IGNORECASE)
SPLITS = frozenset(("train", "training", "val", "valid", "validation", "dev", "test", "eval", "evaluation"))
# Values of numbers that people choose: round ones, or means of a few.
ROUND, MEANS = 5, (1, 2, 3, 4, 5, 6)
MAX_MEANS = 30
# Lists, and elements of each, whose values are looked at.
FEW = 100


@dataclass(frozen=True)
class Column:
    """What the values of a column are."""

    path: str
    cells: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """The words of the last key, joined by underscores."""
        return normalize(self.path)

    @cached_property
    def words(self) -> str:
        """The words of the last key in lower case, also those of `userReply`."""
        key = last_key(self.path)
        return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", REMARK.sub(" ", key) or key)).lower()

    @cached_property
    def distinct(self) -> frozenset[str]:
        """The different values, without empty cells."""
        return frozenset(with_value(self.cells))

    @cached_property
    def parsed(self) -> list[Any]:
        """The values with lists and objects instead of their texts."""
        return [parse_cell(cell) for cell in self.cells if cell in self.distinct]

    def is_called(self, *names: re.Pattern[str]) -> bool:
        """Return whether the name has a word of one of the patterns."""
        return any(name.search(self.words) for name in names)

    @cached_property
    def is_rated(self) -> bool:
        """Whether the name is that of a criterion, or says that the values are judgements."""
        return self.name in RATED or self.is_called(LABEL) or self.path.startswith("OUTPUT:")

    @cached_property
    def filled(self) -> int:
        return sum(cell in self.distinct for cell in self.cells)

    @cached_property
    def is_nested(self) -> bool:
        return any(isinstance(cell, list | dict) for cell in self.parsed)

    @cached_property
    def is_talk(self) -> bool:
        """Whether most values are conversations, each a list of messages; a few wrong ones are named by the import."""
        talks = [cell for cell in self.parsed if cell != []]
        return 2 * sum(map(is_messages, talks)) > len(talks)

    @cached_property
    def is_prose(self) -> bool:
        if self.is_nested or not any(map(LETTERS.search, self.distinct)):
            return False
        sizes = [
            max(len([word for word in SEPARATORS.split(text) if word]), len(UNSPACED.findall(text)) / 2)
            for text in self.distinct
        ]
        are_few = len(sizes) <= MAX_CATEGORIES < len(self.cells) / 2
        if are_few and self.path.rstrip().endswith("?"):  # the answers to a question of a form
            return False
        return sum(sizes) / len(sizes) >= (2 * PROSE if are_few else PROSE)

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
    def is_label(self) -> bool:
        """Whether the values are few words, or numbers as people give them, and no fact or person by their name."""
        is_person = self.is_called(PERSON) and not self.is_rated and not self.is_called(ONE_PERSON)
        return self._is_judgement() and not is_person

    def _is_judgement(self) -> bool:
        texts = {text.lower() for text in self.distinct}
        is_fact = self.is_called(NO_VALUE) or (self.is_called(FACT, SYSTEM) and not self.is_rated)
        is_fact |= texts <= SPLITS or INPUT.match(key_of(self.path)) is not None
        # One value in all rows says how the rows were chosen, unless the name says that it is a judgement.
        is_stated = self.is_rated and (bool(self.numbers) or texts <= TRUTH)
        if not self.is_short or is_fact or (len(self.distinct) < 2 and not is_stated):
            return False
        if self.numbers:
            return self._is_given()
        counts = Counter(cell for cell in self.cells if cell in self.distinct)
        most = sum(count for _, count in counts.most_common(MAX_CATEGORIES + 1))
        share = 2 if len(self.distinct) <= MAX_CATEGORIES else 10
        return most >= 0.9 * self.filled and len(self.distinct) <= max(self.filled / share, 2)

    def _is_given(self) -> bool:
        """Return whether numbers are few whole ones, means of a few, or mostly round: other ones are measured."""
        low, high = min(self.numbers), max(self.numbers)
        if low < -MAX_CATEGORIES or high > 100:
            return False
        are_means = len(self.numbers) <= MAX_MEANS and any(
            all(abs(number * n - round(number * n)) < 0.01 for number in self.numbers) for n in MEANS
        )
        round_ones = sum(float(cell) % ROUND == 0 for cell in self.cells if cell in self.distinct)
        are_round = high > 10 and 2 * round_ones > self.filled
        return self.is_rated or are_round or (are_means and high <= MAX_CATEGORIES)

    @cached_property
    def looks_like_label(self) -> bool:
        """Whether somebody may have given the values, also those in lists; an unused field of them is named."""
        if self.is_nested:
            return not self.is_talk and any(own.looks_like_label for own in self._inner())
        return self._is_judgement() or (bool(self.numbers) and self.is_called(RATING))

    def _inner(self) -> Iterator["Column"]:
        """Yield the fields of the objects in lists; words in lists have the name of the list."""
        found: dict[str, list[str]] = {}
        for cell in self.parsed[:FEW]:
            for element in cell[:FEW] if isinstance(cell, list) else ():
                for path, value in flatten(element if isinstance(element, dict) else {self.name: element}):
                    if isinstance(value, str | int | float):
                        found.setdefault(path, []).append(format_value(value))
        columns = (Column(path, tuple(cells)) for path, cells in found.items())
        yield from (own for own in columns if own.distinct and (own.is_rated or own.numbers))


def profile(preview: Preview) -> list[Column]:
    """Return the columns with values."""
    paths = [own for own in preview.columns if not LEVEL.fullmatch(own)]
    found = [Column(path, tuple(row.get(path, "").strip() for row in preview.rows)) for path in paths]
    is_batch = {"assignmentid", "workerid"} <= {own.name.replace("_", "") for own in found}
    is_batch &= any(INPUT.match(key_of(own.path)) for own in found)
    return [own for own in found if own.distinct and (not is_batch or OF_BATCH.match(parse_path(own.path)[0]))]


def count_groups(columns: Iterable[Column]) -> int:
    """Return how many different combinations of values rows have in some columns."""
    return len(set(zip(*(own.cells for own in columns), strict=True)))


def depends(on: Sequence[Column], column: Column) -> bool:
    """Return whether rows with the same values of some columns have the same one of another."""
    return count_groups(on) == count_groups((*on, column))


def name_parts(column: Column) -> list[str]:
    """Return what underscores, hyphens and blanks divide in the keys of a path, or its words without these."""
    *parents, key = parse_path(column.path)
    parts = [part for part in re.split(r"[_\s-]+", key.lower()) if part]
    return [*map(str.lower, parents), *(parts if len(parts) > 1 else column.words.split())]
