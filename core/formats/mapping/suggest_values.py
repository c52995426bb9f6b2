"""Suggests the labels, judges and gold of a table from the names and the values of its columns."""

import re
from collections.abc import Iterator, Sequence

from core.formats.mapping.columns import CRITERION, RATED, TRUTH, WHY, Column, count_groups, depends, name_parts
from core.formats.mapping.fields import key_of, parse_path, quote_key
from core.formats.mapping.guess import (
    EMPTY,
    GOLD,
    MAX_CATEGORIES,
    MODEL,
    NAMED_ANNOTATOR,
    ONE_ANNOTATOR,
    REASONS,
    VALUES,
    Draft,
    find_judges,
    first_of,
    guess_confidence,
    guess_scores,
    guess_values,
    last_key,
    leave_open,
    meanings,
    names_of,
    normalize,
    scale_of,
    with_value,
)
from core.formats.mapping.suggest_items import ItemSuggester
from core.labels import STEPS
from core.transcripts import FIRST_WRONG_STEP

# The name of the annotators of values that a file attributes to nobody.
PEOPLE = "annotators"
# Objects of a row with a number for each criterion, of people or of a judge.
OF_PEOPLE, OF_JUDGES = "scores", ("predict_scores", "eval_scores")
# Columns with such names have the values of several people about the only response.
NUMBERED_VALUE = re.compile(r"(rating|score)_?\d+")
CHOICE = re.compile(r"\b(prefer|winner|better|best|choice|label)")
RANK = re.compile(r"\brank")
# Words in the names of values that no person gave, or that follow from others.
OF_NO_PERSON = re.compile(
    r"\b(auto\w*|average|avg|confidence|count|judge|max|mean|median|min|norm\w*|pred\w*|sd|std|sum|tie|total|verdict)\b"
)
# Usual names of columns with the kind of who gave a value: then a person states which values are a judge's.
KINDS = ("annotator_kind", "feedback_source_type", "annotator_type", "rater_type", "source_type")
# Usual names of columns with the first step of a transcript that went wrong.
WRONG = ("mistake", "failure", "error", "wrong", "first_wrong", "first_error", "failed")
FIRST_WRONG = tuple(f"{word}_{end}" for word in WRONG for end in ("step", "step_number", "step_index", "index"))
# The status of an assignment of Amazon Mechanical Turk that is no label.
REJECTED = "Rejected"
# The share of different groups of rows up to which a value that each group has is a fact of the group.
GROUPED = 0.8
# Words for an empty cell that are no category; `none` can be one.
NOTHING = ("nan", "na", "n/a")


class ValueSuggester:
    """Suggests the labels, judges and gold of items: those whose names and values are clear."""

    def __init__(self, items: ItemSuggester) -> None:
        self.items = items

    def suggest(self) -> Draft:
        """Return the blocks, and which rows are none."""
        items = self.items
        status = items.names.get("assignmentstatus", "")
        is_rejected = any(row.get(status) == REJECTED for row in items.preview.rows)
        kinds = ["_".join(map(normalize, map(quote_key, parse_path(own.path)))) for own in items.columns]
        blocks: Draft = {}
        if items.stated or ("gold" not in items.draft and {*KINDS}.isdisjoint(kinds)):
            for name, block in self._blocks():
                blocks.setdefault(name, []).append(block)
        _share_scales([block for own in blocks.values() for block in own])
        return blocks | ({"where_not": {status: REJECTED}} if is_rejected else {})

    def _blocks(self) -> Iterator[tuple[str, Draft]]:
        """Yield each block with the list of the mapping that it belongs to."""
        more = self._columns_of_rows()
        yield from self._steps(more)
        yield from self._judges()
        yield from self._of_annotators()
        found = [(own, block) for own in self._values() if (block := self._meaning([own]))]
        usual = [own for own, _ in found if own.name in VALUES]
        for own, block in found:
            self.items.taken.add(own.path)
            is_only = own.name in VALUES and len(usual) == 1
            yield self._attributed(own, block | self._place(own, is_only=is_only), more)

    def _columns_of_rows(self) -> Draft:
        """Return the columns with the criterion and the reason of the value of a row."""
        items, free = self.items, self.items.free()
        named = [own for own in free if own.is_called(CRITERION) and own.is_short and not own.numbers]
        criteria = [*items.of_role("criterion"), *(own for own in named if len(own.distinct) < own.filled)]
        prose = [own for own in free if own.is_prose]
        usual = first_of(names_of([own.path for own in prose]), REASONS)
        reasons = [*items.of([usual]), *(own for own in prose if own.is_called(WHY))]
        more = {"criterion_field": criteria[0].path} if criteria else {}
        more |= {"reason": reasons[0].path} if reasons else {}
        items.taken |= {*more.values()}
        return more

    # What a column is.

    def _values(self) -> list[Column]:
        """Return the columns with values: those that a person states, and those whose names and values are clear."""
        inside = {_parent(own) for own in self.items.texts} | {"", OF_PEOPLE, *OF_JUDGES}
        found = []
        for own in self.items.free():
            is_usual = own.is_short and (own.name in VALUES or GOLD.fullmatch(own.name) is not None)
            is_rated = self._criterion(own) in RATED
            is_label = own.is_label and (is_rated or (own.is_rated and not self._is_fact(own)))
            if _parent(own) in inside and not OF_NO_PERSON.search(own.words) and (is_usual or is_label):
                found.append(own)
        return [*self.items.of_role("label"), *found]

    def _is_fact(self, column: Column) -> bool:
        """Return whether a value is the same for all rows of a prompt, a system or a person."""
        rows = len(self.items.preview.rows)
        groups = [self.items.prompts(), self.items.systems(), [self.items.annotator] if self.items.annotator else []]
        return any(own and 1 < count_groups(own) <= GROUPED * rows and depends(own, column) for own in groups)

    def _criterion(self, column: Column) -> str:
        """Return the name of a column without that of its response: `clarity` of `clarity_a`."""
        response = self.items.about(column)
        if response is None:
            return last_key(column.path)
        marks = name_parts(self.items.texts[response - 1])
        return " ".join(part for part in name_parts(column) if part not in marks)

    def _place(self, column: Column, *, is_only: bool) -> Draft:
        """Return the criterion and the response of a value, as its name has them; a usual name says of no criterion."""
        response, criterion = self.items.about(column), self._criterion(column)
        is_usual = is_only or GOLD.fullmatch(column.name) or (response is not None and criterion in VALUES)
        return ({} if is_usual else {"criterion": criterion}) | ({"response": response} if response else {})

    # What its values are.

    def _meaning(self, columns: Sequence[Column]) -> Draft | None:
        """Return kind, scale and values of columns; None for values that are not clear."""
        cells = [cell for own in columns for cell in own.cells]
        is_of_pair = len(self.items.draft["responses"]) == 2 and not self.items.about(columns[0])
        if is_of_pair and ((preference := self._preference(columns[0], cells)) or columns[0].is_called(CHOICE)):
            return preference
        if scores := guess_scores(cells):
            if columns[0].is_called(RANK) and (categories := scores["scale"].get("categories")):
                scores["scale"]["categories"] = categories[::-1]  # the first is the best
            return leave_open(scores, cells)
        nothing = {text: None for text in sorted({*cells}) if text.lower() in NOTHING}
        words = sorted({*cells} - {""} - nothing.keys())
        values = {"values": nothing} if nothing else {}
        if words and {word.lower() for word in words} <= TRUTH:
            return {"kind": "answer", "scale": {"level": "nominal", "categories": [True, False]}, **values}
        if not 1 < len(words) <= MAX_CATEGORIES:
            return None
        return {"kind": "answer", "scale": {"level": "nominal", "categories": words}, "confirmed": False, **values}

    def _preference(self, column: Column, cells: Sequence[str]) -> Draft | None:
        """Return the block of values that name one of two responses, or its system."""
        distinct = with_value(cells)
        ties = {text: 0 for text, meaning in meanings(distinct).items() if meaning == 0}
        names = {own["name"] for own in self.items.draft["responses"] if "name" in own}
        names |= {name for own in self.items.systems() for name in own.distinct}
        if 2 * len((distinct - ties.keys()) & names) > len(distinct - ties.keys()):
            return {"kind": "preference", "value": {"system": column.path}} | ({"values": ties} if ties else {})
        if distinct <= {"0", "1"} and column.is_called(CHOICE):
            return {"kind": "preference", "confirmed": False}
        block = guess_values(cells)
        return leave_open(block, cells) if block and block["kind"] == "preference" else None

    # Whose they are.

    def _attributed(self, column: Column, block: Draft, more: Draft) -> tuple[str, Draft]:
        """Return a block as that of its judge or annotator, or as gold if the file names none."""
        path, parent, annotator = column.path, _parent(column), self.items.annotator
        if parent in OF_JUDGES:
            return "judges", {"columns": {path: parent}, **block}
        is_of_people = normalize(quote_key(block.get("criterion", ""))) in RATED or parent == OF_PEOPLE
        block = {"value": path, **block, **more}
        if "criterion_field" in more:
            block.pop("criterion", None)
        if GOLD.fullmatch(column.name) or not (annotator or is_of_people):
            return "gold", {**block, "source": f"column {key_of(path)}"}
        if annotator is None:
            del block["value"]
            return "labels", {"layout": "wide", "annotators": {path: PEOPLE}, **block}
        models = [name for name in annotator.distinct if MODEL.search(name)]
        if 2 * len(models) > len(annotator.distinct):
            return "judges", {"judge": annotator.path, **block}
        key = [*self.items.prompts(), *self.items.texts, annotator, *self.items.of([more.get("criterion_field")])]
        if count_groups(key) < len(self.items.preview.rows):  # several values of a person
            block["aggregate"] = "first"
            self.items.is_guessed = True
        return "labels", {"layout": "long", "annotator": annotator.path, **block}

    def _judges(self) -> Iterator[tuple[str, Draft]]:
        """Yield the block of columns with verdicts of judges; the score of a system is none."""
        items = self.items
        free = [own.path for own in items.free() if own.is_short and not items.about(own) and not _parent(own)]
        found = items.of(find_judges(free, items.preview.rows))
        for columns in [*([own] for own in items.of_role("judge")), found]:
            if block := self._meaning(columns) if columns else None:
                names = {own.path: key_of(own.path) for own in columns}
                items.taken |= names.keys()
                confidence = guess_confidence([own.path for own in items.free()], [*names])
                items.taken |= {*confidence.values()}
                block.pop("value", None)
                yield "judges", {"columns": names, **block, **({"confidence": confidence} if confidence else {})}

    def _of_annotators(self) -> Iterator[tuple[str, Draft]]:
        """Yield the block of a criterion with a column for each annotator: stated, `Annotator: Ada`, `tone_rater_1`."""
        found: dict[tuple[str, int | None], dict[str, str]] = {}
        stated = self.items.of_role("annotator")
        if len(stated) > 1:
            found["", None] = {own.path: key_of(own.path) for own in stated}
        for own in (own for own in self.items.free() if own.is_short):
            response = self.items.about(own)
            if named := NAMED_ANNOTATOR.fullmatch(last_key(own.path)):
                found.setdefault(("", None), {})[own.path] = named["name"]
            elif mark := ONE_ANNOTATOR.search(own.name):
                words = normalize(quote_key(self._criterion(own)))
                rest = words.replace(mark[0], "").replace("__", "_").strip("_")
                found.setdefault((rest, response), {})[own.path] = mark[0] if rest or response else key_of(own.path)
            elif response is None and NUMBERED_VALUE.fullmatch(own.name):
                found.setdefault(("", None), {})[own.path] = key_of(own.path)
        for (criterion, response), people in found.items():
            block = self._meaning(self.items.of(people)) if len(people) > 1 else None
            if block:
                self.items.taken |= people.keys()
                block.pop("value", None)
                place = ({"criterion": criterion} if criterion else {}) | ({"response": response} if response else {})
                yield "labels", {"layout": "wide", "annotators": people, **place, **block}

    def _steps(self, more: Draft) -> Iterator[tuple[str, Draft]]:
        """Yield the block of the first wrong step of a transcript; a person states what its numbers count."""
        usual = [self.items.names[name] for name in FIRST_WRONG if name in self.items.names]
        column = next(iter([*self.items.of_role("step"), *self.items.of(usual)]), None)
        if column is None or not any("transcript" in own for own in self.items.draft["responses"]):
            return
        self.items.taken.add(column.path)
        scale = STEPS.model_dump(exclude_defaults=True)
        block: Draft = {"kind": "answer", "criterion": FIRST_WRONG_STEP, "scale": scale}
        block |= {"steps": "message from 0", "confirmed": False} if column.numbers else {"steps": "span"}
        nothing = {text: None for text in sorted({*column.cells}) if text.lower() in EMPTY}
        block |= {"values": nothing} if nothing else {}
        yield self._attributed(column, block, {"reason": more["reason"]} if "reason" in more else {})


def _parent(column: Column) -> str:
    """Return the path of the object that a field is in; "" for the row."""
    return ".".join(map(quote_key, parse_path(column.path)[:-1]))


def _share_scales(blocks: Sequence[Draft]) -> None:
    """Let blocks of one kind and criterion, and scores of usual criteria, have one scale, with the values of all."""
    found: dict[tuple[str, str], list[Draft]] = {}
    for own in blocks:
        if "scale" in own and "criterion_field" not in own:
            is_rated = own["kind"] == "score" and own.get("criterion", "").lower() in RATED
            found.setdefault((own["kind"], "overall" if is_rated else own.get("criterion", "")), []).append(own)
    for several in found.values():
        scales = [own["scale"] for own in several]
        if all(scale == scales[0] for scale in scales):
            continue
        values = [value for own in scales for value in own.get("categories", (own.get("low"), own.get("high")))]
        if several[0]["kind"] == "score":
            numbers = () if all("categories" in own for own in scales) else (0.5,)
            shared = scale_of(min(values), max(values), numbers)
        else:
            shared = {"level": "nominal", "categories": sorted(dict.fromkeys(values), key=str)}
        for own in several:
            own["scale"] = shared
