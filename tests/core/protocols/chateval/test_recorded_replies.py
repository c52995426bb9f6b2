"""The released discussions of ChatEval, read by the answer types that the personas are asked for."""

from collections import Counter

import pytest

from core.formats.published.chateval import SUMMARY_CRITERIA, read
from core.formats.records import RunRecord, TraceRecord
from core.trace import completed_turns
from tests.paths import DATA

RELEASE = DATA / "chateval"


@pytest.mark.slow
@pytest.mark.skipif(not RELEASE.exists(), reason="the released discussions are not next to the checkout")
def test_the_released_discussions_read_as_in_version_0_1_or_better() -> None:
    """All 545 votes and 796 scores that version 0.1 read have the same value.

    Four scores of one message are read since then: they are followed by an explanation, "Relevance: 3 - The summary
    captures...". What is not read is silence, a message that was cut off in its answer, or one without that criterion.
    """
    runs: dict[str, str] = {}
    votes: Counter[object] = Counter()
    scores: Counter[bool] = Counter()
    for record in read(RELEASE):
        if isinstance(record, RunRecord):
            runs[record.name] = record.criterion
        elif isinstance(record, TraceRecord):
            readings = [turn.reading for turn in completed_turns(record.events)]
            if runs[record.run] in SUMMARY_CRITERIA:
                scores.update(reading is not None for reading in readings)
            else:
                votes.update(readings)
    assert votes == {1: 378, 2: 144, 0: 23, None: 15}
    assert scores == {True: 800, False: 64}
