import asyncio
import csv
import json
from collections import Counter
from dataclasses import replace
from functools import cache, partial

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core import experiments as files
from core.errors import PermanentFailure, TiebreakError
from core.formats.records import ItemRecord
from core.llm.client import Reply, ScriptedModel
from core.statistics.reports.experiment_differences import AxisDifference
from core.statistics.reports.experiments import CellResult
from core.trace import Ask, Usage
from pages.setup.parts import experiment_results
from storage.db.connections import connect, reading, writing
from storage.reports import experiments as report
from storage.runs import experiments
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import execute_experiment, plan, start
from tests.conftest import make_item, make_label
from tests.databases import create_database
from tests.storage.shared import import_study

pytestmark = pytest.mark.slow  # the statistics of many runs

FILE = """
name: e
protocol: single-judge
base: {judge: {name: j, model: good}, criterion: helpfulness, shuffle_responses: false}
axes:
  judge.model: [good, bad]
  words: [50, 150]
repeats: 2
"""
ITEMS = 20
"""The label of each item is 1."""


class Judges:
    """The model "good" is always right; "bad" on every fourth item in repeat 1, and on none in repeat 2."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def __call__(self, ask: Ask) -> Reply:
        item = int(ask.prompt.partition("item ")[2].partition("?")[0])
        self.calls[ask.spec.model, ask.prompt] += 1
        is_first = self.calls[ask.spec.model, ask.prompt] == 1
        right = ask.spec.model == "good" or (item % 4 == 0 and is_first)
        usage = Usage(seconds=2.0, dollars=0.001)
        return Reply(text=f"Reasons.\nFinal answer: {1 if right else 2}", usage=usage)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Study]:
    """A study with a finished experiment: 2 models x 2 lengths x 2 repeats on 20 items with labels."""
    engine = connect(create_database(tmp_path_factory.mktemp("e") / "e.db"))
    records = [ItemRecord(item=make_item(f"item {n}")) for n in range(ITEMS)]
    study = import_study(engine, [*records, *(make_label(1, item=f"item {n}") for n in range(ITEMS))])
    experiment_id = start(engine, study, plan(engine, study, files.parse(FILE)))
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, ScriptedModel(Judges())))
    return engine, study


@pytest.fixture(scope="module")
def results(finished: tuple[Engine, Study]) -> report.Results:
    engine, study = finished
    with reading(engine) as session:
        (experiment,) = experiments.of_study(session, study.id)
    return report.results(engine, study, experiment)


def test_a_cell_has_the_mean_and_deviation_over_repeats_and_the_interval_over_items(results: report.Results) -> None:
    name, cells = results.of("accuracy")
    assert name == "example_level_agreement" == results.statistics[0]
    good, _, bad, _ = cells
    assert (good.levels, good.value, good.deviation, good.items, good.repeats) == (("good", "50"), 1.0, 0.0, 20, 2)
    assert bad.levels == ("bad", "50") and bad.value == pytest.approx(0.125)
    assert bad.deviation == pytest.approx(0.25 / 2**0.5)
    assert bad.low is not None and bad.high is not None and bad.low < 0.125 < bad.high < 0.3


def test_differences_along_an_axis_are_paired_and_corrected(
    finished: tuple[Engine, Study], results: report.Results
) -> None:
    by_axis: dict[str, list[AxisDifference]] = {}
    for difference in report.differences(*finished, results.experiment, "example_level_agreement"):
        by_axis.setdefault(difference.axis, []).append(difference)
    first, second = by_axis["judge.model"]
    assert (first.level, first.other_level, first.fixed, second.fixed) == (
        "good", "bad", {"words": "50"}, {"words": "150"},
    )  # fmt: skip
    assert first.difference == pytest.approx(0.875) and first.items == 20
    assert first.p is not None and first.p_corrected is not None and first.p < first.p_corrected < 0.01
    assert all(difference.p is None and "same on every item" in difference.reason for difference in by_axis["words"])


def test_effects_are_means_over_the_other_levels_with_their_cost(
    finished: tuple[Engine, Study], results: report.Results
) -> None:
    """The effect of the model is that of both lengths, .875 each; on all 20 items, with the same resamples."""
    model, words = report.effects(*finished, results, "example_level_agreement")
    assert (model.level, model.other_level, model.combinations, model.items) == ("good", "bad", 2, 20)
    assert model.difference == pytest.approx(0.875) and model.low is not None and 0.7 < model.low < 0.875
    assert model.p_corrected is not None and model.p_corrected < 0.01
    assert model.cost[0] == pytest.approx(0.0) and model.lowest is None
    assert (words.difference, words.p_corrected) == (pytest.approx(0.0), None)
    for option, column in (("--effects", "combinations"), ("--front", "on_front")):
        text = command(finished[0], option)
        assert column in text and "for 1,000 traces" in text  # the unit of the cost


def test_the_front_has_the_cells_that_no_cheaper_one_equals(results: report.Results) -> None:
    name, cells = results.of("accuracy")
    dollars = [
        replace(cell, value=value) for cell, value in zip(results.cells["dollars"], (3.0, 2.0, 1.0, 5.0), strict=True)
    ]
    priced = replace(results, cells={**results.cells, "dollars": dollars})
    rows = report.values_for_money(priced, name)
    assert [(row.cell, row.on_front, row.dominated_by) for row in rows] == [
        ("bad · 50", True, ""), ("good · 150", True, ""), ("good · 50", False, "good · 150"),
        ("bad · 150", False, "bad · 50"),
    ]  # fmt: skip
    assert rows[1].per_point == pytest.approx(1 / 87.5)
    with pytest.raises(TiebreakError, match="needs the cost"):
        report.values_for_money(priced, "dollars")
    failed = {name: [replace(cells[0], value=None), *cells[1:]], "dollars": dollars[1:]}
    outage = replace(priced, cells=failed | {report.DISPUTED: results.cells[report.DISPUTED][1:]})
    front = report.values_for_money(outage, name)
    assert (outage.cost, [row.cell for row in front][:2]) == ("dollars", ["bad · 50", "good · 150"])


def test_the_caption_states_each_caveat_once_with_its_cells(results: report.Results) -> None:
    name, (first, *others) = results.of("accuracy")
    few = "only 3 groups of items to resample: the interval may be too narrow"
    mix = "3 by people, all of disputed targets"
    partial = replace(results, cells={name: [replace(first, reason=f"a; {few}", reference=mix), *others]})
    caption = report.caption_of(partial, name, report.table_of(partial, name)[1])
    assert caption.count(few) == 1 and f"{few} (in 1 of 4 cells: good · 50); " in caption
    assert caption.endswith("reference: gold, all of disputed targets (in 1 of 4 cells: good · 50)")
    whole = replace(results, cells={name: [replace(cell, reason=few, reference=mix) for cell in (first, *others)]})
    _, latex = report.render(whole, name, None, None, "latex")
    assert latex.count(f"; {few}; reference: gold, {mix}") == 1
    _, text = report.render(whole, name, None, None, "text")
    assert text.count(f"; {few}; reference: gold, {mix}") == 1


def test_costs_are_those_of_the_calls_and_have_differences(
    finished: tuple[Engine, Study], results: report.Results
) -> None:
    assert [cell.value for cell in results.of("dollars")[1]] == [pytest.approx(1.0)] * 4
    assert [cell.value for cell in results.of("seconds")[1]] == [pytest.approx(2000.0)] * 4
    assert [cell.value for cell in results.of("disputed_rate")[1]] == [0.0] * 4
    rows = report.differences(*finished, results.experiment, "dollars")
    assert len(rows) == 4 and {(row.difference, row.items) for row in rows} == {(0.0, 20)}
    unpriced = replace(results, cells={name: cells for name, cells in results.cells.items() if name != "dollars"})
    with pytest.raises(TiebreakError, match="prompt_price"):
        unpriced.of("dollars")


def command(engine: Engine, *words: str) -> str:
    result = CliRunner().invoke(
        cli.app, ["experiments", "table", "e", "--study", "s", "--database", str(engine.url), *words]
    )
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def computed_once(finished: tuple[Engine, Study], results: report.Results, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Commands print what is computed once for all of them."""
    differences = cache(partial(report.bounded_differences, *finished, results))
    monkeypatch.setattr(report, "results", lambda *of: results)
    monkeypatch.setattr(report, "bounded_differences", lambda engine, study, results, name: differences(name))
    return finished[0]


def test_the_command_prints_a_table_in_every_format(computed_once: Engine) -> None:
    engine = computed_once
    text = command(engine, "--rows", "words", "--columns", "judge.model", "--statistic", "accuracy")
    assert text.splitlines()[0] == (
        "e: example_level_agreement, mean ± standard deviation between repeats; [95 % interval over items]; 20 items, "
        "2 repeats; columns: judge.model; no verdict counts as a disagreement; only 20 groups of items to resample: "
        "the interval may be too narrow; reference: gold, 20 by people"
    )
    rows = [line.split()[:4] for line in text.splitlines()[3:5]]
    assert rows == [["50", "1.000", "±", "0.000"], ["150", "1.000", "±", "0.000"]]
    assert "0.125 ± 0.177 [" in text
    assert command(engine, "--columns", "judge.model", "--format", "markdown").startswith("| words | good | bad |\n")
    latex = command(engine, "--rows", "judge.model", "--columns", "words", "--format", "latex")
    assert r"\stack[c]{{.125{\scriptsize$\pm$.177}} \\ {\scriptsize [.06, .26]}}" in latex
    lines = command(engine, "--format", "csv").splitlines()
    assert lines[0].startswith("judge.model,words,statistic,kind,criterion,value,deviation,low,high,items,repeats")
    assert len(lines) == 5
    assert len(json.loads(command(engine, "--json"))) == 4
    averaged = command(engine, "--rows", "judge.model", "--columns", "", "--statistic", "dollars")
    assert "mean over the levels of words" in averaged


def test_the_differences_are_printed_in_every_format(computed_once: Engine) -> None:
    engine = computed_once
    text = command(engine, "--differences")
    assert all(word in text for word in ("judge.model", "level", "***"))  # p < .01
    rows = [*csv.DictReader(command(engine, "--differences", "--format", "csv").splitlines())]
    assert {"axis", "level", "other_level", "fixed", "significance"} <= rows[0].keys()
    assert all("*" not in row["level"] and row["level"] != row["other_level"] for row in rows)
    assert command(engine, "--differences", "--format", "markdown").startswith("| axis | level |")
    latex = command(engine, "--differences", "--format", "latex")
    assert r"\begin{table}" in latex and "corrected by Holm's method for the 2 of 4 differences that have a p" in latex


def test_levels_that_the_file_lost_stay_in_the_table(finished: tuple[Engine, Study]) -> None:
    engine, study = finished
    with writing(engine) as session:
        (experiment,) = experiments.of_study(session, study.id)
        model, words = experiment.definition.axes
        fewer = model.model_copy(update={"levels": model.levels[1:]})
        definition = experiment.definition.model_copy(update={"axes": (fewer, words)})
        found = report.results(engine, study, replace(experiment, definition=definition))
    _, table = report.table_of(found, None)
    assert [labels for labels, _ in table.lines] == [("bad",), ("good",)]


def test_costs_alone_state_why_no_verdict_is_compared(results: report.Results) -> None:
    costs = {name: cells for name, cells in results.cells.items() if name in (*report.COSTS, report.DISPUTED)}
    alone = replace(results, cells=costs, reference="debate:e")
    name, table = report.table_of(alone, None)
    assert "cannot be compared with themselves: its reference is debate:e" in report.caption_of(alone, name, table)
    with pytest.raises(TiebreakError, match="cannot be compared with themselves"):
        alone.of("accuracy")


def test_the_only_level_without_a_number_is_a_dashed_baseline() -> None:
    levels = ("direct prompting", "1", "2")
    cells = [CellResult((level,), "preference", "", 0.5, None, None, None, 9, (9,)) for level in levels]
    line, dashed = experiment_results.axis_figure(cells, ["proposed"], "proposed", levels, "accuracy").data
    assert len(line.x) == 2 and dashed.line.dash == "dash" and dashed.x == (-0.5, 1.5)


def test_without_a_name_the_experiments_of_the_study_are_listed(finished: tuple[Engine, Study]) -> None:
    words = ["experiments", "table", "--study", "s", "--database", str(finished[0].url)]
    listed = CliRunner().invoke(cli.app, words).stdout
    assert "judge.model, words" in listed and "8 of 8 runs finished" in listed and "metacritique-5" in listed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["E"], "no experiment or published table 'E'; the study's experiments: e."),
        (["e", "--rows", "format"], "has no axis 'format'; its axes: judge.model, words"),
        (["e", "--statistic", "pearsons"], "has no statistic 'pearsons'; it has example_level_agreement, "),
        (["e", "--differences", "--rows", "words"], "leave out --rows"),
        (["e", "--differences", "--statistic", "winning_rate"], "No paired difference"),
    ],
)
def test_what_the_experiments_do_not_have_is_refused(computed_once: Engine, words: list[str], sentence: str) -> None:
    refused = CliRunner().invoke(
        cli.app, ["experiments", "table", *words, "--study", "s", "--database", str(computed_once.url)]
    )
    assert (refused.exit_code, sentence in " ".join(refused.stderr.split())) == (2, True)


@pytest.fixture
def failing(engine: Engine, a_study: Study) -> report.Results:
    """An experiment with a cell in which one trace of three failed, and another ended without a verdict."""

    def reply(ask: Ask) -> Reply:
        if ask.spec.model == "good" or "item 2" in ask.prompt:
            return Reply(text="Final answer: 1")
        if "item 0" in ask.prompt:
            raise PermanentFailure("The model's context is exceeded.")
        return Reply(text="I cannot tell.")

    imports.import_records(engine, "s", [make_label(1, item=f"item {n}") for n in range(3)])
    definition = files.parse(FILE.replace("words: [50, 150]", "words: [50]").replace("repeats: 2", "repeats: 1"))
    experiment_id = start(engine, a_study, plan(engine, a_study, definition))
    asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, ScriptedModel(reply)))
    with reading(engine) as session:
        (experiment,) = experiments.of_study(session, a_study.id)
    return report.results(engine, a_study, experiment)


def test_failed_items_and_those_without_a_verdict_count_with_their_number_and_bounds(
    engine: Engine, a_study: Study, failing: report.Results
) -> None:
    good, bad = failing.of(None)[1]
    assert (good.value, good.items, bad.value, bad.items) == (1.0, 3, pytest.approx(1 / 3), 3)
    assert (bad.asked, bad.no_verdict, bad.failed, bad.highest) == (3, 2, 1, 1.0)
    _, text = report.render(failing, None, None, None, "text")
    assert "targets of failed traces, which count as no verdict: 1 (in 1 of 2 cells: bad · 50)" in text
    (effect, *_) = report.effects(engine, a_study, failing, "example_level_agreement")
    (difference, *_) = report.bounded_differences(engine, a_study, failing, "example_level_agreement")
    for row in (effect, difference):
        assert (row.lowest, row.highest) == (pytest.approx(0.0), pytest.approx(2 / 3))
    assert "(2 of 3 missing: 0.333 to 1.000)" in text
