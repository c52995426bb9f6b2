"""What judges lean to besides quality: the response that was shown first, and the longer one."""

import streamlit as st

from pages.parts import charts, numbers
from pages.parts.charts import Ceiling, Series
from pages.results.parts import alignment_differences, alignment_rows
from pages.results.parts.alignment_rows import Figures


def show(found: Figures) -> None:
    """How often judges prefer what was shown first, and what is longer."""
    whole = {judge: rows for (judge, group), rows in found.items() if group == "all"}
    drawn = {name: alignment_rows.points(whole, statistic) for name, statistic in alignment_rows.LEANINGS.items()}
    if not any(drawn.values()):
        return
    st.subheader("What judges lean to", anchor=False)
    titles = {"shown_first": "The response shown first is preferred", "longer": "The longer response is preferred"}
    for column, (name, points) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        if not points:
            continue
        people = {} if name == "shown_first" else alignment_rows.points(whole, "longer_preferred_people")
        people = {judge: row for judge, row in people.items() if judge in points}
        figure = charts.points(
            [Series("judge", points), *([Series("people", people, hollow=True)] if people else [])],
            title=titles[name],
            axis="Share of choices, with its 95 % interval",
            order=list(points),
            chosen=None,
            ceiling=Ceiling("no leaning", 0.5) if name == "shown_first" else None,
        )
        with column:
            aloud = "; ".join(f"{who} {numbers.estimate(row.value, None, None)}" for who, row in points.items())
            charts.draw(figure, f"leaning_{name}", f"{titles[name]}: {aloud}", lambda name=name: _clicked(name))
    st.caption(
        "Shares of the decided verdicts: ties and no verdicts are no choice. People may rightly prefer longer answers: "
        "only a judge's excess over them on the same items is a bias."
    )


def _clicked(name: str) -> None:
    judge = charts.clicked(f"leaning_{name}")
    alignment_differences.open(judge, **({} if judge is None else {"leaning": name}))
