"""The page Systems: the finding, the table, and people alone."""

from core.formats.records import Record
from tests.pages.visits import page_text, prepare_study, visit
from tests.storage.reports.disputed_study import disputed_only, records
from tests.storage.reports.test_alignment import make_trace
from tests.storage.reports.test_systems import planted_records
from tests.storage.shared import RUN

PAGE = "results/systems"
PAIRS = planted_records(60, 30, range(0, 30, 5), ("ann",))
"""The large system wins by the judge on 60 pairs; people labelled 30 of them and agree on 24."""


def test_the_best_system_is_named_with_its_interval_also_of_people_alone() -> None:
    prepare_study(PAIRS)
    app = visit(PAGE)
    assert r"large is ahead of small. large\: 0.80 \[0.6" in page_text(app)
    (table,) = (frame.value.to_dict("records") for frame in app.dataframe)
    assert [row["System"] for row in table] == ["large", "small"]
    assert table[0]["Verdicts"] == "1.00" and table[0]["n"] == "30 + 30"
    app = visit(PAGE, judge="none: people's labels alone")
    assert app.dataframe[0].value.to_dict("records")[0]["Verdicts"] == "–"


def second_judge(items: int) -> list[Record]:
    """Return verdicts on the planted items by a judge with a run of its own."""
    return [RUN.model_copy(update={"name": "r2"})] + [
        make_trace(f"i{number}", ("other", "verdict", 1), run="r2") for number in range(items)
    ]


def test_labels_of_disputed_targets_give_no_value_of_all_targets_on_any_page() -> None:
    prepare_study(list(records(disputed_only)))
    systems = visit(PAGE)
    assert "Figures of people's labels are of disputed targets" in systems.warning[0].value
    assert "The systems are not ranked on all targets" in page_text(systems)
    assert {row["Together"] for row in systems.dataframe[0].value.to_dict("records")} == {"–"}
    for page in ("results/judges", "results/alignment"):
        app = visit(page)
        assert "of disputed targets" in app.warning[0].value
    overview = page_text(visit("results/overview"))
    assert "Judges are not ranked: not enough data" in overview and "of disputed targets" in overview
