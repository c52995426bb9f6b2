"""The table of targets behind a figure: raters with columns of their own, and one column for the others."""

from pages.results.parts import item_drilldown
from storage.reports.agreement_items import TargetValues
from tests.conftest import make_target


def line(*, blind: bool) -> dict[str, str]:
    values = {"a": (1,), "b": (2, 1), "d": (0,)}
    judged = TargetValues(make_target("i"), "math", values, trace=None, blind=blind)
    return item_drilldown.table_line(judged, ["a"], ["b", "c", "d"], several_criteria=False, with_trace=False)


def test_raters_without_a_column_share_one_that_hides_their_values_before_the_label() -> None:
    assert line(blind=False) == {"Item": "i", "Scenario": "math", "a": "1", item_drilldown.OTHERS: "2 → 1 · 0"}
    hidden = item_drilldown.HIDDEN_TEXT
    assert line(blind=True) == {"Item": "i", "Scenario": "math", "a": hidden, item_drilldown.OTHERS: hidden}
