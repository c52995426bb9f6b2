"""The area chair's analyses as training examples for a smaller model (ReFeR, Appendix J)."""

import io
import json
from typing import Any

import pytest

from core.errors import TiebreakError
from core.formats.records import ItemRecord, RunRecord
from core.llm.client import Reply
from core.protocols.registry import PROTOCOLS
from core.trace import Ask, completed_turns
from storage.transfer.instructions import instruction_examples, trace_examples, write_jsonl
from tests.conftest import make_item
from tests.core.protocols import reviews
from tests.core.protocols.reviews import make_settings, reviews_script, run_scripted
from tests.storage.shared import import_study


def test_a_study_without_a_peer_review_has_no_examples(engine, a_study):
    with pytest.raises(TiebreakError, match="no peer review"):
        next(instruction_examples(engine, a_study))


def test_a_run_with_invalid_settings_is_skipped(engine):
    run = RunRecord(name="odd", protocol="refer", settings={"peers": 3})
    study = import_study(engine, [ItemRecord(item=make_item()), run])
    assert list(instruction_examples(engine, study)) == []


def test_a_run_whose_protocol_is_not_installed_is_named(engine):
    run = RunRecord(name="elsewhere", protocol="their-review")
    study = import_study(engine, [ItemRecord(item=make_item()), run])
    with pytest.raises(TiebreakError, match="'their-review' of run 'elsewhere' is not installed"):
        next(instruction_examples(engine, study))


def examples_of(chair: list[Any], *, all_samples: bool = False, **fields: Any) -> list[Any]:
    chosen = make_settings(samples=len(chair), **fields)
    waiting = [*chair, *[reply for reply in chair if isinstance(reply, Reply)]]
    review = run_scripted(reviews_script(waiting, a=1, b=2, c=3), chosen)
    return list(
        trace_examples(
            "run", chosen, PROTOCOLS["refer"].prompts, reviews.make_item(), review.events, all_samples=all_samples
        )
    )


def test_the_output_is_the_final_comment_and_the_instruction_a_peers_prompt() -> None:
    (example,) = examples_of([1, 3, 2, 2])
    assert example.output == "Analysis: chair thinks.\nRating: 2" and example.value == 2
    assert example.instruction.startswith("You will be given a prompt and one response")
    assert "reviewer_1" not in example.instruction
    assert (example.item, example.run, example.criterion) == ("flamingos", "run", "engaging")


def test_the_instruction_of_a_run_with_earlier_templates_is_the_prompt_that_was_sent() -> None:
    settings = make_settings()
    events = run_scripted(reviews_script([2], a=1, b=2, c=3), settings).events
    earlier = {"peer": "$input $form", "form_score": "Rating: "}
    (example,) = trace_examples("run", settings, earlier, reviews.make_item(), events)
    (first,) = {turn.prompt for turn in completed_turns(events) if turn.speaker == "b"}
    assert example.instruction == first


def test_the_output_of_a_structured_reply_is_text() -> None:
    def reply(ask: Ask) -> str:
        return '{"reasoning": "It uses the fact.", "rating": 3}' if ask.step == "chair" else "Rating: 2"

    events = run_scripted(reply, make_settings()).events
    (example,) = trace_examples("run", make_settings(), PROTOCOLS["refer"].prompts, reviews.make_item(), events)
    assert example.output == "It uses the fact.\n\nRating: 3"


def test_every_readable_sample_can_be_exported() -> None:
    refused = Reply(text="", finish="refused")
    assert [example.value for example in examples_of([1, 3, refused, 2], all_samples=True)] == [1, 3, 2]
    assert examples_of([refused]) == [], "a trace without a verdict has no examples"


def test_a_line_has_the_fields_of_training_programs() -> None:
    stream = io.StringIO()
    assert write_jsonl(examples_of([3, 3], all_samples=True), stream) == 2
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert {"instruction", "input", "output"} <= lines[0].keys() and "images" not in lines[0]
