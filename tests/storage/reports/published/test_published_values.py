"""Published figures beside those here: of the data that the authors released, and of experiments of docs/papers."""

import asyncio
import csv
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core import experiments as files
from core.errors import TiebreakError
from core.formats import tiebreak
from core.items import Response
from core.llm.client import Reply, ScriptedModel
from core.statistics.measures import continuous
from storage.db.connections import connect, reading
from storage.reports import experiments as reports
from storage.reports import published
from storage.reports.published import PublishedRow, _registry, _values, layout, select
from storage.runs import experiments
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports, samples
from storage.worker import execute_experiment, plan, start
from tests.conftest import make_item, make_label
from tests.databases import create_database
from tests.paths import DATA
from tests.sessions import read
from tests.storage.shared import stored_study

PAPERS = DATA.parent / "papers"
RELEASED = {
    "metacritique-1": "metacritique/annotation_data.json",
    "metacritique-2": "metacritique/annotation_data.json",
    "scaleeval-4": "scaleeval/results/gpt3.5_vs_claude",
    "chateval-1": "chateval",
}


@pytest.mark.parametrize("name", RELEASED)
def test_every_figure_of_released_data_equals_the_published_one_or_is_explained(
    name: str, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People's decisions of ScaleEval, with which the paper has .780, .607 and .629, were not released."""
    source = DATA / RELEASED[name]
    if not source.exists():
        pytest.skip(f"the released data are not in {DATA}")
    own = RELEASED[name].partition("/")[0]
    exists = own in read(sqlite_engine, studies.names)
    if not exists:
        words = ["data", "import", str(source), "--study", own, "--database", str(sqlite_engine.url)]
        assert CliRunner().invoke(cli.app, words).exit_code == 0
    study = stored_study(sqlite_engine, own)
    computed = published.compute(sqlite_engine, study, name, resamples=2)
    if name == "scaleeval-4":
        means = {row.scorer.partition(",")[0]: row.value for row in computed if row.group == "mean" and row.items}
        expected = {"gpt-4-turbo": 0.789, "claude-2": 0.668, "gpt-3.5-turbo": 0.657}
        assert means == {judge: pytest.approx(value, abs=5e-4) for judge, value in expected.items()}
    elif name == "chateval-1":
        of_runs = [row for row in computed if row.scorer.startswith("chateval · ")]
        accuracies = [row.value for row in of_runs if row.statistic == "accuracy, no verdict as a tie"]
        assert sorted(filter(None, accuracies)) == [0.475, 0.5375, 0.55]
    every = [row for row in computed if row.published is not None]
    rows = [row for row in every if row.note != _values.ABSENT]
    assert len(rows) == len(_values._file()["tables"][name]["rows"]), "a published row has no value here"
    absent = [row for block in _values._file()["absent"] if name in block["tables"] for row in block["rows"]]
    assert len(every) - len(rows) == len(absent) and all(row.why for row in every[len(rows) :])
    for row in rows:
        assert row.difference[0] is not None and (abs(row.difference[0]) < 1e-4 or row.why), row
        assert bool(row.why) == (name not in ("metacritique-1", "metacritique-2"))
    monkeypatch.setattr(_registry, "Request", partial(_registry.Request, resamples=2))
    of_study = published.of_study(sqlite_engine, study)
    monkeypatch.setattr(published, "of_study", lambda *of: of_study)  # both formats print the same rows
    words = ["experiments", "table", "--published", "--study", own, "--database", str(sqlite_engine.url)]
    text = CliRunner().invoke(cli.app, words).stdout
    assert text.count(rows[0].why or "MetaCritique, Table 2") == 1
    lines = csv.DictReader(CliRunner().invoke(cli.app, [*words, "--format", "csv"]).stdout.splitlines())
    (line, *others) = [one for one in lines if one["table"] == name]
    assert len(others) == len(every) - 1 and line["why"] == rows[0].why
    assert float(line["difference"]) == pytest.approx(float(line["value"]) - float(line["published"]))


def test_the_levels_of_every_published_figure_are_those_of_its_file() -> None:
    for file, spec in _values._file()["experiments"].items():
        axes = [set(axis.labels) for axis in files.load_paper(file).axes]
        groups = spec.get("groups", {})
        assert all({*members} <= axes[0] for members in groups.values())
        axes[0] |= {*groups}
        names = [axis.name for axis in files.load_paper(file).axes]
        over = names.index(spec.get("mean_over", names[-1]))
        of_means, kept = spec.get("means", {}).values(), [*axes[:over], *axes[over + 1 :]]
        own = [(of, name) for of in (spec, *spec.get("others", ())) for name in of]
        of_cells = [of[name] for of, name in own if name in reports.ALIASES.values() or name in continuous.FUNCTIONS]
        nested = [((), one, axes) for one in of_cells] + [((), one, kept) for one in of_means]
        while nested:
            levels, value, own = nested.pop()
            if isinstance(value, dict):
                nested += [((*levels, level), inner, own) for level, inner in value.items()]
            else:
                assert all(level in axis for level, axis in zip(levels, own, strict=True))
                assert -1 <= value <= 1


def test_averages_over_levels_are_those_of_the_cells_and_have_the_figures_of_the_paper() -> None:
    """Two groups of ReFeR's Table 8: three cells of 1 peer are .1, .2 and .6; one of 2 peers is missing."""
    paper = files.load_paper("refer/table-8")
    values = {"Llama": 0.1, "Nemo": 0.2, "Gemma": 0.6, "Llama + Nemo": 0.9, "3 peers": 0.4}
    rows = [
        ((peers, name), PublishedRow(f"{peers} · {name}", "", "spearman", value + add, None, None, 60))
        for peers, value in values.items()
        for name, add in (("Engaging", 0.0), ("Natural", 0.2))
    ]
    spec, labels = _values._file()["experiments"]["refer/table-8"], paper.axes[0].labels
    found = [*_values._averages(rows, spec, labels, paper, "why")]
    assert [(row.scorer, row.group, row.value, row.published) for row in found] == [
        ("average of 1 peer · Engaging", "", pytest.approx(0.3), 0.656),
        ("average of 1 peer · Natural", "", pytest.approx(0.5), 0.587),
        ("average of 1 peer", "mean", pytest.approx(0.4), 0.606),
    ]


def test_every_experiment_of_the_papers_has_figures_or_a_reason_for_none(engine: Engine, a_study: Study) -> None:
    for path in files.files():
        if path.stem.endswith(_values.TODAY):
            continue
        name = files.load(path).name
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
        nested += [(paper, inner) for inner in value] if isinstance(value, list) else []
        found += [(paper, value)] if isinstance(value, float) else []
    for block in _values._file()["absent"]:
        paper = block["source"].partition(",")[0].lower().replace("dna-eval", "dna_eval")
        found += [(paper, row[3]) for row in block["rows"] if row[3] > 1e-3]
    for paper, value in found:
        places = (0, 1, 2, 3, 4) if value >= 1 else (1, 2, 3, 4)
        forms = {f"{abs(value):.{digits}f}".lstrip("0") for digits in places if round(value, digits) == value}
        percent = round(100 * value, 6)
        forms |= {f"{percent:.{digits}f}" for digits in (1, 2) if round(percent, digits) == percent}
        assert any(form in texts[paper] for form in forms), (paper, value)


def test_rows_of_a_paper_that_are_not_computed_follow_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_values, "is_of", lambda *of: True)
    engine = connect(create_database(tmp_path / "tiebreak.db"))
    imports.import_records(engine, "s", list(tiebreak.read(samples.path("refer"))))
    rows = published.compute(engine, stored_study(engine, "s"), "costs", resamples=2)
    engine.dispose()
    human = next(row for row in rows if row.scorer == "Human" and row.statistic.startswith("dollars"))
    assert (human.published, human.value, human.difference, human.note) == (90, None, (None,) * 3, _values.ABSENT)
    assert "80 questions" in human.why and published.figure_text(2.34e-6) == "2.34e-06"


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
    assert read(engine, published.available, a_study.id)[-1].name == "chateval-table-1-today"
    (row, *others) = published.compute(engine, a_study, "chateval-table-1-today", resamples=10)
    assert not any(one.published for one in (row, *others)), "other items than the paper's"
    assert row.note.startswith("the paper's figure is of FairEval, which this study is not")
    data_sets = _values._file()["data_sets"]
    mark = _values.mark_of(make_item(responses=(Response(text="That! "), Response(text="this"))))
    monkeypatch.setitem(data_sets, "FairEval", {"items": 2, "marks": [mark]})  # the study has three
    assert not published.compute(engine, a_study, "chateval-table-1-today", resamples=10)[0].published
    data_sets["FairEval"]["items"] = 3
    rows = published.compute(engine, a_study, "chateval-table-1-today", resamples=10)
    of = {(row.scorer, row.statistic): row for row in rows}
    row = of["ensemble · large", "example_level_agreement"]
    assert (row.published, row.source) == (0.615, "ChatEval, Table 1")
    assert row.why.startswith("3 of the paper's 80 items are here; models: large in place of gpt-4; other versions")
    assert row.note.startswith("published for ensemble, gpt-4; ")
    assert row.difference[0] == pytest.approx((row.value or 0) - 0.615)
    with reading(engine) as session:
        (experiment,) = experiments.of_study(session, a_study.id)
        text = "extends: table-1.yaml\nname: own\nmodels: {gpt-4: large}\n"
        copy = files.parse(text, folder=files.FOLDER / "chateval")
        assert _values._same_design(session, a_study.id, copy) == "chateval/table-1"
        assert _values._same_design(session, a_study.id, files.load_paper("refer/table-2")) is None  # other data
    results = reports.results(engine, a_study, experiment)
    for format in ("text", "latex", "csv"):
        assert "large in place of gpt-4" in reports.render(results, None, None, None, format)[1]


# Published tables with rows and columns


ROWS = [
    PublishedRow(scorer, group, statistic, value, None, None, 9)
    for scorer, value in (("chair", 0.5), ("peer", 0.25))
    for group in ("Natural", "mean")
    for statistic in ("spearman", "kendall_tau_b")
]


def test_scorers_are_rows_by_default() -> None:
    table = layout(ROWS, None, None)
    assert table.header == [
        "scorer", "Natural · spearman", "Natural · kendall_tau_b", "mean · spearman", "mean · kendall_tau_b",
    ]  # fmt: skip
    assert table.texts() == [["chair", *["0.500"] * 4], ["peer", *["0.250"] * 4]]


def test_statistics_are_selected_and_rows_and_columns_are_chosen() -> None:
    table = layout(ROWS, ["group"], ["scorer"], "spearman")
    assert table.render("", "", "csv") == "group,chair,peer\nNatural,0.500,0.250\nmean,0.500,0.250\n"
    headings = layout(ROWS, ["scorer"], ["group"], "spearman,kendall_tau_b").header
    assert headings[:3] == ["scorer", "Natural · spearman", "Natural · kendall_tau_b"]
    names = ("example_level_agreement", "cohen_kappa", "accuracy, ties left out")
    rows = [replace(ROWS[0], statistic=name) for name in names]
    assert select(rows, "accuracy,kappa") == rows[:2] and select(rows, names[2]) == rows[2:]


@pytest.mark.parametrize(
    ("rows", "columns", "statistic", "sentence"),
    [
        (["judge"], None, None, "has no 'judge'; rows and columns are of scorer, group, statistic"),
        (["group"], ["scorer"], None, "Two values of 'chair' have the same place"),
        (None, None, "pearson", "no statistic 'pearson'; it has spearman, kendall_tau_b"),
    ],
)
def test_a_layout_that_is_not_possible_is_refused(
    rows: list[str] | None, columns: list[str] | None, statistic: str | None, sentence: str
) -> None:
    with pytest.raises(TiebreakError, match=sentence):
        layout(ROWS, rows, columns, statistic)


def test_the_figures_of_the_paper_are_columns_also_if_the_first_row_has_none() -> None:
    rows = [ROWS[0], replace(ROWS[1], published=0.6, source="T 2", why="seeds")]
    table = layout(rows, None, None)
    assert table.header[-4:] == ["published", "difference", "source", "why"]
    name = "Natural · kendall_tau_b"
    assert table.texts()[0][-4:] == [f"{name} 0.600", f"{name} -0.100", "T 2", "seeds"]
    assert "published: " + name.replace("·", r"$\cdot$").replace("_", r"\_") in table.render("", "", "latex")
    long = layout(rows, ["scorer", "group", "statistic"], None)
    assert [line[-4:] for line in long.texts()] == [[""] * 4, ["0.600", "-0.100", "T 2", "seeds"]]
