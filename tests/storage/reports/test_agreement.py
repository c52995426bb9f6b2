"""Agreement of a study, from the file to the figure."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from core.formats import read
from core.formats.mapping import mapping
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord
from core.labels import Scale
from core.statistics.reports.agreement import Row
from storage import studies
from storage.database import reading
from storage.reports import agreement, agreement_items
from storage.reports.agreement_items import Wanted
from storage.studies import Study
from storage.transfer import imports
from tests.conftest import a_label, a_target, an_item
from tests.core.formats.shared import MAPPINGS, public
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def loaded(engine: Engine, records: Iterable[Record], name: str = "s") -> Study:
    imports.load(engine, name, records)
    with reading(engine) as session:
        return studies.get(session, name)


def mapped(engine: Engine, file: str, name: str) -> Study:
    return loaded(engine, read(public(file), "table", mapping.load(MAPPINGS / name)))


def of(rows: list[Row], statistic: str, group: str = "all", criterion: str | None = None) -> Row:
    (row,) = [
        row for row in rows if (row.statistic, row.group) == (statistic, group) and criterion in (None, row.criterion)
    ]
    return row


def votes(*items: str, criterion: str = "helpfulness", scenario: str = "math") -> list[Record]:
    """One item for each word: a digit for each of ann, ben and cat, "-" for no label."""
    records: list[Record] = []
    for number, word in enumerate(items):
        name = f"{scenario} {number}"
        records.append(ItemRecord(item=an_item(name, scenario=scenario)))
        for annotator, vote in zip(("ann", "ben", "cat"), word, strict=False):
            if vote != "-":
                records.append(a_label(int(vote), annotator, name, **{}))
    if criterion != "helpfulness":
        records = [_about(record, criterion) for record in records]
    return records


def _about(record: Record, criterion: str) -> Record:
    if isinstance(record, LabelRecord):
        target = a_target(record.label.target.item, criterion=criterion)
        return LabelRecord(label=record.label.model_copy(update={"target": target}))
    return record


def debate(item: str, *last: Any, **turn: Any) -> list[Record]:
    """Three judges who began with 1."""
    return [ItemRecord(item=an_item(item)), a_trace(item, a_turn(**turn), a_verdict(last=last))]


def test_pandalm_gives_the_published_kappas(engine: Engine) -> None:
    study = mapped(engine, "pandalm/testset-v1.json", "pandalm.yaml")
    fleiss = of(agreement.rows(engine, study, "all"), "fleiss_kappa")
    assert (round(fleiss.value or 0, 4), fleiss.items, fleiss.raters, fleiss.pairs) == (0.8642, 999, 3, 2997)
    pairs = agreement.rows(engine, study, "raters")
    assert {row.group: round(row.value or 0, 4) for row in pairs if row.statistic == "cohen_kappa"} == {
        "annotator 1 × annotator 2": 0.8520,
        "annotator 1 × annotator 3": 0.8789,
        "annotator 2 × annotator 3": 0.8617,
    }


TOPICAL_CHAT = {
    "Understandable": (0.5102, 0.4828),
    "Natural": (0.4871, 0.4214),
    "Maintains Context": (0.5599, 0.5191),
    "Engaging": (0.5811, 0.5465),
    "Uses Knowledge": (0.7090, 0.7090),
    "Overall": (0.7183, 0.6647),
}


def test_topical_chat_gives_the_published_correlations_and_alphas(engine: Engine) -> None:
    study = mapped(engine, "topical_chat/usr_topical_chat.json", "topical_chat.yaml")
    rows = agreement.rows(engine, study, "criterion")
    for criterion, (spearman, alpha) in TOPICAL_CHAT.items():
        assert of(rows, "spearman", criterion=criterion).value == pytest.approx(spearman, abs=5e-5)
        found = of(rows, "krippendorff_alpha_ordinal", criterion=criterion)
        assert found.value == pytest.approx(alpha, abs=5e-5)
        assert (found.items, found.raters) == (360, 3)


@pytest.fixture
def released(engine: Engine) -> Study:
    """ScaleEval's 560 debates."""
    path: Path = public("scaleeval/results/gpt3.5_vs_claude")
    return loaded(engine, read(path, "scaleeval"))


def test_scaleevals_judges_agree_as_published_in_the_order_in_which_they_read(engine: Engine, released: Study) -> None:
    rows = agreement.rows(engine, released, "all")
    for stage, value in (("first", 0.1529), ("last", 0.3781)):
        row = of(rows, "fleiss_kappa", f"judges, {stage} opinions, as shown", "all")
        assert row.value == pytest.approx(value, abs=5e-5)
        assert (row.items, row.raters, row.pairs) == (543, 3, 1629)
        assert "17 of 560 debates left out" in row.reason


def test_un_shuffled_they_agree_as_often_and_chance_differs_a_little(engine: Engine, released: Study) -> None:
    rows = agreement.rows(engine, released, "all")
    for stage, value in (("first", 0.1524), ("last", 0.3754)):
        own, shown = f"judges, {stage} opinions", f"judges, {stage} opinions, as shown"
        assert of(rows, "fleiss_kappa", own, "all").value == pytest.approx(value, abs=5e-5)
        assert of(rows, "percent", own, "all").value == pytest.approx(of(rows, "percent", shown, "all").value)


def test_what_is_left_out_is_counted_where_it_belongs(engine: Engine, released: Study) -> None:
    rows = agreement.rows(engine, released, "scenario")
    of_all = [row for row in rows if row.criterion == "all" and row.statistic == "percent" and "last" in row.group]
    assert sum(row.items for row in of_all) == 543
    assert sum(int(row.reason.split()[0]) for row in of_all if "left out" in row.reason) == 17


def test_one_unreadable_opinion_leaves_its_debate_out_of_first_and_last(engine: Engine) -> None:
    said = [*debate("a", 1, 1, 1), *debate("b", 2, 2, 2), *debate("c", 1, 2, None)]
    study = loaded(engine, [RUN, *said])
    rows = agreement.rows(engine, study, "all")
    for stage in ("first", "last"):
        row = of(rows, "percent", f"judges, {stage} opinions")
        assert row.items == 2
        assert "1 of 3 debates left out: an opinion could not be read" in row.reason


def test_choices_stand_also_as_they_were_shown(engine: Engine) -> None:
    study = loaded(engine, [RUN, *debate("a", 1, 1, 1, shown=(2, 1)), *debate("b", 2, 2, 2, shown=(1, 2))])
    rows = agreement.rows(engine, study, "all")
    assert of(rows, "fleiss_kappa", "judges, last opinions").value == 1
    as_shown = of(rows, "fleiss_kappa", "judges, last opinions, as shown")
    assert as_shown.value is None
    assert "all raters chose 2" in as_shown.reason


def test_judges_of_different_runs_are_kept_apart(engine: Engine) -> None:
    def run(name: str, model: str) -> RunRecord:
        judges = [{"name": judge, "spec": {"model": model}} for judge in ("j0", "j1", "j2")]
        return RunRecord(name=name, protocol="scaleeval", criterion="helpfulness", settings={"judges": judges})

    items = [ItemRecord(item=an_item(name)) for name in "ab"]
    told = [a_trace(item, a_turn(), a_verdict(last=(1, 2, 0)), run=name) for item in "ab" for name in ("x", "y")]
    study = loaded(engine, [run("x", "small"), run("y", "large"), *items, *told])
    groups = {row.group for row in agreement.rows(engine, study, "all")}
    assert groups == {
        f"judges, {stage} opinions (j0: {model}, j1: {model}, j2: {model})"
        for stage in ("first", "last")
        for model in ("small", "large")
    }


def test_criteria_on_one_scale_are_pooled_and_others_are_not(engine: Engine) -> None:
    pooled = loaded(engine, [*votes("11", "22"), *votes("12", "22", criterion="depth")], "pooled")
    for by in ("all", "scenario", "raters"):
        rows = agreement.rows(engine, pooled, by)  # type: ignore[arg-type]
        assert {row.criterion for row in rows} == {"helpfulness", "depth", "all"}
        assert [row.items for row in rows if (row.criterion, row.statistic) == ("all", "percent")] == [4]
    assert "all" not in {row.criterion for row in agreement.rows(engine, pooled, "criterion")}
    scale = ScaleRecord(kind="preference", criterion="depth", scale=FIVE)
    apart = loaded(engine, [scale, *votes("11", "22"), *votes("12", "22", criterion="depth")], "apart")
    assert {row.criterion for row in agreement.rows(engine, apart, "all")} == {"helpfulness", "depth"}


def test_a_study_without_labels_has_no_rows(engine: Engine, a_study: Study) -> None:
    assert agreement.rows(engine, a_study, "all") == []
    assert agreement.report(engine, a_study, "judges").panels == ()


def test_labels_are_wanted_for_what_was_labelled_and_for_what_the_judges_left_open(engine: Engine) -> None:
    study = loaded(engine, votes("111", "12-", "1--"))
    assert agreement.report(engine, study, "people").labels_in["preference", "helpfulness"] == pytest.approx(6 / 9)
    imports.load(engine, "s", [RUN, *debate("a", 1, 2, 0)])
    assert agreement.report(engine, study, "people").labels_in["preference", "helpfulness"] == pytest.approx(6 / 12)


def test_low_kappa_with_high_agreement_is_explained(engine: Engine) -> None:
    study = loaded(engine, votes(*["111"] * 18, "112", "121"))
    (panel,) = agreement.report(engine, study, "people").panels
    assert panel.remarks[0] == (
        "helpfulness: 93 % agreement but kappa -0.03: nearly everybody chose 1 (prevalence). AC1 0.93."
    )
    assert panel.remarks[1].startswith("helpfulness, math: ")


def test_what_cannot_be_measured_is_named_and_breaks_nothing(engine: Engine) -> None:
    study = loaded(engine, [*votes("11", "22"), _told("answer", "yes", "ann"), _told("answer", "no", "ben")])
    found = agreement.report(engine, study, "people")
    assert found.unmeasured == ("answer",)
    assert {row.kind for row in found.panels[0].overall} == {"preference"}


def test_weights_need_no_scale(engine: Engine) -> None:
    given = [_told("aspect_weights", {"depth": 60, "tone": 40}, who) for who in ("ann", "ben")]
    study = loaded(engine, [*votes("11"), *given])
    found = agreement.report(engine, study, "people")
    assert found.unmeasured == ()
    assert of(list(found.panels[0].overall), "weights_distance").value == 0


def _told(kind: str, value: Any, annotator: str) -> LabelRecord:
    label = a_label(annotator=annotator).label
    return LabelRecord(label=label.model_copy(update={"target": a_target("math 0", kind=kind), "value": value}))


def test_the_items_behind_a_scenario_come_with_the_most_divided_first(engine: Engine) -> None:
    study = loaded(engine, [*votes("111", "112", "120", "1--"), *votes("111", scenario="writing")])
    found = agreement_items.items(engine, study, Wanted("people", "preference", scenario="math"))
    assert [one.target.item for one in found] == ["math 2", "math 1", "math 0"]
    assert found[0].said == {"ann": (1,), "ben": (2,), "cat": (0,)}


def test_the_items_behind_a_pair_are_those_that_both_judged(engine: Engine) -> None:
    study = loaded(engine, votes("11-", "1-2", "112"))
    found = agreement_items.items(engine, study, Wanted("people", "preference", raters=("ann", "cat")))
    assert [one.target.item for one in found] == ["math 1", "math 2"]


def test_what_others_said_is_hidden_from_whoever_has_not_labelled(engine: Engine) -> None:
    study = loaded(engine, votes("11-", "112"))
    found = {
        one.target.item: one for one in agreement_items.items(engine, study, Wanted("people", "preference"), "cat")
    }
    assert (found["math 0"].blind, found["math 0"].said) == (True, {})
    assert (found["math 1"].blind, found["math 1"].said["ann"]) == (False, (1,))


def test_behind_the_judges_are_their_debates_with_changes_of_mind(engine: Engine) -> None:
    study = loaded(engine, [RUN, *debate("a", 1, 1, 1), *debate("b", 1, 2, 0), *debate("c", 1, None, 1)])
    first, second = agreement_items.items(engine, study, Wanted("judges", "preference"))
    assert (first.target.item, first.said) == ("b", {"j0": (1,), "j1": (1, 2), "j2": (1, 0)})
    assert first.trace is not None and first.trace != second.trace
