"""Suggests the roles of a table's columns from their values: names are further evidence, not a condition.

A prompt or a document repeats over rows where its responses differ; a label has few values, and is no fact of an item,
of a system or of a person. What is suggested so is not confirmed: a person states what the file does not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import combinations
from typing import Any

from core.formats.mapping.columns import (
    ASIDE,
    CONTEXT,
    CRITERION,
    FACT,
    LABEL,
    PERSON,
    PROMPT,
    REFERENCE,
    RESPONSE,
    SYSTEM,
    TRUTH,
    WHY,
    Column,
    beside_name,
    compared_with_zero,
    count_groups,
    depends,
    families,
    name_parts,
    name_words,
    narrow_scale,
    number_marks,
    profile,
    stem,
)
from core.formats.mapping.fields import key_of, parse_path, quote_key
from core.formats.mapping.guess import (
    EMPTY,
    MODEL,
    Draft,
    element_id,
    guess_block,
    last_key,
    meanings,
)
from core.formats.mapping.preview import Preview, parse_cell
from core.formats.mapping.suggest_blocks import PEOPLE, SEPARATOR, BlockSuggester, share_scales, stated_scale

# Usual keys of a text in an object.
TEXT_KEYS = ("text", "content", "response", "output", "answer", "summary")
TIME = re.compile(r"\b(at|time|timestamp|date|datetime|created|updated|submitted)\b")
RANK = re.compile(r"\brank(s|ing)?\b")
# How many times more ids than texts there are at most, if the ids are those of the texts.
ALIKE = 1.02
# Rows whose lists are searched for the names of their fields.
ROWS = 50
# Columns with the same values up to which one of them can name people: more are answers to several questions.
MAX_ALIKE = 2
# Labels in an object from which on it is a form, of which each field is a question.
MIN_FORM = 3
# How many times as many rows as different texts there are at least, if these are categories.
FEW = 4
# Different criteria in the rows of a file at most.
MAX_CRITERIA = 50
# Words for an empty cell that are no category.
NOTHING = ("nan", "na", "n/a")
BEST = re.compile(r"^(best|preferred|winner|choice|chosen|selected)\b")
# Between two systems in one cell.
PAIRS = (" vs. ", " vs ", ",", ";", "|")


class RoleSuggester:
    """Suggests a mapping of a table; the responses and the prompt of a draft stand."""

    def __init__(self, preview: Preview, draft: Draft, chosen: Mapping[str, Sequence[str]] | None = None) -> None:
        """`chosen` has the roles that a person states: role -> columns."""
        self.preview, self.draft, self.chosen = preview, dict(draft), chosen or {}
        self.columns = profile(preview)
        self._paths = [parse_path(column) for column in preview.columns]
        self.rows = len(preview.rows)
        self.prose = [own for own in self.columns if own.is_prose]
        self.short = [own for own in self.columns if own.is_short]
        self.annotator = next(iter(self._of(self.chosen.get("annotator", ()))), None) or self._annotator()
        self.aside = [own for own in self.prose if self._is_aside(own)]
        self.texts: list[Column] = []
        self.pair = set[str]()
        """The systems of which one cell names two."""
        self.by_people: list[Draft] = []
        """The scales of labels of people whom the file does not name."""

    def suggest(self) -> Draft | None:
        """Return the mapping; None without responses, unless the file has no texts at all but what names them."""
        if not self.draft.get("responses"):
            self.draft["responses"] = self._family() or self._response() or self._without_text()
        systems = self._of(self.chosen.get("system", ()))
        if not self._set_pair(systems):
            texts = self._of([str(own.get("text")) for own in self.draft["responses"]])
            known = any("system" in own or "name" in own for own in self.draft["responses"])
            named = [] if known else [own for own in self.short if own.is_called(SYSTEM) and not own.numbers]
            systems = self._by_response(systems or named, texts) or systems or self._named_systems(texts)
            for own, system in zip(self.draft["responses"], systems, strict=False):
                own["system"] = system.path
        if len(systems) == 2 == len(self.draft["responses"]) and not any(own.numbers for own in systems):
            self.pair = self.pair or {*systems[0].distinct, *systems[1].distinct}
        paths = [own.get("transcript") or own.get("text", "") for own in self.draft["responses"]]
        paths = [own for own in paths if not isinstance(own, dict)]
        self.texts = self._of(paths)
        if len(self.texts) < len(paths) or not (self.texts or self._set_key()):
            return None
        if self.texts:
            self._set_prompt()
            self._set_id()
        self.draft = {field: value for field, value in self.draft.items() if value}
        self.draft |= self._blocks()
        return self.draft

    def _set_pair(self, systems: Sequence[Column]) -> bool:
        """Let two systems that one cell names, such as `x vs y`, be those of two responses; return whether there are.

        A file without texts has them instead: then a label has to be the name of one of them.
        """
        responses = self.draft["responses"]
        texts = [own.get("text") for own in responses]
        are_two = len(responses) == 2 and not any("system" in own or "name" in own for own in responses)
        for own in systems or self.short:
            mark = next((mark for mark in PAIRS if all(cell.count(mark) == 1 for cell in own.distinct)), None)
            if mark is None:
                continue
            names = {name.strip() for cell in own.distinct for name in cell.split(mark)}
            is_named = own in systems or own.is_called(SYSTEM) or self._name_winner(names, own)
            is_alone = not self._has_texts and texts in ([], [own.path]) and self._name_winner(names, own)
            if "" in names or not (is_alone or (are_two and is_named)):
                continue
            self.pair = names
            parts = [{"field": own.path, "before_last": mark}, {"field": own.path, "after_last": mark}]
            texts = [*texts] if are_two else [*parts]
            self.draft["responses"] = [{"text": text, "system": part} for text, part in zip(texts, parts, strict=True)]
            return True
        return False

    def _named_systems(self, texts: Sequence[Column]) -> list[Column]:
        """Return the columns of two responses whose values others name as the better one."""
        known = any("system" in own or "name" in own for own in self.draft["responses"])
        pair = (
            [] if known or len(texts) != 2 else self._by_response([own for own in self.short if not own.numbers], texts)
        )
        names = {name for own in pair for name in own.distinct}
        named = [own for own in self.short if own not in pair and len(own.distinct) > 1 and _is_winner(own, names)]
        return pair if named else []

    def _name_winner(self, names: set[str], pair: Column) -> bool:
        return any(own is not pair and _is_winner(own, names) for own in self.short)

    def _annotator(self) -> Column | None:
        """Return who gave the values: by name, or what alone tells rows with the same texts apart."""
        several = [own for own in self.short if len(own.distinct) < max(self.rows, 2)]
        several = [own for own in several if not any(SEPARATOR in text for text in own.distinct)]  # lists of people
        named = [own for own in several if own.is_called(PERSON) and not own.is_called(RESPONSE)]
        named = [own for own in named if not LABEL.match(own.words.split()[-1])]
        # One column of several like ones has the values of a person, not persons.
        numbered = [stem([own, own]) for own in named if number_marks(own)]
        named = [own for own in named if not number_marks(own) or numbered.count(stem([own, own])) == 1]
        named = [own for own in named if sum(own.distinct == one.distinct for one in several) <= MAX_ALIKE]
        # Scores or verdicts instead of names.
        named = [own for own in named if not own.distinct <= TRUTH and (own.words != "judge" or not own.numbers)]
        if named:

            def evidence(own: Column) -> tuple[bool, bool, int, int]:
                return 2 * own.filled > self.rows, "id" in own.words, -own.words.count(" "), -len(own.distinct)

            return max(named, key=evidence)
        texts = [own for own in self.columns if own.is_prose or own.is_nested]
        if not self.prose or count_groups(texts) == self.rows:
            return None
        other = [own for own in several if not own.is_label and not any(map(own.is_called, (FACT, SYSTEM, RESPONSE)))]
        return next((own for own in other if count_groups([*self.prose, own]) == self.rows), None)

    def _is_aside(self, column: Column) -> bool:
        """Return whether a text is about the responses, such as a comment of an annotator."""
        rated = [own for own in self.short if own.is_label]
        named = [own for own in self.prose if any(own.words.startswith(f"{one.words} ") for one in rated)]
        inside = " ".join(name_words(column)[:-1])  # such as the text of a note
        is_named = (
            column.is_called(ASIDE) or ASIDE.search(inside) is not None or (len(named) > 1 and column in named)
        )  # a quotation for each value
        return (is_named and (self.annotator is not None or not column.words.startswith("explan"))) or (
            2 * column.filled < self.rows
        )

    def _family(self) -> list[Draft]:
        """Return several responses: columns that values name, or like ones whose names differ in one word or number."""
        named = {key_of(own.path): own.path for own in self.prose}
        for own in self.short:
            if len(texts := [named[name] for name in named if name in own.distinct]) > 1 and _is_winner(own, {*named}):
                return [{"text": text} for text in texts]
        if like := self._nested() or self._rated():
            return like
        found: dict[tuple[str, ...], list[tuple[str, Column]]] = {}
        numbered = {mark for own in self.short if own.is_called(SYSTEM) for mark in number_marks(own)}
        rated = {mark for own in self.short if own.is_label for mark in number_marks(own)}
        for own in self.prose:
            for at, word in enumerate(names := name_parts(own)):
                is_number = re.fullmatch(r"\d+|[a-h]", word) is not None
                rest = (*names[:at], "*", *names[at + 1 :])
                is_response = RESPONSE.search(" ".join(rest)) or (is_number and word in {*numbered, *rated})
                is_other = (own.is_called(PROMPT) or own.is_called(REFERENCE)) and word not in numbered
                if own not in self.aside and not is_other and (is_response or (is_number and len(names) == 1)):
                    found.setdefault((*rest, str(is_number)), []).append((word, own))
        pattern, family = max(found.items(), key=lambda own: len(own[1]), default=((), []))
        if len(family) < 2:
            return []
        family += self._short_members(pattern)
        family.sort(key=lambda own: self.columns.index(own[1]))
        return [{"text": own.path} | self._system_of(word, own) for word, own in family]

    def _rated(self) -> list[Draft]:
        """Return the texts that are called as systems are: other columns have values about each of them, such as
        `gpt4_score` beside `gpt4`, and the same about the others."""
        values = [own for own in self.columns if own.is_label or own.is_nested]
        found: dict[tuple[str, ...], dict[str, None]] = {}
        for text in (own for own in self.prose if own not in self.aside and "." not in own.path):
            if not number_marks(text) and not text.is_called(PROMPT, REFERENCE, CONTEXT, RESPONSE):
                for own in values:
                    if rest := beside_name(own, text):
                        found.setdefault(rest, {})[text.path] = None
        rest, texts = max(found.items(), key=lambda own: len(own[1]), default=((), {}))
        if len(texts) < 2:
            return []
        # Of a system whose texts are short, or lists of texts, the others say that it is one.
        more = [own for own in self.columns if "." not in own.path and not own.numbers and own.path not in texts]
        texts |= {own.path: None for own in more if rest in [beside_name(one, own) for one in values]}
        order = [own.path for own in self.columns if own.path in texts]
        return [{"text": path, "name": key_of(path)} for path in order]

    def _short_members(self, pattern: tuple[str, ...]) -> Iterator[tuple[str, Column]]:
        """Yield columns whose names are like those of responses although their texts are short, and what differs."""
        at = pattern.index("*")
        for own in self.short:
            parts = name_parts(own)
            if (*parts[:at], "*", *parts[at + 1 :], "False") == pattern and not own.is_called(SYSTEM):
                yield parts[at], own

    def _nested(self) -> list[Draft]:
        """Return the text of each of several like objects whose keys are the systems: `gpt4.text` and `claude.text`."""
        found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for own in self.prose:
            keys = parse_path(own.path)
            is_other = any(map(own.is_called, (PROMPT, REFERENCE, ASIDE))) and not RESPONSE.search(own.words)
            if len(keys) > 1 and own not in self.aside and (keys[-1] in TEXT_KEYS or not is_other):
                found.setdefault((str(len(keys)), keys[0] if len(keys) > 2 else "", keys[-1]), []).append(keys)
        for family in sorted(found.values(), key=len, reverse=True):
            words = [[key for at, key in enumerate(keys) if len({own[at] for own in family}) > 1] for keys in family]
            inner = [
                {path[len(keys) - 1 :] for path in self._paths if path[: len(keys) - 1] == keys[:-1]} for keys in family
            ]
            is_role = any(
                any(role.search(key.lower()) for role in (PROMPT, REFERENCE, CONTEXT)) for own in words for key in own
            )
            if len(family) > 1 and not is_role and len(set.intersection(*inner)) > 1:
                paths = [".".join(map(quote_key, keys)) for keys in family]
                return [{"text": path, "name": " ".join(own)} for path, own in zip(paths, words, strict=True)]
        return []

    def _system_of(self, word: str, text: Column) -> Draft:
        """Return the system of one of several responses: the column with its number, or what its name begins with."""
        is_mark = re.fullmatch(r"\d+|[a-h]", word) is not None
        others = [own for own in self.short if word in own.words.split() and not own.is_prose]
        others = [own for own in others if (own.is_called(SYSTEM) if is_mark else own.words.startswith(f"{word} "))]
        if others or is_mark:
            return {"system": others[0].path} if others else {}
        return {"name": parse_path(text.path)[-2] if "." in text.path else word}

    def _response(self) -> list[Draft]:
        """Return the only response: the text that its name, its place and the repetition of others speak for."""
        prose = [own for own in self.prose if own not in self.aside]
        if not prose:
            return []
        most = max(len(own.distinct) for own in prose)
        are_different = min(len(own.distinct) for own in prose) < 0.95 * most

        def evidence(own: Column) -> float:
            by_name = 3 * own.is_called(RESPONSE) + 2 * own.is_called(SYSTEM)
            by_name -= 3 * sum(map(own.is_called, (PROMPT, REFERENCE, CONTEXT, ASIDE)))
            by_value = (4 if len(own.distinct) >= 0.95 * most else -4) if are_different else 0
            return by_name + by_value + prose.index(own) / len(prose)

        best = max(prose, key=evidence)
        if len(prose) == 1 and best.is_called(PROMPT) and not best.is_called(RESPONSE):
            return []
        return [{"text": best.path} | self.system(best)]

    def system(self, text: Column | None) -> Draft:
        """Return the system of the only response: by name, or what tells the responses to one prompt apart."""
        short = [own for own in self.short if own is not self.annotator and 2 * len(own.distinct) <= self.rows]
        named = [own for own in short if own.is_called(SYSTEM) and not own.numbers and "type" not in own.words]
        if named:
            first = min(named, key=lambda own: len(own.words))
            return {"system": self._with_setting(first, text, short)}
        begin = key_of(text.path).split("_")[0] if text else ""
        return {"name": begin} if MODEL.search(begin) and text and begin != text.path else {}

    def _with_setting(self, system: Column, text: Column | None, short: Sequence[Column]) -> str:
        """Return the system, with what else tells its responses to one prompt apart, such as the name of a setting."""
        same = [own for own in self.prose if own is not text and len(own.distinct) <= self.rows / 2]
        if text is None or not same or self.annotator is not None or count_groups([*same, system]) == self.rows:
            return system.path
        others = [own for own in short if own is not system and not own.numbers]
        found = next((own for own in others if count_groups([*same, system, own]) == self.rows), None)
        return f"{{{system.path}}} {{{found.path}}}" if found else system.path

    def _without_text(self) -> list[Draft]:
        """Return the system, or each of two systems, as the response of a file without texts."""
        if self._has_texts:
            return []
        numbered = [own for own in self.short if own.is_called(SYSTEM) and number_marks(own) and not own.numbers]
        system = self.system(None).get("system")
        are_compared = len(numbered) == 2 or self._ranks(numbered)
        paths = [own.path for own in numbered] if are_compared else [system] if system else []
        ids = [own for own in self.short if re.search(r"\bid\b", own.words)]
        if not paths and (response := next((own for own in ids if own.is_called(RESPONSE)), None)):
            prompt = next((own.path for own in ids if own.is_called(PROMPT)), None)
            self.draft |= {"prompt": prompt} if prompt else {}
            return [{"text": response.path}]
        return [{"text": path, "system": path} for path in paths]

    @cached_property
    def _has_texts(self) -> bool:
        texts = [own for own in self.columns if not own.is_label and any(text.count(" ") > 1 for text in own.distinct)]
        texts = [own for own in texts if own.is_prose or FEW * len(own.distinct) > self.rows]  # others are categories
        return any(own not in self.aside for own in texts)

    def _set_key(self) -> bool:
        """Let what names a text be the prompt of its item, if the file has none; return whether there is one."""
        chosen = self.draft.get("prompt")
        key = None if self._has_texts or chosen else self._key()
        if key or chosen:
            self.draft |= {"id": key.path if key else chosen, "prompt": key.path if key else chosen}
        return bool(key or chosen)

    def _key(self) -> Column | None:
        """Return the column that names what was judged: by name, and not each row with several annotators."""
        others = (self.annotator, *self.texts)
        keys = [own for own in self.short if own not in others and not own.is_label]
        return max(
            (own for own in keys if own.filled == self.rows),
            key=lambda own: (
                not own.is_called(SYSTEM, TIME),
                bool(re.search(r"\b(id|idx|hash|doc)\b", own.words)) and not own.is_called(LABEL),
                self.annotator is not None and len(own.distinct) < self.rows,
                len(own.distinct),
            ),
            default=None,
        )

    def _set_prompt(self) -> None:
        """Add prompt, context and reference: the other texts, by name, by repetition and by place."""
        rest = [own for own in self.prose if own not in (*self.texts, *self.aside)]
        named = [own for own in rest if own.is_called(REFERENCE) and not own.is_called(PROMPT)]
        if named:
            self.draft.setdefault("reference", named[0].path)
        rest = [own for own in rest if own not in named and own.path not in (self.draft.get("reference"),)]
        if len({self._about(own) for own in rest} - {None}) > 1:  # further texts of each response
            rest = [own for own in rest if not self._about(own)]
        size = max(len(own.distinct) for own in self.texts)

        def evidence(own: Column) -> float:
            by_name = 3 * own.is_called(PROMPT) - own.is_called(CONTEXT) - 2 * own.is_called(RESPONSE)
            return by_name + 2 * (len(own.distinct) < size) - rest.index(own) / len(rest)

        if not self.draft.get("prompt") and rest:
            best = max(rest, key=evidence)
            outer = [own for own in rest if own.path.split(".")[0] == own.path and len(own.distinct) < size]
            explode = self.draft.get("explode")
            self.draft["prompt"] = [own.path for own in outer] if explode and len(outer) > 1 else best.path
            self.draft.pop("context", None)
        elif not self.draft.get("prompt") and self.texts[0].is_prose:
            self._set_id_of_prompt()
        used = self.draft.get("prompt")
        context = [own for own in rest if own.is_called(CONTEXT) and own.path not in (used or ())]
        if context and "context" not in self.draft:
            self.draft["context"] = context[0].path

    def _set_id_of_prompt(self) -> None:
        """Let the id of a prompt or a reference that the file lacks be the prompt of several responses."""
        size = len(self.texts[0].distinct)
        keys = [own for own in self.short if re.search(r"\bid\b", own.words) and 1 < len(own.distinct) < size]
        keys = [own for own in keys if own.is_called(PROMPT, REFERENCE) and not own.is_called(SYSTEM, RESPONSE)]
        if keys and keys[0] is not self.annotator and keys[0].filled == self.rows:
            self.draft["prompt"] = keys[0].path

    def _set_id(self) -> None:
        """Name items by what is the same for the same texts, so that the rows of several annotators are one item."""
        systems = [own["system"] for own in self.draft["responses"] if own.get("system")]
        prompt = self.draft.get("prompt")
        prompts = [prompt] if isinstance(prompt, str) else prompt if isinstance(prompt, list) else []
        paths = [*prompts, *(own.path for own in self.texts), *systems]
        content = [own for own in self.columns if own.path in paths]
        if not prompts and systems and self.texts[0] in self.short:
            self._set_id_without_text(systems)
            return
        others = [own for own in content if own.path not in prompts or not re.search(r"\bid\b", own.words)]
        keys = [own for own in self.short if own not in (self.annotator, *others) and own.filled == self.rows]
        keys = [own for own in keys if not own.is_called(SYSTEM, TIME)]
        keys = [own for own in keys if not any(number % 1 for number in own.numbers)]  # measured
        keys.sort(key=lambda own: (not re.search(r"\b(id|idx)\b", own.words), own.is_label))
        same = [own for own in self.columns if own.path in prompts]
        options = [[own] for own in keys] + [[own, *self._of(systems)] for own in keys if systems]
        options += [[*pair] for pair in combinations(keys[:6], 2)]
        fits = [option for option in options if all(depends(option, own) for own in content)]
        are_repeated = count_groups(content) < self.rows
        if self.annotator is not None and are_repeated:
            # A few texts are the same for different items; the number of an assignment tells far more rows apart.
            fits = [option for option in fits if count_groups([*content, *option]) <= ALIKE * count_groups(content)]
            texts = [*(self._of(systems) if len(self.texts) == 1 else []), *(same or self.texts)]
            fits += [texts[::-1]] if all(depends(texts, own) for own in content) else [content]
        elif not any(re.search(r"\bid\b", own.words) for option in fits for own in option):
            fits = []
        if not fits or (self.annotator is None and count_groups(fits[0]) < self.rows):
            self.draft["id"] = element_id(self.draft["explode"]) if self.draft.get("explode") else "{row}"
            return
        names = [own.path for own in fits[0]]
        self.draft["id"] = names[0] if len(names) == 1 else "-".join(f"{{{name}}}" for name in names)
        if len(names) > 1:
            self.draft["group"] = names[0]

    def _set_id_without_text(self, systems: Sequence[str]) -> None:
        """Let an id be the prompt of a file without texts: what was judged is elsewhere."""
        key = self._key()
        if key is None:
            return
        own = [key, *self._of(systems)]
        if self.annotator is None and count_groups(own) < self.rows:  # such as the number of a turn
            others = [one for one in self.short if one not in own and (not one.is_label or one.is_called(FACT))]
            own += next(([one] for one in others if count_groups([*own, one]) == self.rows), [])
        names = "-".join(f"{{{one.path}}}" for one in own)
        self.draft |= {"id": names, "group": key.path, "prompt": key.path}

    def _of(self, paths: Iterable[str | Draft]) -> list[Column]:
        names = [path["field"] if isinstance(path, dict) else path for path in paths]
        return [own for path in dict.fromkeys(names) for own in self.columns if own.path == path]

    def _blocks(self) -> Draft:
        """Return the blocks of names and lists, and those of further columns with label-like values."""
        suggester = BlockSuggester(self.preview, self.draft)
        suggester.rater = self.annotator.path if self.annotator else None
        suggester.columns = [own for own in suggester.columns if own != suggester.rater]
        found = suggester.suggest()
        found["labels"] = [own for own in found.get("labels", []) if self._complete(own)]
        self._name_responses(found["labels"])
        ranks = [] if any("each" in own for own in found["labels"]) else self._ranks(self.texts)
        if ranks:
            found["labels"].append(self._ranking(ranks))
        unnamed = [own for own in found["labels"] if PEOPLE in own.get("annotators", {}).values()]
        self.by_people = [own["scale"] for own in unnamed if "response" not in own]
        labels = self._further(str(found), suggester)
        criterion = next((own for own in self.short if own.is_called(CRITERION) and own is not self.annotator), None)
        criterion = criterion or self._apart(labels)
        labels = [own for own in labels if own is not criterion]
        about = [own for own in labels if len(self.texts) > 1 and not self._is_preference([own])]
        stems = {stem([own, own]) for own in about if number_marks(own) and self._about(own)}
        # A value of a numbered text that the file lacks is about none of the others.
        left = [own for own in about if number_marks(own) and not self._about(own) and stem([own, own]) in stems]
        labels, about = ([own for own in of if own not in left] for of in (labels, about))
        one_each = labels if self.annotator is not None else about
        of_people = self._objects_of_people(labels)
        inside = [own for several in of_people for own in several]
        single = [[own] for own in one_each if own not in inside]
        rest = families([own for own in labels if own not in one_each and own not in inside])
        for columns in [*of_people, *single, *rest]:
            name, block = self._block(columns, criterion)
            found.setdefault(name, []).append(block)
        self._aggregate(found["labels"], criterion)
        long = [own for own in found["labels"] if own["layout"] == "long" and "each" not in own]
        reasons = [own.path for own in self.aside if own.is_called(WHY)]
        if len(long) == len(reasons) == 1:
            long[0].setdefault("reason", reasons[0])
        share_scales(found)
        return {name: blocks for name, blocks in found.items() if blocks}

    def _apart(self, labels: Sequence[Column]) -> Column | None:
        """Return the column of few words that alone tells the values of each annotator for each item apart."""
        key = [
            *self.texts,
            *self._of(as_list(self.draft.get("prompt"))),
            *([self.annotator] if self.annotator else []),
        ]
        if self.annotator is None or not labels or count_groups(key) == self.rows:
            return None
        others = [own for own in labels if own.is_called(LABEL)] if len(labels) > 1 else labels
        free = [own for own in self.short if own not in (*key, *others) and not own.numbers]
        free = [own for own in free if not own.is_called(SYSTEM)]
        free = [own for own in free if 1 < len(own.distinct) <= MAX_CRITERIA and own.filled == self.rows]
        return next((own for own in free if count_groups([*key, own]) == self.rows), None)

    def _ranks(self, texts: Sequence[Column]) -> list[Column]:
        """Return the column with the rank of each of several responses."""
        return self._by_response([own for own in self.short if own.numbers and own.is_called(RANK)], texts)

    def _by_response(self, columns: Sequence[Column], texts: Sequence[Column]) -> list[Column]:
        """Return the column about each of several responses, in their order; none if one has none."""
        numbers = {number: own for own in columns if (number := self._about(own, texts))}
        return [numbers[number] for number in sorted(numbers)] if len(numbers) == len(texts) > 1 else []

    def _ranking(self, ranks: Sequence[Column]) -> Draft:
        """Return the block of ranks; a negative one is no rank."""
        annotator = self.annotator.path if self.annotator else {"constant": PEOPLE}
        values = {f"{number:g}": None for own in ranks for number in own.numbers if number < 0}
        ranking = {"ranks": [own.path for own in ranks]}
        return {"layout": "ranking", "annotator": annotator, "ranking": ranking, "values": values}

    def _further(self, used: str, suggester: BlockSuggester) -> list[Column]:
        """Return the columns with labels that no block has, apart from what a person has to decide."""
        named = [
            own for own in self.columns if own.path in self.chosen.get("label", ()) and f"'{own.path}'" not in used
        ]
        like = [own for own in self.columns if own.is_label or _is_winner(own, self.pair)]
        free = [own for own in like if f"'{own.path}'" not in used and self._is_free(own)]
        # The number of the best of several responses is no score.
        free = [own for own in free if len(self.texts) < 3 or not own.is_called(BEST)]
        free = [own for own in free if not any(self._is_derived(own, other) for other in self.columns)]
        records = [parse_cell(row.get(path, "")) for path in self.preview.lists for row in self.preview.rows[:ROWS]]
        elements = [own for cell in records if isinstance(cell, list) for own in cell if isinstance(own, dict)]
        keys = {key for own in elements for key in own}
        # What sums up the values of a list, and one of several columns of one value, is left out.
        free = [own for own in free if "." not in own.path or last_key(own.path) not in keys]
        options = {path for columns in suggester.options.values() for path in columns}
        free = [own for own in free if own.path not in {*suggester.about, *options}]
        free += [own for own in self._beside(free, used) if own not in free]
        free = [own for own in free if f"'each': '{own.path.rpartition('.')[0]}'" not in used]
        # Numbers in objects: the file does not say whose they are.
        parents = tuple(f"{own.path.rpartition('.')[0]}." for own in self.texts if "." in own.path)
        inside = [own for own in free if len(parse_path(own.path)) > 2 and not own.path.startswith(parents)]
        free = [own for own in free if not own.numbers] if any(own.numbers for own in inside) else free
        return [*free, *(own for own in named if own not in free)]

    def _complete(self, block: Draft) -> bool:
        """State which response a list is beside, and which list names its people; return whether it is no such one."""
        people = [own.path for own in self.columns if own.is_nested and own.is_called(PERSON)]
        if block["layout"] == "list" and people and not (isinstance(block["value"], str) and "." in block["value"]):
            block.setdefault("annotators_field", people[0])
        parents = [str(own.get("text", "")).rpartition(".")[0] for own in self.draft.get("responses", [])]
        if "each" in block and len(parents) > 1 and (parent := block["each"].rpartition(".")[0]) in parents:
            block.setdefault("response", parents.index(parent) + 1)
        return block.get("value") not in people

    def _name_responses(self, labels: Sequence[Draft]) -> None:
        """Let lists of values be about the response whose name their column has: `gpt4_ratings` beside `gpt4`."""
        for block in labels:
            column = next(iter(self._of([str(block.get("value"))])), None)
            if block.get("layout") == "list" and "response" not in block and column:
                response = self._about(column) if block["kind"] != "preference" else None
                if response and (rest := beside_name(column, self.texts[response - 1])):
                    block |= {"response": response, "criterion": " ".join(rest)}

    def _objects_of_people(self, labels: Sequence[Column]) -> list[list[Column]]:
        """Return the labels in each object whose keys are persons, such as `grades.grader1`, if no column names any."""
        inside: dict[str, list[Column]] = {}
        for own in labels if self.annotator is None else ():
            parent, _, key = own.path.rpartition(".")
            if parent and re.fullmatch(r"[a-z]*(grader|rater|annotator|worker|expert|judge)[_ -]?\w{1,3}", key.lower()):
                inside.setdefault(parent, []).append(own)
        return [*inside.values()]

    def _is_free(self, column: Column) -> bool:
        """Return whether a column has no other role, and is no fact of the item, the system or the person."""
        fields = ("id", "prompt", "context", "reference", "scenario", "group", "responses")
        names = str([self.draft.get(field) for field in fields])
        if column is self.annotator or column in self.texts or column.is_prose:
            return False
        if f"'{column.path}'" in names or f"{{{column.path}}}" in names:
            return False
        asked = [own.path.rpartition(".")[0] for own in self._of(as_list(self.draft.get("prompt")))]
        if column.path.rpartition(".")[0] in {*asked} - {""}:  # beside the prompt, in an object of the task
            return False
        prompt = self.draft.get("group") or self.draft.get("prompt")
        whole = self._of([prompt] if isinstance(prompt, str) else prompt or [])
        systems = self._of([own["system"] for own in self.draft.get("responses", []) if own.get("system")])
        for own in (whole, systems, [self.annotator] if self.annotator else []):
            are_several = own and 1 < count_groups(own) <= 0.8 * self.rows and len(column.distinct) > 1
            if are_several and depends(own, column):
                return False
        return True

    def _beside(self, labels: Sequence[Column], used: str) -> Iterator[Column]:
        """Yield numbers of the same range as those of the label beside them, as criteria are adjacent columns, and the
        value of another response for the criterion of a label."""
        rated = [own.numbers and (own in labels or f"'{own.path}'" in used) for own in self.columns]
        stems = {stem([own, own]) for own in labels if number_marks(own)}
        for at, own in enumerate(self.columns):
            near = [self.columns[n] for n in (at - 1, at + 1) if 0 <= n < len(rated) and rated[n]]
            is_other = own.is_called(FACT) or own.is_called(ASIDE) or f"'{own.path}'" in used
            is_like = any(narrow_scale(own.numbers) == narrow_scale(one.numbers) for one in near if own.numbers)
            is_like = is_like or (self._about(own) is not None and stem([own, own]) in stems)
            if own.numbers and not is_other and is_like:
                yield own
        yield from self._in_forms(labels)

    def _in_forms(self, labels: Sequence[Column]) -> Iterator[Column]:
        """Yield the other fields of an object with several labels that have no other values: they were asked, too."""
        inside: dict[str, list[Column]] = {}
        for own in labels:
            inside.setdefault(own.path.rpartition(".")[0], []).append(own)
        for parent, several in inside.items():
            values = {value for own in several for value in own.distinct}
            beside = [own for own in self.short if own.path.rpartition(".")[0] == parent and own not in several]
            if parent and len(several) >= MIN_FORM:
                yield from (own for own in beside if own.distinct <= values and own is not self.annotator)

    @staticmethod
    def _is_derived(column: Column, other: Column) -> bool:
        """Return whether words are only another spelling of a number: `good` for 5 and 6."""
        is_named = column.words[:3] == other.words[:3] and column is not other
        return is_named and not column.numbers and other.is_label and bool(other.numbers) and depends([other], column)

    def _block(self, columns: Sequence[Column], criterion: Column | None) -> tuple[str, Draft]:
        """Return the block of a column, or of one column for each annotator; without annotators it is gold."""
        cells = [cell for own in columns for cell in own.cells]
        block: Draft = {"kind": "answer"}
        if preference := self._is_preference(columns):
            block = {name: value for name, value in preference.items() if value}
        else:
            # A word such as `none` is a category beside filled cells; `nan` and `N/A` are empty cells.
            scored = self._scored(columns)
            nothing = {text for text in cells if text.lower() in (EMPTY if scored else NOTHING)}
            block = scored or self._answered({*cells} - {""} - nothing)
            block |= {"values": dict.fromkeys(sorted(nothing))} if nothing else {}
        response = self._about(columns[0]) if block["kind"] != "preference" else None
        block = stated_scale(block, [own.path for own in columns], cells)
        block |= {"confirmed": False} | ({"response": response} if response else {})
        marks = _marks_of(self.texts)[response - 1] if response else []
        parts = [part for part in name_parts(columns[0]) if part not in marks]
        name = {"criterion": " ".join(parts) if marks and parts else stem(columns)}
        path = columns[0].path
        if self.annotator:
            name = {"criterion_field": criterion.path} if criterion else name
            return "labels", {"layout": "long", "annotator": self.annotator.path, "value": path, **name, **block}
        if self._objects_of_people(columns):
            parent = path.rpartition(".")[0]
            rest = beside_name(columns[0], self.texts[response - 1]) if response else None
            name = {"criterion": " ".join(rest) if rest else key_of(parent)}
            people = {"each": parent, "annotator": "{element}", "value": key_of(parent)}
            return "labels", {"layout": "long", **people, **name, **block}
        is_beside = block.get("scale") in self.by_people  # a criterion beside those with usual names
        if len(columns) > 1 or is_beside:
            people = {own.path: PEOPLE if is_beside else last_key(own.path) for own in columns}
            return "labels", {"layout": "wide", "annotators": people, **name, **block}
        return "gold", {"value": path, "source": f"column {path}", **name, **block}

    @staticmethod
    def _scored(columns: Sequence[Column]) -> Draft:
        """Return kind and scale of numbers; nothing for others."""
        if not all(own.numbers for own in columns):
            return {}
        block: Draft = {"kind": "score", "scale": narrow_scale([one for own in columns for one in own.numbers])}
        if columns[0].is_called(RANK) and (categories := block["scale"].get("categories")):
            block["scale"]["categories"] = categories[::-1]
        return block

    @staticmethod
    def _answered(words: Set[str]) -> Draft:
        """Return kind and scale of words."""
        return {
            "kind": "answer",
            "scale": {"level": "nominal", "categories": [True, False] if words <= TRUTH else sorted(words)},
        }

    def _is_preference(self, columns: Sequence[Column]) -> Draft | None:
        """Return the block of columns whose values name one of two responses; None for others."""
        if self.pair and all(_is_winner(own, self.pair) for own in columns):
            ties = dict.fromkeys(sorted({text for own in columns for text in own.distinct} - self.pair), 0)
            value = {"value": {"system": columns[0].path}} if len(columns) == 1 else {}
            return {"kind": "preference", **value, "values": ties}
        named = {key_of(own.path): number for number, own in enumerate(self.texts, 1)}
        if len(columns) == 1 and len(named) == 2 and _is_winner(columns[0], {*named}):
            return {"kind": "preference", "values": {text: named.get(text, 0) for text in sorted(columns[0].distinct)}}
        if len(self.texts) == 2 and len(columns) == 1 and (signed := compared_with_zero(columns[0])):
            return signed
        block = guess_block(cell for own in columns for cell in own.cells) if len(self.texts) == 2 else None
        return block if block and block["kind"] == "preference" else None

    def _about(self, column: Column, texts: Sequence[Column] | None = None) -> int | None:
        """Return the number of the response whose mark a column's name has."""
        texts = self.texts if texts is None else texts
        if len(texts) < 2:
            return None
        marks = _marks_of(texts)
        found = [number for number, own in enumerate(marks, 1) if {*own} & {*name_parts(column)}]
        if len(found) == 1:
            return found[0]
        # Names that are a part of others: the longest of which the column has all.
        whole = [number for number, text in enumerate(texts, 1) if beside_name(column, text)]
        return max(whole, key=lambda number: len(name_parts(texts[number - 1])), default=None)

    def _aggregate(self, blocks: Sequence[Draft], criterion: Column | None) -> None:
        """Let the first of several values of an annotator for an item count."""
        if self.annotator is None:
            return
        texts = [*self.texts, *self._of(str(self.draft.get("prompt")).split("'"))]
        key = [*texts, self.annotator, *([criterion] if criterion else [])]
        if count_groups(key) < self.rows:
            for block in blocks:
                if block["layout"] == "long" and "each" not in block:
                    block.setdefault("aggregate", "first")


def _marks_of(texts: Sequence[Column]) -> list[list[str]]:
    """Return the parts of each name that those of the other responses do not all have."""
    names = [name_parts(own) for own in texts]
    return [[word for word in own if any(word not in other for other in names)] for own in names]


def as_list(source: Any) -> list[Any]:
    """Return the fields of a draft's text: none, one or several."""
    return source if isinstance(source, list) else [source] if source else []


def _is_winner(column: Column, systems: set[str]) -> bool:
    """Return whether the values of a column are systems or words for a tie."""
    others = column.distinct - systems
    return len(others) < len(column.distinct) and all(meanings([text]) == {text: 0} for text in others)
