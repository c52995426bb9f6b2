"""What judges are compared with: people, or a debate with people's decisions on its disputes; never themselves."""

from dataclasses import astuple
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.mapping.mapping import load_mappings
from core.formats.records import (
    AdjudicationRecord,
    ExperimentRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.formats.registry import read_records
from core.labels import Adjudication, Label, Opinion, Scale, Target
from core.statistics.reports.alignment import AlignmentRow
from core.trace import Verdict, VerdictReached
from storage.db.connections import connect, reading, upgrade
from storage.reports import alignment, published, references, run_comparison, study_report, systems
from storage.reports.references import Reference
from storage.studies.studies import Study
from tests.conftest import make_item, make_label, make_target
from tests.core.formats.shared import MAPPINGS, public_file
from tests.sessions import read
from tests.storage.shared import a_trace, a_verdict, import_study

study_names = (f"study {number}" for number in count())


def make_run(name: str, *judges: tuple[str, str], protocol: str = "scaleeval") -> RunRecord:
    specs = [{"name": judge, "spec": {"model": model}} for judge, model in judges]
    return RunRecord(name=name, protocol=protocol, criterion="helpfulness", settings={"judges": specs})


DEBATE = make_run("debate", ("j0", "m0"), ("j1", "m1"), ("j2", "m2"))
SINGLE = make_run("single", ("solo", "m1"), protocol="single-judge")


def single_trace(item: str, value: int | None, run: str = "single", judge: str = "solo") -> TraceRecord:
    opinion = Opinion(kind="preference", judge=judge, stage="verdict", value=value, criterion="helpfulness")
    return TraceRecord(
        run=run,
        item=item,
        events=(VerdictReached(verdict=Verdict(outcome="agreed", value=value, opinions=(opinion,))),),
    )


def debate_trace(item: str, value: int | None, run: str = "debate") -> TraceRecord:
    """Return an agreed debate with that value, or a disputed one."""
    return a_trace(item, a_verdict() if value is None else a_verdict("agreed", (value,) * 3), run=run)


def score_label(target: Target, annotator: str, value: int | str) -> LabelRecord:
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def items(number: int) -> list[Record]:
    return [ItemRecord(item=make_item(f"item {n}")) for n in range(number)]


def find_row(engine: Engine, study: Study, judge: str, statistic: str, reference: str | None = None) -> AlignmentRow:
    rows = alignment.rows(engine, study, reference=reference, resamples=20)
    (row,) = [row for row in rows if (row.judge, row.statistic) == (judge, statistic)]
    return row


def reference_values(engine: Engine, study: Study, reference: str) -> dict[str, tuple[Any, str]]:
    frame = read(engine, references.frame, study.id, references.parse(reference), {})
    return {row.item: (row.value, row.source) for row in frame.itertuples()}


def test_an_evaluator_is_compared_with_an_agreed_debate_without_any_label(engine: Engine) -> None:
    debates = [debate_trace(f"item {n}", 1) for n in range(4)]
    singles = [single_trace(f"item {n}", value) for n, value in enumerate((1, 1, 1, 2))]
    study = import_study(engine, [*items(4), DEBATE, SINGLE, *debates, *singles])
    for reference in (None, "debate:debate"):
        row = find_row(engine, study, "solo", "accuracy_gold", reference)
        assert (row.value, row.items) == (0.75, 4)
        assert row.reference == "debate:debate: 4 by the debate; m1 is on the debate's panel too"
    judges = {row.judge for row in alignment.rows(engine, study, resamples=20)}
    assert judges == {"solo"}


def test_the_debates_of_an_experiment_are_one_reference(engine: Engine) -> None:
    definition = "name: panel\nprotocol: scaleeval\nbase: {}\nrepeats: 2\n"
    experiment = ExperimentRecord(name="panel", definition=definition)
    parts = [("one", 1, ("item 0",), 1), ("two", 1, ("item 1",), 2), ("again", 2, ("item 0", "item 1"), 0)]
    debates: list[Record] = []
    for name, repeat, of_run, value in parts:
        fields = {"experiment": "panel", "cell": {"part": name}, "repeat": repeat}
        debates.append(make_run(name, ("j0", "m0"), ("j1", "m1")).model_copy(update=fields))
        debates += [debate_trace(item, value, run=name) for item in of_run]
    singles = [single_trace("item 0", 1), single_trace("item 1", 1)]
    study = import_study(engine, [*items(2), experiment, *debates, SINGLE, *singles])
    assert reference_values(engine, study, "debate:panel") == {
        "item 0": (1, "by the debate"), "item 1": (2, "by the debate"),
    }  # fmt: skip
    row = find_row(engine, study, "solo", "accuracy_gold", "debate:panel")
    assert (row.value, row.items) == (0.5, 2) and row.reference.endswith("m1 is on the debate's panel too")
    assert {row.judge for row in alignment.rows(engine, study, reference="debate:panel", resamples=20)} == {"solo"}


def test_repeats_of_an_experiment_are_apart_and_its_single_judges_are_no_debates(engine: Engine) -> None:
    definition = "name: panel\nprotocol: scaleeval\nbase: {}\nrepeats: 2\n"
    records: list[Record] = [ExperimentRecord(name="panel", definition=definition)]
    for part, repeat in (("0", 1), ("1", 1), ("0", 2), ("1", 2)):
        name = f"panel · {part} · repeat {repeat}"
        fields = {"experiment": "panel", "cell": {"part": part}, "repeat": repeat}
        records.append(make_run(name, ("j0", "m0"), ("j1", "m1")).model_copy(update=fields))
        records.append(debate_trace(f"item {part}", 1, run=name))
    fields = {"experiment": "panel", "cell": {"part": "alone"}, "repeat": 1}
    single = SINGLE.model_copy(update=fields)
    study = import_study(engine, [*items(2), *records, single, single_trace("item 0", 2), single_trace("item 1", 2)])
    rows = published.compute(engine, study, "scaleeval-4", resamples=2)
    titles = {f"agreement with 2 debates of panel · repeat {repeat}" for repeat in (1, 2)}
    assert {row.statistic for row in rows} == titles
    assert len(published.layout(rows, ["group"], ["scorer", "statistic"]).columns) == 2 * len({r.scorer for r in rows})
    assert {row.judge for row in alignment.rows(engine, study, reference="debate:panel", resamples=2)} == {"solo"}
    assert {value for value, _ in reference_values(engine, study, "debate:panel").values()} == {1}


def test_people_decide_the_disputes_of_the_debate_and_an_adjudication_every_target(engine: Engine) -> None:
    debates = [debate_trace(f"item {n}", value) for n, value in enumerate((1, 1, None, None))]
    labels = [make_label(2, "ann", f"item {n}") for n in (0, 2)]
    ruling = Adjudication(target=make_target("item 1"), value=0, rule="expert", reason="so", adjudicator="eve")
    extra = [make_label(2, "ann", "item 4")]
    study = import_study(engine, [*items(5), DEBATE, *debates, *labels, *extra, AdjudicationRecord(ruling=ruling)])
    assert reference_values(engine, study, "debate:debate") == {
        "item 0": (1, "by the debate"), "item 1": (0, "adjudicated"), "item 2": (2, "by people"),
    }  # fmt: skip
    assert reference_values(engine, study, "gold") == {
        "item 0": (2, "by people"), "item 1": (0, "adjudicated"), "item 2": (2, "by people"),
        "item 4": (2, "by people"),
    }  # fmt: skip


def test_a_comparison_on_disputed_items_alone_says_so(engine: Engine) -> None:
    debates = [debate_trace(f"item {n}", value) for n, value in enumerate((1, None, None))]
    singles = [single_trace(f"item {n}", 1) for n in range(3)]
    people = [make_label(1, "ann", f"item {n}") for n in (1, 2)]
    study = import_study(engine, [*items(3), DEBATE, SINGLE, *debates, *singles, *people])
    assert find_row(engine, study, "solo", "accuracy_gold").reference == "gold: 2 by people, all of disputed targets"
    with_debate = find_row(engine, study, "solo", "accuracy_gold", "debate:debate").reference
    assert with_debate.startswith("debate:debate: 2 by people, 1 by the debate; m1")


def test_verdicts_of_a_debate_are_no_labels_of_people_in_any_report(engine: Engine) -> None:
    debates = [debate_trace(f"item {n}", 1) for n in range(4)]
    singles = [single_trace(f"item {n}", 1) for n in range(4)]
    study = import_study(engine, [*items(4), DEBATE, SINGLE, *debates, *singles])
    for row in systems.report(engine, study, resamples=10).rows:
        assert (row.people, row.people_labelled, row.value, row.strength) == (None, 0, None, None)
    assert systems.report(engine, study, resamples=10).reference.startswith("people's decisions, without verdicts")
    rows = published.compute(engine, study, "chateval-1", resamples=10)
    named = "compared with the debate debate with people's decisions on its disputes"
    assert rows and all(row.note.startswith(named) for row in rows)
    assert published.compared_with(engine, study, published.find_table("chateval-1")) == f", {named}"
    sections = {section.title: section for section in study_report.sections(engine, study)}
    for name in ("Differences between judges", "Biases of judges"):
        text = " ".join(sections[name].sentences)
        assert "debate debate" in text or not sections[name].rows


def test_a_debate_is_not_compared_with_its_own_verdicts_by_the_name_of_its_experiment(engine: Engine) -> None:
    experiment = ExperimentRecord(name="panel", definition="name: panel\nprotocol: scaleeval\nbase: {}\n")
    fields = {"experiment": "panel", "cell": {"part": "one"}, "repeat": 1}
    debate = make_run("one", ("j0", "m0"), ("j1", "m1")).model_copy(update=fields)
    traces = [debate_trace(f"item {n}", 1, run="one") for n in range(4)]
    singles = [single_trace(f"item {n}", 1) for n in range(4)]
    study = import_study(engine, [*items(4), experiment, debate, SINGLE, *traces, *singles])
    compared = run_comparison.load(engine, study, ["one", "single"], "debate:panel")
    comparison = compared.compare(compared.dataset(), resamples=10)
    own = [one.estimates for one in comparison.figures if compared.columns[one.name] in compared.reference_runs]
    assert own and not any(own)
    assert all(pair.difference.difference is None for pair in comparison.pairs)


def test_majority_mean_and_one_annotator(engine: Engine) -> None:
    scale = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))
    target = Target(item="item 0", kind="score", criterion="tone")
    labels = [score_label(target, name, value) for name, value in zip("abc", (1, 2, 4), strict=True)]
    study = import_study(engine, [*items(1), ScaleRecord(kind="score", criterion="tone", scale=scale), *labels])
    values = {}
    with reading(engine) as session:
        for name in ("gold", "majority", "mean", "annotator:c"):
            frame = references.frame(session, study.id, references.parse(name), {("score", "tone"): scale})
            values[name] = frame[["value", "number"]].to_numpy().tolist()
    assert values == {
        "gold": [[None, pytest.approx(7 / 3)]], "majority": [], "mean": [[None, pytest.approx(7 / 3)]],
        "annotator:c": [[4, 4.0]],
    }  # fmt: skip


def test_words_on_an_ordered_scale_have_places(engine: Engine) -> None:
    scale = Scale(level="ordinal", categories=("poor", "fair", "good"))
    target = Target(item="item 0", kind="score")
    labels = [score_label(target, name, value) for name, value in (("a", "poor"), ("b", "good"), ("c", "good"))]
    study = import_study(engine, [*items(1), ScaleRecord(kind="score", scale=scale), *labels])
    frame = read(engine, references.frame, study.id, Reference(), {("score", ""): scale})
    assert frame[["value", "number"]].to_numpy().tolist() == [["good", pytest.approx(4 / 3)]]


@pytest.mark.parametrize("text", ["", "golden", "annotator", "annotator:", "debate", "gold:x", "mean:"])
def test_text_that_names_no_reference_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(TiebreakError, match="write gold, majority, mean, annotator:NAME or debate:RUN"):
        references.parse(text)


def test_a_reference_that_the_study_does_not_have_is_refused_with_those_it_has(engine: Engine) -> None:
    study = import_study(engine, [*items(1), DEBATE, debate_trace("item 0", 1), make_label()])
    with pytest.raises(TiebreakError, match="no debate with verdicts called 'x'; there are debate"):
        alignment.rows(engine, study, reference="debate:x")
    with pytest.raises(TiebreakError, match="no annotator with labels called 'x'; there are ann"):
        alignment.rows(engine, study, reference="annotator:x")
    names = [str(choice) for choice in read(engine, references.choices, study.id)]
    assert names == ["gold", "majority", "mean", "annotator:ann", "debate:debate"]


values = st.sampled_from([0, 1, 2])
people = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), values), max_size=12)
verdicts = st.dictionaries(st.integers(0, 5), st.none() | values, max_size=6)


@pytest.fixture(scope="module")
def memory() -> Engine:
    engine = connect("sqlite://")
    upgrade(engine)
    return engine


@pytest.mark.slow
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(labels=people, debated=verdicts, judged=st.dictionaries(st.integers(0, 5), values, min_size=1, max_size=6))
def test_an_evaluators_own_verdicts_change_no_figure_of_its_alignment(
    memory: Engine, labels: list, debated: dict, judged: dict
) -> None:
    """Neither its run's verdicts nor a second run with equal verdicts is in its reference."""
    base: list[Record] = [*items(6), DEBATE, SINGLE, debate_trace("item 0", 1), make_label(1, "a")]
    base += [make_label(value, annotator, f"item {n}") for n, annotator, value in labels]
    base += [debate_trace(f"item {n}", value) for n, value in debated.items() if n > 0]
    traces = [single_trace(f"item {n}", value) for n, value in judged.items()]
    once = import_study(memory, [*base, *traces], next(study_names))
    again = [single_trace(f"item {n}", value, "again") for n, value in judged.items()]
    again_run = make_run("again", ("solo", "m1"), protocol="single-judge")
    twice = import_study(memory, [*base, *traces, again_run, *again], next(study_names))
    without = import_study(memory, base, next(study_names))
    for reference in ("gold", "majority", "annotator:a", "debate:debate"):
        known = reference_values(memory, without, reference)
        assert reference_values(memory, once, reference) == known
        assert reference_values(memory, twice, reference) == known
    for reference in ("gold", "debate:debate"):
        known = reference_values(memory, without, reference)
        first = figures(memory, once, reference, "solo")
        assert figures(memory, twice, reference, "solo · single") == first
        pairs = [(known.get(f"item {n}", (None, ""))[0], value) for n, value in judged.items()]
        decided = [answer == value for answer, value in pairs if answer is not None]
        accuracy = next(row[-1] for row in first if row[3] == "accuracy_gold")
        assert accuracy == (sum(decided) / len(decided) if decided else None)


def figures(engine: Engine, study: Study, reference: str, judge: str) -> list[tuple[Any, ...]]:
    """Return every figure of a judge without its name, ends of intervals included; its value is last."""
    rows = [row for row in alignment.rows(engine, study, reference=reference, resamples=2) if row.judge == judge]
    return [(*astuple(row)[1:], row.value) for row in rows]


@pytest.mark.slow
def test_a_judge_from_a_second_file_has_its_figures_with_the_majority_of_people(engine: Engine) -> None:
    """PandaLM's released labels and choices: 974 items with a majority and a readable choice, 697 of them equal."""
    path = public_file("pandalm/testset-v1.json")
    records = list(read_records(path, mapping=load_mappings(MAPPINGS / "pandalm_judge.yaml")[0]))
    study = import_study(engine, records)
    row = find_row(engine, study, "gpt-3.5-turbo", "accuracy_gold")
    assert (row.value, row.items, row.reference) == (pytest.approx(697 / 974), 974, "gold: 974 by people")
    unreadable = find_row(engine, study, "gpt-3.5-turbo", "no_verdict_rate")
    assert (unreadable.value, unreadable.items) == (pytest.approx(25 / 999), 999)


def test_labels_of_every_item_are_not_of_disputed_ones_alone(engine: Engine) -> None:
    debates = [debate_trace(f"item {n}", None) for n in range(2)]
    singles = [single_trace(f"item {n}", 1) for n in range(2)]
    people = [make_label(1, "ann", f"item {n}") for n in range(2)]
    study = import_study(engine, [*items(2), DEBATE, SINGLE, *debates, *singles, *people])
    assert find_row(engine, study, "solo", "accuracy_gold").reference == "gold: 2 by people"
