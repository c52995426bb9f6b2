"""The section on costs of the page Judges."""

from pages.results.parts import judge_charts
from pages.results.parts.judge_charts import JudgePrice


def test_the_table_names_the_judges_of_both_charts_in_the_order_of_the_ranking() -> None:
    cheap = JudgePrice("cheap", 2, 0.3, 0.8, 0.7, 0.9, 40, "yes")
    rows = {
        "dollars": [cheap],
        "seconds": [
            JudgePrice("best", 1, 1200.4, 0.9, 0.8, 0.95, 40, "yes"),
            JudgePrice("cheap", 2, 1300, 0.8, 0.7, 0.9, 40, "no"),
        ],
    }
    best, second = judge_charts.cost_lines(rows)
    assert best == {
        "No.": "1", "Judge": "best", "Accuracy": "0.90 [0.80, 0.95]", "$ per 1,000": "–", "Seconds per 1,000": "1,200",
        "Efficient by": "duration",
    }  # fmt: skip
    assert (second["$ per 1,000"], second["Seconds per 1,000"], second["Efficient by"]) == ("$0.30", "1,300", "price")
