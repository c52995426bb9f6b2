"""The page Systems: the finding, the table, and people alone."""

import pytest

from core.formats.records import Record, TraceRecord
from pages.parts import resources
from storage.transfer import imports
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


@pytest.mark.parametrize(("address", "later"), [({}, "other"), ({"judge": "judge"}, "judge")])
def test_an_open_page_follows_the_default_judge_unless_one_was_chosen(address: dict[str, str], later: str) -> None:
    first = [one for one in PAIRS if not isinstance(one, TraceRecord) or one.item < "i5"]
    prepare_study(first)
    app = visit(PAGE, **address)
    assert app.selectbox(key="judge").value == "judge" and "judge" not in app.query_params
    imports.import_records(resources.engine(), "s", second_judge(60))
    app.run()
    assert app.selectbox(key="judge").value == later


def test_a_chosen_judge_stays_when_the_default_changes() -> None:
    prepare_study([one for one in PAIRS if not isinstance(one, TraceRecord) or one.item < "i5"])
    app = visit(PAGE)
    app.selectbox(key="judge").select("none: people's labels alone").run()
    imports.import_records(resources.engine(), "s", second_judge(60))
    assert app.run().selectbox(key="judge").value == "none: people's labels alone"
    assert app.selectbox(key="judge").select("judge").run().selectbox(key="judge").value == "judge"


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
