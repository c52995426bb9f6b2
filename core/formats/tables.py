"""Tables of rows as CSV for spreadsheets, and text for LaTeX (`core.formats.latex_tables`)."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from itertools import zip_longest
from operator import attrgetter
from typing import Any, Literal

from core.wording import format_estimate, format_p

# The columns of a table, declared once for pages and files.

Form = Literal["text", "count", "share", "estimate", "difference", "p", "yes", "figure"]
# How the values of a column are written on a page; a figure is a text that is aligned as a number.
FORMS: Mapping[Form, Callable[..., str]] = {
    "text": str,
    "figure": str,
    "count": lambda count: "–" if count is None else f"{count:,}",
    "share": lambda share: "" if share is None else f"{share:.0%}",
    "estimate": lambda value, low=None, high=None: format_estimate(value, low, high),
    "difference": lambda value, low=None, high=None: format_estimate(value, low, high, sign=True),
    "p": format_p,
    "yes": lambda found: "–" if found is None else "yes" if found else "no",
}


@dataclass(frozen=True)
class Column:
    """A column of a table on a page, in CSV, JSON and LaTeX."""

    title: str
    """The heading on a page; "" for a column of files only."""
    of: str | Callable[[Any], object]
    """An attribute of the row such as `effect.items`, three separated by blanks for an interval, or a function of the
    row that returns the value, or the three of an interval. Of files only, any number of attributes."""
    form: Form = "text"
    key: str = ""
    """The name in files, one for each attribute; "" for a column of pages only."""
    help: str = ""

    def values(self, row: Any) -> tuple[Any, ...]:
        """Return the value of a row, with the ends of its interval if the column has them."""
        if isinstance(self.of, str):
            return tuple(attrgetter(name)(row) for name in self.of.split())
        found = self.of(row)
        return found if isinstance(found, tuple) else (found,)

    def text(self, row: Any) -> str:
        """Return the cell of a row on a page."""
        return FORMS[self.form](*self.values(row))


def in_file(attributes: str, keys: str = "") -> Column:
    """Return columns of files only: attributes of the row separated by blanks, under other names if they are given."""
    return Column("", attributes, key=keys or " ".join(name.rpartition(".")[2] for name in attributes.split()))


@dataclass(frozen=True)
class Table:
    """A table of a page with its CSV file."""

    name: str
    """Of its key in the session and of its file."""
    rows: Sequence[Any]
    columns: Sequence[Column]
    file_rows: Sequence[Any] | None = None
    """The rows of the CSV file, if they are not those of the keys of the columns; empty for no file."""


def records(rows: Iterable[Any], columns: Sequence[Column]) -> list[dict[str, object]]:
    """Return rows as they are in files: the keys of the columns with the values."""
    named = [column for column in columns if column.key]
    return [
        {key: value for column in named for key, value in zip(column.key.split(), column.values(row), strict=True)}
        for row in rows
    ]


# Text for LaTeX: every character is a command, plain ASCII, or an argument of `\unicodetext`.
#
# pdfTeX stops at characters that its fonts do not have, such as those of other scripts and emoji. XeTeX and LuaTeX
# print them if the document has a font for them, so their files keep them.

# Defines `\unicodetext{characters}{their code points}`: XeTeX and LuaTeX print the first, pdfTeX the second.
DEFINITION = r"\providecommand{\unicodetext}[2]{\ifdefined\Umathchar#1\else#2\fi}"
# Categories without a visible sign: control characters, marks of direction, halves of characters.
IGNORED = {"Cc", "Cf", "Cs"}
# Without the capitals that look like a Latin letter.
GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
)  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip


def _greek_letter(name: str) -> str:
    """Return the letter with the name of its LaTeX command, such as `Lambda`."""
    size = "small" if name.islower() else "capital"
    return unicodedata.lookup(f"Greek {size} letter {name.lower().replace('lambda', 'lamda')}")


# Character -> its command in the encoding OT1, which a document has without a package.
COMMANDS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "…": r"\dots{}"},
    **{"\u2010": "-", "\u2011": "-", "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "„": ",,"},
    **{"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "÷": r"$\div$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$"},
    **{"≈": r"$\approx$", "∞": r"$\infty$", "→": r"$\to$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$"},
    **{"·": r"$\cdot$", "•": r"\textbullet{}", "°": r"$^\circ$", "²": "$^2$", "³": "$^3$", "µ": r"$\mu$"},
    **{"«": r"$\ll$", "»": r"$\gg$", "¡": "!`", "¿": "?`", "§": r"\S{}", "£": r"\pounds{}"},
    **{"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}"},
    **{"ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}"},
    **{_greek_letter(name): f"$\\{name}$" for name in GREEK},
    "ε": r"$\varepsilon$",
}


def escape_latex(text: str) -> str:
    r"""Return text on one line in which no character is a LaTeX command, and which pdfTeX can print.

    Characters that have no command are arguments of `\unicodetext`, which DEFINITION defines.
    """
    visible = (sign for sign in " ".join(text.split()) if unicodedata.category(sign) not in IGNORED)
    composed = unicodedata.normalize("NFC", "".join(visible))
    return re.sub(r"[^\x00-\x7f]+", _without_command, "".join(_command(sign) or sign for sign in composed))


def _command(sign: str) -> str:
    """Return the command of a character, "" if it needs or has none."""
    base, *accents = list(unicodedata.normalize("NFD", sign))
    if sign in COMMANDS or not accents or not base.isascii() or any(accent not in ACCENTS for accent in accents):
        return COMMANDS.get(sign, "")
    for accent in accents:
        base = f"\\{ACCENTS[accent]}{{{base}}}"
    return base


def _without_command(found: re.Match[str]) -> str:
    codes = " ".join(f"U+{ord(sign):04X}" for sign in found[0])
    return f"\\unicodetext{{{found[0]}}}{{{codes}}}"


# Cells of CSV files that spreadsheets can open without executing text as a formula.

# Text that begins so, without its apostrophes, may be executed as a formula. Some spreadsheets ignore leading blanks,
# and read full-width signs as ASCII.
FORMULA_START = re.compile(r"'*(?:[\t\r\n]|[\s\u200b\u2060\ufeff]*[=+\-@＝＋－＠])")
# What makes quotes around a cell necessary.
SPECIAL = re.compile(r'[,"\r\n]')


def escape_formula(text: str) -> str:
    """Return text with an apostrophe before it if a spreadsheet could execute it.

    So has text with apostrophes before such a start: different texts stay different, see `unescape_formula`.
    """
    return f"'{text}" if FORMULA_START.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text of a cell that `escape_formula` wrote."""
    return cell[1:] if cell.startswith("'") and FORMULA_START.match(cell) else cell


# Columns that a printed table does not have.
NOT_PRINTED = ("items_total", "pairs", "dropped", "reason", "raters")
INTERVAL_ENDS = ("low", "high")
# An empty cell of a printed table.
MISSING = "–"


def flatten(row: Any) -> dict[str, Any]:
    """Return a dataclass instance or a mapping as columns; a nested one adds columns such as `accuracy_low`.

    The `value` of a nested row has the name of its field.
    """
    values = asdict(row) if is_dataclass(row) and not isinstance(row, type) else dict(row)
    cells: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            cells |= {name if inner == "value" else f"{name}_{inner}": cell for inner, cell in flatten(value).items()}
        else:
            cells[name] = value
    return cells


def cell(row: Any, column: str) -> Any:
    """Return one column of `flatten(row)`, without the others if the row itself has it; None without it."""
    own = row.get(column) if isinstance(row, Mapping) else getattr(row, column, None)
    return flatten(row).get(column) if own is None else own


def csv_text(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return lines as CSV; text that a spreadsheet would run as a formula gets a leading apostrophe."""
    return "".join(csv_line(map(_csv_cell, line)) for line in (header, *lines))


def csv_line(cells: Iterable[str]) -> str:
    """Return one line of CSV.

    The csv module does not quote a lone carriage return with these line ends, and readers would end the row there.
    """
    quoted = ('"' + cell.replace('"', '""') + '"' if SPECIAL.search(cell) else cell for cell in cells)
    return (",".join(quoted) or '""') + "\n"


def rows_csv(rows: Iterable[Any]) -> str:
    """Return dataclass instances or mappings as CSV, with the columns of all rows."""
    flat = [flatten(row) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    return csv_text(columns, ([row.get(name) for name in columns] for row in flat))


def fold_intervals(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flat row for print: an interval is written after its value, and technical columns are left out.

    The value of the columns `low` and `high` is `value`, or the column before them.
    """
    folded: dict[str, Any] = {}
    for (name, value), following in zip_longest(row.items(), list(row)[1:]):
        prefix = "" if name == "value" or following == INTERVAL_ENDS[0] else f"{name}_"
        if f"{prefix}low" in row:
            ends = row[f"{prefix}low"], row.get(f"{prefix}high")
            folded[name] = None if value is None else format_estimate(value, *ends, 3)
        elif not name.endswith((*NOT_PRINTED, *INTERVAL_ENDS)):
            folded[name] = value
    return folded


def _csv_cell(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return escape_formula(value)
        case tuple() | list():
            return escape_formula(";".join(map(str, value)))
    return str(value)
