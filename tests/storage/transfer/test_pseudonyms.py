"""Pseudonyms of people who read replies."""

from dataclasses import replace

from core.formats.turns import turn_row
from core.trace import PastReading, Turn
from storage.transfer.pseudonyms import rename_readers

PLACE = dict.fromkeys(("run", "protocol", "item", "part", "scenario", "criterion", "outcome", "contention"), "")


def test_only_people_who_read_a_reply_are_renamed() -> None:
    turn = Turn(speaker="j", step="choice", round=0, model="m", reply="1", reading=1, read_by="person: ann")
    row = turn_row(turn, 0, "first", False, **PLACE)
    extracted = replace(row, read_by="extractor: ann")
    past = PastReading(turn, withdrawn_by="ann"), PastReading(turn.model_copy(update={"read_by": ""}))
    replaced = turn_row(turn, 0, "first", False, past, **PLACE)
    names = {"ann": "annotator 1"}.__getitem__
    (others,) = rename_readers([replaced], names)
    fields = [(earlier["read_by"], earlier["withdrawn_by"]) for earlier in others.earlier_readings]
    assert fields == [("person: annotator 1", "annotator 1"), ("", "")]
    renamed = rename_readers([row, extracted], names)
    assert [row.read_by for row in renamed] == ["person: annotator 1", "extractor: ann"]
