"""A report as one HTML file without scripts and without any file of another host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TextIO

from core.wording import format_number, format_p, is_p_value

STYLE = """
:root { color-scheme: light dark; --text: #111418; --quiet: #5b626d; --line: #d6dae0; --page: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8eaed; --quiet: #a0a7b1; --line: #3a414c; --page: #14171c; }
}
@media print { :root { --text: #000; --quiet: #444; --line: #bbb; --page: #fff; } }
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; break-inside: avoid; }
figcaption { color: var(--quiet); font-size: 13px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; border: solid var(--text); border-width: 2px 0; font-size: 13px; }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: left; vertical-align: top; overflow-wrap: normal; }
td:first-child { min-width: 8rem; overflow-wrap: anywhere; }
th { border-bottom: 1px solid var(--text); }
.note { color: var(--quiet); padding: 0 0 0.4rem 1rem; }
.short { white-space: nowrap; }
@media print { .short { white-space: normal; } }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""

# A table with more rows is closed at first.
MAX_ROWS = 40
# Columns of sentences, which are below their row.
NOTES = ("reason", "caveat")
# Characters up to which the texts of a column, such as `0.62 [0.51, 0.71]`, have one line on a screen.
SHORT = 24


@dataclass(frozen=True)
class Section:
    """A heading with sentences and a table."""

    title: str
    sentences: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    """Of the table, with the same columns."""
    table_caption: str = ""


def write_report(title: str, sections: Sequence[Section], stream: TextIO) -> None:
    """Write the report; all texts are escaped."""
    stream.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
    )
    stream.writelines(map(_section, sections))
    stream.write("</body>\n</html>\n")


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>", *(f"<p>{escape(text)}</p>" for text in section.sentences)]
    if section.rows:
        caption = f"<figcaption>{escape(section.table_caption)}</figcaption>"
        table = f'<div class="wide">{_table(section.rows)}</div>'
        if len(section.rows) > MAX_ROWS:
            table = f"<details><summary>Table of {len(section.rows):,} rows</summary>{table}</details>"
        parts.append(f"<figure>{table}{caption}</figure>")
    return "\n".join(parts) + "\n"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = [name for name in rows[0] if name not in NOTES]
    numeric = {name for name in columns if all(isinstance(row[name], int | float | None) for row in rows)}
    short = {name for name in columns if all(len(str(row[name])) <= SHORT for row in rows)}
    styles = {name: "number" if name in numeric else "short" if name in short else "long" for name in columns}
    head = "".join(_cell("th", name, name.replace("_", " "), styles[name]) for name in columns)
    body = "\n".join(_row(row, styles) for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _row(row: Mapping[str, Any], styles: Mapping[str, str]) -> str:
    """Return a row, and its notes in a second one that has the width of the table."""
    cells = "".join(_cell("td", name, row[name], style) for name, style in styles.items())
    notes = "; ".join(str(row[name]) for name in NOTES if row.get(name))
    note = f'<tr><td class="note" colspan="{len(styles)}">{escape(notes)}</td></tr>' if notes else ""
    return f"<tr>{cells}</tr>{note}"


def _cell(tag: str, column: str, value: object, style: str) -> str:
    if isinstance(value, float):
        text = format_p(value) if is_p_value(column) else format_number(value, 3)
    else:
        text = "–" if value is None else str(value)
    return f'<{tag} class="{style}">{escape(text)}</{tag}>'
