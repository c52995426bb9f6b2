"""The biases of a study's judges, with families from models' names and from the study's rules."""

import random
from collections.abc import Iterator, Mapping

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, StudyRecord, StudyRules
from core.items import Item
from core.statistics.measures.bias import Untested
from core.statistics.reports.judge_findings import PEOPLE, BiasRow, correct_rows
from storage.reports import judge_biases
from storage.reports.judge_ranking import Selection
from tests.conftest import make_item, make_label
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.shared import stored_study


def biases_of(engine: Engine, families: Mapping[str, str] | None = None, **options: str) -> list[BiasRow]:
    rules = StudyRecord(rules=StudyRules(families=dict(families or {})))
    study = import_study(engine, [rules, *planted_records()])
    return judge_biases.of_study(engine, study, Selection(**options))


def test_each_planted_bias_is_found_and_no_other(engine: Engine) -> None:
    rows = biases_of(engine)
    assert {(row.judge, row.bias) for row in rows if row.found} == {("own", "self-preference"), ("long", "length")}
    by_judge = {(row.judge, row.bias): row for row in rows}
    assert by_judge["fair", "position"].effect.items == 80
    in_math = judge_biases.of_study(engine, stored_study(engine), Selection(scenario="math"))
    assert {row.effect.items for row in in_math if row.bias == "position"} == {40}
    # Neither system is of the families of the judges "fair" and "long".
    assert ("fair", "self-preference") not in by_judge and ("long", "self-preference") not in by_judge
    assert PEOPLE not in {row.judge for row in rows}, "labels without a known order tell nothing of their position bias"


def test_length_counts_targets_with_two_labels_also_without_a_majority(engine: Engine) -> None:
    single = [f"i{number}" for number in range(5)]
    records = [
        record
        for record in planted_records()
        if not isinstance(record, LabelRecord)
        or record.label.annotator == "ann"
        or (record.label.annotator == "ben" and record.label.target.item not in single)
    ]
    rows = judge_biases.of_study(engine, import_study(engine, records), Selection())
    assert {row.effect.items for row in rows if row.bias == "length"} == {75}


def test_a_family_can_be_named_in_the_rules(engine: Engine) -> None:
    rows = biases_of(engine, {"fair": "Meta", "gpt-3.5-turbo": "ours"})
    families = {row.judge for row in rows if row.bias == "self-preference"}
    assert families == {"fair"}


def with_order(record: Record, number: int, *, counterbalanced: bool) -> Record:
    """Return a label as of somebody who always chooses the response shown first."""
    if not isinstance(record, LabelRecord):
        return record
    shown = (2, 1) if counterbalanced and number % 2 else (1, 2)
    return LabelRecord(label=record.label.model_copy(update={"value": shown[0], "shown": shown}))


@pytest.mark.parametrize("counterbalanced", [True, False])
def test_people_who_choose_what_is_shown_first_are_found_if_the_order_was_counterbalanced(
    engine: Engine, counterbalanced: bool
) -> None:
    records = [
        with_order(record, number, counterbalanced=counterbalanced) for number, record in enumerate(planted_records())
    ]
    study = import_study(engine, records)
    rows = judge_biases.of_study(engine, study, Selection())
    (people,) = (row for row in rows if row.judge == PEOPLE)
    judges = [row for row in rows if row.judge != PEOPLE]
    assert (people.bias, people.found, people.effect.value) == (
        "position",
        counterbalanced,
        0.5 if counterbalanced else None,
    )
    assert people.effect.untested is (None if counterbalanced else Untested.ONE_ORDER)
    assert ("people prefer the response shown first" in judge_biases.sentence(engine, study, rows)) == counterbalanced
    assert correct_rows(judges) == judges  # the correction of the judges counts no test of people
    assert judge_biases.table(rows)[-1]["people_share"] == (1.0 if counterbalanced else None)


def test_a_study_without_judges_has_one_sentence(engine: Engine) -> None:
    study = import_study(engine, [ItemRecord(item=make_item("i"))])
    with pytest.raises(TiebreakError, match="No bias can be measured"):
        judge_biases.of_study(engine, study, Selection())


def test_untested_self_preference_names_systems_of_unknown_family(engine: Engine) -> None:
    records = [
        record.model_copy(update={"item": rename_systems(record.item)}) if isinstance(record, ItemRecord) else record
        for record in planted_records()
    ]
    study = import_study(engine, records)
    sentence = judge_biases.sentence(engine, study, judge_biases.of_study(engine, study, Selection()))
    assert "self-preference (no response is known to be of a judge's own model family; the model family of " in sentence
    assert "of ours, theirs is not known and can be named in the study's setting Families of models)" in sentence


def rename_systems(item: Item) -> Item:
    names = ("ours", "theirs")
    pairs = zip(item.responses, names, strict=True)
    return item.model_copy(update={"responses": tuple(one.model_copy(update={"system": name}) for one, name in pairs)})


# The effect of the criterion's format, from runs that differ in it only


SHARES_WRONG = {"general": 0.1, "shortened": 0.1, "masked": 0.5}


def format_records(items: int = 80, names: tuple[str, ...] = ("j",)) -> Iterator[Record]:
    """Yield a judge with three formats: masked is wrong on half of the items, and has no verdict on the first five."""
    rng = random.Random(5)
    judges = [{"name": name, "spec": {"model": "m"}} for name in names]
    for form in SHARES_WRONG:
        settings = {"judges": judges} | ({} if form == "general" else {"format": form})
        yield RunRecord(name=form, protocol="scaleeval", criterion="helpfulness", settings=settings)
    yield RunRecord(
        name="other", protocol="scaleeval", criterion="helpfulness", settings={"judges": judges, "words": 99}
    )
    for number in range(items):
        truth = rng.choice((1, 2))
        yield ItemRecord(item=make_item(f"i{number}"))
        yield from (make_label(truth, name, f"i{number}") for name in ("ann", "ben"))
        for form, wrong in SHARES_WRONG.items():
            value = None if form == "masked" and number < 5 else truth if rng.random() > wrong else 3 - truth
            yield make_trace(f"i{number}", ("j", "verdict", value), run=form)
        yield make_trace(f"i{number}", ("j", "verdict", truth), run="other")


def test_only_the_format_that_changes_the_accuracy_is_found(engine: Engine) -> None:
    rows = judge_biases.formats_of_study(engine, import_study(engine, format_records()), Selection())
    assert [(row.judge, row.base, row.format) for row in rows] == [
        ("j", "general", "shortened"), ("j", "general", "masked"),
    ]  # fmt: skip
    shortened, masked = rows
    assert not shortened.found and masked.found
    assert masked.effect is not None and masked.effect == pytest.approx(
        (masked.accuracy or 0) - (masked.base_accuracy or 0)
    )
    assert (masked.low or 0) < masked.effect < (masked.high or 0) < 0
    assert (masked.targets, masked.judged, masked.no_verdict, masked.base_no_verdict) == (80, 80, 5, 0)
    assert masked.changed is not None and masked.changed > (shortened.changed or 0)
    assert masked.p_corrected is not None and masked.p is not None and masked.p_corrected >= masked.p


def test_a_study_without_formats_has_one_sentence(engine: Engine) -> None:
    with pytest.raises(TiebreakError, match="No two runs differ in the format"):
        judge_biases.formats_of_study(engine, import_study(engine, planted_records(20)), Selection())
