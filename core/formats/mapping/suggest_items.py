"""Suggests what the items of a table are: their texts, systems, annotators and names."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from core.formats.mapping import roles
from core.formats.mapping.columns import (
    ASIDE,
    CONTEXT,
    LABEL,
    ONE_PERSON,
    PERSON,
    PROMPT,
    REFERENCE,
    RESPONSE,
    SYSTEM,
    TRUTH,
    Column,
    count_groups,
    depends,
    name_parts,
    profile,
)
from core.formats.mapping.fields import key_of, parse_path
from core.formats.mapping.guess import (
    ANNOTATORS,
    IDS,
    MODEL,
    NAMED_ANNOTATOR,
    ONE_ANNOTATOR,
    PROMPTS,
    Draft,
    last_key,
    names_of,
    suggest_mapping,
)
from core.formats.mapping.preview import Preview
from core.formats.mapping.scope import EVERY_ELEMENT
from core.formats.transcripts.messages import is_messages, message_parts

# How the paths of fields begin that say something of a row: no text is among them.
META = re.compile(r"(.+_)?(meta(data)?|notes?|comments?|annotations?)\.", re.IGNORECASE)
# Usual keys of a text in an object, and names of lists of responses.
TEXT_KEYS = ("text", "content", "response", "output", "answer", "summary")
LISTS = re.compile(r"(.+_)?(answers|candidates|completions|generations|outputs|replies|responses|summaries)")
MARK = re.compile(r"\d+|[a-h]")
# The gold of a file whose first response is the preferred one.
CHOSEN = {"kind": "preference", "value": {"constant": "1"}, "source": "the chosen response of the file"}
# How many times more ids than texts there are at most, if the ids are those of the texts.
ALIKE = 1.02
# The list whose elements are the items, or the lists in lists.
Levels = str | list[str] | None


class ItemSuggester:
    """Suggests the items of a table's rows; what a person states of its fields stands."""

    def __init__(self, preview: Preview, explode: Levels, stated: roles.Stated) -> None:
        self.preview, self.stated = preview, stated
        self.columns = [own for own in profile(preview) if own.path not in stated.get("none", ())]
        self.taken = {field for fields in stated.values() for field in fields}
        """The fields that have a role."""
        texts = [own.path for own in self.free() if own.path not in preview.lists or own.is_talk]
        texts = [path for path in texts if not META.match(path)]
        if {"orig_instruction", "orig_response"} <= {*texts}:  # what was judged, beside a judge's prompt and reply
            texts = [path for path in texts if path.startswith("orig_")]
        self.names = names_of(texts)
        self.draft: Draft = {"explode": explode, **suggest_mapping(texts)}
        self.is_guessed = bool(stated)
        """Whether more than usual names says what the fields are."""
        self.annotator: Column | None = None
        self.texts: list[Column] = []
        """The columns with the texts of the responses."""

    def suggest(self) -> Draft:
        """Return texts and systems as far as they are known."""
        self._set_responses()
        self._set_texts()
        self._set_systems()
        self._set_annotator()
        return self.draft

    def free(self) -> list[Column]:
        """Return the columns without a role."""
        return [own for own in self.columns if own.path not in self.taken]

    def of(self, paths: Iterable[Any]) -> list[Column]:
        return [own for path in paths for own in self.columns if own.path == path]

    def of_role(self, role: str) -> list[Column]:
        return self.of(self.stated.get(role, ()))

    def prompts(self) -> list[Column]:
        return self.of(str(path).removesuffix(".:-1") for path in as_list(self.draft.get("prompt")))

    def systems(self) -> list[Column]:
        return self.of(own.get("system") for own in self.draft["responses"])

    def _set_responses(self) -> None:
        named = self.of(own["text"] for own in self.draft.get("responses", ()))
        named = [own for own in named if own.is_talk or not own.is_nested]
        systems = {own["text"]: own.get("system") for own in self.draft.pop("responses", ())}
        stated = [{kind: field} for kind, role in roles.FORMS.items() for field in self.stated.get(role, ())]
        found = stated or self._chosen() or self._talks(named)
        family = [] if found else self._family()
        if not found and len(family) <= len(named):
            family = [{"text": own.path, "system": systems[own.path]} for own in named]
            self.is_guessed |= any(own.name in PROMPTS for own in named)
        elif family:
            self.is_guessed = True
        elsewhere = [{"text": own.path, "system": own.path} for own in self.of_role("system")]  # the texts are
        found = found or family or self._list_of_two() or self._single() or elsewhere
        self.draft["responses"] = [{key: value for key, value in own.items() if value} for own in found]
        paths = [str(own.get("text") or own.get("transcript")).removesuffix(".-1") for own in found]
        self.texts = self.of(paths)
        self.taken |= {*paths}

    def _chosen(self) -> list[Draft]:
        """Return the responses of a table with a chosen and a rejected one."""
        pair = self.of(self.names.get(name) for name in ("chosen", "rejected"))
        if len(pair) < 2 or any(own.is_nested and not own.is_talk for own in pair):
            return []
        self.draft |= {"gold": [CHOSEN], "shuffle": True}
        systems = [self.names.get(f"{own.name}_model") for own in pair]
        found = self._talks(pair) or [{"text": own.path} for own in pair]
        return [own | {"system": system} for own, system in zip(found, systems, strict=True)]

    def _talks(self, named: Sequence[Column]) -> list[Draft]:
        """Return the responses in conversations: the named ones, or the first other one with a reply.

        A reply to one message is a text, beside the prompt; everything else is a transcript.
        """
        talks = [own for own in named if own.is_talk] or [own for own in self.free() if _has_reply(own)][:1]
        if not talks:
            return []
        own = [*named] if talks[0] in named else talks
        before = [[cell[:-1] for cell in one.parsed] for one in own if all(map(_is_exchange, one.parsed))]
        if len(before) < len(own) or any(talk != before[0] for talk in before):
            return [{"transcript" if one.is_talk else "text": one.path} for one in own]
        if any(before[0]):
            self.draft.setdefault("prompt", f"{own[0].path}.:-1")
        return [{"text": f"{one.path}.-1"} for one in own]

    def _family(self) -> list[Draft]:
        """Return several responses, whose names differ in one word or number, or are those of models."""
        systems = {part for own in self.free() if own.is_called(SYSTEM) for part in name_parts(own)}
        texts = [own for own in self.free() if self._is_response(own)]
        found: dict[tuple[str, ...], list[Draft]] = {}
        for own in texts:
            parts = name_parts(own)
            for at, word in enumerate(parts):
                if word.isdecimal() and at < len(parse_path(own.path)) - 1:  # the number of an object
                    continue
                rest = (*parts[:at], "*", *parts[at + 1 :])
                is_number = MARK.fullmatch(word) is not None
                is_text = "." in own.path and rest[-1] in TEXT_KEYS
                if is_text or RESPONSE.search(" ".join(rest)) or (is_number and word in systems):
                    name = {} if is_number else {"name": word}
                    found.setdefault((*rest, str(is_number)), []).append({"text": own.path} | name)
        models = [{"text": own.path, "name": key_of(own.path)} for own in texts if MODEL.match(key_of(own.path))]
        largest = max([*found.values(), models], key=len)
        return largest if len(largest) > 1 else []

    def _is_response(self, own: Column) -> bool:
        """Return whether a column can be one of several responses: it has texts, or short ones under such a name."""
        is_inside = "." in own.path and own.name in TEXT_KEYS
        is_other = own.is_called(PROMPT, REFERENCE) and not own.is_called(RESPONSE) and not is_inside
        is_short = own.is_called(RESPONSE) and own.is_short and not own.numbers and not own.is_rated
        return (own.is_prose or is_short) and not is_other and not self._is_aside(own)

    def _list_of_two(self) -> list[Draft]:
        """Return the responses of a table with a list of two objects in each row."""
        for own in self.of(self.preview.lists):
            elements = [one for cell in own.parsed for one in cell]
            are_pairs = {*map(len, own.parsed)} == {2} and all(isinstance(one, dict) for one in elements)
            if not are_pairs or not LISTS.fullmatch(own.name):
                continue
            keys = set.intersection(*map(set, elements))
            text = next((key for key in TEXT_KEYS if key in keys), None)
            system = next((key for key in ("policy", "model", "system") if key in keys), None)
            self.taken.add(own.path)
            if text:
                parts = [f"{own.path}.{number}." for number in (0, 1)]
                return [{"text": part + text, "system": part + system if system else None} for part in parts]
        return []

    def _single(self) -> list[Draft]:
        """Return the only response: the text that its name, its place and the repetition of others speak for."""
        prose = [own for own in self.free() if own.is_prose and not self._is_aside(own)]
        is_prompt = len(prose) == 1 and prose[0].is_called(PROMPT) and not prose[0].is_called(RESPONSE)
        if not prose or is_prompt or (len(self.preview.rows) == 1 and self.preview.lists):
            return []
        most = max(len(own.distinct) for own in prose)
        are_different = min(len(own.distinct) for own in prose) < 0.95 * most

        def evidence(own: Column) -> float:
            by_name = 3 * own.is_called(RESPONSE) + 2 * own.is_called(SYSTEM)
            by_name -= 3 * sum(map(own.is_called, (PROMPT, REFERENCE, CONTEXT, ASIDE)))
            by_value = (4 if len(own.distinct) >= 0.95 * most else -4) if are_different else 0
            return by_name + by_value + prose.index(own) / len(prose)

        self.is_guessed = True
        return [{"text": max(prose, key=evidence).path}]

    def _is_aside(self, own: Column) -> bool:
        """Return whether a text is about the responses, such as a comment of an annotator."""
        return own.is_called(ASIDE) or META.match(own.path) is not None or 2 * own.filled < len(self.preview.rows)

    def _set_texts(self) -> None:
        """Set prompt, context and reference: as stated, by usual names, or the prompt that repeats over responses."""
        stated = {field: [*self.stated[field]] for field in ("prompt", "context", "reference") if field in self.stated}
        self.draft |= {field: own[0] if len(own) == 1 else own for field, own in stated.items()}
        if "prompt" not in self.stated and self.taken.intersection(as_list(self.draft.get("prompt"))):
            del self.draft["prompt"]
        self.draft |= self._prompt_by_value() if "prompt" not in self.draft and self.texts else {}
        for field in ("context", "reference", "scenario", "group"):
            for column in self.of([self.draft.get(field)]):
                is_fact = {text.lower() for text in column.distinct} <= TRUTH
                is_list = column.is_nested and field in ("scenario", "group")
                if is_fact or is_list or column.path in as_list(self.draft.get("prompt")):
                    del self.draft[field]
        texts = [self.draft.get(field) for field in ("prompt", "context", "reference", "scenario", "group")]
        self.taken |= {str(path).removesuffix(".:-1") for own in texts for path in as_list(own)}

    def _prompt_by_value(self) -> Draft:
        """Return the text that its name and its repetition over other responses speak for as the prompt."""
        rest = [own for own in self.free() if (own.is_prose or own.is_talk) and not self._is_aside(own)]
        rest = [own for own in rest if own.path not in (self.draft.get("context"), self.draft.get("reference"))]
        if not rest:
            return {}
        size = max(len(own.distinct) for own in self.texts)

        def evidence(own: Column) -> float:
            by_name = 3 * own.is_called(PROMPT) - own.is_called(CONTEXT) - 2 * own.is_called(RESPONSE, REFERENCE)
            return by_name + own.is_talk + 2 * (len(own.distinct) < size) - rest.index(own) / len(rest)

        self.is_guessed = True
        return {"prompt": max(rest, key=evidence).path}

    def _set_systems(self) -> None:
        """Give each response its system: a column with its number or letter, or the only one."""
        responses = self.draft["responses"]
        if any("name" in own or "system" in own for own in responses) and not self.stated.get("system"):
            self.taken |= {own["system"] for own in responses if "system" in own}
            return
        named = [own for own in self.free() if own.is_called(SYSTEM) and own.is_short and not own.numbers]
        found = self.of_role("system")
        if len(responses) == 1:
            named = sorted((own for own in named if "type" not in own.words), key=lambda own: len(own.words))
            found = found or named[:1]
        else:
            numbers = {number: own for own in found or named if (number := self.about(own))}
            found = [numbers[number] for number in sorted(numbers)] if len(numbers) == len(responses) else found
        if len(found) == len(responses):
            self.is_guessed |= bool(found)
            for own, system in zip(responses, found, strict=True):
                own["system"] = system.path
                self.taken.add(system.path)

    def about(self, column: Column) -> int | None:
        """Return the number of the one of several responses whose mark a column's name has: `a` of `response_a`."""
        names = [set(name_parts(own)) for own in self.texts]
        if len(names) < 2:
            return None
        parts = name_parts(column)
        own_parts = {*(parts[:-1] if column.is_called(ONE_PERSON) else parts)}  # the last number is the person's
        common = {part for part in names[0] if all(part in own for own in names)}
        marks = [own - common for own in names]
        found = [number for number, own in enumerate(marks, 1) if own and own <= own_parts]
        return found[0] if len(found) == 1 else None

    def _set_annotator(self) -> None:
        """Find the column with who gave the values of a row: as stated, by a usual name or by a word of it.

        Several that are stated have the values of an annotator each.
        """
        stated = self.of_role("annotator")
        if len(stated) > 1:  # each has the values of one
            return
        named = [own for own in self.free() if own.is_short and not ONE_ANNOTATOR.search(own.name)]
        named = [own for own in named if not own.is_called(ONE_PERSON)]
        named = [own for own in named if not NAMED_ANNOTATOR.fullmatch(last_key(own.path))]
        named = [own for own in named if not own.distinct <= TRUTH and (own.name != "judge" or not own.numbers)]
        usual = self.of(name for name in map(names_of([own.path for own in named]).get, ANNOTATORS) if name)
        called = [own for own in named if own.is_called(PERSON) and not own.is_called(RESPONSE)]
        called = [own for own in called if not LABEL.match(own.words.split()[-1]) and not self.about(own)]
        called.sort(key=lambda own: ("id" not in own.words, own.words.count(" ")))
        self.is_guessed |= not usual and bool(called)
        self.annotator = next(iter((*stated, *usual, *called)), None)
        self.taken |= {self.annotator.path} if self.annotator else set()

    def name(self, *, are_labels: bool) -> None:
        """Name items by what is the same for the same texts; if rows are labels, several of them are one item."""
        prompts, systems = self.prompts(), self.systems()
        content = [*prompts, *self.texts, *systems]
        names = names_of([own.path for own in self.columns if own.filled == len(self.preview.rows)])
        ids = self.of(dict.fromkeys(names[name] for name in IDS if name in names))
        are_texts = not any(own.is_nested for own in content)
        is_repeated = bool(prompts) and are_texts and 1 < count_groups(prompts) < len(self.preview.rows)
        keys = [[own] for own in ids] or ([prompts] if is_repeated else [])
        options = [*keys, *([*key, *systems] for key in keys if systems)]
        options += [content] if are_labels and content and are_texts else []
        fits = [own for own in options if all(depends(own, text) for text in content)]
        if are_labels:  # the number of an assignment tells far more rows apart than there are items
            fits = [own for own in fits if count_groups([*content, *own]) <= ALIKE * count_groups(content)]
        else:
            fits = [own for own in fits if count_groups(own) == len(self.preview.rows)]
        self.taken |= {own.path for own in ids}
        if not fits:
            self.draft["id"] = _element_id(self.draft["explode"])
            return
        paths = list(dict.fromkeys(own.path for own in fits[0]))
        self.draft["id"] = paths[0] if len(paths) == 1 else "-".join(f"{{{path}}}" for path in paths)
        if len(paths) > 1:
            self.draft.setdefault("group", paths[0])
        for field in ("context", "reference", "scenario", "group"):
            if any(not depends(fits[0], own) for own in self.of([self.draft.get(field)])):
                del self.draft[field]


def _element_id(explode: Levels) -> str:
    """Return the name of a row, or of an element by its number or key, and those of the lists that its list is in."""
    if explode is None:
        return "{row}"
    if explode == EVERY_ELEMENT:
        return "{element}-{position}"
    outer = 0 if isinstance(explode, str) else len(explode) - 1
    return "-".join(["{row}", *(f"{{element_{level}}}" for level in range(1, outer + 1)), "{element}"])


def as_list(source: Any) -> list[Any]:
    return source if isinstance(source, list) else [source] if source else []


def _has_reply(column: Column) -> bool:
    """Return whether most values are conversations of several, and do not end with a question or an instruction."""
    if not column.is_talk:
        return False
    talks = [[part.role for part in message_parts(cell)] for cell in column.parsed if is_messages(cell)]
    with_reply = [own for own in talks if own and own[-1] not in ("user", "system") and {*own} != {"assistant"}]
    return 2 * len(with_reply) > len(talks)


def _is_exchange(cell: Any) -> bool:
    """Return whether the last message is the only reply, and nothing else is known of any."""
    parts = [*message_parts(cell)] if is_messages(cell) else []
    roles = [part.role for part in parts]
    is_plain = all(part.kind == "text" for part in parts) and {*roles} <= {"system", "user", "assistant"}
    return is_plain and roles[-1:] == ["assistant"] and roles.count("assistant") == 1
