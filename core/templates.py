"""Prompt templates: text files with `$blanks`, which a study may replace.

A template is a `string.Template`: `$question` is a blank, `$$` is a dollar sign. Values are inserted as data and not
parsed again, so a "$" in a response stays a dollar sign. A blank may be left out, unless its value is the judged text.
The blank `$answer` is available in every template and is replaced by the instruction for the answer. A paragraph
that consists of one blank is left out if the value is empty.

Text that a prompt is about (`Material`) is fenced by tags that it does not contain:

    <submission_1>
    The tide follows the moon.
    </submission_1>

A template may begin with a system message, between the lines `=== system ===` and `=== prompt ===`. Its blanks are
filled in the same way.

A template whose first line is `raw: RULE` is complete, such as a prompt that a paper prints: values are inserted
without tags, and the instruction for the answer only in place of `$answer`. A reply is read by the parsers' rules that
it names: `raw: line, labelled`. A source may follow: `raw: line # prompts/score.txt`. Below a line `=== assistant ===`
or `=== user ===` a raw template goes on with a further message. Of several texts, such as `$responses`, each can be
inserted by itself: `$response_1`.

One file holds one ask. Its first template has the file's name; variants and parts follow in sections, each below a line
`=== name ===` and separated from the next section by one blank line.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Template
from unicodedata import normalize

from core.answers.answer import RULES
from core.errors import TiebreakError

# Template name -> text with blanks.
Templates = Mapping[str, str]

# Placeholder in a prompt for the instruction for the answer: a noncharacter code point, which is removed
# from everything that is inserted.
ANSWER = "\ufdd0"

# Stands between the system message and the prompt; inserted texts never contain it.
END_OF_SYSTEM = "\ufdd1"
# Encloses the rules that a rendered raw prompt names; inserted texts never contain it.
RAW = "\ufdd2"
# Begins a further message of a rendered raw prompt, by its role; inserted texts never contain them.
MESSAGES = {"\ufdd3": "assistant", "\ufdd4": "user"}
SYSTEM_LINE, PROMPT_LINE = "=== system ===", "=== prompt ==="

_RAW_LINE = re.compile(r"raw[ \t]*(?::([^\n#]*))?(?:#[^\n]*)?(?:\n|\Z)")
_MESSAGE_LINE = re.compile(r"(?:\n|\A)=== (assistant|user) ===(?:\n|\Z)")
_RAW_MARK = re.compile(f"{RAW}([^{RAW}]*){RAW}")
_MARKS = re.compile(f"[{ANSWER}{END_OF_SYSTEM}{RAW}]")
_MESSAGE_MARK = re.compile(f"[{''.join(MESSAGES)}]")
_SECTION = re.compile(r"^=== (?!(?:system|prompt) ===)(\w+) ===\n", re.M)
_SYSTEM = re.compile(rf"{SYSTEM_LINE}\n(.*?)\n*^{PROMPT_LINE}\n", re.M | re.S)
_SYSTEM_LINES = re.compile(rf"^(?:{SYSTEM_LINE}|{PROMPT_LINE})$", re.M)
_FENCED = re.compile(r"^<(?P<tag>[^<>/\s][^<>\n]{0,80})>\n(?P<text>.*?)\n</(?P=tag)>$", re.M | re.S)
_JUDGED = re.compile(
    r"(?:question|prompt|problem|context|reference|submission|response|answer|critique|model_generated|claim)"
    r"(?:_[a-z0-9]+){0,3}(?:-\d+)?$"
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_BLANK_PARAGRAPH = re.compile(r"^\$(?:(\w+)|\{(\w+)\})\n\n", re.M)  # with the line after it, so no double line remains


@dataclass(frozen=True)
class Material:
    """Text that a prompt is about and that is not part of its instructions, such as a response or a judge's reply."""

    label: str
    """Its name in the prompt; its tag is in lower case and has "_" for anything but letters and digits."""
    text: str
    required: bool = True
    """Whether every template has to contain it, as the judged text."""

    @property
    def tag(self) -> str:
        """The name of its tag: `submission_1` for "Submission 1"."""
        return re.sub(r"\W+", "_", self.label.lower()).strip("_")


@lru_cache(maxsize=64)
def load_templates(folder: Path) -> Templates:
    """Return every template in the `.txt` files directly in `folder`."""
    loaded: dict[str, str] = {}
    for file in sorted(folder.glob("*.txt")):
        loaded |= _sections(file.stem, file.read_text(encoding="utf-8"))
    return loaded


def replace_templates(
    protocol: str, templates: Templates, replacements: Mapping[str, str], further: Collection[str] = ()
) -> dict[str, str]:
    """Return `templates` with a study's own texts in place, and with `further` ones.

    Raises TiebreakError for any other name.
    """
    unknown = sorted(replacements.keys() - templates.keys() - set(further))
    if unknown:
        raise TiebreakError(f"{protocol} has no prompt called {unknown[0]!r}; it has {', '.join(sorted(templates))}.")
    return dict(templates) | dict(replacements)


def render(templates: Templates, name: str, **values: object) -> str:
    """Fill the template `name`; raises TiebreakError for a blank without a value or missing required material.

    A value is text, a Material, or a sequence of Materials, which are separated by blank lines. All tags of a prompt
    have the same suffix if a Material contains one of them, so no text can end its own fence or open another.
    """
    if name not in templates:
        raise TiebreakError(
            f"There is no prompt template called {name!r}: is {name}.txt in the protocol's prompt folder?"
        )
    template, blanks, rules = _parsed(name, templates[name])
    if rules:
        values = _each(values) | values
    if unknown := sorted(blanks - values.keys() - {"answer"}):
        raise TiebreakError(f'The prompt "{name}" has blanks that nothing fills: {_dollar_names(unknown)}.')
    listed = {blank: [value] if isinstance(value, Material) else value for blank, value in values.items()}
    materials = {blank: value if isinstance(value, tuple | list) else () for blank, value in listed.items()}
    required = {blank for blank, found in materials.items() if any(one.required for one in found)}
    if rules:
        _check_required(name, blanks, required - _each(values).keys())
        each = _each({"responses": values.get("responses")}).keys()
        if "responses" not in blanks and 0 < len(missing := sorted(each - blanks)) < len(each):
            raise TiebreakError(
                f'The raw prompt "{name}" leaves out {_dollar_names(missing)}: it is for {len(each) - len(missing)} of '
                f"{len(each)} responses. Judge pairs, or insert all of them."
            )
        inserted = {blank: _filled(values[blank], None) for blank in blanks & values.keys()}
        return RawText(f"{RAW}{' '.join(rules)}{RAW}" + template.substitute({"answer": ANSWER} | inserted))
    _check_required(name, blanks, required)
    suffix = _unused_suffix([material for found in materials.values() for material in found])
    filled = {blank: _filled(values[blank], suffix) for blank in blanks & values.keys()}
    lines = _BLANK_PARAGRAPH.sub(
        lambda line: "" if filled.get(line[1] or line[2]) == "" else line[0], template.template
    )
    return Template(lines).substitute({"answer": ANSWER} | filled)


class RawText(str):
    """A rendered raw template, or several one after another. As a part of another one it can begin further messages."""

    @classmethod
    def joined(cls, parts: Sequence[str]) -> "RawText":
        """Return parts one after another, without the rules that they name."""
        return cls("".join(split_raw(part)[1] for part in parts))


def _each(values: Mapping[str, object]) -> dict[str, object]:
    """Return each text of the values with several: `response_1` for the first of `responses`."""
    several = {blank: value for blank, value in values.items() if isinstance(value, tuple | list)}
    return {
        f"{blank.removesuffix('s')}_{number}": one
        for blank, value in several.items()
        for number, one in enumerate(value, start=1)
    }


def is_raw(templates: Templates, name: str) -> bool:
    """Return whether there is a template `name` and it is raw."""
    return bool(name in templates and _parsed(name, templates[name])[2])


def has_blank(templates: Templates, name: str, blank: str) -> bool:
    """Return whether the template `name` has the blank `$blank`."""
    return blank in _parsed(name, templates[name])[1]


def blanks(text: str) -> frozenset[str]:
    """Return the names of the blanks in a template's text."""
    return frozenset(Template(text).get_identifiers())


def check_template(name: str, text: str, allowed: Collection[str], required: Collection[str] = ()) -> None:
    """Raise TiebreakError for a template that is empty, has a blank not in `allowed`, or lacks a `required` one.

    A raw part, whose rule is "text", may be empty.
    """
    render({name: text}, name, **dict.fromkeys(allowed, ""))
    template, _, rules = _parsed(name, text)
    if not template.template.strip() and rules != ("text",):
        raise TiebreakError(f'The prompt "{name}" is empty.')
    _check_required(name, blanks(text), required)


def fence(material: Material, suffix: str = "") -> str:
    """Return the text between its tags, each on its own line."""
    return f"<{material.tag}{suffix}>\n{material.text}\n</{material.tag}{suffix}>"


def judged_texts(prompt: str) -> tuple[str, ...]:
    """Return the texts between the tags of a rendered prompt that are judged or asked about.

    What other judges said is left out: a judge may agree with them in the same words.
    """
    return tuple(match["text"] for match in _FENCED.finditer(prompt) if _JUDGED.match(match["tag"]))


def split_system(text: str) -> tuple[str, str]:
    """Return the system message of a rendered template, empty if it has none, and its prompt."""
    system, has_system, prompt = text.rpartition(END_OF_SYSTEM)
    return (system, prompt) if has_system else ("", text)


def split_raw(text: str) -> tuple[tuple[str, ...], str]:
    """Return the rules that a rendered raw prompt names, none if it is not raw, and the prompt without them."""
    found = _RAW_MARK.search(text)
    return (tuple(found[1].split()), _RAW_MARK.sub("", text)) if found else ((), text)


def split_messages(role: str, prompt: str) -> list[tuple[str, str]]:
    """Return (role, text) of each message of a rendered prompt, of which the first has this role."""
    roles = [role, *(MESSAGES[mark] for mark in _MESSAGE_MARK.findall(prompt))]
    return list(zip(roles, _MESSAGE_MARK.split(prompt), strict=True))


def with_system_lines(system: str, prompt: str) -> str:
    """Return a prompt as it is stored and shown: below its system message and with the lines of a template."""
    prompt = _MESSAGE_MARK.sub(lambda mark: f"\n=== {MESSAGES[mark[0]]} ===\n", prompt)
    return f"{SYSTEM_LINE}\n{system}\n\n{PROMPT_LINE}\n{prompt}" if system else prompt


def _split_raw_line(name: str, text: str) -> tuple[tuple[str, ...], str]:
    """Return the rules that the first line of a raw template names, none if it is not raw, and the text below it."""
    found = _RAW_LINE.match(text)
    if found is None:
        return (), text
    rules = tuple(re.findall(r"[^\s,]+", found[1] or ""))
    if unknown := [rule for rule in rules if rule not in RULES]:
        raise TiebreakError(
            f'The raw prompt "{name}" names the rule {unknown[0]!r}, which there is not: use {", ".join(RULES)}.'
        )
    if not rules:
        raise TiebreakError(
            f'The raw prompt "{name}" names no rule for its replies: begin it with a line such as "raw: line"; the '
            f"rules are {', '.join(RULES)}."
        )
    return rules, text[found.end() :]


def _mark_system(name: str, text: str) -> str:
    """Return a template's text with END_OF_SYSTEM after its system message; its lines may be nowhere else."""
    text = _MESSAGE_MARK.sub("", text.replace(END_OF_SYSTEM, "").replace(RAW, ""))
    found = _SYSTEM.match(text)
    system, prompt = (found[1].strip(), text[found.end() :]) if found else ("", text)
    if any(_SYSTEM_LINES.search(part) for part in (system, prompt)):
        raise TiebreakError(
            f'The prompt "{name}": a system message is at the beginning, after the line "{SYSTEM_LINE}", and ends with '
            f'the line "{PROMPT_LINE}".'
        )
    return f"{system}{END_OF_SYSTEM}{prompt}" if system else prompt


def _dollar_names(blanks: Iterable[str]) -> str:
    return ", ".join(f"${blank}" for blank in blanks)


def _filled(value: object, suffix: str | None) -> str:
    """Return a value as it is inserted: Materials between tags with this suffix, or without tags for None.

    Without tags, each Material of a sequence is below its label.
    """
    if isinstance(value, Material):
        text = value.text if suffix is None else fence(value, suffix)
    elif isinstance(value, tuple | list):
        texts = (f"{one.label}:\n{one.text}" if suffix is None else fence(one, suffix) for one in value)
        text = "\n\n".join(texts)
    else:
        text = _checked_part(str(value), is_raw=suffix is None)
    return _MARKS.sub("", text if isinstance(value, RawText) else _MESSAGE_MARK.sub("", text))


def _checked_part(text: str, *, is_raw: bool) -> str:
    """Return a part of a prompt without the rules that it names; `is_raw` is whether the prompt is raw."""
    if END_OF_SYSTEM in text:
        raise TiebreakError("Only a whole prompt can have a system message, not a part of one.")
    rules, text = split_raw(text)
    if rules and not is_raw:
        raise TiebreakError("A part of a prompt can be raw only if the whole prompt is.")
    return text


def _check_required(name: str, present: Collection[str], required: Collection[str]) -> None:
    """Raise TiebreakError if a template lacks a required blank and every other form of it.

    Other forms of `responses` are `response_1`, the first of its texts, or a name such as `responses_shortened`.
    """
    others = tuple(present)
    left_out = [
        blank
        for blank in sorted(set(required) - set(present))
        if not any(other.startswith((f"{blank}_", f"{blank.removesuffix('s')}_")) for other in others)
    ]
    if left_out:
        raise TiebreakError(f'The prompt "{name}" has to contain {_dollar_names(left_out)}.')


def _unused_suffix(materials: Sequence[Material]) -> str:
    """Return "", or "-" and a number, with which no tag of these materials occurs in any of them."""
    tags = "|".join(sorted({r"[\W_]*".join(map(re.escape, material.tag.split("_"))) for material in materials}))
    # Spaces, case, invisible and full-width signs are ignored, because a model may read "</ Submission 1>" as a tag. At
    # most nine digits, because int() raises ValueError for thousands of them.
    opening = re.compile(rf"<\s*/?\s*(?:{tags})(?:-(\d{{1,9}}))?(?!\w)", re.I)
    plain = [_INVISIBLE.sub("", normalize("NFKC", material.text)) for material in materials]
    numbers = [int(match[1] or 1) for text in plain for match in opening.finditer(text)]
    return f"-{max(numbers) + 1}" if numbers else ""


def _sections(first: str, text: str) -> dict[str, str]:
    """Split the text of one file into named sections; a section ends before the blank line above the next."""
    names = [first, *_SECTION.findall(text)]
    *others, last = _SECTION.split(text)[::2]
    texts = [section.removesuffix("\n\n") for section in others] + [last.removesuffix("\n")]
    return dict(zip(names, texts, strict=True))


@lru_cache(maxsize=256)
def _parsed(name: str, text: str) -> tuple[Template, frozenset[str], tuple[str, ...]]:
    """Return a template, its blanks, and the rules that it names if it is raw.

    Raises TiebreakError for a "$" that begins no blank, and for a raw template without a known rule.
    """
    rules, text = _split_raw_line(name, text)
    text = _mark_system(name, text)
    if rules:
        marks = {role: mark for mark, role in MESSAGES.items()}
        text = _MESSAGE_LINE.sub(lambda line: marks[line[1]], text)
    template = Template(text)
    if not template.is_valid():
        raise TiebreakError(f'The prompt "{name}" has a lone "$": write "$$" for a dollar sign.')
    return template, frozenset(template.get_identifiers()), rules
