"""The released debates of ScaleEval, read by the answer type that the judges are asked for."""

import json
from collections import Counter

import pytest

from core.errors import UnreadableReply
from core.protocols.scaleeval.protocol import CHOICE
from tests.paths import DATA

RESULTS = DATA / "scaleeval" / "results"


@pytest.mark.slow
@pytest.mark.skipif(not RESULTS.exists(), reason="the released debates are not next to the checkout")
def test_the_released_debates_read_as_recorded() -> None:
    """Every fourth of 3,852 replies, of which 3,832 have a usable recorded score.

    Those that are not read contradict themselves ("Submission 1 is better.\\n\\n2"), repeat the list of options, or end
    with a rating of the rubric.
    """
    counts: Counter[str] = Counter()
    for reply, score in _released()[::4]:
        usable = score in ("0", "1", "2")
        try:
            counts["as recorded" if str(CHOICE.parse(reply).value) == score else "otherwise"] += 1
        except UnreadableReply:
            counts["unread" if usable else "unread, no usable score"] += 1
    assert counts == {"as recorded": 953, "unread": 5, "unread, no usable score": 5}


def _released() -> list[tuple[str, str]]:
    files = sorted(RESULTS.glob("*/*/multiagent_score/*.jsonl"))
    debates = [debate for file in files for debate in json.loads(file.read_text(encoding="utf-8"))]
    turns = [value for debate in debates for value in debate.values() if isinstance(value, dict)]
    return [(turn["reasoning"], str(turn["score"])) for turn in turns]
