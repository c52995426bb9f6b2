"""Published figures beside those here: of the data that the authors released, and of experiments of docs/papers."""

import asyncio
import csv

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core import experiments as files
from core.errors import TiebreakError
from core.experiments import definition
from core.items import Response
from core.llm.client import Reply, ScriptedModel
from storage.db.connections import reading
from storage.reports import experiments as reports
from storage.reports import published
from storage.reports.published import _data_sets, _values
from storage.runs import experiments
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import execute_experiment, plan, start
from tests.conftest import make_item, make_label
from tests.paths import DATA
from tests.storage.shared import stored_study

PAPERS = DATA.parent / "papers"
RELEASED = {
    "metacritique-2": "metacritique/annotation_data.json",
    "scaleeval-4": "scaleeval/results/gpt3.5_vs_claude",
    "chateval-1": "chateval",
}


@pytest.mark.parametrize("name", RELEASED)
def test_every_figure_of_released_data_equals_the_published_one_or_is_explained(
    name: str, sqlite_engine: Engine
) -> None:
    source = DATA / RELEASED[name]
    if not source.exists():
        pytest.skip(f"the released data are not in {DATA}")
    words = ["data", "import", str(source), "--study", name, "--database", str(sqlite_engine.url)]
    assert CliRunner().invoke(cli.app, words).exit_code == 0
    study = stored_study(sqlite_engine, name)
    rows = [row for row in published.compute(sqlite_engine, study, name, resamples=2) if row.published is not None]
    figures = [row for row in _values._file()["tables"][name]["rows"] if not row[0].startswith("Annotator")]
    assert len(rows) == len(figures), "a published row has no value here"
    for row in rows:
        assert row.difference[0] is not None and (abs(row.difference[0]) < 1e-4 or row.why), row
        assert bool(row.why) == (name != "metacritique-2")
    words = ["experiments", "table", "--published", "--study", name, "--database", str(sqlite_engine.url)]
    text = CliRunner().invoke(cli.app, words).stdout
    assert text.count(rows[0].why or "MetaCritique, Table 2") == 1
    (line, *others) = csv.DictReader(CliRunner().invoke(cli.app, [*words, "--format", "csv"]).stdout.splitlines())
    assert len(others) == len(rows) - 1 and (line["table"], line["why"]) == (name, rows[0].why)
    assert float(line["difference"]) == pytest.approx(float(line["value"]) - float(line["published"]))


def test_the_levels_of_every_published_figure_are_those_of_its_file() -> None:
    for file, spec in _values._file()["experiments"].items():
        axes = [set(axis.labels) for axis in definition.load_paper(file).axes]
        of_cells = [spec[statistic] for statistic in spec.keys() - {"source", "data", "why", "means"}]
        of_means = spec.get("means", {}).values()
        nested = [((), one, axes) for one in of_cells] + [((), one, axes[:-1]) for one in of_means]
        while nested:
            levels, value, own = nested.pop()
            if isinstance(value, dict):
                nested += [((*levels, level), inner, own) for level, inner in value.items()]
            else:
                assert all(level in axis for level, axis in zip(levels, own, strict=True))
                assert -1 <= value <= 1


def test_every_experiment_of_the_papers_has_figures_or_a_reason_for_none(engine: Engine, a_study: Study) -> None:
    for path in definition.files():
        if path.parent.name == "realcritic" or path.stem.endswith(_values.TODAY):
            continue
        name = definition.load(path).name
        if _values.without_figures(name):
            with pytest.raises(TiebreakError, match=f"Nothing is published beside '{name}'"):
                published.compute(engine, a_study, name)
        elif f"{path.parent.name}/{path.stem}" not in _values._file()["experiments"]:
            assert published.find_table(name).name == name.replace("-table-", "-")


def test_every_published_figure_is_printed_in_its_paper() -> None:
    if not PAPERS.exists():
        pytest.skip(f"the papers are not in {PAPERS}")
    texts = {file.stem: file.read_text(encoding="utf-8") for file in PAPERS.glob("*.txt")}
    found = [
        (name.partition("-")[0].replace("dna", "dna_eval"), row[3])
        for name, one in _values._file()["tables"].items()
        for row in one["rows"]
    ]
    nested = [(name.partition("/")[0], one) for name, one in _values._file()["experiments"].items()]
    while nested:
        paper, value = nested.pop()
        nested += [(paper, inner) for inner in value.values()] if isinstance(value, dict) else []
        found += [(paper, value)] if isinstance(value, float) else []
    for paper, value in found:
        places = (1, 2, 3, 4) if value > 1 else (2, 3, 4)
        forms = {f"{abs(value):.{digits}f}".lstrip("0") for digits in places if round(value, digits) == value}
        percent = round(100 * value, 6)
        forms |= {f"{percent:.{digits}f}" for digits in (1, 2) if round(percent, digits) == percent}
        assert any(form in texts[paper] for form in forms), (paper, value)


def test_an_experiment_of_a_paper_is_a_table_with_its_figures(
    engine: Engine, a_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file with current models has the same levels in the same order: gpt-5.4 stands for ChatEval's gpt-4."""
    imports.import_records(engine, "s", [make_label(1, item=f"item {n}") for n in range(3)])
    text = """
name: chateval-table-1-today
protocol: single-judge
base: {judge: {name: j, model: m}, criterion: helpfulness}
axes: {method: [single agent, ensemble, ChatEval], judge.model: [small, gpt-4]}
models: {gpt-4: large}
"""
    axes = text.replace(
        "method: [single agent, ensemble, ChatEval]",
        "method: {single agent: {set: {}}, ensemble: {set: {}}, ChatEval: {set: {}}}",
    )
    experiment_id = start(engine, a_study, plan(engine, a_study, files.parse(axes)))
    model = ScriptedModel(lambda ask: Reply(text="Final answer: 1"))
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, model))
    with reading(engine) as session:
        assert published.available(session, a_study.id)[-1].name == "chateval-table-1-today"
    (row, *others) = published.compute(engine, a_study, "chateval-table-1-today", resamples=10)
    assert not any(one.published for one in (row, *others)), "other items than the paper's"
    assert row.note.startswith("the paper's figure is of FairEval, which this study is not")
    data_sets = _values._file()["data_sets"]
    mark = _data_sets.mark_of(make_item(responses=(Response(text="That! "), Response(text="this"))))
    monkeypatch.setitem(data_sets, "FairEval", {"items": 2, "marks": [mark]})  # the study has three
    assert not published.compute(engine, a_study, "chateval-table-1-today", resamples=10)[0].published
    data_sets["FairEval"]["items"] = 3
    rows = published.compute(engine, a_study, "chateval-table-1-today", resamples=10)
    of = {(row.scorer, row.statistic): row for row in rows}
    row = of["ensemble · large", "example_level_agreement"]
    assert (row.published, row.source) == (0.615, "ChatEval, Table 1")
    assert row.why.startswith("models: large in place of gpt-4; other versions")
    assert row.note.startswith("published for ensemble, gpt-4; ")
    assert row.difference[0] == pytest.approx((row.value or 0) - 0.615)
    with reading(engine) as session:
        (experiment,) = experiments.of_study(session, a_study.id)
        text = "extends: table-1.yaml\nname: own\nmodels: {gpt-4: large}\n"
        copy = files.parse(text, folder=definition.FOLDER / "chateval")
        assert _values._same_design(session, a_study.id, copy) == "chateval/table-1"
        assert _values._same_design(session, a_study.id, definition.load_paper("refer/table-2")) is None  # other data
    results = reports.results(engine, a_study, experiment)
    for format in ("text", "latex", "csv"):
        assert "large in place of gpt-4" in reports.render(results, None, None, None, format)[1]
