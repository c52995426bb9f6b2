"""The alignment of each judge with the annotators; published values of ChatEval."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine

from core.formats.records import (
    AdjudicationRecord,
    ItemRecord,
    LabelRecord,
    Record,
    RunRecord,
    ScaleRecord,
    TraceRecord,
)
from core.formats.registry import read_records
from core.items import Criterion, Item, Response
from core.labels import STEPS, Adjudication, Label, Opinion, Scale, Target, Value
from core.llm.client import ScriptedModel
from core.protocols import Judge
from core.protocols.dna_eval.settings import Settings
from core.protocols.registry import PROTOCOLS
from core.statistics.reports.alignment import AlignmentRow
from core.trace import Ask, Event, Spec, Turn, TurnCompleted, Verdict, VerdictReached
from storage.reports import alignment
from storage.reports._order_consistency import STATISTIC
from storage.reports.alignment import BY_SCORES, AlignmentData
from storage.studies import studies
from storage.studies.studies import Study
from storage.worker import _launch
from tests.conftest import make_item, make_label
from tests.core.formats.shared import public_file
from tests.storage.shared import RUN, a_turn, import_study, stored_study

THREE = Scale(level="ordinal", categories=(1, 2, 3))


def alignment_of(engine: Engine, study: Study, by: Any = "all") -> list[AlignmentRow]:
    return alignment.rows(engine, study, by, resamples=50)


def find_row(rows: list[AlignmentRow], judge: str, statistic: str, **fields: str) -> AlignmentRow:
    conditions = {"judge": judge, "statistic": statistic} | fields
    (row,) = [row for row in rows if all(getattr(row, name) == value for name, value in conditions.items())]
    return row


def make_trace(
    item: str, *opinions: tuple[str, str, Any], run: str = "r", shown: tuple[int, ...] = (1, 2)
) -> TraceRecord:
    """Return a trace with opinions of (judge, stage, value)."""
    turn = Turn(speaker="j", step="opinion", round=0, model="m", reply="1", reading=1, shown=shown)
    staged = tuple(
        Opinion(
            kind="preference",
            judge=judge,
            stage=stage,  # type: ignore[arg-type]
            value=value,
            criterion="helpfulness",
            problem="" if value is not None else "?",
        )
        for judge, stage, value in opinions
    )
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=1, opinions=staged))
    return TraceRecord(run=run, item=item, events=(TurnCompleted(ask=0, turn=turn), verdict))


def make_run(name: str = "r", model: str = "m") -> RunRecord:
    judge = {"name": "j", "spec": {"model": model}}
    return RunRecord(name=name, protocol="scaleeval", criterion="helpfulness", settings={"judges": [judge]})


def labelled_records(verdicts: str, people: str) -> list[Record]:
    """Return one item for each letter: the judge's verdict, "-" for none, and ann's label."""
    records: list[Record] = [make_run()]
    for number, (verdict_text, label) in enumerate(zip(verdicts, people, strict=True)):
        item = f"item {number}"
        value = None if verdict_text == "-" else int(verdict_text)
        records += [
            ItemRecord(item=make_item(item)),
            make_trace(item, ("j", "verdict", value)),
            make_label(int(label), item=item),
        ]
    return records


def test_a_missing_verdict_is_a_tie_only_in_rows_named_so(
    engine: Engine,
) -> None:
    rows = alignment_of(engine, import_study(engine, labelled_records("1122-", "11210")))
    without_missing = find_row(rows, "j", "accuracy_gold")
    assert (without_missing.value, without_missing.items) == (0.75, 4)
    assert find_row(rows, "j", "no_verdict_rate").value == 0.2
    with_ties = find_row(rows, "j", "accuracy_gold_no_verdict_as_tie")
    assert (with_ties.value, with_ties.items) == (0.8, 5)
    assert with_ties.reason.startswith("no verdict is counted as a tie here")


def test_a_judge_with_all_verdicts_has_no_rows_with_ties(engine: Engine) -> None:
    rows = alignment_of(engine, import_study(engine, labelled_records("1122", "1121")))
    assert not [row for row in rows if row.statistic.endswith(alignment.AS_TIE)]


def test_first_opinions_last_opinions_and_verdicts_are_separate_judges(engine: Engine) -> None:
    trace = make_trace("item 0", ("j", "first", 2), ("j", "last", 1), ("scaleeval", "verdict", 1))
    study = import_study(engine, [make_run(), ItemRecord(item=make_item()), trace, make_label(1)])
    rows = alignment_of(engine, study)
    assert {row.judge: row.value for row in rows if row.statistic == "accuracy_gold"} == {
        "j": 1,
        "j, first opinion": 0,
        "scaleeval": 1,
    }


def test_a_judge_with_two_runs_on_the_same_targets_is_separate_for_each(engine: Engine) -> None:
    runs = [make_run("one"), make_run("two")]
    traces = [make_trace("item 0", ("j", "verdict", value), run=run) for run, value in (("one", 1), ("two", 2))]
    study = import_study(engine, [*runs, ItemRecord(item=make_item()), *traces, make_label(1)])
    rows = alignment_of(engine, study)
    assert (
        find_row(rows, "j · one", "accuracy_gold").value == 1 and find_row(rows, "j · two", "accuracy_gold").value == 0
    )


@pytest.mark.parametrize(("model", "judges"), [("m", {"j"}), ("n", {"j · one", "j · two"})])
def test_runs_on_different_items_are_one_judge_if_the_model_is_the_same(
    engine: Engine, model: str, judges: set[str]
) -> None:
    runs = [make_run("one"), make_run("two", model)]
    traces = [make_trace(f"item {n}", ("j", "verdict", 1), run=run) for n, run in enumerate(("one", "two"))]
    items = [ItemRecord(item=make_item(f"item {n}")) for n in range(2)]
    study = import_study(engine, [*runs, *items, *traces, make_label(1), make_label(1, item="item 1")])
    assert {row.judge for row in alignment_of(engine, study)} == judges


def test_a_mean_between_two_scores_is_not_a_missing_verdict(engine: Engine) -> None:
    records: list[Record] = [ScaleRecord(kind="score", criterion="tone", scale=THREE)]
    records.append(RunRecord(name="r", protocol="refer", criterion="tone"))
    for number, (mean, peer, label) in enumerate([(1.5, 1, 1), (2.5, 2, 2), (3.0, 3, 3), (1.0, 1, 1)]):
        item = Item(id=f"i{number}", prompt="?", responses=(Response(text="x", system="s"),))
        opinions = [
            Opinion(kind="score", judge=judge, stage=stage, value=value, criterion="tone")  # type: ignore[arg-type]
            for judge, stage, value in (("chair", "verdict", mean), ("peer", "last", peer))
        ]
        verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=mean, opinions=tuple(opinions)))
        target = Target(item=item.id, kind="score", criterion="tone")
        records += [ItemRecord(item=item), TraceRecord(run="r", item=item.id, events=(verdict,))]
        records.append(make_label().model_copy(update={"label": Label(target=target, annotator="ann", value=label)}))
    rows = alignment_of(engine, import_study(engine, records))
    assert find_row(rows, "chair", "pearson").items == 4
    assert not [row for row in rows if row.judge == "chair" and row.statistic == "accuracy_gold"]
    assert find_row(rows, "peer", "accuracy_gold").value == 1


def test_the_first_shown_and_the_longer_response_are_known(engine: Engine) -> None:
    item = make_item(responses=(Response(text="short"), Response(text="a good deal longer")))
    study = import_study(
        engine, [make_run(), ItemRecord(item=item), make_trace("item 0", ("j", "verdict", 2), shown=(2, 1))]
    )
    (row,) = alignment.load_data(engine, study).opinions.to_dict("records")
    assert (row["shown_first"], row["longer"]) == (2, 2)


def test_a_study_without_labels_has_rates_of_missing_verdicts(engine: Engine) -> None:
    rows = alignment_of(
        engine,
        import_study(engine, [make_run(), ItemRecord(item=make_item()), make_trace("item 0", ("j", "verdict", 1))]),
    )
    assert find_row(rows, "j", "no_verdict_rate").value == 0 and find_row(rows, "j", "accuracy_gold").value is None


PUBLISHED = {
    "multi role two turns sequential direct": (0.5375, 0.170, 77, 0.5584, 0.2067),
    "multi role three turns sequential direct": (0.5500, 0.187, 75, 0.5733, 0.1968),
    "single role test": (0.4750, 0.131, 76, 0.5000, 0.1677),
}
"""Run -> published accuracy and kappa, with no verdict as a tie; items with a verdict; accuracy and kappa on these."""


@pytest.mark.slow
def test_chateval_runs_give_the_published_figures(engine: Engine) -> None:
    study = import_study(engine, read_records(public_file("chateval")))
    rows = alignment_of(engine, study)
    for run, (accuracy, kappa, items, own, own_kappa) in PUBLISHED.items():
        judge = f"chateval · {run}"
        with_ties = [
            find_row(rows, judge, f"{name}_gold_no_verdict_as_tie").value for name in ("accuracy", "cohen_kappa")
        ]
        assert with_ties == [pytest.approx(accuracy), pytest.approx(kappa, abs=6e-4)]
        without_missing = find_row(rows, judge, "accuracy_gold", kind="preference")
        assert (without_missing.value, without_missing.items) == (pytest.approx(own, abs=5e-5), items)
        assert find_row(rows, judge, "cohen_kappa_gold", kind="preference").value == pytest.approx(own_kappa, abs=5e-5)
        assert find_row(rows, judge, "no_verdict_rate", kind="preference").value == pytest.approx(1 - items / 80)


@pytest.mark.parametrize("by_gold", [True, False])
def test_a_step_that_nobody_else_named_is_a_wrong_answer_of_its_judge(engine: Engine, by_gold: bool) -> None:
    scale = ScaleRecord(kind="answer", criterion="first wrong step", scale=STEPS)
    records: list[Record] = [scale, RUN.model_copy(update={"name": "r"})]
    for number in range(30):
        target = Target(item=f"i{number}", kind="answer", criterion="first wrong step")
        right = 3 if number % 2 else 5
        records.append(ItemRecord(item=make_item(target.item)))
        if by_gold:
            ruling = Adjudication(target=target, value=right, rule="expert", reason="r", adjudicator="Eve")
            records.append(AdjudicationRecord(ruling=ruling))
        else:
            records.append(LabelRecord(label=Label(target=target, annotator="ann", value=right)))
        value = right if number % 3 else 4 if number % 2 else 9000  # between the named steps, and beyond them
        opinion = Opinion(kind="answer", judge="judge", stage="verdict", value=value, criterion=target.criterion)
        verdict = Verdict(outcome="agreed", value=value, opinions=(opinion,))
        records.append(TraceRecord(run="r", item=target.item, events=(VerdictReached(verdict=verdict),)))
    study = import_study(engine, records)
    data = alignment.load_data(engine, study)
    rows = {row.statistic: row for row in alignment.rows_of(engine, study, data) if row.judge == "judge"}
    assert (rows["accuracy_gold"].value, rows["accuracy_gold"].items) == (pytest.approx(2 / 3), 30)


# The share of pairs on which a judge makes the same choice in both orders, from stored turns


def trace(item: str, *readings: object, rounds: int = 1) -> TraceRecord:
    """Return a trace of judge j0 with two readings in each round, for the orders 1-2 and 2-1."""
    events: list[Event] = [
        a_turn(n, speaker="j0", round=n // 2, reading=reading, problem="" if reading is not None else "unreadable",
               shown=(1, 2) if n % 2 == 0 else (2, 1))
        for n, reading in enumerate(readings)
    ]  # fmt: skip
    last = readings[-2:]
    value = last[0] if last[0] == last[1] and isinstance(last[0], int) else None
    opinion = Opinion(
        kind="preference", judge="j0", stage="last", value=value, criterion="helpfulness",
        problem="" if value is not None else "the choice changes with the order",
    )  # fmt: skip
    verdict = Verdict(outcome="agreed" if value is not None else "disputed", value=value, opinions=(opinion,))
    return TraceRecord(run="r", item=item, events=(*events, VerdictReached(verdict=verdict)))


def consistency(engine: Engine, by: alignment.By, *traces: TraceRecord) -> list[AlignmentRow]:
    items = [ItemRecord(item=make_item(one.item, scenario="math")) for one in traces]
    run = RunRecord(name="r", protocol="single-judge", criterion="helpfulness")
    study = import_study(engine, [*items, run, *traces])
    return [row for row in alignment.rows(engine, study, by, resamples=5) if row.statistic == STATISTIC]


def test_a_flip_is_inconsistent_and_an_unreadable_order_is_left_out(engine: Engine) -> None:
    traces = (trace("a", 1, 1), trace("b", 1, 2), trace("c", 0, 0), trace("d", None, 1))
    (row,) = consistency(engine, "all", *traces)
    assert (row.judge, row.criterion, row.value, row.items) == ("j0", "helpfulness", 2 / 3, 3)
    assert row.low is not None and "1 of 4 pairs are unreadable in an order" in row.reason
    assert row.reference == ""


def test_only_the_last_round_counts(engine: Engine) -> None:
    (row,) = consistency(engine, "all", trace("a", 1, 2, 2, 2))
    assert (row.value, row.items) == (1.0, 1)


def test_scores_are_choices_and_scenarios_are_groups(engine: Engine) -> None:
    higher, equal = {"1": 9.0, "2": 3.0}, {"1": 5.0, "2": 5.0}
    (row,) = consistency(engine, "scenario", trace("a", higher, higher), trace("b", higher, equal))
    assert (row.group, row.value, row.items) == ("math", 0.5, 2)


def test_a_judge_asked_in_one_order_has_no_row(engine: Engine) -> None:
    one_order = trace("a", 1, 1)
    events = tuple(event for event in one_order.events if getattr(event, "ask", 0) == 0)
    assert consistency(engine, "all", one_order.model_copy(update={"events": events})) == []


def test_a_debate_counts_with_the_last_opinion_in_each_order(engine: Engine) -> None:
    one = trace("a", 1, 2)
    reply = a_turn(2, speaker="j0", step="reply", round=1, reading=1, shown=(2, 1))
    (row,) = consistency(engine, "all", one.model_copy(update={"events": (*one.events[:2], reply, one.events[2])}))
    assert (row.value, row.items) == (1.0, 1)


def test_scores_by_aspect_count_with_their_weighted_sum(engine: Engine) -> None:
    settings = Settings(
        judges=(Judge(name="j0", spec=Spec(model="m")),),
        aspects=(Criterion(name="x"), Criterion(name="y")),
        criterion=Criterion(name="helpfulness"),
        both_orders=True,
    )

    def reply(ask: Ask) -> str:
        """Prefer response 1 on x, which decides, and on y what is read first."""
        if ask.step == "weights":
            return "x: 90\ny: 10"
        return "9 1" if ask.round == 2 or ask.shown == (1, 2) else "1 9"

    study = imports_study(engine)
    request = _launch.RunRequest(study, PROTOCOLS["dna_eval"], settings, "run")
    run_id = _launch.create_run(engine, request)
    asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(reply)))
    rows = [row for row in alignment.rows(engine, study, "all", resamples=5) if row.statistic == STATISTIC]
    assert [(row.judge, row.value, row.items) for row in rows] == [("j0", 1.0, 1)]


def imports_study(engine: Engine) -> studies.Study:
    """Import a study of one item."""
    return import_study(engine, [ItemRecord(item=make_item("a"))])


# Scores of the responses of an item are compared with preferences on the same item


TEN = Scale(level="interval", low=1, high=10)


def item(name: str, responses: int = 2) -> ItemRecord:
    texts = tuple(Response(text=f"answer {n}") for n in range(responses))
    return ItemRecord(item=Item(id=name, prompt="?", responses=texts))


def label(name: str, kind: str, value: Value, part: str = "", annotator: str = "ann") -> LabelRecord:
    target = Target(item=name, kind=kind, criterion="quality", part=part)  # type: ignore[arg-type]
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def run(judge: str, kind: str, values: dict[tuple[str, str], Value | None]) -> list[Record]:
    """Return a run of one judge with values by (item, part)."""
    records: list[Record] = [RunRecord(name=judge, protocol="single-judge", criterion="quality")]
    for name in dict.fromkeys(name for name, _ in values):
        opinions = tuple(
            Opinion(kind=kind, judge=judge, stage="verdict", criterion="quality", part=part, value=value,  # type: ignore[arg-type]
                    problem="" if value is not None else "unreadable")
            for (owner, part), value in values.items() if owner == name
        )  # fmt: skip
        verdict = VerdictReached(verdict=Verdict(outcome="agreed", opinions=opinions))
        records.append(TraceRecord(run=judge, item=name, events=(verdict,)))
    return records


def load(engine: Engine, *records: Record) -> AlignmentData:
    study = import_study(engine, [ScaleRecord(kind="score", criterion="quality", scale=TEN), *records])
    return alignment.load_data(engine, study)


def preferences(data: AlignmentData) -> dict[tuple[str, str, str], object]:
    rows = data.opinions[data.opinions["kind"] == "preference"]
    return dict(zip(zip(rows["judge"], rows["item"], rows["part"], strict=True), rows["value"], strict=True))


def test_a_judges_scores_are_compared_with_peoples_preferences(engine: Engine) -> None:
    scores = {("a", "1"): 9, ("a", "2"): 3, ("b", "1"): 5, ("b", "2"): 5, ("c", "1"): None, ("c", "2"): 4}
    people = [label(name, "preference", value) for name, value in (("a", 1), ("b", 1), ("c", 2))]
    data = load(engine, *map(item, "abc"), *people, *run("scorer", "score", scores))
    judge = f"scorer{BY_SCORES}"
    assert preferences(data) == {(judge, "a", ""): 1, (judge, "b", ""): 0, (judge, "c", ""): None}
    study = stored_study(engine)
    rows = {row.statistic: row for row in alignment.rows(engine, study, resamples=5) if row.kind == "preference"}
    assert (rows["accuracy_gold"].value, rows["accuracy_gold"].items) == (0.5, 2)
    assert rows["no_verdict_rate"].value == pytest.approx(1 / 3)


def test_peoples_scores_are_compared_with_a_judges_preferences(engine: Engine) -> None:
    people = [label("a", "score", value, part, name) for name, part, value in (
        ("ann", "1", 8), ("ann", "2", 6), ("ben", "1", 5), ("ben", "2", 9), ("cat", "1", 7), ("cat", "2", 2),
    )]  # fmt: skip
    data = load(engine, item("a"), *people, *run("chooser", "preference", {("a", ""): 1}))
    labels = data.labels[data.labels["kind"] == "preference"]
    assert dict(zip(labels["rater"], labels["value"], strict=True)) == {"ann": 1, "ben": 2, "cat": 1}
    gold = data.gold[data.gold["kind"] == "preference"]
    assert gold["value"].tolist() == [1]  # means of 6.67 and 5.67


def test_a_ranking_of_three_responses_is_compared_pair_by_pair(engine: Engine) -> None:
    scores = {("a", "1"): 9, ("a", "2"): 3, ("a", "3"): 6}
    people = [label("a", "preference", 2, "2-3"), label("a", "preference", 1, "1-2")]
    data = load(engine, item("a", 3), *people, *run("scorer", "score", scores))
    judge = f"scorer{BY_SCORES}"
    assert preferences(data) == {(judge, "a", "1-2"): 1, (judge, "a", "2-3"): 2}


def test_an_own_preference_is_not_replaced_and_scores_alone_derive_nothing(engine: Engine) -> None:
    people = [label("a", "score", 8, "1"), label("a", "score", 6, "2"), label("a", "preference", 2)]
    data = load(engine, item("a"), *people, *run("chooser", "preference", {("a", ""): 1}))
    assert data.labels[data.labels["kind"] == "preference"]["value"].tolist() == [2]
    scores = run("scorer", "score", {("b", "1"): 5, ("b", "2"): 4})
    more = [item("b"), label("b", "score", 3, "1"), label("b", "score", 4, "2"), *scores]
    study = import_study(engine, more)
    data = alignment.load_data(engine, study)
    assert set(data.opinions[data.opinions["kind"] == "preference"]["item"]) == {"a"}
