"""Scores of critiques as people read them: lines of the leaderboard, points of its charts, a file to take away."""

import csv
import io
from collections.abc import Iterable, Sequence

from core.formats.gold import FORMULA
from core.statistics.reports import agreement as report
from pages.parts import numbers
from pages.parts.charts import Series
from storage.reports.critiques import Accuracy, Behind, Row

ALL = {"human": "all people", "llm": "all models"}
Interval = tuple[float, float] | None


def named(row: Row) -> str:
    """An author, or "all people" for a group."""
    return ALL[row.author] if row.group else row.author


def is_group(name: str) -> bool:
    """Whether a name on the screen is that of a group."""
    return name in ALL.values()


def plain_name(name: str) -> str:
    """The author or group behind a name on the screen."""
    return next((group for group, shown in ALL.items() if shown == name), name)


def best_first(rows: Sequence[Row]) -> list[Row]:
    """Groups, then authors, each with the highest F1 first and the undefined last."""
    return sorted(rows, key=lambda row: (not row.group, row.f1 is None, -(row.f1 or 0.0), row.author))


def as_point(row: Row) -> report.Row:
    """F1 as a point with whiskers."""
    low, high = row.f1_interval or (None, None)
    return _point(row.author, "f1", row.f1, low, high, row.critiques)


def line(row: Row) -> dict[str, str | int]:
    """`model K · 0.68 [0.51, 0.80] · ...`."""
    return {
        "Author": named(row),
        "Precision": _figure(row.precision, row.precision_interval),
        "Recall": _figure(row.recall, row.recall_interval),
        "F1": _figure(row.f1, row.f1_interval),
        "Critiques": row.critiques,
        "AIUs": row.aius,
    }


def behind_line(one: Behind) -> dict[str, str]:
    """One critique with its scores."""
    values = {"Precision": one.score.precision, "Recall": one.score.recall, "F1": one.score.f1}
    shown = {name: numbers.estimate(value, None, None) for name, value in values.items()}
    return {"Item": one.item, "Author": one.author, **shown, "Critique": one.text}


def accuracies(there: Sequence[Accuracy]) -> list[Series]:
    """Two series: precision and recall over all critiques, by judge."""
    return [
        Series(
            name,
            {
                one.judge: _point(one.judge, task, one.accuracy, *(one.interval or (None, None)), one.aius)
                for one in there
                if one.task == task and one.critiques == "all"
            },
            hollow=task == "recall",
        )
        for task, name in (("precision", "Precision task"), ("recall", "Recall task"))
    ]


def accuracy_lines(found: Sequence[Accuracy]) -> list[dict[str, str | int]]:
    """One line a judge and task: over all critiques, people's and models', and what could not be read."""
    lines: dict[tuple[str, str], dict[str, str | int]] = {}
    columns = {"all": "All critiques", "human": "By people", "llm": "By models"}
    for one in found:
        row = lines.setdefault((one.judge, one.task), {"Judge": one.judge, "Task": one.task.capitalize()})
        row[columns[one.critiques]] = f"{_figure(one.accuracy, one.interval)} ({one.aius:,})" if one.aius else "–"
        if one.critiques == "all":
            row["Unread"] = one.unread
    order = ("Judge", "Task", *columns.values(), "Unread")
    return [{name: row[name] for name in order if name in row} for row in lines.values()]


def as_csv(rows: Iterable[Row]) -> str:
    """The rows of the leaderboard with their intervals."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    scores = ("precision", "recall", "f1")
    edges = [f"{name}_{edge}" for name in scores for edge in ("low", "high")]
    writer.writerow(["author", "source", "level", *scores, *edges, "critiques", "aius", "group", "reason"])
    for row in rows:
        intervals = (row.precision_interval, row.recall_interval, row.f1_interval)
        ends = [end for interval in intervals for end in (interval or ("", ""))]
        values = ["" if value is None else value for value in (row.precision, row.recall, row.f1)]
        names = [f"'{name}" if name.startswith(FORMULA) else name for name in (row.author, row.source)]
        writer.writerow([*names, row.level, *values, *ends, row.critiques, row.aius, row.group, row.reason])
    return stream.getvalue()


def _figure(value: float | None, interval: Interval) -> str:
    return numbers.estimate(value, *(interval or (None, None)))


def _point(
    name: str, statistic: str, value: float | None, low: float | None, high: float | None, items: int
) -> report.Row:
    return report.Row(
        kind="critique",
        criterion="",
        group=name,
        statistic=statistic,
        value=value,
        low=low,
        high=high,
        items=items,
        raters=1,
        pairs=0,
        reason="",
    )
