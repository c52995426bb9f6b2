"""Suggests the labels, judges and gold of a table from the names and the values of its columns."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from core.formats.mapping.confirmation import BARE_NUMBER
from core.formats.mapping.fields import key_of, parse_path, quote_key
from core.formats.mapping.guess import (
    ANNOTATORS,
    CRITERIA,
    MODEL,
    NO_VALUE,
    REASONS,
    VALUES,
    Draft,
    first_of,
    guess_block,
    guess_roles,
    meanings,
    names_of,
    normalize,
    suggest_mapping,
    with_value,
)
from core.formats.mapping.preview import Preview, parse_cell

RATED = frozenset(
    (
        *("accuracy", "clarity", "coherence", "complexity", "completeness", "conciseness", "consistency"),
        *("correctness", "creativity", "depth", "empathy", "engagement", "engaging", "factuality", "faithfulness"),
        *("fluency", "grammar", "groundedness", "harmlessness", "helpfulness", "honesty", "informativeness"),
        *("instruction_following", "natural", "naturalness", "overall", "overall_quality", "quality", "readability"),
        *("relevance", "safety", "surprise", "tone", "truthfulness", "understandable", "usefulness", "verbosity"),
    )
)
"""Usual names of criteria."""
COMPARED = re.compile(r"(winner_model|winner|score|rating|votes)[ _-]?(?P<which>[0-9]|[a-h])")
PENALTIES = {"neutral": 0, "no-error": 0, "minor": -1, "major": -5, "critical": -25}
"""The usual weights of errors in MQM."""
PEOPLE = "annotators"
"""The name of the annotators of values that a file attributes to nobody."""
PEOPLE_OF_LIST = re.compile(r"[ _-]?(annotation|rating|preference|label|score)s?$")


class BlockSuggester:
    """Suggests the labels, judges and gold of a table."""

    def __init__(self, preview: Preview, draft: Draft) -> None:
        self.preview, self.draft = preview, draft
        used = {str(response["text"]) for response in draft.get("responses", [])} | {str(draft.get("prompt"))}
        counts = Counter(normalize(column) for column in preview.columns)
        named = names_of(preview.columns).items()
        self.names = {name: column for name, column in named if column not in used and counts[name] <= 1}
        """Name -> column. Names that several nested fields have are ambiguous, and left out."""
        self.is_pair = len(draft.get("responses", [])) == 2
        named_columns = set(self.names.values())
        self.columns = [column for column in preview.columns if column in named_columns]
        rater = first_of(self.names, ANNOTATORS)
        self.rater = rater if rater and not _are_numbers(self._cells(rater), rater) else None

    def suggest(self) -> Draft:
        """Return the blocks; those of the draft stand."""
        judges, gold = guess_roles(self.columns, self.preview.rows)
        block: Draft = {}
        if judges and (own := self._block(judges)):
            block["judges"] = [own | {"columns": {column: key_of(column) for column in judges}}]
        if gold and "gold" not in self.draft and (own := guess_values(self._cells(gold))):
            block["gold"] = [own | {"value": gold}]
        if "gold" not in self.draft:
            value = self._preference() if self.is_pair else self._score()
            for name, blocks in value.items():
                block[name] = [*block.get(name, []), *blocks]
        if facts := self._facts():
            block["gold"] = [*block.get("gold", []), *facts]
        labels = [*block.get("labels", []), *self._columns(), *self._lists(), *self._errors()]
        block |= {"labels": labels} if labels else {}
        return {name: [leave_open(own, self._values(own)) for own in blocks] for name, blocks in block.items()}

    def _values(self, block: Draft) -> list[str]:
        """Return the cells of a block's values."""
        fields = [*block.get("annotators", {}), *block.get("columns", {}), block.get("value")]
        return [cell for field in fields if isinstance(field, str) for cell in self._cells(field)]

    def _preference(self) -> Draft:
        """Return the block of a column with preferences, or of two columns with numbers."""
        compared = {
            match["which"]: column for name, column in self.names.items() if (match := COMPARED.fullmatch(name))
        }
        wide = self._wide("preference")
        if wide:
            return {"labels": wide}
        if len(compared) == 2:
            first, second = (compared[which] for which in sorted(compared))
            return self._attribute({"kind": "preference", "value": {"compare": [first, second]}})
        column = first_of(self.names, VALUES)
        if column is None:
            return {}
        cells = with_value(self._cells(column))
        if self._are_systems(column):
            return self._attribute({"kind": "preference", "value": {"system": column}, **self._ties(cells)})
        if _are_between(cells, 1, 2):
            return self._attribute({"kind": "preference", "value": {"compare": [{"constant": "1.5"}, column]}})
        counted_from_0 = any(re.search(r"[ _.]0(\.|$)", str(part["text"])) for part in self.draft["responses"])
        if cells and cells <= {"0", "1"} and counted_from_0:
            return self._attribute({"kind": "preference", "value": column})
        block = guess_block(cells)
        return self._attribute(block | {"value": column}) if block and block["kind"] == "preference" else {}

    def _are_systems(self, column: str) -> bool:
        """Return whether most cells are the name of one of the row's two systems."""
        fields = [response.get("system") or "" for response in self.draft["responses"]]
        rows = [row for row in self.preview.rows if row.get(column)]
        named = [row for row in rows if row[column] in {row.get(field) for field in fields}]
        return bool(rows) and 2 * len(named) > len(rows)

    @staticmethod
    def _ties(cells: Iterable[str]) -> Draft:
        ties = {cell: 0 for cell, meaning in meanings(cells).items() if meaning == 0}
        return {"values": ties} if ties else {}

    def _score(self) -> Draft:
        column = first_of(self.names, VALUES)
        block = guess_block(self._cells(column)) if column else None
        wide = self._wide("score")
        if wide:
            return {"labels": wide}
        return self._attribute(block | {"value": column}) if block and block["kind"] == "score" else {}

    def _wide(self, kind: str) -> list[Draft]:
        """Return the block of one column for each annotator, if their values are of one kind."""
        blocks = suggest_mapping(self.columns).get("labels", [])
        annotators = {column: name for block in blocks for column, name in block.get("annotators", {}).items()}
        block = self._block(annotators)
        if block and block["kind"] != kind == "score":  # 1, 2 and 3 of a single response are no preferences
            block = guess_scores([cell for column in annotators for cell in self._cells(column)])
        if not block or block["kind"] != kind:
            return []
        return [block | {"layout": "wide", "annotators": annotators}]

    def _block(self, columns: Iterable[str]) -> Draft | None:
        return guess_values(cell for column in columns for cell in self._cells(column))

    def _attribute(self, block: Draft) -> Draft:
        """Return a block as that of its judge or annotator, or as gold if the file names none."""
        rater = self.rater
        if isinstance(block["value"], str):
            block = _without_value(block, self._cells(block["value"]))
        criterion = first_of(self.names, CRITERIA)
        reason = first_of(self.names, REASONS)
        more = {**({"criterion_field": criterion} if criterion else {}), **({"reason": reason} if reason else {})}
        if rater is None and "compare" not in str(block["value"]):
            column = block["value"]["system"] if isinstance(block["value"], dict) else block["value"]
            return {"gold": [block | more | {"source": f"column {column}"}]}
        if rater is not None and _are_judges(self._cells(rater)):
            return {"judges": [block | more | {"judge": rater}]}
        annotator = rater or {"constant": PEOPLE}
        return {"labels": [{"layout": "long", "annotator": annotator, **block, **more}]}

    def _columns(self) -> list[Draft]:
        """Return a block for each column with lists of numbers, or with the name of a criterion."""
        blocks = []
        for column in self.columns:
            lists = [cell for cell in map(parse_cell, self._cells(column)) if cell != ""]
            if lists and all(isinstance(cell, list) for cell in lists):
                block = guess_scores([_text(number) for cell in lists for number in cell])
                name = parse_path(column)[-1] if "." in column else column
                blocks += [{"layout": "list", "value": column, "criterion": name, **block}] if block else []
        rated = [column for column in self.columns if normalize(column) in RATED and "." not in column]
        block = guess_scores([cell for column in rated for cell in self._cells(column)])
        if not block:
            return blocks
        if self.rater is not None:
            long = {"layout": "long", "annotator": self.rater}
            return [*blocks, *({**long, "value": column, "criterion": column, **block} for column in rated)]
        wide = {"layout": "wide"}
        return [*blocks, *({**wide, "annotators": {column: PEOPLE}, "criterion": column, **block} for column in rated)]

    def _lists(self) -> list[Draft]:
        """Return the blocks of lists with an object for each annotator."""
        blocks: list[Draft] = []
        for column in self.preview.lists:
            cells = [cell for cell in map(parse_cell, self._cells(column)) if isinstance(cell, list)]
            records = [record for cell in cells for record in cell if isinstance(record, dict)]
            rated = [
                key for key in dict.fromkeys(key for record in records for key in record) if normalize(key) in RATED
            ]
            block = guess_scores([_text(record.get(key)) for record in records for key in rated])
            person = PEOPLE_OF_LIST.sub("", normalize(column)) or "annotator"
            shared = {"layout": "long", "each": column, "annotator": f"{person} {{element}}"}
            blocks += [{**shared, "value": quote_key(key), "criterion": key, **block} for key in rated] if block else []
        return blocks

    def _facts(self) -> list[Draft]:
        """Return the gold of columns such as `is_safe`, with true and false."""
        scale = {"level": "nominal", "categories": [True, False]}
        return [
            {"kind": "answer", "criterion": name.removeprefix("is_"), "value": column, "scale": scale}
            for name, column in self.names.items()
            if name.startswith("is_") and set(self._cells(column)) <= {"true", "false", ""}
        ]

    def _errors(self) -> list[Draft]:
        """Return the block of a table with a row for each error of a translation, as in MQM."""
        severity = self.names.get("severity")
        if severity is None or self.rater is None:
            return []
        known = {cell: PENALTIES.get(cell.lower()) for cell in self._cells(severity) if cell}
        if not known or None in known.values():
            return []
        scale = {"level": "interval", "low": -25, "high": 0}
        fields = {"annotator": self.rater, "value": severity, "criterion": "mqm", "aggregate": "sum"}
        return [{"layout": "long", "kind": "score", **fields, "values": known, "scale": scale}]

    def _cells(self, column: str) -> list[str]:
        return [row.get(column, "") for row in self.preview.rows]


def leave_open(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block, not confirmed if the file does not state what it says: which response a number means, or the
    scale. Truth values of a column such as `is_safe` are stated by its name."""
    is_compared = isinstance(value := block.get("value"), dict) and any(
        isinstance(side, dict) for side in value.get("compare", ())
    )
    has_numbers = any(BARE_NUMBER.fullmatch(cell.strip()) for cell in cells)
    is_stated = block["kind"] == "answer" or (block["kind"] == "preference" and not (is_compared or has_numbers))
    return block if is_stated else block | {"confirmed": False}


def guess_values(cells: Iterable[str]) -> Draft | None:
    """Return kind, scale and values of cells, also of those that are no value; None if it is not clear."""
    texts = list(cells)
    block = guess_block(texts)
    return block and _without_value(block, texts)


def _without_value(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block with the cells that are usual words for no value among its values."""
    nothing = {text: None for cell in cells if (text := cell.strip()).lower() in NO_VALUE}
    return block | ({"values": dict(block.get("values", {})) | nothing} if nothing else {})


def guess_scores(cells: Sequence[str]) -> Draft | None:
    """Return kind, scale and words for no value of numbers; None for others. A scale from 0 is one of scores."""
    block = _guess_numbers(with_value(cells))
    return block and _without_value(block, cells)


def _guess_numbers(distinct: Collection[str]) -> Draft | None:
    """Return kind and scale of numbers; None for other cells."""
    numbers = {int(cell) for cell in distinct if re.fullmatch(r"\d", cell)}
    if distinct and len(numbers) == len(distinct) and max(numbers) <= 4:
        highest = max(max(numbers), 3) if 0 not in numbers else max(numbers)
        low = 0 if 0 in numbers else 1
        highest = 5 if low and highest > 3 else highest
        return {
            "kind": "score",
            "scale": {"level": "ordinal", "categories": list(range(low, max(highest, low + 1) + 1))},
        }
    block = guess_block(distinct)
    return block if block and block["kind"] == "score" else None


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _are_numbers(cells: Iterable[str], column: str) -> bool:
    """Return whether a column such as `judge` has scores instead of names."""
    return normalize(column) == "judge" and all(re.fullmatch(r"[\d.]*", cell) for cell in cells)


def _are_judges(cells: Iterable[str]) -> bool:
    """Return whether most names are those of models."""
    names = {cell for cell in cells if cell}
    return 2 * sum(MODEL.search(name) is not None for name in names) > len(names)


def _are_between(cells: Iterable[str], low: float, high: float) -> bool:
    """Return whether all cells are numbers between two ends, and some of them are fractions."""
    texts = list(cells)
    if not texts or not all(re.fullmatch(r"\d+(\.\d+)?([eE]-?\d+)?", text) for text in texts):
        return False
    numbers = [float(text) for text in texts]
    return low <= min(numbers) and max(numbers) <= high and not all(number.is_integer() for number in numbers)
