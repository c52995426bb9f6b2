"""Clusters of a judge's replies, compared with people's labels."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine

from core.errors import TiebreakError
from core.formats.records import ItemRecord, Record
from storage.reports import alignment, rationales
from storage.reports.judge_ranking import RankingQuery
from tests.conftest import make_item, make_label
from tests.core.statistics.measures.test_texts import WORDS, text_of
from tests.storage.reports.test_alignment import import_study, make_trace
from tests.storage.shared import RUN

QUERY = RankingQuery("preference", "helpfulness")


def records(items: int = 80) -> Iterator[Record]:
    """Yield a judge that is wrong on 70 % of the items where it writes about length, and on 5 % elsewhere."""
    rng, texts = random.Random(2), np.random.default_rng(3)
    yield RUN.model_copy(update={"name": "r"})
    for number in range(items):
        topic, item = number % 2, f"i{number}"
        wrong = rng.random() < (0.7 if topic == 0 else 0.05)
        yield ItemRecord(item=make_item(item))
        yield from (make_label(1, name, item) for name in ("ann", "ben"))
        trace = make_trace(item, ("j", "verdict", 2 if wrong else 1)).model_dump()
        trace["events"][0]["turn"]["reply"] = text_of(topic, texts)
        yield make_trace(item).model_validate(trace)


def test_the_cluster_in_which_the_judge_is_wrong_is_found_and_opens_its_targets(engine: Engine) -> None:
    data = alignment.load_data(engine, import_study(engine, records()), "majority")
    with engine.connect() as connection, rationales.Session(connection) as session:
        found = rationales.report(session, data, QUERY, "j")
    assert len(found.places) == 80 and not found.reason
    about_length = [row for row in found.rows if row.found and row.excess > 0]
    assert about_length and all(set(row.slice[1].replace(",", "").split()) <= set(WORDS[0]) for row in about_length)
    listed = rationales.differing_targets(data, QUERY, found, "j", about_length[0].slice)
    assert len(listed.items) == about_length[0].differing > 0
    assert all(int(item.target.item[1:]) % 2 == 0 for item in listed.items)
    hidden = rationales.differing_targets(data, QUERY, found, "j", about_length[0].slice, "stranger")
    assert (hidden.items, hidden.hidden) == ((), about_length[0].differing)
    assert not rationales.differing_targets(data, QUERY, found, "j", ("rationale", "unknown")).items


def test_few_replies_have_a_reason_and_an_unknown_judge_a_sentence(engine: Engine) -> None:
    study = import_study(engine, records(20))
    name, found = rationales.of_study(engine, study)
    assert (name, found.rows) == ("j", ()) and "20 replies" in found.reason
    with pytest.raises(TiebreakError, match="no judge called 'k'"):
        rationales.of_study(engine, study, "k")
