"""Alignment of a study's judges with its people, from the file to the figure. Row 15 of the acceptance figures."""

from collections.abc import Iterable
from typing import Any

import pytest
from sqlalchemy import Engine

from core.formats import read
from core.formats.records import ItemRecord, Record, RulingRecord, RunRecord, ScaleRecord, TraceRecord
from core.items import Item, Response
from core.labels import Label, Opinion, Ruling, Scale, Target
from core.statistics.reports.alignment import AlignmentRow
from core.trace import Turn, TurnTaken, Verdict, VerdictReached
from storage import studies
from storage.database import reading
from storage.reports import alignment
from storage.studies import Study
from storage.transfer import imports
from tests.conftest import a_label, a_target, an_item
from tests.core.formats.shared import public

THREE = Scale(level="ordinal", categories=(1, 2, 3))


def loaded(engine: Engine, records: Iterable[Record], name: str = "s") -> Study:
    imports.load(engine, name, records)
    with reading(engine) as session:
        return studies.get(session, name)


def figures(engine: Engine, study: Study, by: Any = "all") -> list[AlignmentRow]:
    return alignment.rows(engine, study, by, resamples=50)


def of(rows: list[AlignmentRow], judge: str, statistic: str, **fields: str) -> AlignmentRow:
    wanted = {"judge": judge, "statistic": statistic} | fields
    (row,) = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return row


def judged(item: str, *said: tuple[str, str, Any], run: str = "r", shown: tuple[int, ...] = (1, 2)) -> TraceRecord:
    """A trace whose opinions are (judge, stage, value)."""
    turn = Turn(speaker="j", step="opinion", round=0, model="m", reply="1", reading=1, shown=shown)
    opinions = tuple(
        Opinion(
            kind="preference",
            judge=judge,
            stage=stage,  # type: ignore[arg-type]
            value=value,
            criterion="helpfulness",
            problem="" if value is not None else "?",
        )
        for judge, stage, value in said
    )
    verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=1, opinions=opinions))
    return TraceRecord(run=run, item=item, events=(TurnTaken(ask=0, turn=turn), verdict))


def a_run(name: str = "r", model: str = "m") -> RunRecord:
    judge = {"name": "j", "spec": {"model": model}}
    return RunRecord(name=name, protocol="scaleeval", criterion="helpfulness", settings={"judges": [judge]})


def a_study(verdicts: str, people: str) -> list[Record]:
    """One item for each letter: what the judge says, "-" for no verdict, and what ann says."""
    records: list[Record] = [a_run()]
    for number, (said, label) in enumerate(zip(verdicts, people, strict=True)):
        item = f"item {number}"
        value = None if said == "-" else int(said)
        records += [
            ItemRecord(item=an_item(item)),
            judged(item, ("j", "verdict", value)),
            a_label(int(label), item=item),
        ]
    return records


def test_a_missing_verdict_is_left_out_and_counted_and_only_the_row_that_says_so_takes_it_for_a_tie(
    engine: Engine,
) -> None:
    rows = figures(engine, loaded(engine, a_study("1122-", "11210")))
    plain = of(rows, "j", "accuracy_gold")
    assert (plain.value, plain.items) == (0.75, 4)
    assert of(rows, "j", "no_verdict_rate").value == 0.2
    like_a_paper = of(rows, "j", "accuracy_gold_no_verdict_as_tie")
    assert (like_a_paper.value, like_a_paper.items) == (0.8, 5)
    assert like_a_paper.reason.startswith("no verdict is counted as a tie here")


def test_a_judge_who_was_always_read_has_no_such_row(engine: Engine) -> None:
    rows = figures(engine, loaded(engine, a_study("1122", "1121")))
    assert not [row for row in rows if row.statistic.endswith(alignment.AS_TIE)]


def test_first_and_last_opinions_and_the_verdict_stand_apart(engine: Engine) -> None:
    trace = judged("item 0", ("j", "first", 2), ("j", "last", 1), ("scaleeval", "verdict", 1))
    study = loaded(engine, [a_run(), ItemRecord(item=an_item()), trace, a_label(1)])
    rows = figures(engine, study)
    assert {row.judge: row.value for row in rows if row.statistic == "accuracy_gold"} == {
        "j": 1,
        "j, first opinion": 0,
        "scaleeval": 1,
    }


def test_a_judge_that_spoke_of_the_same_in_two_runs_stands_apart_for_each(engine: Engine) -> None:
    runs = [a_run("one"), a_run("two")]
    traces = [judged("item 0", ("j", "verdict", value), run=run) for run, value in (("one", 1), ("two", 2))]
    study = loaded(engine, [*runs, ItemRecord(item=an_item()), *traces, a_label(1)])
    rows = figures(engine, study)
    assert of(rows, "j · one", "accuracy_gold").value == 1 and of(rows, "j · two", "accuracy_gold").value == 0


@pytest.mark.parametrize(("model", "judges"), [("m", {"j"}), ("n", {"j · one", "j · two"})])
def test_runs_on_other_items_are_one_judge_unless_its_model_is_another(
    engine: Engine, model: str, judges: set[str]
) -> None:
    runs = [a_run("one"), a_run("two", model)]
    traces = [judged(f"item {n}", ("j", "verdict", 1), run=run) for n, run in enumerate(("one", "two"))]
    items = [ItemRecord(item=an_item(f"item {n}")) for n in range(2)]
    study = loaded(engine, [*runs, *items, *traces, a_label(1), a_label(1, item="item 1")])
    assert {row.judge for row in figures(engine, study)} == judges


def test_a_ruling_stands_above_the_majority(engine: Engine) -> None:
    ruling = Ruling(target=a_target(), value=2, rule="expert decision", reason="so", adjudicator="eve")
    study = loaded(engine, [*a_study("22", "12"), RulingRecord(ruling=ruling)])
    rows = figures(engine, study)
    assert of(rows, "j", "accuracy_gold").value == 1 and of(rows, "j", "accuracy_majority").value == 0.5


def test_a_mean_between_the_scores_of_a_scale_is_no_missing_verdict(engine: Engine) -> None:
    records: list[Record] = [ScaleRecord(kind="score", criterion="tone", scale=THREE)]
    records.append(RunRecord(name="r", protocol="refer", criterion="tone"))
    for number, (mean, peer, label) in enumerate([(1.5, 1, 1), (2.5, 2, 2), (3.0, 3, 3), (1.0, 1, 1)]):
        item = Item(id=f"i{number}", prompt="?", responses=(Response(text="x", system="s"),))
        said = [
            Opinion(kind="score", judge=judge, stage=stage, value=value, criterion="tone")  # type: ignore[arg-type]
            for judge, stage, value in (("chair", "verdict", mean), ("peer", "last", peer))
        ]
        verdict = VerdictReached(verdict=Verdict(outcome="agreed", value=mean, opinions=tuple(said)))
        target = Target(item=item.id, kind="score", criterion="tone")
        records += [ItemRecord(item=item), TraceRecord(run="r", item=item.id, events=(verdict,))]
        records.append(a_label().model_copy(update={"label": Label(target=target, annotator="ann", value=label)}))
    rows = figures(engine, loaded(engine, records))
    assert of(rows, "chair", "pearson").items == 4
    assert not [row for row in rows if row.judge == "chair" and row.statistic == "accuracy_gold"]
    assert of(rows, "peer", "accuracy_gold").value == 1


def test_what_was_read_first_and_what_is_longer_are_known(engine: Engine) -> None:
    item = an_item(responses=(Response(text="short"), Response(text="a good deal longer")))
    study = loaded(engine, [a_run(), ItemRecord(item=item), judged("item 0", ("j", "verdict", 2), shown=(2, 1))])
    (row,) = alignment.sides(engine, study).opinions.to_dict("records")
    assert (row["shown_first"], row["longer"]) == (2, 2)


def test_by_scenario_a_group_is_a_scenario(engine: Engine) -> None:
    rows = figures(engine, loaded(engine, a_study("1122", "1121")), "scenario")
    assert {row.group for row in rows} == {"math"}


def test_a_study_without_judges_has_no_rows(engine: Engine) -> None:
    assert figures(engine, loaded(engine, [ItemRecord(item=an_item()), a_label(1)])) == []


def test_a_study_without_people_says_how_often_there_was_no_verdict(engine: Engine) -> None:
    rows = figures(engine, loaded(engine, [a_run(), ItemRecord(item=an_item()), judged("item 0", ("j", "verdict", 1))]))
    assert of(rows, "j", "no_verdict_rate").value == 0 and of(rows, "j", "accuracy_gold").value is None


PUBLISHED = {
    "multi role two turns sequential direct": (0.5375, 0.170, 77, 0.5584, 0.2067),
    "multi role three turns sequential direct": (0.5500, 0.187, 75, 0.5733, 0.1968),
    "single role test": (0.4750, 0.131, 76, 0.5000, 0.1677),
}
"""Run -> accuracy and kappa as published, with no verdict as a tie; items with a verdict, and the same on them."""


def test_chatevals_recorded_runs_give_the_published_figures_and_ours(engine: Engine) -> None:
    study = loaded(engine, read(public("chateval")))
    rows = figures(engine, study)
    for run, (accuracy, kappa, items, own, own_kappa) in PUBLISHED.items():
        judge = f"chateval · {run}"
        like_theirs = [of(rows, judge, f"{name}_gold_no_verdict_as_tie").value for name in ("accuracy", "cohen_kappa")]
        assert like_theirs == [pytest.approx(accuracy), pytest.approx(kappa, abs=6e-4)]
        ours = of(rows, judge, "accuracy_gold", kind="preference")
        assert (ours.value, ours.items) == (pytest.approx(own, abs=5e-5), items)
        assert of(rows, judge, "cohen_kappa_gold", kind="preference").value == pytest.approx(own_kappa, abs=5e-5)
        assert of(rows, judge, "no_verdict_rate", kind="preference").value == pytest.approx(1 - items / 80)
