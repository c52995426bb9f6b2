from dataclasses import replace

import pytest

from core.answers import Choice
from core.llm.reuse import SENT, DrawCounter, call_keys, content_digest
from core.trace import Ask, Spec

ASK = Ask("ann", "opinion", 0, Spec(model="m"), "Which one?", answer=Choice())


def test_every_setting_of_a_model_is_sent_or_has_no_effect_on_the_reply() -> None:
    local = {"key_variable", "timeout", "max_tokens_ceiling", "answer_format", "prompt_price", "completion_price"}
    local |= {"transcript_tokens"}
    assert set(Spec.model_fields) == {*SENT, "extra"} | local


def test_equal_content_is_numbered_over_the_rounds_of_a_trace() -> None:
    counter = DrawCounter()
    renamed = replace(ASK, speaker="ben", spec=Spec(model="m", timeout=1.0))
    assert counter.draws([ASK, replace(ASK, prompt="Another?"), renamed]) == [0, 0, 1]
    assert counter.draws([ASK]) == [2]


@pytest.mark.parametrize(
    "changed",
    [
        replace(ASK, prompt="Which?"),
        replace(ASK, system="Be fair."),
        replace(ASK, images=("https://example.org/a.png",)),
        replace(ASK, history=("Which one?", "Hm.")),
        replace(ASK, format="json"),
        replace(ASK, spec=Spec(model="m", address="http://127.0.0.1:9/v1")),
        replace(ASK, spec=Spec(model="m", extra={"min_p": 0.1})),
    ],
)
def test_what_is_sent_is_part_of_the_digest(changed: Ask) -> None:
    assert content_digest(changed) != content_digest(ASK)


def test_draws_attempts_and_repeats_are_part_of_the_key() -> None:
    keys = call_keys(replace(ASK, samples=3, draws=(0, 1, 2)), 1)
    others = [*call_keys(replace(ASK, attempt=1), 1), *call_keys(ASK, 2)]
    assert len({*keys, *others}) == 5
    assert call_keys(ASK, 1) == keys[:1]
