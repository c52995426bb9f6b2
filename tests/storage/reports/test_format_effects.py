"""The effect of the criterion's format, from runs that differ in it only."""

import random
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, Record, RunRecord
from storage.reports import judge_biases
from tests.conftest import make_item, make_label
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study, make_trace

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
    rows = judge_biases.formats_of_study(engine, import_study(engine, format_records()))
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
        judge_biases.formats_of_study(engine, import_study(engine, planted_records(20)))
