"""Tables in LaTeX for the package booktabs, by pandas; of many rows over several pages, for longtable too."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from core.formats.tables import MISSING, flatten, fold_intervals
from core.wording import format_number, format_p, is_p_value

# More rows do not fit a page.
PAGE_ROWS = 40
# The longest text of a column whose cells are one line, in characters; others are broken into lines of 4 cm.
LINE_LENGTH = 30
# Categories without a visible sign: control characters, marks of direction, halves of characters.
IGNORED = {"Cc", "Cf", "Cs"}
NUMBER = re.compile(rf"{MISSING}|[-+−<]?\s*[\d.,]+(\s.*)?")
GREEK = re.compile(r"GREEK SMALL LETTER (?!OMICRON$)([A-Z]+)")
# Character -> its command. Other letters and signs are printed as they are by LaTeX, if its font has them.
COMMANDS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "→": r"$\to$"},
    **{"←": r"$\leftarrow$", "≈": r"$\approx$", "∞": r"$\infty$", "²": "$^2$"},
}


def escape_latex(text: str) -> str:
    """Return text on one line in which no character is a LaTeX command; Greek letters and signs are commands."""
    visible = (sign for sign in " ".join(text.split()) if unicodedata.category(sign) not in IGNORED)
    return "".join(map(_printed, unicodedata.normalize("NFC", "".join(visible))))


def _cell(text: str) -> str:
    """Return the text of a cell, which is no argument of the rule or of the end of the line before it."""
    printed = escape_latex(text)
    return f"{{{printed}}}" if printed.startswith(("[", "*")) else printed


def _printed(sign: str) -> str:
    greek = GREEK.fullmatch(unicodedata.name(sign, ""))
    return f"$\\{greek[1].lower().replace('lamda', 'lambda')}$" if greek else COMMANDS.get(sign, sign)


def latex_tabular(header: Sequence[str], lines: Iterable[Sequence[str]], caption: str, label: str) -> str:
    """Return a `table` or `longtable` environment of plain texts. `label` is reduced to letters, digits, hyphens."""
    import pandas as pd

    texts = pd.DataFrame(list(lines), columns=range(len(header)), dtype=object)
    is_long = len(texts) > PAGE_ROWS
    style = texts.map(_cell).style.hide(axis="index")
    table = style.relabel_index([_cell(name) for name in header], axis="columns").to_latex(
        hrules=True,
        caption=escape_latex(caption),
        label=f"tab:{re.sub('[^A-Za-z0-9]+', '-', label).strip('-')}",
        column_format="".join(_alignment(texts[place].tolist()) for place in texts),
        position_float=None if is_long else "centering",
        environment="longtable" if is_long else None,
    )
    return rf"% \usepackage{{booktabs{',longtable' * is_long}}}" + f"\n{table}"


def _alignment(texts: Sequence[str]) -> str:
    if any(len(text) > LINE_LENGTH and not NUMBER.fullmatch(text) for text in texts):
        return "p{4cm}"
    return "r" if texts and all(map(NUMBER.fullmatch, texts)) else "l"


def latex_table(rows: Iterable[Any], caption: str, label: str) -> str:
    """Return rows as `latex_tabular`: numbers have three decimals, and columns that are empty are left out."""
    flat = [fold_intervals(flatten(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    columns = [name for name in names if any(row.get(name) not in (None, "") for row in flat)] or names
    lines = [[_latex_text(row.get(name), name) or MISSING for name in columns] for row in flat]
    return latex_tabular([name.replace("_", " ") for name in columns], lines, caption, label)


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
