"""MetaEvaluator's project folder (https://pypi.org/project/meta-evaluator): data, results of judges, annotations.

    main_state.json                     the data file with its id column, and the tasks with their columns
    data/...                            the evaluated rows
    results/*_state.json                the state of a judge's run, which names its data file
    annotations/*_metadata.json         the same of an annotator

A task's name is the criterion; a task with free text is the reason of the other answers. An annotator's row without a
value was not answered, a judge's has no verdict.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from core.errors import FileFormatError
from core.formats.mapping.rows import is_empty, read_rows
from core.formats.records import Records
from core.formats.text import load_json, read_head
from core.formats.tools.answers import Answer, item_from_fields, records
from core.formats.validation_errors import validated
from core.items import Item, Response

MAIN_STATE = "main_state.json"
# What a task with several labels holds in the place of a label that was not selected.
NOT_SELECTED = "FALSE"
Schemas = dict[str, list[str] | dict[str, Any] | None]


class DataMetadata(BaseModel):
    """Where the evaluated rows are."""

    id_column: str
    data_file: str
    data_format: Literal["json", "csv", "parquet"]


class EvaluationTask(BaseModel):
    """What is judged."""

    task_schemas: Schemas = {}
    prompt_columns: list[str] | None = None
    response_columns: list[str] = []


class MainState(BaseModel):
    """The project."""

    data: DataMetadata
    eval_task: EvaluationTask | None = None


class RunState(BaseModel):
    """The results of one annotator or judge."""

    model_config = ConfigDict(protected_namespaces=())
    annotator_id: str | None = None
    judge_id: str | None = None
    model_used: str | None = None
    task_schemas: Schemas
    data_file: str


def recognises(path: Path) -> bool:
    """Return whether it is a folder with MetaEvaluator's main state."""
    state = path / MAIN_STATE
    return path.is_dir() and state.is_file() and read_head(state).startswith("{")


def read(path: Path) -> Records:
    """Yield the items, labels and recorded runs; raises FileFormatError with the file and the field."""
    state = validated(MainState, load_json(path / MAIN_STATE), name=MAIN_STATE)
    items = list(_items(path, state))
    files = [*sorted((path / "results").glob("*.json")), *sorted((path / "annotations").glob("*.json"))]
    states = [file for file in files if read_head(file).startswith("{") and '"data_file"' in read_head(file, 64_000)]
    runs = [(file, validated(RunState, load_json(file), name=file.name)) for file in states]
    answers = [answer for file, run in runs for answer in _answers(file, run)]
    yield from records(items, answers)


def _rows(folder: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a data file, which has to be in its folder."""
    file = folder / name
    if Path(name).name != name or not file.is_file():
        raise FileFormatError(f"there is no file {name!r} in the folder {folder.name}")
    rows = [row for _, row in read_rows(file)]
    columns = rows[0] if len(rows) == 1 and file.suffix == ".json" else {}
    if columns and all(isinstance(values, list) for values in columns.values()):  # one object of columns
        if len({len(values) for values in columns.values()}) > 1:
            raise FileFormatError(f"{name}: expected as many values in each column")
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    yield from rows


def _items(path: Path, state: MainState) -> Iterator[Item]:
    task = state.eval_task or EvaluationTask()
    for number, row in enumerate(_rows(path / "data", state.data.data_file), 1):
        id = str(row.get(state.data.id_column, number))
        if not task.response_columns:
            yield item_from_fields(id, {name: value for name, value in row.items() if name != state.data.id_column})
            continue
        missing = [name for name in (*(task.prompt_columns or ()), *task.response_columns) if name not in row]
        if missing:
            raise FileFormatError(f"the data has no column {missing[0]!r}")
        prompt = "\n\n".join(str(row[name]) for name in task.prompt_columns or ())
        responses = tuple(Response(text=str(row[name])) for name in task.response_columns)
        yield Item(id=id, prompt=prompt, responses=responses)


def _answers(file: Path, run: RunState) -> Iterator[Answer]:
    rater = run.judge_id or run.annotator_id or file.stem
    is_judge = run.judge_id is not None
    for row in _rows(file.parent, run.data_file):
        item = str(row.get("original_id"))
        remarks = [str(row[name]) for name in _free_texts(run) if not is_empty(row.get(name))]
        reason = "\n".join(remarks) or str(row.get("llm_raw_response_content") or "")
        for name in run.task_schemas.keys() - _free_texts(run):
            cell = row.get(name)
            if not is_empty(cell) or is_judge:
                value = None if is_empty(cell) else _value(cell, run.task_schemas[name])
                yield Answer(item, name, rater, value, reason=reason, is_judge=is_judge, model=run.model_used or "")


def _free_texts(run: RunState) -> set[str]:
    """Return the tasks with free text, which is the reason of the other answers; none if all tasks are."""
    free = {name for name, schema in run.task_schemas.items() if schema is None}
    return free if len(free) < len(run.task_schemas) else set()


def _value(cell: Any, schema: list[str] | dict[str, Any] | None) -> Any:
    """Return a cell's value; several labels are stored as a list, in CSV as JSON."""
    if isinstance(schema, dict) and isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise FileFormatError(f"expected a list of labels, not {cell[:40]!r}") from None
    if isinstance(cell, list):
        return [label for label in cell if label != NOT_SELECTED] or ["none"]
    return cell
