"""The answer of the page Critiques in words: the author with the highest F1, and the most accurate judge of AIUs."""

from collections.abc import Sequence

from pages.parts import numbers
from storage.reports.critiques import TASKS, Accuracy, Row


def describe_authors(rows: Sequence[Row]) -> str:
    """Return the author with the highest F1, compared with the next one; `rows` are of one source and level."""
    authors = sorted((row for row in rows if not row.group and row.f1 is not None), key=lambda row: -(row.f1 or 0.0))
    if not authors:
        return "No author has an F1: it needs judged AIUs of a critique and of the reference critique of its item."
    best, *others = authors
    if not others:
        return f"Author {best.author} has the only F1, {_format_f1(best)}."
    second = others[0]
    if best.f1_interval is None or second.f1_interval is None:
        verdict = "without intervals to compare it with"
    elif best.f1_interval[0] > second.f1_interval[1]:
        verdict = "and is ahead of"
    else:
        verdict = "but is not clearly ahead of"
    scores = f"{_format_f1(best)}, {verdict} {second.author}, {_format_f1(second)}"
    return f"Author {best.author} has the highest F1, {scores}."


def describe_judges(accuracies: Sequence[Accuracy]) -> str:
    """Return the judge with the highest accuracy on AIUs for each task; "" if no accuracy is defined."""
    best = []
    for task in TASKS:
        defined = [
            row for row in accuracies if row.task == task and row.critiques == "all" and row.accuracy is not None
        ]
        if defined:
            row = max(defined, key=lambda row: row.accuracy or 0.0)
            estimate = numbers.format_estimate(row.accuracy, *(row.interval or (None, None)))
            best.append(f"of {task} {row.judge}, {estimate} ({numbers.format_count(row.aius, 'AIU')})")
    return f"Most accurate judge {', '.join(best)}." if best else ""


def _format_f1(row: Row) -> str:
    estimate = numbers.format_estimate(row.f1, *(row.f1_interval or (None, None)))
    return f"{estimate} ({numbers.format_count(row.critiques, 'critique')})"
