"""Tables in LaTeX for the package booktabs, which fit a column of a paper.

A value and its interval are one narrow cell of two lines. Names are broken into lines, texts about rows are notes
below, and columns that have no room side by side are blocks below each other. Nothing is scaled.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from core.formats.tables import DEFINITION, MISSING, escape_latex, flatten, fold_intervals
from core.wording import format_number, format_p, is_p_value

# Points: a column of the two of a page in the styles of ACL (219), ICML (234) and IEEE (252).
COLUMN_WIDTH = 219.0
# Lines of a table that fit a page, with its caption and its rules.
PAGE_LINES = 52
# Of that, what each name of a row and all of them may take, and the longest line of another cell.
NAME_WIDTH, NAMES_WIDTH, CELL_WIDTH = 66.0, 132.0, 60.0
# The least width of the lines of a heading, and that of the letter of a note.
HEAD_WIDTH, MARK_WIDTH = 36.0, 5.0
# Between two columns: twice \tabcolsep.
GAP = 6.0
# Upper bounds of the widths of characters in cmr10, as shares of its size; others are at most OTHER, capitals CAPITAL.
WIDTHS = {
    sign: width
    for signs, width in (
        ("fijl.,;:'!|()[]` ", 0.34), ("rst-", 0.4), ("cez", 0.45), ("0123456789", 0.5), ("agoqkvxy/_", 0.53),
        ("bdhnpu", 0.56), ("w", 0.73), ("m", 0.84), ("−±&@", 0.78), ("MW", 1.03),
    )
    for sign in signs
}  # fmt: skip
CAPITAL, OTHER = 0.79, 1.1
# Points of these shares in cmr8 (footnotesize) and cmr7 (scriptsize), whose characters are wider for their size.
SIZES = {"normal": 8.5, "small": 8.0}
# A value with its interval, and what `Entry` adds.
ESTIMATE = re.compile(
    r"(?P<value>[-+−]?[\d,.]+)(?: ± (?P<deviation>[\d,.]+))?(?: \[(?P<low>[^,\]]+), (?P<high>[^\]]+)\])?"
    r"(?: \((?P<note>.*)\))?"
)
# After these a name may be broken.
BREAKS = re.compile(r"(?<=[-/._·:])|\s+")
STACK = r"\providecommand{\stack}[2][c]{\begin{tabular}[t]{@{}#1@{}}#2\end{tabular}}"


def text_width(text: str, size: str = "normal") -> float:
    """Return an upper bound of the width of a plain text in points."""
    return SIZES[size] * sum(WIDTHS.get(sign, CAPITAL if "A" <= sign <= "Z" else OTHER) for sign in text)


@dataclass(frozen=True)
class _Cell:
    """The lines of a cell in LaTeX, and the width of the longest in points."""

    lines: tuple[str, ...]
    width: float
    note: str = ""
    """What is printed below the table."""

    def latex(self, alignment: str, mark: str = "") -> str:
        """Return the cell."""
        first, *others = self.lines or ("",)
        lines = [first + (rf"$^{{{mark}}}$" if mark else ""), *others]
        if not others:
            return f"{{{lines[0]}}}" if lines[0].startswith(("[", "*")) else lines[0]
        stacked = r" \\ ".join(f"{{{line}}}" for line in lines)
        return rf"\stack[{alignment}]{{{stacked}}}"


def _number_cell(text: str) -> _Cell | None:
    """Return the cell of a number, with its interval in a second line; None for other texts."""
    found = ESTIMATE.fullmatch(text)
    if found is None:
        return _Cell((escape_latex(text),), text_width(text)) if text == MISSING else None
    value = _short(found["value"])
    deviation = _short(found["deviation"] or "")
    lines = [escape_latex(value) + (rf"{{\scriptsize$\pm${deviation}}}" if deviation else "")]
    width = text_width(value) + (text_width(f"±{deviation}", "small") if deviation else 0.0)
    if found["low"]:
        interval = f"[{_short(found['low'], 2)}, {_short(found['high'], 2)}]"
        lines.append(rf"\scriptsize {escape_latex(interval)}")
        width = max(width, text_width(interval, "small"))
    return _Cell(tuple(lines), width, found["note"] or "")


def _short(number: str, digits: int | None = None) -> str:
    """Return a number without the zero before its point, rounded if it has more digits than wanted."""
    if digits is not None and re.fullmatch(r"[-+]?\d+\.\d+", number):
        number = f"{float(number):.{min(digits, len(number.partition('.')[2]))}f}"
    before, point, after = number.replace("-", "−").partition(".")
    return f"{before[:-1]}.{after}" if point and before.lstrip("+−") == "0" else before + point + after


def _text_cell(text: str, width: float) -> _Cell:
    """Return a text in lines of at most this width."""
    lines = [""]
    for part in (part for word in text.split() for part in _parts(f"{word} ", width)):
        if text_width((lines[-1] + part).rstrip()) <= width or not lines[-1]:
            lines[-1] += part
        else:
            lines.append(part)
    stripped = [line.strip() for line in lines]
    return _Cell(tuple(map(escape_latex, stripped)), max(map(text_width, stripped)))


def _parts(word: str, width: float) -> Iterator[str]:
    """Yield the parts of a word between which it may be broken; longer ones are cut."""
    for part in filter(None, BREAKS.split(word.strip())):
        while text_width(part) > width:
            place = next(n for n in range(len(part), 0, -1) if n == 1 or text_width(part[:n]) <= width)
            yield part[:place]
            part = part[place:]
        yield part
    yield " "


@dataclass
class _Notes:
    """Texts below a table, each with a letter."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, *texts: str) -> str:
        """Return the letters of some texts, empty ones without."""
        for text in filter(None, texts):
            number = len(self.letters)
            self.letters.setdefault(text, "a" * (number // 26) + ascii_lowercase[number % 26])
        return ",".join(self.letters[text] for text in filter(None, texts))

    def lines(self) -> list[str]:
        """Return the notes in LaTeX."""
        noted = [rf"$^{{{letter}}}${escape_latex(text)}" for text, letter in self.letters.items()]
        return [rf"\par\smallskip\raggedright\scriptsize {'; '.join(noted)}."] if noted else []


def latex_tabular(
    header: Sequence[str], lines: Iterable[Sequence[str]], caption: str, label: str, remarks: Sequence[str] = ()
) -> str:
    """Return a `table` environment no wider than COLUMN_WIDTH; see the module.

    `header` and `lines` are plain text, numbers as `format_estimate` writes them; `remarks` names columns of notes.
    """
    rows, notes = [list(line) for line in lines], _Notes()
    of_places = [[row[place] for row in rows] for place in range(len(header))]
    numbers = list(map(_is_of_numbers, of_places))
    first = numbers.index(True) if True in numbers else len(header)
    noted = [
        place
        for place, texts in enumerate(of_places)
        if header[place] in remarks
        or (place > first and not numbers[place] and max(map(text_width, texts)) > CELL_WIDTH)
    ]
    names = [place for place in range(first) if place not in noted]
    widths = _name_widths([[header[place], *of_places[place]] for place in names])
    labels = [
        [_text_cell(row[place], width) for place, width in zip(names, widths, strict=True)] for row in (header, *rows)
    ]
    taken = sum(max(cell.width for cell in column) + GAP for column in zip(*labels, strict=True))
    columns = [_Column.of(header[place], of_places[place]) for place in range(first, len(header)) if place not in noted]
    # A note and a population speak for themselves; a figure needs its name.
    named = {place: f"{header[place]}: " for place in noted if header[place] in {*remarks} - {"note", "population"}}
    marks = [
        notes.mark(*(f"{named.get(place, '')}{row[place]}" for place in noted if row[place] not in ("", MISSING)))
        for row in rows
    ]
    letters = max([1, *(len(mark.split(",")) for mark in marks)])
    blocks = _blocks(columns, COLUMN_WIDTH - taken - MARK_WIDTH * letters)
    body: list[str] = []
    for block in blocks:
        body += [*([r"\midrule"] if body else []), _row(labels[0], [column.head for column in block]), r"\midrule"]
        for number, own in enumerate(labels[1:]):
            cells = [column.cells[number] for column in block]
            body.append(_row(own, cells, marks[number], [notes.mark(cell.note) for cell in cells]))
    text = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        STACK,
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', label).strip('-')}}}",
        rf"\begin{{tabular}}{{@{{}}{'l' * len(names)}{'c' * len(blocks[0])}@{{}}}}",
        r"\toprule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *notes.lines(),
        r"\end{table}",
    ]
    used = [DEFINITION] if any(r"\unicodetext" in line for line in text) else []
    return "\n".join([r"% \usepackage{booktabs}", *used, *text]) + "\n"


def _is_of_numbers(texts: Sequence[str]) -> bool:
    return any(ESTIMATE.fullmatch(text) for text in texts) and all(_number_cell(text) for text in texts)


def _name_widths(columns: Sequence[Sequence[str]]) -> list[float]:
    """Return the widths of the columns of names: as long as their texts if there is room, otherwise a share of it."""
    natural = [max(map(text_width, texts)) for texts in columns]
    room = min(NAMES_WIDTH, NAME_WIDTH * len(columns)) - GAP * len(columns)
    if sum(natural) <= room:
        return natural
    fair = room / len(columns)
    short = sum(width for width in natural if width <= fair)
    long = sum(width > fair for width in natural)
    return [width if width <= fair else (room - short) / long for width in natural]


@dataclass(frozen=True)
class _Column:
    """A column that is not of names."""

    head: _Cell
    cells: Sequence[_Cell]

    @classmethod
    def of(cls, name: str, texts: Sequence[str]) -> "_Column":
        """Return the column with a heading and texts."""
        cells = [_number_cell(text) or _text_cell(text, CELL_WIDTH) for text in texts]
        return cls(_text_cell(name, max([HEAD_WIDTH, *(cell.width for cell in cells)])), cells)

    @property
    def width(self) -> float:
        """The width of the widest cell in points."""
        return max(cell.width for cell in (self.head, *self.cells))


def _blocks(columns: Sequence[_Column], room: float) -> list[Sequence[_Column]]:
    """Return the columns in blocks of equal size that fit into a width below each other, at least one in each."""
    for size in range(len(columns), 1, -1):
        blocks = [columns[place : place + size] for place in range(0, len(columns), size)]
        widths = [max(one[place].width for one in blocks if place < len(one)) for place in range(size)]
        if sum(widths) + GAP * size <= room:
            return blocks
    return [[column] for column in columns] or [[]]


def _row(names: Sequence[_Cell], cells: Sequence[_Cell], mark: str = "", marks: Sequence[str] = ()) -> str:
    of_names = [cell.latex("l", "" if place else mark) for place, cell in enumerate(names)]
    of_cells = [cell.latex("c", marks[place] if marks else "") for place, cell in enumerate(cells)]
    return " & ".join([*of_names, *of_cells]) + r" \\"


def latex_table(rows: Iterable[Any], caption: str, label: str) -> str:
    r"""Return a `table` environment for the package booktabs.

    Numbers have three decimals. Columns that are empty are left out, and those with the same text or count in several
    rows, which the caption then has. `label` is reduced to letters, digits and hyphens.
    """
    flat = [fold_intervals(flatten(row)) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    columns = [name for name in names if _is_informative([row.get(name) for row in flat])] or list(names)
    header = [name.replace("_", " ") for name in columns]
    lines = [[_latex_text(row.get(name), name) or MISSING for name in columns] for row in flat]
    caption, parts = _with_constants(caption, flat, names), list(_pages(header, lines))
    if len(parts) == 1:
        return latex_tabular(header, lines, caption, label)
    return "\\clearpage\n".join(
        latex_tabular(header, part, f"{caption} Part {number} of {len(parts)}.", f"{label}-{number}")
        for number, part in enumerate(parts, 1)
    )


def _pages(header: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Yield the rows of each table: a float that is higher than a page is cut off, or not compiled at all."""
    body = [line.split("&") for line in latex_tabular(header, lines, "", "").splitlines() if line.endswith(r"\\")]
    height = sum(1 + max(cell.count(r"} \\ {") for cell in cells) for cells in body)
    if height <= PAGE_LINES or len(lines) < 2:
        yield lines
        return
    yield from _pages(header, lines[: len(lines) // 2])
    yield from _pages(header, lines[len(lines) // 2 :])


def _with_constants(caption: str, rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return a caption with the columns that have the same text in several rows, as far as it does not have them."""
    constant = [name for name in names if _is_constant([row.get(name) for row in rows])]
    texts = [f"{name.replace('_', ' ')} {_latex_text(rows[0][name], name)}" for name in constant if rows[0][name]]
    stated = [text for text in texts if text not in caption]
    return f"{caption} All rows: {', '.join(stated)}." if stated else caption


def _latex_text(value: object, column: str = "") -> str:
    match value:
        case None:
            return ""
        case float() if is_p_value(column):
            return format_p(value)
        case float():
            return format_number(value, 3)
        case str() if column == "statistic":
            from core.statistics import catalogue  # with numpy, which a table without statistics does not need

            return catalogue.name(value)
        case tuple() | list():
            return ", ".join(map(_latex_text, value))
    return str(value)


def _is_informative(values: Sequence[object]) -> bool:
    return not _is_constant(values) and any(value not in (None, "") for value in values)


def _is_constant(values: Sequence[object]) -> bool:
    return (
        len(values) > 1
        and len(set(map(str, values))) == 1
        and isinstance(values[0], str | int)
        and not isinstance(values[0], bool)
    )
