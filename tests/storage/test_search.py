"""Search in items, turns, reasons and notes."""

import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, MarkRecord
from core.items import Item, Response
from storage.db.connections import reading, writing
from storage.labels import labels
from storage.runs import search
from storage.runs.search import Match
from storage.studies.studies import Study
from tests.conftest import make_target
from tests.sessions import read
from tests.storage.reports.test_alignment import make_trace
from tests.storage.shared import RUN, import_study, store_label

REPLY = 'He said "50% of\nIT" and Élan.'


@pytest.fixture
def study(engine: Engine) -> Study:
    item = Item(
        id="a", prompt="Why is the Sky blue?", context="On Earth.",
        responses=(Response(text="Because of\nscattering."), Response(text="天空是蓝色的。")),
    )  # fmt: skip
    trace = make_trace("a", ("j", "verdict", 1)).model_dump()
    trace["events"][0]["turn"]["reply"] = REPLY
    records = [RUN.model_copy(update={"name": "r"}), ItemRecord(item=item), make_trace("a").model_validate(trace)]
    note = MarkRecord(target=make_target("a"), annotator="ann", mark="note", text="Is the SKY blue at night?", on=True)
    found = import_study(engine, [*records, note])
    with writing(engine) as session:
        store_label(session, found.id, make_target("a"), "ann", 1, reason="sky-blue is right")
        labels.adjudicate(session, found.id, make_target("a"), 1, rule="own", reason="the blue sky", adjudicator="cy")
    return found


def find(engine: Engine, study: Study, text: str, area: search.Area = "items") -> list[Match]:
    return read(engine, search.find, study.id, text, area).matches


def fields(matches: list[Match]) -> list[str]:
    return [match.field for match in matches]


def test_items_are_found_by_every_text_ignoring_case_and_line_breaks(engine: Engine, study: Study) -> None:
    (match,) = find(engine, study, "sky BLUE")
    assert (match.item, match.field, match.before, match.text, match.after) == (
        "a",
        "question",
        "Why is the ",
        "Sky blue",
        "?",
    )
    assert fields(find(engine, study, "because of  scattering")) == ["response 1"]
    assert fields(find(engine, study, "蓝色")) == ["response 2"]
    assert find(engine, study, "prompt") == []  # a name of the stored form, not a text


@pytest.mark.parametrize("text", ['"50% of it"', "50%", "élan", "% of"])
def test_turns_are_found_with_signs_that_have_a_meaning_in_queries(engine: Engine, study: Study, text: str) -> None:
    (match,) = find(engine, study, text, "turns")
    assert match.field == "j, opinion, round 0" and match.trace is not None
    assert find(engine, study, f"{text}_", "turns") == []
    assert read(engine, search.shown_targets, [match], "ann") == [make_target("a")]


def test_reasons_notes_and_decisions_name_their_author_and_trace(engine: Engine, study: Study) -> None:
    found = find(engine, study, "sky", "labels")
    assert fields(found) == ["reason by ann", "note by ann", "reason of the decision by cy"]
    assert all(match.trace is not None for match in found)
    with reading(engine) as session:
        assert search.shown_targets(session, found[:2], "ann") == []
        assert search.shown_targets(session, found, "ann") == [make_target("a")]
        assert search.shown_targets(session, found[:1], None) == [make_target("a")]


@pytest.mark.parametrize("area", search.AREAS)
def test_pages_of_one_match_each_have_all_matches(engine: Engine, study: Study, area: search.Area) -> None:
    text = {"items": "sc", "turns": "an", "labels": "sky"}[area]
    found, after = [], search.START
    with reading(engine) as session:
        while after is not None:
            after = search.parse_place(search.format_place(after))
            page = search.find(session, study.id, text, area, after=after, limit=1)
            found, after = found + page.matches, page.next
        assert found == search.find(session, study.id, text, area).matches
    assert len(found) == {"items": 1, "turns": 1, "labels": 3}[area]


def test_a_short_text_an_unknown_area_and_another_place_are_refused(engine: Engine, study: Study) -> None:
    with pytest.raises(TiebreakError, match="2 to 200 characters"):
        find(engine, study, " a ")
    with pytest.raises(TiebreakError, match="no area 'prompts'"):
        search.parse_area("prompts")
    with pytest.raises(TiebreakError, match="two numbers"):
        search.parse_place("1; drop")
