"""The page Judges: recommendations, the table, and the targets on which two judges differ."""

import random
import re

import pytest
from streamlit.testing.v1 import AppTest

from core.formats.records import ItemRecord, Record
from pages.parts import charts
from tests.conftest import make_item, make_label
from tests.pages.visits import page_text, prepare_copy, visit
from tests.storage.reports.test_alignment import make_trace
from tests.storage.shared import RUN

PAGE = "results/judges"
PAIRS = (("b", 0.1, 0.2), ("c", 0.1, 0.01), ("d", -0.3, 0.01), ("e", None, None))


def planted_records(items: int = 60, scenarios: tuple[str, str] = ("code", "math")) -> list[Record]:
    """Return pairs with three annotators who agree, a good judge, and one that abstains on two of three."""
    rng = random.Random(3)
    records: list[Record] = [RUN.model_copy(update={"name": "r"})]
    for number in range(items):
        item, truth = f"i{number}", rng.choice((1, 2))
        records.append(ItemRecord(item=make_item(item, scenario=scenarios[number % 2])))
        records += [make_label(truth, name, item) for name in ("ann", "ben", "cat")]
        silent = None if number % 3 else truth
        records.append(make_trace(item, ("good", "verdict", truth), ("silent", "verdict", silent)))
    return records


def table(app: AppTest) -> list[dict[str, str]]:
    return list(app.dataframe[0].value.to_dict("records"))


def test_the_first_sentence_recommends_and_the_table_gives_the_reason() -> None:
    prepare_copy(planted_records)
    app = visit(PAGE)
    text = page_text(app)
    assert "**Use good. Do not use silent.**" in text and "silent answers 33% of the targets, " in text
    assert "60 targets common to all judges · 3 annotators" in text
    assert "reference gold: 60 by people" in text.replace("\\", "")
    good, silent = table(app)[:2]
    assert good["Judge"] == "good" and good["Decision"] == "use" and good["Accuracy"].startswith("1.00")
    assert silent["Decision"] == "do not use" and silent["Coverage"].startswith("0.33")
    assert (good["Range"], silent["Range"]) == ("", "0.33 to 1.00")
    assert "2. **silent**, do not use: answers 33% of the targets, " in text.replace("\\", "")
    assert "Human ceiling: each annotator against the others, 60 targets." in text
    assert {row["Decision"] for row in table(app)[2:]} == {"ceiling", "baseline"}


def test_pairs_of_judges_have_the_better_ranked_one_first_and_the_labels_that_separate_them() -> None:
    prepare_copy(planted_records)
    (pairs,) = (frame.value for frame in visit(PAGE, section="A versus B").dataframe)
    (row,) = pairs[["A × B", "n", "A", "B", "A − B", "p"]].to_dict("records")
    assert (row["A × B"], row["n"], row["A"], row["B"]) == ("1 × 2", 60, "good", "silent")
    assert row["A − B"].startswith("+0.67 [+") and row["p"] == "< 0.001"
    app = visit(PAGE, section="More labels")
    assert "good and silent are separated at 95 %" in page_text(app).replace("\\", "")
    (row,) = app.dataframe[0].value.to_dict("records")
    assert (row["Judge"], row["Other judge"], row["Separated"], row["More labels"]) == ("good", "silent", "yes", 0)
    assert row["Right"] == "40 : 0 of 40" and row["A × B"] == "1 × 2"


def test_files_of_the_ranking_have_the_numbers_and_the_names_of_its_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: dict[str, charts.ChartData] = {}
    monkeypatch.setattr(charts, "draw", lambda _, key, *args, data, **others: drawn.update({key: data}))
    prepare_copy(planted_records)
    visit(PAGE)
    rows = drawn["ranking"].rows or ()
    assert [(row["number"], row["judge"]) for row in rows][:3] == [(1, "good"), (2, "silent"), (None, "human ceiling")]


def test_abstentions_can_be_left_out_and_a_scenario_has_its_own_ranking() -> None:
    prepare_copy(planted_records)
    app = visit(PAGE, abstentions="are left out")
    silent = next(row for row in table(app) if row["Judge"] == "silent")
    assert silent["Accuracy"].startswith("1.00") and silent["Coverage"].startswith("0.33")
    assert silent["Decision"] == "not enough data" and "there are at most 20" in page_text(app)
    app = visit(PAGE, among="math", criterion="helpfulness")
    assert "30 targets common to all judges" in page_text(app) and not unknown_names(app)


def test_a_cell_lists_the_targets_on_which_two_judges_differ_and_an_unknown_pair_none() -> None:
    prepare_copy(planted_records)
    app = visit(PAGE, pair="good × silent")
    assert any("Selected targets: 40" in header.value for header in app.subheader)
    rows = app.dataframe[1].value.to_dict("records")
    assert len(rows) == 40 and all(row["silent"] == "no verdict" for row in rows)
    for pair in ("good × nobody", " × "):
        app = visit(PAGE, pair=pair)
        assert "Selected targets" not in page_text(app)


def unknown_names(app: AppTest) -> list[str]:
    return [line.value.replace("\\", "") for line in app.caption if "The address names" in line.value]


def test_names_in_the_address_that_the_study_does_not_have_are_stated_until_others_are_chosen() -> None:
    prepare_copy(planted_records)
    app = visit(PAGE, among="nonsense", criterion="tone", reference="annotator:zoe", pair="nope", section="A versus B")
    stated = ["'annotator:zoe'", "'nonsense'", "'nope'", "'tone'"]
    assert sorted(re.findall("'.*?'", " ".join(unknown_names(app)))) == stated
    assert "'nonsense'" in str(unknown_names(app.run()))
    for chosen in ("math", "all scenarios"):
        app.selectbox(key="among").select(chosen).run()
        assert "'nonsense'" not in str(unknown_names(app))


def test_an_unknown_name_is_stated_if_there_is_no_choice() -> None:
    prepare_copy(planted_records, 60, ("math", "math"))
    app = visit(PAGE, among="nonsense")
    assert len(unknown_names(app)) == 1 and not unknown_names(visit(PAGE, among="math"))
