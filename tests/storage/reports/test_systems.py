"""The systems of a stored study."""

from collections.abc import Container, Sequence

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, Record
from core.items import Item, Response
from core.labels import Label, Target
from storage.reports import systems
from storage.studies.studies import Study
from storage.transfer import imports
from tests.conftest import make_label
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.shared import RUN


def planted_records(
    pairs: int, labelled: int, wrong: Container[int], people: Sequence[str] = ("ann", "ben")
) -> list[Record]:
    """Return pairs on which the large system wins by the judge, and by people, except on those that are `wrong`."""
    records: list[Record] = [RUN.model_copy(update={"name": "r"})]
    for number in range(pairs):
        pair = ("large", "small") if number % 2 else ("small", "large")
        responses = tuple(Response(text=f"{name} {number}", system=name) for name in pair)
        item = Item(id=f"i{number}", prompt="?", responses=responses)
        records.append(ItemRecord(item=item))
        large = pair.index("large") + 1
        if number < labelled:
            records += [make_label(3 - large if number in wrong else large, name, item.id) for name in people]
        records.append(make_trace(item.id, ("judge", "verdict", large)))
    return records


@pytest.fixture
def study(engine: Engine) -> Study:
    """Return a study in which people prefer the large system on 8 of 10 labelled pairs, and the judge on all 40."""
    return import_study(engine, planted_records(40, 10, (3, 6)))


def test_win_rates_come_from_labels_and_verdicts_or_from_people_alone(engine: Engine, study: Study) -> None:
    report = systems.report(engine, study, resamples=50)
    assert (report.kind, report.judge) == ("preference", "judge")
    large, small = report.rows
    assert (large.system, small.system) == ("large", "small")
    assert large.people == pytest.approx(0.8) and large.verdicts == 1.0
    assert (large.labelled, large.judged) == (10, 30)
    alone = systems.report(engine, study, judge="", resamples=50).rows[0]
    assert alone.value == pytest.approx(0.8) and alone.verdicts is None
    with pytest.raises(TiebreakError, match="There is no judge called 'nobody' here; there are judge"):
        systems.report(engine, study, judge="nobody")


@pytest.mark.parametrize("reference", ["gold", "majority"])
def test_split_votes_are_left_out_and_counted(engine: Engine, study: Study, reference: str) -> None:
    split = [make_label(value, name, f"i{n}") for n in (10, 11, 12) for value, name in ((1, "ann"), (2, "ben"))]
    imports.import_records(engine, study.name, split)
    large = systems.report(engine, study, reference=reference, resamples=10).rows[0]
    assert (large.labelled, large.judged, large.undecided) == (10, 27, 3)
    assert large.people == pytest.approx(0.8)
    assert "3 targets have labels but no majority, left out" in large.reason
    alone = systems.report(engine, study, judge="", reference=reference, resamples=10).rows[0]
    assert (alone.labelled, alone.judged, alone.undecided) == (10, 0, 3)


def test_the_default_judge_does_not_depend_on_the_order_and_the_table_names_it(engine: Engine) -> None:
    responses = (Response(text="a", system="large"), Response(text="b", system="small"))
    items = [ItemRecord(item=Item(id=key, prompt="?", responses=responses)) for key in ("i1", "i2")]
    for number, names in enumerate(("ab", "ba")):
        records: list[Record] = [*items]
        for name in names:
            records.append(RUN.model_copy(update={"name": name}))
            records += [make_trace(one.item.id, (name, "verdict", 1)).model_copy(update={"run": name}) for one in items]
        study = import_study(engine, records, f"study {number}")
        report = systems.report(engine, study, resamples=10)
        assert report.judge == "a"
        assert [(row["judge"], row["verdicts"]) for row in systems.table(report)] == [("a", 1.0), ("a", 0.0)]


def test_all_criteria_are_pooled_with_every_judge(engine: Engine) -> None:
    responses = (Response(text="a", system="large"), Response(text="b", system="small"))
    records: list[Record] = [RUN.model_copy(update={"name": "r"})]
    for number in range(4):
        item = Item(id=f"i{number}", prompt="?", responses=responses)
        target = {"item": item.id, "kind": "preference"}
        labels = [
            LabelRecord(label=Label(target=Target(**target, criterion=criterion), annotator="ann", value=1))
            for criterion in ("depth", "tone")
        ]
        records += [ItemRecord(item=item), *labels, make_trace(item.id, ("judge", "verdict", 1))]
    study = import_study(engine, records)
    report = systems.report(engine, study, resamples=10)
    assert (report.criterion, report.judge) == ("all", "judge")
    assert {row.system: (row.value, row.people, row.people_labelled) for row in report.rows} == {
        "large": (None, 1.0, 8),
        "small": (None, 0.0, 8),
    }
    alone = systems.report(engine, study, judge="", resamples=10)
    assert {row.system: (row.people, row.labelled) for row in alone.rows} == {"large": (1.0, 8), "small": (0.0, 8)}
    assert all(row.low is None and "fewer than 10 labels" in row.reason for row in alone.rows)


def test_scores_of_numbered_responses_are_those_of_their_systems(engine: Engine) -> None:
    records: list[Record] = []
    for number in range(30):
        pair = ("large", "small") if number % 2 else ("small", "large")
        item = Item(id=f"i{number}", prompt="?", responses=tuple(Response(text=name, system=name) for name in pair))
        records.append(ItemRecord(item=item))
        for place, name in enumerate(pair, 1):
            target = Target(item=item.id, kind="score", criterion="tone", part=str(place))
            records.append(LabelRecord(label=Label(target=target, annotator="ann", value=5 if name == "large" else 2)))
    report = systems.report(engine, import_study(engine, records), resamples=20)
    assert [(row.system, row.people, row.people_labelled) for row in report.rows] == [
        ("large", 5.0, 30), ("small", 2.0, 30),
    ]  # fmt: skip
