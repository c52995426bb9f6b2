"""Suggests the labels, judges and gold of a table from the names and the values of its columns."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from core.formats.mapping.columns import (
    ASIDE,
    CRITERION,
    INPUT,
    PERSON,
    RATED,
    TRUTH,
    Column,
    compared_with_zero,
    profile,
)
from core.formats.mapping.confirmation import is_position
from core.formats.mapping.fields import Excerpt, key_of, parse_path, quote_key
from core.formats.mapping.guess import (
    ANNOTATORS,
    BATCH_PREFIX,
    CRITERIA,
    IDS,
    JUDGE_KINDS,
    KIND_COLUMNS,
    MAX_CATEGORIES,
    MODEL,
    NO_VALUE,
    PEOPLE_KINDS,
    PROMPTS,
    REASONS,
    RESPONSES,
    SCORES,
    VALUES,
    WITHOUT_VALUE,
    Draft,
    annotator_columns,
    first_of,
    guess_block,
    guess_confidence,
    guess_roles,
    last_key,
    meanings,
    names_of,
    normalize,
    scale_of,
    with_value,
)
from core.formats.mapping.preview import Preview, parse_cell, preview_elements
from core.formats.mapping.rows import format_value
from core.formats.mapping.scope import EACH
from core.formats.mapping.suggest_steps import StepSuggester
from core.formats.transcripts.messages import is_messages

SCORED = re.compile(r"_(score|rating)$")
# What a column such as `is_safe`, with true and false, states of a response.
FACTS = frozenset(
    (
        *("acceptable", "accurate", "complete", "correct", "faithful", "grounded", "harmful", "harmless", "helpful"),
        *("honest", "passed", "relevant", "right", "safe", "supported", "toxic", "true", "truthful", "unsafe", "valid"),
        "wrong",
    )
)
# Words in the names of columns that are no values of a person about a response.
OF_NO_PERSON = frozenset(
    (
        *("auto", "average", "avg", "comment", "comments", "confidence", "count", "judge", "max", "mean", "median"),
        *("min", "norm", "normalized", "sd", "std", "sum", "total", "verdict", *REASONS),
    )
)
# How the name of a column with the preference for one criterion ends, and such a name with truth values.
PREFERRED = re.compile(r"(?P<criterion>.+)_(preference|pref|preferred|winner|choice)")
IS_BETTER = re.compile(r"(better|winner|preferred)_is_(?P<which>[ab12])|(?P<other>[ab12])_is_(better|preferred)")
# Usual names of lists of responses, beside which a list of numbers has one for each of them.
LISTS = re.compile(r"(.+_)?(answers|candidates|completions|generations|outputs|replies|responses|summaries)")
COMPARED = re.compile(r"(winner_model|winner|score|rating|votes)[ _-]?(?P<which>[0-9]|[a-h])")
SCORES_COMPARED = re.compile(r"score|rating")
# A column with the value of one criterion by one annotator, after either of them.
RATER = r"(?:annotator|rater|worker|coder|expert)_?[0-9]+"
RATED_BY = re.compile(rf"(?P<criterion>.+)_{RATER}|{RATER}_(?P<other>.+)")
# Characters of the longest word of a scale.
MAX_WORD = 40
# The ends of a scale in the name of a column: `(0-4)`, `1 to 5`, `out of 5`, `/10`.
RANGE = re.compile(r"(?<!\d)(?:(?P<low>\d)\s*(?:-|\u2013|to)\s*|(?:out[ _]of|/)[ _]?)(?P<high>\d{1,3})(?!\d)")
# Questions of a form that are about who answers it.
ABOUT_PERSON = re.compile(
    r"\b(age|gender|sex|education|country|nationality|native|language|occupation|ethnicity|income|consent)\b"
)
WEIGHT = re.compile(r"(?P<aspect>.+)_(weight|w)|(weight|w)_(?P<other>.+)")
# The usual weights of errors in MQM.
PENALTIES = {"neutral": 0, "no-error": 0, "minor": -1, "major": -5, "critical": -25}
# Usual names of columns with the model that gave the values of a row.
JUDGE_COLUMNS = ("judge_model", "labelling_model", "labeling_model", "annotator_model", "evaluator_model", "judge_name")
SYSTEM_LISTS = ("systems", "system_ids", "models", "model_names", "system", "model")
# The name of the annotators of values that a file attributes to nobody.
PEOPLE = "annotators"
# Usual names of lists with the names of people, beside which a list has a value of each.
PEOPLE_LISTS = (
    *("annotators", "raters", "workers", "annotator_ids", "rater_ids", "worker_ids", "expert_ids", "physician_ids"),
    "anonymized_physician_ids",
)
# Rows from which on lists of as many numbers each are those of as many people.
MIN_ROWS = 5
DIGITS = re.compile(r"\s*-?\d")
# Between the values of lists that are texts.
SEPARATOR = ","
# Words in the names of columns with values that no person gave.
OF_MACHINES = frozenset(("auto", "automatic", "automated", "pred", "predicted", "prediction"))
# What a block of labels or gold has and one of judges does not.
NOT_OF_JUDGES = (
    "layout",
    "annotator",
    "annotators",
    "aggregate",
    "seconds",
    "value",
    "source",
    "adjudicator",
    "reason",
)
# The share of labels that their person and criterion name, if the others are repeated ones.
ALONE = 0.95
PEOPLE_OF_LIST = re.compile(r"[ _-]?(annotation|rating|preference|label|score)s?$")


class BlockSuggester:
    """Suggests the labels, judges and gold of a table."""

    def __init__(self, preview: Preview, draft: Draft) -> None:
        self.preview, self.draft = preview, draft
        used = {str(response.get("text")) for response in draft.get("responses", [])} | {str(draft.get("prompt"))}
        counts = Counter(normalize(column) for column in preview.columns)
        named = names_of(preview.columns).items()
        self.names = {name: column for name, column in named if column not in used and counts[name] <= 1}
        """Name -> column. Names that several nested fields have are ambiguous, and left out."""
        self.compared: dict[str, str] = {}
        """Number or letter -> column of the numbers whose comparison is a preference."""
        self.about = dict(self._about_responses())
        """Column -> the number of the response that its name has, and the words beside that."""
        # The score of a system is no verdict of a judge with its name.
        own = {column for column in self.about if any("name" in response for response in draft.get("responses", []))}
        self.options = dict(self._radio_buttons())
        """Name of a question -> column -> the option that it stands for."""
        own |= {column for columns in self.options.values() for column in columns}
        self.columns = [column for column in preview.columns if column in {*self.names.values()} - own]
        rater = first_of(self.names, ANNOTATORS)
        has_scores = rater is not None and all(re.fullmatch(r"[\d.]*", cell) for cell in self._cells(rater))
        is_scored = has_scores and rater is not None and normalize(rater) == "judge"  # scores instead of names
        self.rater = None if is_scored else rater

    def suggest(self) -> Draft:
        """Return the blocks; those of the draft stand."""
        kind = self._kind_column()
        return (self._by_kind(kind) if kind else self._by_name()) | self._weights()

    def _by_name(self) -> Draft:
        blocks: dict[str, list[Draft]] = {"judges": [], "gold": [], "labels": []}
        judges, gold = guess_roles(self.columns, self.preview.rows)
        gold = gold if gold != self._right_answer() else None
        blocks["judges"] += self._judges(judges)
        if "gold" not in self.draft:
            if gold and (own := self._block([gold])):
                blocks["gold"].append(own | {"value": gold})
            kind = "preference" if len(self.draft.get("responses", [])) == 2 else "score"
            if wide := self._wide(kind):
                blocks["labels"].append(wide)
            elif value := self._preference() if kind == "preference" else self._score():
                name, block = self._attribute(value)
                blocks[name].append(block)
        for name, own in self._chosen():
            blocks[name].append(own)
        blocks["labels"] += [*self._columns(), *self._separated(), *self._lists(), *self._errors()]
        blocks["labels"] += [*self._of_responses(), *self._rated()]
        for name, own in self._further():
            blocks[name].append(own)
        return {name: [self._leave_open(own) for own in found] for name, found in blocks.items() if found}

    def _judges(self, judges: Sequence[str]) -> Iterator[Draft]:
        """Yield the block of columns with verdicts; of one response they are no preferences."""
        own = self._block(judges)
        if own and own["kind"] == "preference" and len(self.draft.get("responses", [])) == 1:
            own = _scores_or_answers([cell for column in judges for cell in self._cells(column)])
        if judges and own:
            confidence = guess_confidence(self.columns, judges)
            own |= {"columns": {column: key_of(column) for column in judges}}
            yield own | ({"confidence": confidence} if confidence else {})

    def _radio_buttons(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield a question and its columns, such as `q1.yes` and `q1.no`, of which at most one is true."""
        found: dict[str, dict[str, str]] = {}
        for column in self.preview.columns:
            name, _, option = BATCH_PREFIX.sub("", key_of(column)).rpartition(".")
            if name and {cell.lower() for cell in self._cells(column)} <= {*TRUTH, ""}:
                found.setdefault(name, {})[column] = option
        for name, columns in found.items():
            chosen = [[own for own in columns if row.get(own, "").lower() == "true"] for row in self.preview.rows]
            are_used = len({*map(str, chosen)} - {"[]"}) > 1 or any(map(BATCH_PREFIX.match, map(key_of, columns)))
            if len(columns) > 1 and are_used and max(map(len, chosen)) == 1 and 2 * chosen.count([]) <= len(chosen):
                yield name, columns

    def _chosen(self) -> Iterator[tuple[str, Draft]]:
        """Yield a block for each option of a question, whose value is the option where it is chosen."""
        for name, columns in self.options.items():
            texts = [*columns.values()]
            known = meanings(texts) if len(self.draft.get("responses", [])) == 2 else {}
            block: Draft = {"kind": "answer", "scale": {"level": "nominal", "categories": texts}}
            if known.keys() == {*texts} and not any(map(str.isdecimal, texts)):
                block = {"kind": "preference"}
            elif all(map(str.isdecimal, texts)):
                known = {text: int(text) for text in texts}
                block = {"kind": "score", "scale": {"level": "ordinal", "categories": sorted(known.values())}}
            for column, option in columns.items() if not ABOUT_PERSON.search(name.replace("_", " ")) else ():
                values = {
                    cell: known.get(option, option) if cell.lower() == "true" else None
                    for cell in sorted({*self._cells(column)} - {""})
                }
                own = block | {"value": column, "criterion": name, "values": values}
                if self.rater is None:
                    yield "gold", own | {"source": f"column {key_of(column)}"}
                else:
                    yield "labels", {"layout": "long", "annotator": self.rater, **own}

    def _further(self) -> Iterator[tuple[str, Draft]]:
        """Yield the blocks of only one response, or of two, each with the list of the mapping that it belongs to."""
        responses = self.draft.get("responses", [])
        if len(responses) == 1:
            yield from self._scored()
            yield from StepSuggester(self.preview, responses[0].get("transcript", ""), PEOPLE).blocks()
        elif len(responses) == 2:
            yield from self._by_criterion()

    def _kind_column(self) -> str | None:
        """Return the column that states for each value whether a person or a judge gave it."""
        names = {"_".join(map(normalize, map(quote_key, parse_path(column)))): column for column in self.columns}
        column = first_of(names, KIND_COLUMNS)
        kinds = {cell.lower() for cell in self._cells(column) if cell} if column else set()
        return column if kinds and kinds <= PEOPLE_KINDS | JUDGE_KINDS else None

    def _by_kind(self, kind: str) -> Draft:
        """Return a block of labels or of verdicts for each kind of who gave a value."""
        names = names_of([column for column in self.columns if column != kind])
        target = next((own for own in map(names.get, VALUES) if own and any(self._cells(own))), None)
        cells = self._cells(target) if target else []
        block = _scores_or_answers(cells)
        more = {"criterion_field": first_of(names, (*CRITERIA, "name", "key")), "reason": first_of(names, REASONS)}
        shared = {field: column for field, column in more.items() if column} | {"value": target, **(block or {})}
        rater = first_of(names, (*ANNOTATORS, "annotator_name", "identifier"))
        blocks: Draft = {}
        for text in sorted({*self._cells(kind)} - {""}) if block else ():
            are_named = all(row.get(rater or "") for row in self.preview.rows if row.get(kind) == text)
            is_judge = text.lower() in JUDGE_KINDS
            who = rater if are_named else {"constant": text if is_judge else PEOPLE}
            own = {"judge": who} if is_judge else {"layout": "long", "annotator": who}
            found = blocks.setdefault("judges" if is_judge else "labels", [])
            found.append(leave_open({**own, "where": {kind: text}, **shared}, cells))
        return blocks

    def _right_answer(self) -> str | None:
        """Return the column with the right answer of a task that a transcript is on: it is no gold of a judge."""
        has_transcript = any("transcript" in response for response in self.draft.get("responses", []))
        return self.draft.get("reference") if has_transcript else None

    def _leave_open(self, block: Draft) -> Draft:
        fields = fields_of(block)
        cells = [cell for field in fields for cell in self._cells(field)]
        return leave_open(stated_scale(block, fields, cells), cells)

    def _preference(self) -> Draft | None:
        """Return the block of a column with preferences, or of two columns with numbers."""
        named = sorted((own for own in map(self.names.get, VALUES) if own), key=lambda own: len(parse_path(own)))
        explicit = [block for column in named if (block := self._stated_preference(column))]
        if block := next(iter(explicit), self._truth()):
            return block
        matches = {name: match for name in self.names if (match := COMPARED.fullmatch(name))}
        compared = {match["which"]: self.names[name] for name, match in matches.items()}
        if len(compared) == 2:
            self.compared = compared
            return {"kind": "preference", "value": {"compare": [compared[which] for which in sorted(compared)]}}
        for column in named:
            cells = with_value(self._cells(column))
            if _are_between(cells, 1, 2):
                return {"kind": "preference", "value": {"compare": [{"constant": "1.5"}, column]}}
            if cells and cells <= {"0", "1"}:  # a person states what they mean
                return {"kind": "preference", "value": column}
        return None

    def _stated_preference(self, column: str) -> Draft | None:
        """Return the block of a column whose cells name the preferred response, or its system."""
        cells = with_value(self._cells(column))
        if self._are_systems(column):
            ties = {cell: 0 for cell, meaning in meanings(cells).items() if meaning == 0}
            return {"kind": "preference", "value": {"system": column}, **({"values": ties} if ties else {})}
        block = guess_block(cells)
        return block | {"value": column} if block and block["kind"] == "preference" else None

    def _truth(self) -> Draft | None:
        """Return the block of a column such as `better_is_a`, with true and false."""
        for name, column in self.names.items():
            match = IS_BETTER.fullmatch(name)
            if match and with_value(self._cells(column)) <= TRUTH:
                first = (match["which"] or match["other"]) in "a1"
                return {"kind": "preference", "value": column, "values": {"true": 2 - first, "false": 1 + first}}
        return None

    def _are_systems(self, column: str) -> bool:
        """Return whether most cells are the name of one of the row's systems."""
        responses = self.draft.get("responses", [])
        fields, names = [own.get("system") or "" for own in responses], {own.get("name") for own in responses}
        ties = {cell for cell, meaning in meanings(self._cells(column)).items() if meaning == 0}
        rows = [row for row in self.preview.rows if row.get(column) and row[column] not in ties]
        return 2 * sum(row[column] in names | {_system(row, own) for own in fields} for row in rows) > len(rows)

    def _score(self) -> Draft | None:
        column = first_of(self.names, VALUES)
        block = guess_scores(self._cells(column)) if column else None
        return block | {"value": column} if block else None

    def _wide(self, kind: str) -> Draft | None:
        """Return the block of one column for each annotator, if their values are of one kind."""
        annotators = annotator_columns(self.columns)
        block = self._block(annotators)
        if block and block["kind"] != kind == "score":  # 1, 2 and 3 of a single response are no preferences
            block = guess_scores([cell for column in annotators for cell in self._cells(column)])
        return block | {"layout": "wide", "annotators": annotators} if block and block["kind"] == kind else None

    def _block(self, columns: Iterable[str]) -> Draft | None:
        return guess_values(cell for column in columns for cell in self._cells(column))

    def _attribute(self, block: Draft) -> tuple[str, Draft]:
        """Return a block as that of its judge or annotator, or as gold if the file names none."""
        value = block["value"]
        if isinstance(value, str):
            block = _without_value(block, self._cells(value))
        more = {"criterion_field": first_of(self.names, CRITERIA), "reason": first_of(self.names, REASONS)}
        block = block | {field: column for field, column in more.items() if column}
        # Beside criteria of unnamed people, a score is theirs too.
        is_rated = block["kind"] == "score" and any(normalize(column) in RATED for column in self.columns)
        if self.rater is None and "compare" not in str(value) and not is_rated:
            return "gold", block | {"source": f"column {value['system'] if isinstance(value, dict) else value}"}
        if self.rater is None:
            return "labels", {"layout": "long", "annotator": {"constant": PEOPLE}, **block}
        raters = {cell for cell in self._cells(self.rater) if cell}
        if 2 * sum(MODEL.search(name) is not None for name in raters) > len(raters):
            return "judges", block | {"judge": self.rater}
        return "labels", {"layout": "long", "annotator": self.rater, **block}

    def _columns(self) -> Iterator[Draft]:
        """Yield a block for each column with lists of numbers, or with the name of a criterion."""
        people = first_of(self.names, PEOPLE_LISTS)
        are_listed = people and any(isinstance(parse_cell(cell), list) for cell in self._cells(people))
        named = {"annotators_field": people} if are_listed else {}
        for column in self.columns:
            if INPUT.match(key_of(column)) or {*_words(column)[-1:]} & {"id", "ids"}:
                continue
            lists = [cell for cell in map(parse_cell, self._cells(column)) if cell != ""]
            # A list of a judge's scores is not one of several people's.
            are_values = all(isinstance(cell, list) for cell in lists) and not _are_numbers_of_others(lists)
            if lists and are_values and not MODEL.match(key_of(column)):
                texts = [cell_text(value) for cell in lists for value in cell]
                is_truth = bool(named) and {*texts} <= TRUTH
                truth = {"kind": "answer", "scale": {"level": "nominal", "categories": [True, False]}}
                block = truth if is_truth else guess_scores(texts)
                name = parse_path(column)[-1] if "." in column else column
                if block:
                    yield {"layout": "list", "value": column, "criterion": name, **named, **block}
        rated = [column for column in self.columns if normalize(column) in RATED and len(parse_path(column)) == 1]
        block = guess_scores([cell for column in rated for cell in self._cells(column)])
        for column in rated if block else ():
            long = {"layout": "long", "annotator": self.rater, "value": column}
            own = long if self.rater is not None else {"layout": "wide", "annotators": {column: PEOPLE}}
            yield {**own, "criterion": last_key(column), **(block or {})}

    def _separated(self) -> Iterator[Draft]:
        """Yield a block for each column with a value of each person whom another column lists, `1,0,1` of `a,b,c`, or
        of as many people in each row."""
        people = first_of(self.names, PEOPLE_LISTS)
        names = self._cells(people) if people else []
        sizes = [] if any(cell[:1] == "[" for cell in names) else [cell.count(SEPARATOR) for cell in names]
        for column in self.preview.columns:
            cells = self._cells(column)
            counts = [cell.count(SEPARATOR) for cell in cells]
            are_alike = any(counts) and len({*counts}) == 1 and len(cells) > MIN_ROWS and bool(DIGITS.match(cells[0]))
            if column == people or (counts != sizes if any(sizes) else not are_alike):
                continue
            values = [value.strip() for cell in cells for value in cell.split(SEPARATOR)]
            block = _scores_or_answers(values)
            if all(re.fullmatch(r"-?\d", value) for value in values) and any(value < "0" for value in values):
                numbers = [int(value) for value in values]
                block = {"kind": "score", "scale": scale_of(min(numbers), max(numbers), numbers)}
            if block:
                # Without a list of people, that each place is a person is open.
                named: Draft = {"separator": SEPARATOR}
                named |= {"annotators_field": people} if any(sizes) else {"confirmed": False}
                yield {"layout": "list", "value": column, "criterion": last_key(column), **named, **block}

    def _of_responses(self) -> Iterator[Draft]:
        """Yield a block for each response and criterion: `gpt4_helpfulness` beside `gpt4_output`, `clarity_a` beside
        `response_a`, or `gpt4_rating_ann` and `gpt4_rating_ben` of two annotators."""
        found: dict[str, dict[tuple[int, str], list[str]]] = {}
        for column, (number, words) in self.about.items():
            is_free = column not in self.compared.values() and not OF_NO_PERSON & {*words}
            if is_free and (place := _place(words)):
                found.setdefault(place[0], {}).setdefault((number, place[1]), []).append(column)
        for criterion, columns in found.items():
            people = {person for _, person in columns}
            own = {place: columns[place] for place in columns if not place[1] or "" not in people}
            # One name beside the criterion is no person, and of two columns of one value a person chooses.
            is_clear = len(people) > 1 or people == {""}
            is_clear = is_clear and all(len(names) == 1 for names in own.values())
            block = (
                _scores_or_answers([cell for (name,) in own.values() for cell in self._cells(name)])
                if is_clear
                else None
            )
            for number in sorted({number for number, _ in own}) if block else ():
                names = {own[place][0]: place[1] or PEOPLE for place in own if place[0] == number}
                long = {"layout": "long", "annotator": self.rater, "value": next(iter(names))}
                is_long = self.rater is not None and "" in people
                name = "" if criterion in SCORES and len(found.keys() & {*SCORES}) == 1 else criterion
                who = long if is_long else {"layout": "wide", "annotators": names}
                yield {**who, "criterion": name, "response": number, **(block or {})}

    def _rated(self) -> Iterator[Draft]:
        """Yield a block for each criterion of columns such as `relevance_annotator_1`, with a number or a word."""
        found: dict[str, dict[str, str]] = {}
        for column in self.columns:
            match = RATED_BY.fullmatch(name := normalize(column))
            criterion = (match["criterion"] or match["other"]) if match else ""
            if criterion and criterion.rpartition("_")[2] not in (*REASONS, "comments"):
                found.setdefault(criterion, {})[column] = name.replace(criterion, "").strip("_")
        for criterion, annotators in found.items():
            cells = [cell for column in annotators for cell in self._cells(column)]
            block = _scores_or_answers(cells)
            if all(map(self._are_systems, annotators)):
                block = {
                    "kind": "preference",
                    "values": {cell: 0 for cell in meanings(cells) if not meanings([cell])[cell]},
                }
            if block and len(annotators) > 1:
                yield {"layout": "wide", "annotators": annotators, "criterion": criterion, **block}

    def _about_responses(self) -> Iterator[tuple[str, tuple[int, list[str]]]]:
        """Yield each column whose name begins or ends as that of only one response does, with its other words."""
        texts = [str(own.get("text") or own.get("transcript")) for own in self.draft.get("responses", [])]
        names = [_words(text) for text in texts]
        ends = [match and match["which"] for match in map(RESPONSES.fullmatch, map(normalize, texts))]
        if len(names) < 2:
            return
        if all(ends):
            marks = [str(end) for end in ends]
        elif len({own[-1] for own in names}) == 1:
            marks = ["".join(own[:-1]) for own in names]
        else:
            return
        for column in self.preview.columns:
            words, found = _words(column), dict[int, list[list[str]]]()
            for number, mark in enumerate(marks, 1):
                for at in range(1, len(words)):
                    begins, ends_so = "".join(words[:at]) == mark, "".join(words[at:]) == mark
                    rests = [words[at:]] * begins + [words[:at]] * ends_so
                    found.setdefault(len(mark), []).extend([[str(number), *rest] for rest in rests])
            best = found[max(length for length in found if found[length])] if any(found.values()) else []
            if len(best) == 1 and column not in texts:
                yield column, (int(best[0][0]), best[0][1:])

    def _by_criterion(self) -> Iterator[tuple[str, Draft]]:
        """Yield the blocks of columns with the preference for one criterion each, such as `relevance_preference`."""
        for name, column in self.names.items():
            match = PREFERRED.fullmatch(name)
            block = self._stated_preference(column) if match else None
            if match and block and match["criterion"] in RATED | FACTS:
                reasons = [f"{match['criterion']}_{reason}" for reason in REASONS]
                where, own = self._attribute(block)
                others = {field: value for field, value in own.items() if field not in ("reason", "criterion_field")}
                reason = first_of(self.names, reasons)
                yield where, others | {"criterion": match["criterion"]} | ({"reason": reason} if reason else {})

    def _scored(self) -> Iterator[tuple[str, Draft]]:
        """Yield the blocks of objects with a number for each criterion: `scores` of people, `predict_scores` or
        `eval_scores` of a judge."""
        for parent, name in (("scores", "labels"), ("predict_scores", "judges"), ("eval_scores", "judges")):
            for column in self.preview.columns:
                keys = parse_path(column)
                block = guess_scores(self._cells(column)) if keys[0] == parent and len(keys) == 2 else None
                if block and name == "labels":
                    yield name, {"layout": "wide", "annotators": {column: PEOPLE}, "criterion": keys[1], **block}
                elif block:
                    yield name, {"columns": {column: parent}, "criterion": keys[1], **block}

    def _lists(self) -> Iterator[Draft]:
        """Yield the blocks of lists with an object for each label, or for each response that has scores."""
        texts = [str(one.get("text")) for one in self.draft.get("responses", [])]
        for column in self.preview.lists:
            elements = preview_elements(self.preview, column, alone=True)
            cells = [parse_cell(cell) for cell in self._cells(column)]
            if any(text.startswith(f"{column}.") for text in texts):
                yield from self._of_elements(column, profile(elements))
            elif elements.rows and not any(map(is_messages, cells)):
                sizes = [len(cell) if isinstance(cell, list) else 0 for cell in cells]
                yield from self._of_people(column, profile(elements), sizes)

    def _of_people(self, column: str, fields: Sequence[Column], sizes: Sequence[int]) -> Iterator[Draft]:
        """Yield the blocks of a list of labels: their person is a field of the objects, or their place in the list.

        A place stands for a person only in lists of the same length; of other lists, only the values of usual criteria
        are labels. Several values of one person for one criterion are none of these: they are such as errors.
        """
        people = [own for own in fields if normalize(quote_key(parse_path(own.path)[0])) in ANNOTATORS]
        people = people or [own for own in fields if own.is_short and own.is_called(PERSON)]
        who = next((own for own in people if parse_path(own.path)[-1] == "name"), next(iter(people), None))
        criterion = next((own for own in fields if own.is_short and own.is_called(CRITERION) and own is not who), None)
        if who is None and any(own.is_prose and not own.is_called(ASIDE) for own in fields):
            return  # they are texts that are judged
        known = [own for own in (who, criterion) if own]
        rows = [number for number, size in enumerate(sizes) for _ in range(size)]
        keys = {*zip(rows, *(own.cells for own in known), strict=True)}
        are_equal = len({*sizes} - {0}) == 1 or sum(own.is_label for own in fields) == len(fields) > 1  # only values
        is_certain = len(keys) >= ALONE * len(rows) if who else are_equal and max(sizes) > 1
        person = PEOPLE_OF_LIST.sub("", normalize(column)) or "annotator"
        shared: Draft = {"layout": "long", "each": column, "annotator": who.path if who else f"{person} {{element}}"}
        if reason := next((own.path for own in fields if own.is_prose and own.is_called(ASIDE)), None):
            shared |= {"reason": reason}
        usual = {*RATED, *(SCORES if who else ())}
        responses = [own.get("name") for own in self.draft.get("responses", [])]
        for own in fields:
            is_usual = SCORED.sub("", _criterion(own.path)) in usual and own.is_short
            is_value = is_usual or (is_certain and own.is_label and not own.is_called(ASIDE))
            if own in known or not is_value:
                continue
            name: Draft = {"criterion_field": criterion.path} if criterion else {"criterion": _criterion_name(own.path)}
            if own.path in responses:  # the field of a response in each person's object
                name = {"criterion": key_of(column), "response": responses.index(own.path) + 1}
            if block := self._preferences(own) or _scores_or_answers(own.cells):
                yield {**shared, "value": own.path, **name} | block | ({} if is_usual else {"confirmed": False})

    def _preferences(self, column: Column) -> Draft | None:
        """Return the block of values that name one of two responses."""
        if len(self.draft.get("responses", [])) != 2:
            return None
        block = compared_with_zero(column) or guess_values(column.cells)
        return block if block and block["kind"] == "preference" else None

    def _of_elements(self, column: str, fields: Sequence[Column]) -> Iterator[Draft]:
        """Yield the blocks of a list whose elements are the responses, each with its own scores."""
        for own in fields:
            is_usual = SCORED.sub("", _criterion(own.path)) in RATED
            if block := guess_scores(own.cells) if is_usual else None:
                place = {"each": column, "response": "element", "criterion": _criterion(own.path)}
                yield {"layout": "wide", "annotators": {own.path: PEOPLE}, **place, **block}

    def _weights(self) -> Draft:
        """Return the weights of columns such as `clarity_weight`, with numbers or percentages."""
        matches = {column: WEIGHT.fullmatch(name) for name, column in reversed(self.names.items())}
        aspects = {match["aspect"] or match["other"]: column for column, match in matches.items() if match}
        cells = [cell.strip() for column in aspects.values() for cell in self._cells(column)]
        if len(aspects) < 2 or not all(re.fullmatch(r"(\d+(\.\d+)?\s*%?)?", cell) for cell in cells):
            return {}
        return {"weights": [{"annotator": self.rater or {"constant": PEOPLE}, "aspects": aspects}]}

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


def _system(row: Mapping[str, str], source: str | Draft) -> str | None:
    """Return the system of a response, which can be a part of a cell."""
    return row.get(source) if isinstance(source, str) else Excerpt(**source).cut(row.get(source["field"], ""))


def _words(name: str) -> list[str]:
    """Return the words and the numbers of the last key of a path."""
    return re.findall(r"[^\W\d_]+|\d+", normalize(name))


def _place(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the longest criterion that words name, and the annotator beside it, "" for none; None without one."""
    parts = [(words[:at], words[at:]) for at in range(1, len(words) + 1)]
    for criterion, person in sorted(parts + [(two, one) for one, two in parts], key=lambda own: -len(own[0])):
        name = "_".join(criterion)
        if SCORED.sub("", name) in RATED | FACTS or name in SCORES:
            return (name, " ".join(["annotator", *person] if "".join(person).isdigit() else person))
    return None


def _criterion(path: str) -> str:
    """Return the name of a criterion from the path of its number: `annotations.helpfulness.Rating` is helpfulness."""
    keys = [normalize(quote_key(key)) for key in parse_path(path)]
    return keys[-2] if keys[-1] in ("rating", "score", "value") and len(keys) > 1 else keys[-1]


def _criterion_name(path: str) -> str:
    """Return the criterion of a value in an object; "" if its name says nothing of what is judged."""
    match = PREFERRED.fullmatch(normalize(path))
    name = match["criterion"] if match else parse_path(path)[-1]
    return "" if name in SCORES else name


def suggest_parallel(preview: Preview) -> Draft | None:
    """Return the mapping of a table with a list of responses and lists with a number for each, or with one of each
    person; None for another."""
    names = {column: [parse_cell(row.get(column, "")) for row in preview.rows] for column in preview.columns}
    lists = {name: cells for name, cells in names.items() if all(isinstance(cell, list) and cell for cell in cells)}
    texts = [name for name in lists if LISTS.fullmatch(normalize(name)) and _are(lists[name], str)]
    for column in texts:
        lengths = [len(cell) for cell in lists[column]]
        others = {name: cells for name, cells in lists.items() if name != column}
        paths = {name: path for name, cells in others.items() if (path := _parallel_path(name, cells, lengths))}
        scores = {name: block for name in paths if (block := guess_scores(_numbers(lists[name])))}
        if not scores or max(lengths) == 1:
            continue
        single = names_of([name for name in preview.columns if name not in lists])
        system = first_of(names_of([name for name in paths if _are(lists[name], str)]), SYSTEM_LISTS)
        prompt = first_of(single, (*PROMPTS, "input", "text", "document", "article"))
        id = first_of(single, IDS) or "row"
        response = {"text": quote_key(parse_path(column)[-1])} | ({"system": system} if system else {})
        parallel = [paths[name] for name in (*scores, *([system] if system else []))]
        draft: Draft = {"explode": column, "parallel": parallel, "id": f"{{{id}}}-{{element}}"}
        draft |= {"group": f"{{{id}}}", "responses": [response]} | ({"prompt": prompt} if prompt else {})
        judge = first_of(single, JUDGE_COLUMNS)
        for name, block in scores.items():
            one = {"judge": judge, "value": name} if judge else {"layout": "wide", "annotators": {name: PEOPLE}}
            own = {"layout": "list", "value": name} if _are(lists[name], list) else one
            blocks = draft.setdefault("judges" if "judge" in own else "labels", [])
            blocks.append({**own, "criterion": last_key(name), "confirmed": False, **block})
        return draft
    return None


def _parallel_path(name: str, cells: Sequence[list[Any]], lengths: Sequence[int]) -> str | None:
    """Return how `parallel` refers to lists with a value for each response; None for other lists, and for lists in
    lists of which it is not clear whether the outer one is of responses or of people."""
    are_parallel = [*map(len, cells)] == [*lengths]
    if not _are(cells, list):
        return name if are_parallel else None
    are_people = all(len(own) == length for cell, length in zip(cells, lengths, strict=True) for own in cell)
    return None if are_people == are_parallel else f"{name}{EACH}" if are_people else name


def _numbers(cells: Iterable[list[Any]]) -> list[str]:
    """Return the texts of the values of lists, or of the lists in them."""
    return [
        cell_text(own) for cell in cells for value in cell for own in (value if isinstance(value, list) else [value])
    ]


def _are_numbers_of_others(lists: Sequence[list[Any]]) -> bool:
    """Return whether lists are those of ids: of different lengths, and each of increasing whole numbers."""
    several = [own for own in lists if len(own) > 1]
    are_whole = len({*map(len, lists)}) > 1 and all(type(value) is int for own in several for value in own)
    return len(several) > 5 and are_whole and all(own == sorted(set(own)) for own in several)


def _are(cells: Iterable[Any], kind: type) -> bool:
    return all(isinstance(own, kind) for cell in cells for own in cell)


def distinguish(draft: Draft) -> Draft:
    """Return the draft with other names for criteria of which two fields would be values of one target, and one scale
    for all values of a criterion.

    `round_1.quality` and `round_2.quality` become `round_1 quality` and `round_2 quality`.
    """
    found: dict[str, list[Draft]] = {}
    for name in ("labels", "gold"):
        for block in draft.get(name, ()):
            is_option = {text.lower(): value for text, value in block.get("values", {}).items()}.get("false", 0) is None
            if len(fields_of(block)) == 1 and not is_option and block.keys().isdisjoint(("criterion_field", "where")):
                place = [block.get(key) for key in ("kind", "criterion", "response", "each", "annotator", "step")]
                found.setdefault(str([name, *place]), []).append(block)
    for blocks in found.values():
        for block in blocks if len(blocks) > 1 else ():
            block["criterion"] = " ".join(parse_path(fields_of(block)[0]))
    share_scale(draft, ("labels", "gold"))
    return draft


def share_scales(blocks: Draft) -> None:
    """Let gold and judges on the scale of people's only criterion have it, and blocks of one criterion have one scale.

    What is adjudicated or judged on the same words or numbers as people's labels is the same criterion.
    """
    people = [own for own in blocks.get("labels", ()) if own.get("scale") and "criterion_field" not in own]
    for own in (*blocks.get("gold", ()), *blocks.get("judges", ())):
        same = {one.get("criterion", "") for one in people if _are_within(own, one)}
        if len(same) == len({one.get("criterion", "") for one in people}) == 1 and _are_categories(own):
            own["criterion"] = same.pop()
            attribute_to_judges(blocks, [path for path in fields_of(own) if MODEL.match(key_of(path))])
    judged = (path for own in blocks.get("gold", ()) for path in fields_of(own))
    attribute_to_judges(blocks, [path for path in judged if OF_MACHINES & {*_words(path)}])
    share_scale(blocks, ("labels", "gold", "judges"))


def share_scale(blocks: Draft, names: Sequence[str]) -> None:
    """Let blocks of one criterion have one scale."""
    found: dict[str, list[Draft]] = {}
    for own in (block for name in names for block in blocks.get(name, ())):
        if own.get("scale") and "criterion_field" not in own:
            found.setdefault(str([own.get("criterion"), own["kind"]]), []).append(own)
    for several in found.values():
        scales = [own["scale"] for own in several]
        for own in several if any(scale != scales[0] for scale in scales) else ():
            own["scale"] = _common_scale(scales)


def share_remarks(blocks: Sequence[Draft]) -> None:
    """Let a remark in place of a value, which one field has, be no value in any: the first rows lack most of them."""
    found = {text: None for block in blocks for text in block.get("values", {}) if text.endswith("*")}
    for block in blocks if found else ():
        block["values"] = dict(block.get("values", {})) | found


def _common_scale(scales: Sequence[Draft]) -> Draft:
    """Return the scale with the values of several."""
    values = [value for own in scales for value in own.get("categories", (own.get("low"), own.get("high")))]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return {"level": "nominal", "categories": sorted(dict.fromkeys(values), key=str)}
    scale = scale_of(min(values), max(values), () if all("categories" in own for own in scales) else (0.5,))
    is_reversed = all([*own.get("categories", ())] == sorted(own.get("categories", (1, 0)))[::-1] for own in scales)
    return scale | ({"categories": scale["categories"][::-1]} if is_reversed and "categories" in scale else {})


def attribute_to_judges(blocks: Draft, fields: Collection[str]) -> None:
    """Let the values of labels and gold in some fields be those of judges with the names of the fields."""
    for name in ("labels", "gold") if fields else ():
        own = [block for block in blocks.get(name, ()) if {*fields_of(block)} <= {*fields}]
        blocks[name] = [block for block in blocks.get(name, ()) if block not in own]
        for block in own:
            shared = {field: value for field, value in block.items() if field not in NOT_OF_JUDGES}
            columns = {field: key_of(field) for field in fields_of(block)}
            blocks.setdefault("judges", []).append({"columns": columns, **shared})


def ranks_of(block: Draft) -> list[str]:
    """Return the fields with the ranks of a block."""
    ranks = block.get("ranking", {}).get("ranks", ())
    return [ranks] if isinstance(ranks, str) else [*ranks]


def _are_categories(block: Draft) -> bool:
    return block.get("kind") == "answer" and bool(block["scale"].get("categories"))


def _are_within(block: Draft, other: Draft) -> bool:
    """Return whether the categories of a block are among those of another."""
    own, all_of = (set(one.get("scale", {}).get("categories", ())) for one in (block, other))
    return block.get("kind") == other.get("kind") and bool(own) and own <= all_of


def fields_of(block: Draft) -> list[str]:
    """Return the fields with the values of a block."""
    named = [*block.get("annotators", ()), *block.get("columns", ()), block.get("value")]
    return [field for field in named if isinstance(field, str)]


def stated_scale(block: Draft, columns: Iterable[str], cells: Iterable[str]) -> Draft:
    """Return the block on the scale that the names of its columns state, such as `Accuracy (0-4)`, if it has all of
    the numbers."""
    numbers = [float(cell) for cell in with_value(cells) if re.fullmatch(r"-?\d+(\.\d+)?", cell)]
    lowest = int(min(numbers, default=0) >= 1)  # of `out of 5`
    ends = [(int(own["low"] or lowest), int(own["high"])) for name in columns for own in RANGE.finditer(last_key(name))]
    low, high = min((own for own in ends if own[0] < own[1]), default=(0, 0))
    if block["kind"] != "score" or not numbers or not low <= min(numbers) <= max(numbers) <= high:
        return block
    return block | {"scale": scale_of(low, high, numbers)}


def leave_open(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block, not confirmed if the file does not state what it says: which response a number means, or the
    scale. Truth values of a column such as `is_safe` are stated by its name."""
    sides = value.get("compare", ()) if isinstance(value := block.get("value"), dict) else ()
    # Only counts of votes and marks of the winner state by their names that the higher number is better.
    is_compared = any(isinstance(side, dict) or SCORES_COMPARED.match(normalize(side)) for side in sides)
    has_numbers = any(is_position(cell.strip()) for cell in cells)
    is_stated = block["kind"] == "answer" or (block["kind"] == "preference" and not (is_compared or has_numbers))
    return block if is_stated else block | {"confirmed": False}


def guess_values(cells: Iterable[str]) -> Draft | None:
    """Return kind, scale and values of cells, also of those that are no value; None if it is not clear."""
    texts = list(cells)
    block = guess_block(texts)
    return block and _without_value(block, texts)


def _without_value(block: Draft, cells: Iterable[str]) -> Draft:
    """Return the block with the cells that are usual words for no value among its values."""
    texts = {cell.strip() for cell in cells}
    nothing = {text: None for text in sorted(texts) if text.lower() in NO_VALUE}
    nothing |= {f"{found[1]}*": None for text in sorted(texts) if (found := WITHOUT_VALUE.fullmatch(text))}
    return block | ({"values": dict(block.get("values", {})) | nothing} if nothing else {})


def guess_scores(cells: Sequence[str]) -> Draft | None:
    """Return kind, scale and words for no value of numbers; None for others. A scale from 0 is one of scores."""
    block = _guess_numbers(with_value(cells))
    return block and _without_value(block, cells)


def _scores_or_answers(cells: Sequence[str]) -> Draft | None:
    """Return kind and scale of numbers, or of a few words; None for other cells."""
    words = sorted(with_value(cells))
    words = [] if any(len(word) > MAX_WORD for word in words) else words  # they are texts
    answer = {"kind": "answer", "scale": {"level": "nominal", "categories": words}}
    return guess_scores(cells) or (answer if 1 < len(words) <= MAX_CATEGORIES else None)


def _guess_numbers(distinct: Collection[str]) -> Draft | None:
    """Return kind and scale of numbers; None for other cells."""
    if _are_between(distinct, 0, 1):
        return {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 1}}
    distinct = {cell.removesuffix(".0") if re.fullmatch(r"\d\.0", cell) else cell for cell in distinct}
    numbers = {int(cell) for cell in distinct if re.fullmatch(r"\d", cell)}
    if distinct and len(numbers) == len(distinct) and max(numbers) <= 4:
        low = 0 if 0 in numbers else 1
        highest = max(max(numbers), 1) if low == 0 else 3 if max(numbers) <= 3 else 5
        return {"kind": "score", "scale": {"level": "ordinal", "categories": list(range(low, highest + 1))}}
    block = guess_block(distinct)
    return block if block and block["kind"] == "score" else None


def cell_text(cell: Any) -> str:
    return "" if cell is None else format_value(cell) if isinstance(cell, bool | int | float) else str(cell)


def _are_between(cells: Iterable[str], low: float, high: float) -> bool:
    """Return whether all cells are numbers between two ends, and some of them are fractions."""
    texts = list(cells)
    if not texts or not all(re.fullmatch(r"\d+(\.\d+)?([eE]-?\d+)?", text) for text in texts):
        return False
    numbers = [float(text) for text in texts]
    return low <= min(numbers) and max(numbers) <= high and not all(number.is_integer() for number in numbers)
