"""Figures of labels that exist mainly for disputed targets, from one database with each study once."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, Record
from storage.db.connections import connect
from storage.reports import (
    alignment,
    judge_errors,
    judge_ranking,
    published,
    run_comparison,
    study_report,
    systems,
)
from storage.reports.chosen_labels import NO_VALUE_OF_ALL, OF_DISPUTED, OF_SCENARIOS
from storage.reports.judge_ranking import Selection
from storage.studies.studies import Study
from tests.databases import create_database
from tests.storage.reports.disputed_study import (
    DISPUTED,
    PAIRS,
    SHARE_OF_A_IN_DISPUTES,
    PlannedPair,
    disputed_and_a_few,
    disputed_only,
    planned_pairs,
    random_pairs,
    records,
    some_disputed,
)
from tests.storage.reports.test_alignment import find_row, import_study

Labelled = Callable[[Sequence[PlannedPair]], Sequence[PlannedPair]]
CHOSEN = (disputed_only, disputed_and_a_few, some_disputed)
HUNDRED = random_pairs(100)
STUDY_NUMBERS = count(1)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A SQLite database: the tests of alignment, agreement and references read the same from PostgreSQL."""
    opened = connect(create_database(tmp_path_factory.mktemp("chosen") / "tiebreak.db"))
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def study_of(engine: Engine) -> Callable[..., Study]:
    """`study_of(disputed_only, in_one_run=False)`: the study in which those pairs are labelled."""

    @cache
    def imported(labelled: Labelled, in_one_run: bool = True) -> Study:
        return import_study(engine, records(labelled, in_one_run=in_one_run), f"study {next(STUDY_NUMBERS)}")

    return imported


@pytest.mark.parametrize("in_one_run", [True, False])
@pytest.mark.parametrize("labelled", CHOSEN)
def test_labels_of_disputed_pairs_give_no_win_rate_of_all(
    engine: Engine, study_of: Callable[..., Study], labelled: Labelled, in_one_run: bool
) -> None:
    study = study_of(labelled, in_one_run)
    report = systems.report(engine, study, resamples=50)
    assert OF_DISPUTED in report.note
    for row in report.rows:
        assert (row.value, row.low, row.high, row.labels_saved) == (None, None, None, None)
        assert row.population == "disputed targets" and row.reason.startswith(NO_VALUE_OF_ALL)
        assert row.people is not None and row.people_labelled + row.undecided == len(disputed_only_or(labelled))
    a = next(row for row in report.rows if row.system == "A")
    if labelled is not some_disputed:
        assert a.people == pytest.approx(SHARE_OF_A_IN_DISPUTES, abs=0.05)


def disputed_only_or(labelled: Labelled) -> range:
    """Return as many numbers as disputed pairs are labelled."""
    return range(60 if labelled is some_disputed else DISPUTED)


@pytest.mark.parametrize("labelled", [HUNDRED, random_pairs(DISPUTED), lambda pairs: pairs])
def test_labels_of_random_pairs_or_of_all_are_of_all_targets(
    engine: Engine, study_of: Callable[..., Study], labelled: Labelled
) -> None:
    study = study_of(labelled)
    report = systems.report(engine, study, judge="panel", resamples=50)
    a = next(row for row in report.rows if row.system == "A")
    assert a.low is not None and a.high is not None and a.low < 0.592 < a.high
    assert (a.population, report.note) == ("all targets", "")
    assert {row.population for row in alignment.rows(engine, study, resamples=10)} == {"all targets"}


def test_alignment_names_the_disputed_targets(engine: Engine, study_of: Callable[..., Study]) -> None:
    study = study_of(disputed_and_a_few)
    rows = alignment.rows(engine, study, resamples=10)
    accuracy = find_row(rows, "j0", "accuracy_gold")
    assert accuracy.population == "disputed targets" and accuracy.reason.startswith(OF_DISPUTED)
    assert accuracy.items <= DISPUTED and accuracy.reference.endswith(f", all {OF_DISPUTED}")
    ceiling = find_row(rows, "j0", "human_ceiling")
    assert ceiling.population == "disputed targets" and ceiling.items <= DISPUTED
    of_verdicts = find_row(rows, "j0", "no_verdict_rate")
    assert (of_verdicts.population, of_verdicts.items) == ("all targets", PAIRS)
    model = find_row(rows, "j0", "dawid_skene_accuracy")
    assert model.value is None and model.reason == NO_VALUE_OF_ALL


def test_judges_have_no_decision_from_disputed_targets(engine: Engine, study_of: Callable[..., Study]) -> None:
    study = study_of(disputed_and_a_few)
    report = judge_ranking.of_study(engine, study, Selection(), resamples=50)
    assert report.ranking.targets <= DISPUTED and OF_DISPUTED in report.chosen
    assert {judge.decision for judge in report.ranking.judges} == {"not enough data"}
    rows = judge_ranking.table(report)
    assert {row["population"] for row in rows} == {"disputed targets"}
    assert all(OF_DISPUTED in row["reason"] for row in rows)
    comparisons, _ = judge_ranking.comparisons_of_study(engine, study, Selection())
    assert all(one.reason.startswith(OF_DISPUTED) for one in comparisons)


def test_the_tables_and_the_report_of_a_study_name_the_disputed_targets(
    engine: Engine, study_of: Callable[..., Study]
) -> None:
    study = study_of(disputed_only)
    tables, _ = study_report.result_tables(engine, study)
    every = [row for name in ("judges", "systems", "causes", "comparisons") for row in tables[name]]
    assert {row["population"] for row in every} == {"disputed targets"}
    assert all(OF_DISPUTED in errors.sentence for errors in judge_errors.of_study(engine, study, Selection()))
    sections = {section.title: section for section in study_report.sections(engine, study)}
    for title in ("Judges", "Systems"):
        assert any(OF_DISPUTED in sentence for sentence in sections[title].sentences)
        assert OF_DISPUTED in sections[title].table_caption
    printed = {row["system"]: row["together"] for row in sections["Systems"].rows}
    assert set(printed.values()) == {"–"}


def test_compared_runs_name_the_disputed_targets(engine: Engine, study_of: Callable[..., Study]) -> None:
    study = study_of(disputed_only, False)
    compared = run_comparison.load(engine, study, ["j0", "j1"])
    comparison = compared.compare(compared.dataset(), resamples=50)
    assert OF_DISPUTED in compared.note(compared.dataset())
    rows = [*run_comparison.pair_rows(comparison), *run_comparison.run_rows(compared, comparison)]
    assert {row["population"] for row in rows} == {"disputed targets"}
    assert "disputed targets with a reference" in run_comparison.summarize(comparison)[0]
    assert comparison.pairs[0].targets == PAIRS and comparison.pairs[0].difference.items <= DISPUTED


def test_a_second_label_of_disputed_pairs_makes_only_comparisons_of_people_of_disputed_targets(engine: Engine) -> None:
    every = [record for record in records(lambda pairs: pairs) if getattr(record, "label", None) is None]
    labels = [record for record in records(lambda pairs: pairs) if getattr(record, "label", None) is not None]
    disputed = {pair.key for pair in disputed_only(planned_pairs())}
    kept = [one for one in labels if one.label.annotator == "ann" or one.label.target.item in disputed]  # type: ignore[union-attr]
    study = import_study(engine, [*every, *kept], "a second label of disputed pairs")
    rows = alignment.rows(engine, study, resamples=10)
    assert find_row(rows, "j0", "accuracy_gold").population == "all targets"
    assert find_row(rows, "j0", "human_ceiling").population == "disputed targets"


@pytest.mark.parametrize("name", ["scaleeval-3", "dna-2", "dna-4", "chateval-1", "rounds"])
@pytest.mark.parametrize("labelled", [disputed_only, disputed_and_a_few])
def test_published_tables_are_of_disputed_targets_and_say_so_in_every_format(
    engine: Engine, study_of: Callable[..., Study], labelled: Labelled, name: str
) -> None:
    study = study_of(labelled, False)
    rows = published.compute(engine, study, name, resamples=10)
    for row in rows:
        assert (row.population, row.items <= DISPUTED) == ("disputed targets", True) or row.group == "mean"
        assert row.note.startswith(OF_DISPUTED)
    for format in ("text", "latex", "csv", "markdown") if rows else ():
        text = published.layout(rows, None, None).render(published.note_of(rows), name, format)
        assert "disputed targets" in text
        assert all(row.note.split("; ")[-1] in text for row in rows if name == "chateval-1")
    assert rows or name == "rounds"


def test_win_rates_of_people_and_of_judges_name_their_different_targets(
    engine: Engine, study_of: Callable[..., Study]
) -> None:
    study = study_of(disputed_only, False)
    rows = published.compute(engine, study, "scaleeval-figure-3", resamples=10)
    assert {row.population for row in rows if "gold" in row.scorer} == {"disputed targets"}
    assert {row.population for row in rows if row.scorer.startswith("j")} == {"all targets"}


def test_published_tables_of_a_random_sample_have_no_caveat(engine: Engine, study_of: Callable[..., Study]) -> None:
    study = study_of(HUNDRED, False)
    rows = published.compute(engine, study, "dna-2", resamples=10)
    assert {row.population for row in rows} == {"all targets"} and published.note_of(rows) == ""
    assert "population" not in published.layout(rows, None, None).header


def with_scenarios(names: str) -> list[Record]:
    """Return the study of random pairs of the scenario "short" only; `names` are those of its scenarios."""
    scenarios = names.split()
    planned = records(lambda pairs: [pair for pair in pairs if pair.number % 3 == 0])

    def named(record: Record) -> Record:
        if not isinstance(record, ItemRecord):
            return record
        scenario = scenarios[int(record.item.id[1:]) % 3]
        return record.model_copy(update={"item": record.item.model_copy(update={"scenario": scenario})})

    return [named(record) for record in planned]


def test_labels_of_one_scenario_give_no_win_rate_of_all(engine: Engine) -> None:
    study = import_study(engine, with_scenarios("short long code"), "scenarios")
    rows = {(row.system, row.scenario): row for row in systems.report(engine, study, judge="panel", resamples=10).rows}
    of_all, of_short = rows["A", "all"], rows["A", "short"]
    assert (of_all.value, of_all.low, of_all.population) == (None, None, "scenarios with labels")
    assert (of_short.value is not None, of_short.population) == (True, "all targets")
    data = alignment.load_data(engine, study)
    assert "of code, long have enough labels" in data.choices.note("preference", "helpfulness")
    accuracy = find_row(alignment.rows_of(engine, study, data, resamples=10), "j0", "accuracy_gold")
    assert (accuracy.population, accuracy.reason.startswith(OF_SCENARIOS)) == ("scenarios with labels", True)
    by_scenario = alignment.rows_of(engine, study, data, "scenario", resamples=10)
    unknown = {row.group for row in by_scenario if row.statistic == "accuracy_gold" and row.population == "not known"}
    assert unknown == {"code", "long"} == {name for (_, name), row in rows.items() if row.population == "not known"}
    report = judge_ranking.of_data(data, Selection(), resamples=10)
    assert report.chosen and {judge.decision for judge in report.ranking.judges} == {"not enough data"}
    own = judge_ranking.of_data(data, Selection(scenario="short"), resamples=10)
    assert (own.chosen, own.population) == ("", "all targets")
