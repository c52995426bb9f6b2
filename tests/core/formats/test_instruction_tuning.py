"""What the area chair said, as examples that a smaller model can learn to judge from (ReFeR, Appendix J)."""

import io
import json
from typing import Any

from core.formats.instruction_tuning import examples, write
from core.llm.client import Reply
from core.protocols.registry import PROTOCOLS
from tests.core.protocols.reviews import an_item, play, saying, settings


def taught(chair: list[Any], *, every: bool = False, **fields: Any) -> list[Any]:
    chosen = settings(samples=len(chair), **fields)
    waiting = [*chair, *[one for one in chair if isinstance(one, Reply)]]
    review = play(saying(waiting, a=1, b=2, c=3), chosen)
    return list(examples("run", chosen, PROTOCOLS["refer"].prompts, an_item(), review.events, every=every))


def test_the_final_comment_is_the_output_and_a_peer_s_prompt_the_instruction() -> None:
    (one,) = taught([1, 3, 2, 2])
    assert one.output == "Analysis: chair thinks.\nRating: 2" and one.value == 2
    assert one.instruction.startswith("You will see a prompt and one response") and "Reviewer 1" not in one.instruction
    assert (one.item, one.run, one.criterion) == ("flamingos", "run", "engaging")


def test_every_sample_that_could_be_read_can_be_had() -> None:
    assert [one.value for one in taught([1, 3, Reply(text="", finish="refused"), 2], every=True)] == [1, 3, 2]


def test_a_trace_without_a_verdict_teaches_nothing() -> None:
    assert taught([Reply(text="", finish="refused")]) == []


def test_a_line_is_json_that_training_programs_read() -> None:
    stream = io.StringIO()
    assert write(taught([3, 3], every=True), stream) == 2
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {"instruction", "input", "output"} <= lines[0].keys() and "images" not in lines[0]
