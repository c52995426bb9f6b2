"""Published figures beside those of a study: docs/papers/values.yaml, and the experiments of docs/papers as tables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import product
from typing import Any

import yaml
from sqlalchemy.orm import Session

from core.experiments import FOLDER, Definition, load_paper
from core.items import Item
from core.statistics.data.frames import ALL
from core.statistics.reports.experiments import Levels
from core.wording import join_notes
from storage.db import connections
from storage.reports import experiments as reports
from storage.reports.critiques import PEOPLE
from storage.reports.published.rows import (
    DATA_SET,
    MEAN,
    PublishedRow,
    PublishedTable,
    Request,
    from_estimate,
    with_mean,
)
from storage.runs import experiments, runs
from storage.runs.experiments import Experiment
from storage.studies import items, studies
from storage.studies.studies import Study

# The end of the name of a file with current models in place of the published ones.
TODAY = "-today"
ABSENT = "not computed here"


@cache
def _file() -> dict[str, Any]:
    """Return the published figures; none if the folder is not installed."""
    file = FOLDER / "values.yaml"
    found = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {
        "why": {},
        "data_sets": {},
        "tables": {},
        "experiments": {},
        "without": {},
        "absent": [],
        "items": {},
        **found,
    }


def with_published(request: Request, table: str, rows: Sequence[PublishedRow]) -> list[PublishedRow]:
    """Return the rows of a named table, those of the paper with its figure if the study has the paper's data.

    Rows of the paper that are not computed here follow, with the reason.
    """
    absent = _absent(request, table) if rows else []
    known = _file()["tables"].get(table)
    if known is None or not _is_of_paper(request, known):
        return [*rows, *absent]
    figures = {tuple(row[:3]): row[3] for row in known["rows"]}
    why = known.get("why", "")
    # The name of a judge of several repeats has the cell of the experiment that makes the table.
    cell = re.compile(rf" · {re.escape(table.replace('-', '-table-', 1))} · [^:]*")
    found = []
    for row in rows:
        scorers = dict.fromkeys((row.scorer, cell.sub("", row.scorer)))
        keys = [(scorer, row.group, statistic) for scorer in scorers for statistic in (row.statistic, "")]
        value = next((figures[key] for key in keys if key in figures), None)
        reason = why.get(row.statistic, "") if isinstance(why, Mapping) else why
        found.append(row if value is None else replace(row, published=value, source=known["source"], why=reason))
    return [*found, *absent]


def with_part(request: Request, table: str, rows: Sequence[PublishedRow]) -> list[PublishedRow]:
    """Return rows, those with a published figure with the number of the paper's items that are here, if not all are.

    Values of runs are of the items that the experiment with the name of the table ran, otherwise any run.
    """
    if not any(row.published is not None and row.value is not None for row in rows):
        return [*rows]
    with connections.reading(request.engine) as session:
        sets = _file()["items"], _file()["data_sets"]
        imported, of_paper = size_of_paper(session, request.study, *sets)
        name = table.removesuffix(TODAY)
        own = (spec.get("items") for file, spec in _file()["experiments"].items() if _experiment_name(file) == name)
        of_paper = next(own, None) or of_paper  # a table of a part of the data set
        experiment = experiments.find(session, request.study.id, table)
        ran = runs.count_items(session, request.study.id, experiment.id if experiment else None)
    found = []
    for row in rows:
        number = imported if row.scorer in (PEOPLE, DATA_SET) else ran
        is_part = row.published is not None and row.value is not None and 0 < number < of_paper
        part = f"{number:,} of the paper's {of_paper:,} items are here"
        found.append(replace(row, why=join_notes(part, row.why)) if is_part else row)
    return found


def has_figures(request: Request, table: str) -> bool:
    """Return whether a paper prints figures of a named table for the data of the study."""
    known = _file()["tables"].get(table)
    return bool(known and _is_of_paper(request, known)) or bool(_absent(request, table))


def _absent(request: Request, table: str) -> list[PublishedRow]:
    """Return the rows of a paper that are not computed here, of a named table or of the experiment of a file."""
    return [
        PublishedRow(
            scorer, group, statistic, None, None, None, 0, ABSENT, published=value, source=of["source"], why=of["why"]
        )
        for of in _file()["absent"]
        if table in of["tables"] and _is_of_paper(request, of)
        for scorer, group, statistic, value in of["rows"]
    ]


def _is_of_paper(request: Request, spec: Mapping[str, Any]) -> bool:
    with connections.reading(request.engine) as session:
        return is_of(session, request.study, spec["data"], _file()["data_sets"])


def without_figures(name: str) -> str:
    """Return why the paper of an experiment prints no figure of it, as one sentence; empty if none is known."""
    reasons = {_experiment_name(file): reason for file, reason in _file()["without"].items()}
    reason = reasons.get(name.removesuffix(TODAY))
    return f"Nothing is published beside {name!r}: {reason}." if reason else ""


def _experiment_name(file: str) -> str:
    return file.replace("/", "-").replace("dna_eval-", "dna-")


def tables_of_experiments(session: Session, study_id: int) -> list[PublishedTable]:
    """Return a table for each experiment of a study that is one of a paper with published figures."""
    files = {_experiment_name(file): file for file in _file()["experiments"]}
    found = []
    for experiment in experiments.of_study(session, study_id):
        file = files.get(experiment.name.removesuffix(TODAY)) or _same_design(session, study_id, experiment.definition)
        if file is not None:
            found.append(_table(experiment, file))
    return found


def _same_design(session: Session, study_id: int, own: Definition) -> str | None:
    """Return the file of a paper that an experiment with another name is a copy of, with other models or the same.

    Files of one paper have the same axes for several data sets: it is the one of the study's data.
    """
    known = _file()
    for file in known["experiments"]:
        protocol, axes = _design(file)
        if (protocol, [*axes]) != (own.protocol, [axis.name for axis in own.axes]):
            continue
        labels = [[own.replaced.get(label, label) for label in of_axis] for of_axis in axes.values()]
        if labels != [[*axis.labels] for axis in own.axes]:
            continue
        study = studies.by_id(session, study_id)
        if is_of(session, study, known["experiments"][file]["data"], known["data_sets"]):
            return str(file)
    return None


@cache
def _design(file: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return the protocol of a file of docs/papers, and axis -> labels."""
    paper = load_paper(file)
    return paper.protocol, {axis.name: axis.labels for axis in paper.axes}


def _table(experiment: Experiment, file: str) -> PublishedTable:
    def rows(request: Request) -> list[PublishedRow]:
        return _rows(request, experiment, file)

    source = str(_file()["experiments"][file]["source"])
    return PublishedTable(
        experiment.name, source, "published and here", "How far are the runs of this study from the published figures?",
        "runs of the experiment with verdicts, and their reference", rows, against=False, labels="no value",
    )  # fmt: skip


def _rows(request: Request, experiment: Experiment, file: str) -> list[PublishedRow]:
    """Return the cells of an experiment with the published figure of each, for the statistics that the paper has."""
    spec = _file()["experiments"][file]
    reference = str(request.data.reference) if request.reference else None
    statistics = dict.fromkeys([*spec, *spec.get("means", {})])
    results = reports.results(request.engine, request.study, experiment, reference, statistics)
    own = experiment.definition
    published = [*_design(file)[1].values()]
    why = "; ".join(filter(None, (_file()["why"].get(file.partition("/")[0]), spec.get("why"))))
    if models := reports.replaced_models(own):
        why = f"{models}; {why}"
    elif experiment.name.endswith(TODAY):
        why = f"current models in place of the published ones; {why}"
    spec = next((one for one in (spec, *spec.get("others", ())) if _is_of_paper(request, one)), spec)
    is_of_paper = _is_of_paper(request, spec)
    other = "" if is_of_paper else f"the paper's figure is of {', '.join(spec['data'])}, which this study is not"
    rows: list[tuple[Levels, PublishedRow]] = []
    for statistic in (name for name in dict.fromkeys([*spec, *spec.get("means", {})]) if name in results.cells):
        for cell in results.cells[statistic]:
            # A file with current models has the same levels in the same order.
            places = [axis.labels.index(level) for axis, level in zip(own.axes, cell.levels, strict=True)]
            levels = [labels[place] for labels, place in zip(published, places, strict=True)]
            missing = f"{cell.no_verdict:,} of {cell.asked:,} without a verdict" if cell.no_verdict else ""
            note = other or (f"published for {', '.join(levels)}" if tuple(levels) != cell.levels else "")
            if results.reference.startswith("debate:"):  # each cell has its own sources
                note = "; ".join(filter(None, (note, f"compared with {results.reference}: {cell.reference}")))
            criterion = "" if cell.criterion in (*cell.levels, ALL) else cell.criterion
            row = from_estimate(" · ".join(cell.levels), criterion, statistic, cell, join_notes(note, missing))
            figure = _figure(spec.get(statistic), levels) if is_of_paper else None
            reason = why if cell.value is not None else f"no value here: {cell.reason}"
            rows.append((cell.levels, replace(row, published=figure, source=spec["source"], why=reason)))
    means = _means(rows, spec, published, own, why) if is_of_paper else ()
    averages = _averages(rows, spec, published[0], own, why) if is_of_paper else ()
    return [*(row for _, row in rows), *means, *averages, *_absent(request, file)]


def _averages(
    rows: Sequence[tuple[Levels, PublishedRow]],
    spec: Mapping[str, Any],
    published: Sequence[str],
    own: Definition,
    why: str,
) -> Iterator[PublishedRow]:
    """Yield the averages over levels of the first axis that the paper prints, and their means: `groups` has them."""
    means = spec.get("means", {})
    for (name, members), statistic in product(spec.get("groups", {}).items(), means):
        labels = {own.axes[0].labels[published.index(member)] for member in members}
        cells: dict[Levels, list[PublishedRow]] = {}
        for levels, row in rows:
            if row.statistic == statistic and levels[0] in labels:
                scorer = " · ".join((name, *levels[1:]))
                cells.setdefault(levels[1:], []).append(replace(row, scorer=scorer))
        found = [(rest, with_mean(of_rest)[-1]) for rest, of_rest in cells.items() if len(of_rest) == len(members)]
        averages = [
            replace(row, group="", published=_figure(spec[statistic], (name, *rest)), source=spec["source"], why=why)
            for rest, row in found
            if row.group == MEAN
        ]
        last = with_mean(replace(row, scorer=name) for row in averages)[-1:]
        yield from averages
        for mean in last if len(averages) > 1 else ():
            yield replace(mean, published=_figure(means[statistic], (name,)), source=spec["source"], why=why)


def _means(
    rows: Sequence[tuple[Levels, PublishedRow]],
    spec: Mapping[str, Any],
    published: Sequence[Sequence[str]],
    own: Definition,
    why: str,
) -> Iterator[PublishedRow]:
    """Yield the means over an axis that the paper prints: `means` has statistic -> other levels -> mean."""
    axes = [axis.name for axis in own.axes]
    over = axes.index(spec["mean_over"]) if "mean_over" in spec else len(axes) - 1
    others = [place for place in range(len(axes)) if place != over]
    for statistic, figures in spec.get("means", {}).items():
        known = product(*(published[place] for place in others))
        for levels, labels in zip(known, product(*(own.axes[place].labels for place in others)), strict=True):
            cells = [
                replace(row, scorer=" · ".join(labels))
                for of_row, row in rows
                if row.statistic == statistic and tuple(of_row[place] for place in others) == labels
            ]
            (*_, mean) = with_mean(cells) if len(cells) > 1 else [None]
            if mean is not None and mean.group == MEAN:
                yield replace(mean, published=_figure(figures, levels), source=spec["source"], why=why)


def _figure(figures: Any, levels: Sequence[str]) -> float | None:
    """Return the figure of a cell in the nested mapping of a statistic; None if the paper has none."""
    for level in levels:
        figures = figures.get(level) if isinstance(figures, Mapping) else None
    return float(figures) if isinstance(figures, int | float) else None


def find_experiment_table(engine: Any, study_id: int, name: str) -> PublishedTable | None:
    """Return the table of an experiment of a paper; None if the study has none of this name."""
    with connections.reading(engine) as session:
        return next((table for table in tables_of_experiments(session, study_id) if table.name == name), None)


def is_of(session: Session, study: Study, names: Sequence[str], known: Mapping[str, Any]) -> bool:
    """Return whether a study has items of one of these data sets, and no more items than these have together.

    `known` has the `marks` and the number of `items` of those that are public. A study of another data set says so: by
    its name, its description or a scenario.
    """
    return _is_of(items.of_study(session, study.id), study, names, known)


def size_of_paper(
    session: Session, study: Study, sizes: Mapping[str, int], known: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the number of the items of a study, and of those that papers run of its data set; 0 if it is unknown.

    `sizes`: data set -> this number. `known` as in `is_of`.
    """
    found = items.of_study(session, study.id)
    return len(found), sum(size for name, size in sizes.items() if _is_of(found, study, [name], known))


def _is_of(found: Sequence[Item], study: Study, names: Sequence[str], known: Mapping[str, Any]) -> bool:
    public = [known[name] for name in names if name in known]
    marks = {mark for one in public for mark in one["marks"]}
    if len(found) <= sum(one["items"] for one in public) and any(mark_of(item) in marks for item in found):
        return True
    others = [name for name in names if name not in known]
    said = _letters(f"{study.name} {study.description}")
    return any(_letters(name) in said for name in others) or bool({*others} & {item.scenario for item in found})


def mark_of(item: Item) -> str:
    """Return eight hexadecimal digits of the texts that are judged: all responses in any order, otherwise the prompt.

    Only letters and digits count, because copies of a data set differ in their white space.
    """
    texts = sorted(_letters(response.text) for response in item.responses) or [_letters(item.prompt)]
    return sha256("|".join(texts).encode()).hexdigest()[:8]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())
