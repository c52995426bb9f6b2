"""Scores of the responses of an item are compared with preferences on the same item."""

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, ScaleRecord, TraceRecord
from core.items import Item, Response
from core.labels import Label, Opinion, Scale, Target, Value
from core.trace import Verdict, VerdictReached
from storage.reports import alignment
from storage.reports.alignment import BY_SCORES, AlignmentData
from tests.storage.shared import import_study, stored_study

TEN = Scale(level="interval", low=1, high=10)


def item(name: str, responses: int = 2) -> ItemRecord:
    texts = tuple(Response(text=f"answer {n}") for n in range(responses))
    return ItemRecord(item=Item(id=name, prompt="?", responses=texts))


def label(name: str, kind: str, value: Value, part: str = "", annotator: str = "ann") -> LabelRecord:
    target = Target(item=name, kind=kind, criterion="quality", part=part)  # type: ignore[arg-type]
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value))


def run(judge: str, kind: str, values: dict[tuple[str, str], Value | None]) -> list[Record]:
    """Return a run of one judge with values by (item, part)."""
    records: list[Record] = [RunRecord(name=judge, protocol="single-judge", criterion="quality")]
    for name in dict.fromkeys(name for name, _ in values):
        opinions = tuple(
            Opinion(kind=kind, judge=judge, stage="verdict", criterion="quality", part=part, value=value,  # type: ignore[arg-type]
                    problem="" if value is not None else "unreadable")
            for (owner, part), value in values.items() if owner == name
        )  # fmt: skip
        verdict = VerdictReached(verdict=Verdict(outcome="agreed", opinions=opinions))
        records.append(TraceRecord(run=judge, item=name, events=(verdict,)))
    return records


def load(engine: Engine, *records: Record) -> AlignmentData:
    study = import_study(engine, [ScaleRecord(kind="score", criterion="quality", scale=TEN), *records])
    return alignment.load_data(engine, study)


def preferences(data: AlignmentData) -> dict[tuple[str, str, str], object]:
    rows = data.opinions[data.opinions["kind"] == "preference"]
    return dict(zip(zip(rows["judge"], rows["item"], rows["part"], strict=True), rows["value"], strict=True))


def test_a_judges_scores_are_compared_with_peoples_preferences(engine: Engine) -> None:
    scores = {("a", "1"): 9, ("a", "2"): 3, ("b", "1"): 5, ("b", "2"): 5, ("c", "1"): None, ("c", "2"): 4}
    people = [label(name, "preference", value) for name, value in (("a", 1), ("b", 1), ("c", 2))]
    data = load(engine, *map(item, "abc"), *people, *run("scorer", "score", scores))
    judge = f"scorer{BY_SCORES}"
    assert preferences(data) == {(judge, "a", ""): 1, (judge, "b", ""): 0, (judge, "c", ""): None}
    study = stored_study(engine)
    rows = {row.statistic: row for row in alignment.rows(engine, study, resamples=5) if row.kind == "preference"}
    assert (rows["accuracy_gold"].value, rows["accuracy_gold"].items) == (0.5, 2)
    assert rows["no_verdict_rate"].value == pytest.approx(1 / 3)


def test_peoples_scores_are_compared_with_a_judges_preferences(engine: Engine) -> None:
    people = [label("a", "score", value, part, name) for name, part, value in (
        ("ann", "1", 8), ("ann", "2", 6), ("ben", "1", 5), ("ben", "2", 9), ("cat", "1", 7), ("cat", "2", 2),
    )]  # fmt: skip
    data = load(engine, item("a"), *people, *run("chooser", "preference", {("a", ""): 1}))
    labels = data.labels[data.labels["kind"] == "preference"]
    assert dict(zip(labels["rater"], labels["value"], strict=True)) == {"ann": 1, "ben": 2, "cat": 1}
    gold = data.gold[data.gold["kind"] == "preference"]
    assert gold["value"].tolist() == [1]  # means of 6.67 and 5.67


def test_a_ranking_of_three_responses_is_compared_pair_by_pair(engine: Engine) -> None:
    scores = {("a", "1"): 9, ("a", "2"): 3, ("a", "3"): 6}
    people = [label("a", "preference", 2, "2-3"), label("a", "preference", 1, "1-2")]
    data = load(engine, item("a", 3), *people, *run("scorer", "score", scores))
    judge = f"scorer{BY_SCORES}"
    assert preferences(data) == {(judge, "a", "1-2"): 1, (judge, "a", "2-3"): 2}


def test_an_own_preference_is_not_replaced_and_scores_alone_derive_nothing(engine: Engine) -> None:
    people = [label("a", "score", 8, "1"), label("a", "score", 6, "2"), label("a", "preference", 2)]
    data = load(engine, item("a"), *people, *run("chooser", "preference", {("a", ""): 1}))
    assert data.labels[data.labels["kind"] == "preference"]["value"].tolist() == [2]
    scores = run("scorer", "score", {("b", "1"): 5, ("b", "2"): 4})
    more = [item("b"), label("b", "score", 3, "1"), label("b", "score", 4, "2"), *scores]
    study = import_study(engine, more)
    data = alignment.load_data(engine, study)
    assert set(data.opinions[data.opinions["kind"] == "preference"]["item"]) == {"a"}
