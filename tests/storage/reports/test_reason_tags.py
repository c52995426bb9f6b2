"""Tags in reasons, and the agreement of annotators on them."""

import pytest
from sqlalchemy import Engine

from core.formats.records import ItemRecord, LabelRecord, Record
from storage.reports import agreement
from storage.reports.agreement import TagRow, find_tags
from storage.studies.studies import Study
from tests.conftest import make_item, make_label
from tests.sessions import read
from tests.storage.reports.test_alignment import import_study


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#Length too long, #style. #length", ["length", "style"]),
        ("see https://a.b/#part and &#39; or #1 or a#b ##x", []),
        ("(#fact-check) #größe", ["fact-check", "größe"]),
    ],
)
def test_tags_are_words_after_a_number_sign(text: str, tags: list[str]) -> None:
    assert find_tags(text) == tags


def reason(item: str, annotator: str, text: str) -> LabelRecord:
    record = make_label(1, annotator, item)
    return LabelRecord(label=record.label.model_copy(update={"reason": text}))


def records() -> list[Record]:
    """Return annotators who agree on #length on every target, and on #tone on none."""
    items = [f"i{number}" for number in range(20)]
    found: list[Record] = [ItemRecord(item=make_item(item)) for item in items]
    for number, item in enumerate(items):
        length = "#length " if number % 2 else ""
        found += [
            reason(item, "ann", f"{length}#tone because" if number % 4 < 2 else f"{length}because"),
            reason(item, "ben", f"{length}#tone because" if number % 4 >= 2 else f"{length}because"),
            reason(item, "cat", ""),  # without a reason, the label says nothing about tags
        ]
    return found


def tags(engine: Engine, study: Study) -> list[TagRow]:
    return read(engine, agreement.tags, study.id)


def test_each_tag_has_its_agreement_and_all_together_too(engine: Engine) -> None:
    rows = {row.tag: row for row in tags(engine, import_study(engine, records()))}
    assert list(rows) == ["all", "length", "tone"]
    assert (rows["length"].labels, rows["length"].targets, rows["length"].annotators) == (20, 10, 2)
    assert rows["length"].kappa == pytest.approx(1) and rows["length"].compared == 20
    assert rows["tone"].kappa == pytest.approx(-1)
    assert rows["all"].kappa == pytest.approx(0, abs=0.05) and rows["all"].compared == 40
    assert (rows["all"].low or 0) <= (rows["all"].kappa or 0) <= (rows["all"].high or 0)


def test_a_study_without_tags_has_no_rows(engine: Engine) -> None:
    study = import_study(engine, [ItemRecord(item=make_item("a")), reason("a", "ann", "no tag")])
    assert tags(engine, study) == []


def test_a_rare_tag_has_a_kappa_without_an_interval(engine: Engine) -> None:
    both = [reason(f"i{number}", name, "#odd because") for number in range(4) for name in ("ann", "ben")]
    one = [reason("i4", "ann", "#odd"), reason("i4", "ben", "fine")]
    neither = [reason(f"i{number}", name, "fine") for number in range(5, 20) for name in ("ann", "ben")]
    items: list[Record] = [ItemRecord(item=make_item(f"i{number}")) for number in range(20)]
    (row,) = tags(engine, import_study(engine, [*items, *both, *one, *neither]))
    assert row.kappa is not None and (row.low, row.high) == (None, None)
    assert row.reason.startswith("no interval: 9 uses of the tag, 10 are needed")
