"""Agreement of annotators and of judges; published values of PandaLM, Topical-Chat and ScaleEval."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from core.formats import tiebreak
from core.formats.mapping import mapping
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord, TraceRecord
from core.formats.registry import read_records
from core.items import Item, Response
from core.labels import Opinion, Scale
from core.statistics.reports.agreement import AgreementRow
from core.trace import Verdict, VerdictReached
from storage.reports import agreement
from storage.reports.agreement import TagRow, find_tags
from storage.studies.studies import Study
from storage.transfer import imports, samples
from tests.conftest import make_item, make_label, make_target
from tests.core.formats.shared import MAPPINGS, public_file
from tests.sessions import read
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict, import_study

FIVE = Scale(level="ordinal", categories=(1, 2, 3, 4, 5))


def import_table(engine: Engine, file: str, name: str) -> Study:
    return import_study(engine, read_records(public_file(file), "table", mapping.load_mappings(MAPPINGS / name)[0]))


def find_row(
    rows: list[AgreementRow], statistic: str, group: str = "all", criterion: str | None = None
) -> AgreementRow:
    (row,) = [
        row for row in rows if (row.statistic, row.group) == (statistic, group) and criterion in (None, row.criterion)
    ]
    return row


def labelled_items(*items: str, criterion: str = "helpfulness", scenario: str = "math") -> list[Record]:
    """Return one item for each word: a digit for each of ann, ben and cat, "-" for no label."""
    records: list[Record] = []
    for number, word in enumerate(items):
        name = f"{scenario} {number}"
        records.append(ItemRecord(item=make_item(name, scenario=scenario)))
        for annotator, vote in zip(("ann", "ben", "cat"), word, strict=False):
            if vote != "-":
                records.append(make_label(int(vote), annotator, name, **{}))
    if criterion != "helpfulness":
        records = [_on_criterion(record, criterion) for record in records]
    return records


def _on_criterion(record: Record, criterion: str) -> Record:
    if isinstance(record, LabelRecord):
        target = make_target(record.label.target.item, criterion=criterion)
        return LabelRecord(label=record.label.model_copy(update={"target": target}))
    return record


def debate(item: str, *last: Any, **turn: Any) -> list[Record]:
    """Return a debate of three judges whose first opinions are 1."""
    return [ItemRecord(item=make_item(item)), a_trace(item, a_turn(**turn), a_verdict(last=last))]


@pytest.mark.slow
def test_pandalm_gives_the_published_kappas(engine: Engine) -> None:
    study = import_table(engine, "pandalm/testset-v1.json", "pandalm.yaml")
    fleiss = find_row(agreement.rows(engine, study, "all"), "fleiss_kappa")
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


@pytest.mark.slow
def test_topical_chat_gives_the_published_correlations_and_alphas(engine: Engine) -> None:
    study = import_table(engine, "topical_chat/usr_topical_chat.json", "topical_chat.yaml")
    rows = agreement.rows(engine, study, "criterion")
    for criterion, (spearman, alpha) in TOPICAL_CHAT.items():
        assert find_row(rows, "spearman", criterion=criterion).value == pytest.approx(spearman, abs=5e-5)
        row = find_row(rows, "krippendorff_alpha_ordinal", criterion=criterion)
        assert row.value == pytest.approx(alpha, abs=5e-5)
        assert (row.items, row.raters) == (360, 3)


@pytest.fixture(scope="module")
def scaleeval_study(module_engine: Engine) -> Study:
    """Import ScaleEval's 560 debates, which the tests only read."""
    path: Path = public_file("scaleeval/results/gpt3.5_vs_claude")
    return import_study(module_engine, read_records(path, "scaleeval"), "ScaleEval")


@pytest.fixture(scope="module")
def scaleeval_rows(module_engine: Engine, scaleeval_study: Study) -> list[AgreementRow]:
    """The agreement of ScaleEval's judges over all debates."""
    return agreement.rows(module_engine, scaleeval_study, "all")


@pytest.mark.slow
def test_scaleeval_judges_agree_as_published_in_the_order_shown(scaleeval_rows: list[AgreementRow]) -> None:
    for stage, value in (("first", 0.1529), ("last", 0.3781)):
        row = find_row(scaleeval_rows, "fleiss_kappa", f"judges, {stage} opinions, as shown", "all")
        assert row.value == pytest.approx(value, abs=5e-5)
        assert (row.items, row.raters, row.pairs) == (543, 3, 1629)
        assert "17 of 560 debates left out" in row.reason


def test_in_the_items_order_scaleeval_judges_agree_as_often(scaleeval_rows: list[AgreementRow]) -> None:
    for stage, value in (("first", 0.1524), ("last", 0.3754)):
        in_item_order, shown = f"judges, {stage} opinions", f"judges, {stage} opinions, as shown"
        assert find_row(scaleeval_rows, "fleiss_kappa", in_item_order, "all").value == pytest.approx(value, abs=5e-5)
        assert find_row(scaleeval_rows, "percent", in_item_order, "all").value == pytest.approx(
            find_row(scaleeval_rows, "percent", shown, "all").value
        )


@pytest.mark.slow
def test_excluded_debates_are_counted_by_scenario(module_engine: Engine, scaleeval_study: Study) -> None:
    rows = agreement.rows(module_engine, scaleeval_study, "scenario")
    of_all = [row for row in rows if row.criterion == "all" and row.statistic == "percent" and "last" in row.group]
    assert sum(row.items for row in of_all) == 543
    assert sum(int(row.reason.split()[0]) for row in of_all if "left out" in row.reason) == 17


def test_an_unreadable_opinion_excludes_its_debate_from_first_and_last(engine: Engine) -> None:
    debates = [*debate("a", 1, 1, 1), *debate("b", 2, 2, 2), *debate("c", 1, 2, None)]
    study = import_study(engine, [RUN, *debates])
    rows = agreement.rows(engine, study, "all")
    for stage in ("first", "last"):
        row = find_row(rows, "percent", f"judges, {stage} opinions")
        assert row.items == 2
        assert "1 of 3 debates left out: an opinion could not be read" in row.reason


def test_preferences_are_also_reported_as_shown(engine: Engine) -> None:
    study = import_study(engine, [RUN, *debate("a", 1, 1, 1, shown=(2, 1)), *debate("b", 2, 2, 2, shown=(1, 2))])
    rows = agreement.rows(engine, study, "all")
    assert find_row(rows, "fleiss_kappa", "judges, last opinions").value == 1
    as_shown = find_row(rows, "fleiss_kappa", "judges, last opinions, as shown")
    assert as_shown.value is None
    assert "all raters chose 2" in as_shown.reason


def test_different_judges_of_two_runs_are_separate_panels(engine: Engine) -> None:
    def run(name: str, model: str) -> RunRecord:
        judges = [{"name": judge, "spec": {"model": model}} for judge in ("j0", "j1", "j2")]
        return RunRecord(name=name, protocol="scaleeval", criterion="helpfulness", settings={"judges": judges})

    items = [ItemRecord(item=make_item(name)) for name in "ab"]
    traces = [a_trace(item, a_turn(), a_verdict(last=(1, 2, 0)), run=name) for item in "ab" for name in ("x", "y")]
    study = import_study(engine, [run("x", "small"), run("y", "large"), *items, *traces])
    groups = {row.group for row in agreement.rows(engine, study, "all")}
    assert groups == {
        f"judges, {stage} opinions (j0: {model}, j1: {model}, j2: {model})"
        for stage in ("first", "last")
        for model in ("small", "large")
    }


def test_criteria_on_one_scale_are_pooled_and_others_are_not(engine: Engine) -> None:
    pooled = import_study(
        engine, [*labelled_items("11", "22"), *labelled_items("12", "22", criterion="depth")], "pooled"
    )
    for by in ("all", "scenario", "raters"):
        rows = agreement.rows(engine, pooled, by)  # type: ignore[arg-type]
        assert {row.criterion for row in rows} == {"helpfulness", "depth", "all"}
        assert [row.items for row in rows if (row.criterion, row.statistic) == ("all", "percent")] == [4]
    assert "all" not in {row.criterion for row in agreement.rows(engine, pooled, "criterion")}
    scale = ScaleRecord(kind="preference", criterion="depth", scale=FIVE)
    separate = import_study(
        engine, [scale, *labelled_items("11", "22"), *labelled_items("12", "22", criterion="depth")], "separate"
    )
    assert {row.criterion for row in agreement.rows(engine, separate, "all")} == {"helpfulness", "depth"}


def test_a_low_kappa_with_high_agreement_has_a_note_also_on_pooled_criteria(engine: Engine) -> None:
    study = import_study(engine, labelled_items(*["111"] * 18, "112", "121"))
    (panel,) = agreement.report(engine, study, "people").panels
    assert panel.notes[0] == ("helpfulness: 93 % agreement but kappa -0.03: nearly all chose 1 (prevalence). AC1 0.93.")
    assert panel.notes[1].startswith("helpfulness, math: ")
    imports.import_records(engine, "s", labelled_items(*["111"] * 18, "112", "121", criterion="clarity"))
    (panel,) = agreement.report(engine, study, "people").panels
    assert panel.notes[0].startswith("Overall: 93 % agreement but kappa -0.03: nearly all chose 1")


@pytest.mark.slow
@pytest.mark.parametrize("protocol", sorted({*samples.studies().values()} - {"single-step"}))  # one judge in each run
def test_every_sample_has_a_report_of_its_judges(engine: Engine, protocol: str) -> None:
    study = import_study(engine, tiebreak.read(samples.path(protocol)))
    assert agreement.report(engine, study, "judges", resamples=20).panels


def test_a_group_without_a_second_label_has_a_report(engine: Engine) -> None:
    records = [*labelled_items("1--", "2--"), *labelled_items("12-", "11-", scenario="coding")]
    (panel,) = agreement.report(engine, import_study(engine, records), "people").panels
    assert {row.group for row in panel.scenarios} >= {"coding"}


def test_a_kind_without_a_scale_is_reported_as_unmeasured_and_weights_need_none(engine: Engine) -> None:
    given = [_label_record("aspect_weights", {"depth": 60, "tone": 40}, annotator) for annotator in ("ann", "ben")]
    given += [_label_record("answer", "yes", "ann"), _label_record("answer", "no", "ben")]
    study = import_study(engine, [*labelled_items("11", "22"), *given])
    report = agreement.report(engine, study, "people")
    assert report.unmeasured == ("answer",)
    assert {row.kind for row in report.panels[0].overall} == {"preference", "aspect_weights"}
    assert find_row(list(report.panels[0].overall), "weights_distance").value == 0


def _label_record(kind: str, value: Any, annotator: str) -> LabelRecord:
    label = make_label(annotator=annotator).label
    return LabelRecord(label=label.model_copy(update={"target": make_target("math 0", kind=kind), "value": value}))


def test_items_of_a_scenario_are_sorted_most_divided_first(engine: Engine) -> None:
    study = import_study(
        engine, [*labelled_items("111", "112", "120", "1--"), *labelled_items("111", scenario="writing")]
    )
    items, _ = agreement.find_items(engine, study, agreement.ItemQuery("people", "preference", scenario="math"))
    assert [item.target.item for item in items] == ["math 2", "math 1", "math 0"]
    assert agreement.find_items(engine, study, agreement.ItemQuery("people", "preference"), limit=1)[1] == 4
    assert items[0].values == {"ann": (1,), "ben": (2,), "cat": (0,)}


def test_items_of_a_pair_are_those_that_both_rated(engine: Engine) -> None:
    study = import_study(engine, labelled_items("11-", "1-2", "112"))
    items, _ = agreement.find_items(engine, study, agreement.ItemQuery("people", "preference", raters=("ann", "cat")))
    assert [item.target.item for item in items] == ["math 1", "math 2"]


def test_values_are_hidden_from_viewers_without_a_label(engine: Engine) -> None:
    study = import_study(engine, labelled_items("11-", "112"))
    items = {
        item.target.item: item
        for item in agreement.find_items(engine, study, agreement.ItemQuery("people", "preference"), "cat")[0]
    }
    assert (items["math 0"].blind, items["math 0"].values) == (True, {})
    assert (items["math 1"].blind, items["math 1"].values["ann"]) == (False, (1,))


def test_items_of_the_judges_are_debates_with_first_and_last_opinions(engine: Engine) -> None:
    study = import_study(engine, [RUN, *debate("a", 1, 1, 1), *debate("b", 1, 2, 0), *debate("c", 1, None, 1)])
    (first, second), count = agreement.find_items(engine, study, agreement.ItemQuery("judges", "preference"))
    assert count == 2
    assert (first.target.item, first.values) == ("b", {"j0": (1,), "j1": (1, 2), "j2": (1, 0)})
    assert first.trace is not None and first.trace != second.trace


def unnamed_debate(item: str, run: str, speakers: tuple[str, ...], votes: tuple[int, ...]) -> list[Record]:
    """Return a run with one debate of these speakers."""
    opinions = tuple(
        Opinion(kind="preference", judge=name, stage=stage, value=vote, criterion="helpfulness")
        for name, vote in zip(speakers, votes, strict=True)
        for stage in ("first", "last")
    )
    settings = {"judges": [{"name": name, "spec": {"model": name}} for name in speakers]}
    verdict = VerdictReached(verdict=Verdict(outcome="disputed", opinions=opinions))
    return [
        ItemRecord(item=make_item(item)),
        RunRecord(name=run, protocol="scaleeval", criterion="helpfulness", settings=settings),
        TraceRecord(run=run, item=item, events=(verdict,)),
    ]


def test_speakers_without_a_name_do_not_split_the_panel(engine: Engine) -> None:
    named, numbered = ("claude", "gpt", "mistral"), ("speaker 1", "speaker 2", "speaker 3")
    study = import_study(
        engine,
        [
            *unnamed_debate("a", "r1", named, (1, 1, 2)),
            *(one for one in unnamed_debate("b", "r1", named, (2, 2, 2)) if not isinstance(one, RunRecord)),
            *unnamed_debate("c", "r2", numbered, (1, 1, 1)),
            *unnamed_debate("d", "r3", (*named[:2], "speaker 3"), (1, 2, 1)),
        ],
    )
    rows = [row for row in agreement.rows(engine, study, "all") if row.group == "judges, last opinions"]
    percent, kappa = find_row(rows, "percent", rows[0].group), find_row(rows, "cohen_kappa", rows[0].group)
    assert (percent.items, percent.raters) == (4, 3)
    assert percent.value == pytest.approx((1 / 3 + 1 + 1 + 1 / 3) / 4)
    assert "speakers without a name are left out" in kappa.reason
    assert (kappa.items, kappa.raters) == (3, 3)


def test_several_pairs_of_systems_are_said_to_be_pooled(engine: Engine) -> None:
    records: list[Record] = []
    for number in range(6):
        systems = ("a", "b") if number < 3 else ("a", "c")
        responses = tuple(Response(text=name, system=name) for name in systems)
        scenario = "math" if number in (0, 1, 3) else "code" if number == 2 else "law"
        records.append(ItemRecord(item=Item(id=f"i{number}", prompt="?", responses=responses, scenario=scenario)))
        records += [make_label(1 + number % 2, name, f"i{number}") for name in ("ann", "ben")]
    study = import_study(engine, records)
    assert {row.reason.startswith("2 pairs of systems are pooled") for row in agreement.rows(engine, study, "all")} == {
        True
    }
    pooled = {row.group: "pooled" in row.reason for row in agreement.rows(engine, study, "scenario")}
    assert pooled == {"math": True, "code": False, "law": False}


# Tags in reasons, and the agreement of annotators on them


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#Length too long, #style. #length", ["length", "style"]),
        ("see https://a.b/#part and &#39; or #1 or a#b ##x", []),
        ("(#fact-check) #größe", ["fact-check", "größe"]),
    ],
)
def test_tags_are_words_after_a_number_sign(text: str, tags: list[str]) -> None:
    assert find_tags(text) == tags


def reason(item: str, annotator: str, text: str) -> LabelRecord:
    record = make_label(1, annotator, item)
    return LabelRecord(label=record.label.model_copy(update={"reason": text}))


def records() -> list[Record]:
    """Return annotators who agree on #length on every target, and on #tone on none."""
    items = [f"i{number}" for number in range(20)]
    found: list[Record] = [ItemRecord(item=make_item(item)) for item in items]
    for number, item in enumerate(items):
        length = "#length " if number % 2 else ""
        found += [
            reason(item, "ann", f"{length}#tone because" if number % 4 < 2 else f"{length}because"),
            reason(item, "ben", f"{length}#tone because" if number % 4 >= 2 else f"{length}because"),
            reason(item, "cat", ""),  # without a reason, the label says nothing about tags
        ]
    return found


def tags(engine: Engine, study: Study) -> list[TagRow]:
    return read(engine, agreement.tags, study.id)


def test_each_tag_has_its_agreement_and_all_together_too(engine: Engine) -> None:
    rows = {row.tag: row for row in tags(engine, import_study(engine, records()))}
    assert list(rows) == ["all", "length", "tone"]
    assert (rows["length"].labels, rows["length"].targets, rows["length"].annotators) == (20, 10, 2)
    assert rows["length"].kappa == pytest.approx(1) and rows["length"].compared == 20
    assert rows["tone"].kappa == pytest.approx(-1)
    assert rows["all"].kappa == pytest.approx(0, abs=0.05) and rows["all"].compared == 40
    assert (rows["all"].low or 0) <= (rows["all"].kappa or 0) <= (rows["all"].high or 0)


def test_a_study_without_tags_has_no_rows(engine: Engine) -> None:
    study = import_study(engine, [ItemRecord(item=make_item("a")), reason("a", "ann", "no tag")])
    assert tags(engine, study) == []


def test_a_rare_tag_has_a_kappa_without_an_interval(engine: Engine) -> None:
    both = [reason(f"i{number}", name, "#odd because") for number in range(4) for name in ("ann", "ben")]
    one = [reason("i4", "ann", "#odd"), reason("i4", "ben", "fine")]
    neither = [reason(f"i{number}", name, "fine") for number in range(5, 20) for name in ("ann", "ben")]
    items: list[Record] = [ItemRecord(item=make_item(f"i{number}")) for number in range(20)]
    (row,) = tags(engine, import_study(engine, [*items, *both, *one, *neither]))
    assert row.kappa is not None and (row.low, row.high) == (None, None)
    assert row.reason.startswith("no interval: 9 uses of the tag, 10 are needed")
