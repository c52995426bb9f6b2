"""The page Causes: sentences, the table, and one more label of the most informative targets."""

from core.formats.records import ItemRecord
from tests.conftest import make_item, make_label
from tests.pages.visits import page_text, prepare_copy, prepare_study, visit
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import make_trace

PAGE = "results/causes"


def test_every_judge_has_a_sentence_and_labels_can_be_requested() -> None:
    prepare_copy(planted_records, 40)
    app = visit(PAGE)
    assert page_text(app).count("differs from people on") >= 2
    rows = app.dataframe[0].value.to_dict("records")
    assert {row["Judge"] for row in rows} == {"fair", "own", "long"}
    app = visit(PAGE, section="To label")
    app.button(key="request_labels").click().run()
    assert "are in the annotators' queues" in page_text(app)


def test_a_table_without_causes_has_their_reason_and_no_empty_column() -> None:
    prepare_copy(planted_records, 20)
    app = visit(PAGE)
    row = app.dataframe[0].value.to_dict("records")[0]
    assert list(row) == ["Judge", "Disagreements"]
    assert "needed" in page_text(app)


def test_a_slice_lists_its_targets_and_is_saved_under_a_name_and_compared_with_another() -> None:
    prepare_copy(planted_records, 60)
    app = visit(PAGE, judge="long", slice="people: prefer the shorter response")
    text = page_text(app).replace("\\", "")
    assert "long differs from people more often on these targets: people prefer the shorter response" in text
    row = next(row for row in app.dataframe[0].value.to_dict("records") if row["Found"] == "yes")
    listed = app.dataframe[1].value.to_dict("records")
    assert len(listed) == int(row["Differs"].split()[0])
    app = visit(PAGE, judge="long", section="Slices")
    chosen = next(text for text in app.multiselect(key="slice_conditions").options if "shorter" in text)
    app.multiselect(key="slice_conditions").set_value([chosen])
    app.text_input(key="slice_name").set_value("against length")
    next(button for button in app.button if button.label == "Save slice").click().run()
    other = next(name for name in app.selectbox(key="first").options if name.startswith("scenario"))
    app.selectbox(key="first").set_value("against length")
    app.selectbox(key="second").set_value(other).run()
    compared = next(table.value for table in app.dataframe if "Differs in the first" in table.value)
    assert {"fair", "long"} <= set(compared["Judge"])


def test_slices_state_their_targets_and_that_no_difference_is_significant() -> None:
    few = [
        record
        for item in ("single", "further")
        for record in (
            ItemRecord(item=make_item(item, scenario="")),
            make_label(1, "ann", item),
            make_trace(item, *((name, "verdict", 1) for name in ("fair", "own", "long"))),
        )
    ]
    prepare_study([*planted_records(60), *few])
    app = visit(PAGE, judge="fair", section="Slices")
    text = page_text(app).replace("\\", "")
    rows = app.dataframe[0].value.to_dict("records")
    counts = [sum(int(row[name].split()[-1]) for name in ("Differs", "Elsewhere")) for row in rows]
    assert (min(counts), max(counts)) == (60, 62)
    sentence = f"fair does not differ from people significantly more often in any slice: {len(rows)} slices tested"
    assert f"{sentence}, n 60 to 62, p corrected." in text
    assert "equally often" not in text
    assert "a majority of people, one label included" in text
