"""Every value survives rendering and parsing; any text is read or refused, and soon."""

import json
import time
import timeit
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.answers.answer import Answer, Format, Passage, Reading
from core.answers.choice import Choice
from core.answers.lists import Aspects, Claims
from core.answers.number import Number, Rating
from core.answers.option import Option
from core.answers.scores import Scores, Weights
from core.errors import UnreadableReply
from tests.core.answers.replies import ANSWERS, SETS, cases

SECONDS = 0.5
"""Ten times the limit that the benchmark measures, because other programs run too; quadratic work takes longer."""
LONGEST = 100_000
FORMATS: tuple[Format, ...] = ("text", "json")
EVERY = [answer for declared in ANSWERS.values() for answer in declared.values()]
PIECES = sorted({case.reply for name in SETS for case in cases(name)})

WORDS = (
    "Final answer: ~Response 1~is better~true~false~%~/10~<think>~</think>~\\boxed{~Rating: ~not ~if ~10~0.5~1,000~"
    'Accuracy: ~helpfulness~回答1~更好~```~```json\n~{"answer": ~"reasoning": "~wait, ~the claim ~and ~or ~because ~'
    "a b c ~[[~1. ~- ~**~<a>~1 000 ~30% each ~Accuracy\nScore: 4\n~name: a\n~so: ~I choose ~No. ~/* ~'\\'~| 9 ~"
    "\nAssistant 1 | ~the first ~zwei"
)
"""Beginnings, marks and words of answers."""
PARTS = st.sampled_from(
    [
        *" \n12AB.,:()[]{}\"'*|-><#\\éßİ★是\u2028\U0001f600",
        *WORDS.split("~"),
        "Rating: 4" + " " * 150,
        "9" + " " * 90,
    ]
)
REPEATED = st.builds(lambda part, count, rest: (part * count + rest)[:LONGEST], PARTS, st.integers(1, LONGEST), PARTS)
MIXED = st.builds(
    lambda parts, count: ("".join(parts) * count)[:LONGEST], st.lists(PARTS, max_size=30), st.integers(1, 20_000)
)
JOINED = st.builds(
    lambda pieces, count: ("\n".join(pieces) * count)[:LONGEST],
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.integers(1, 200),
)
TEXTS = st.one_of(st.text(max_size=2_000), REPEATED, MIXED, JOINED)

LINE = st.from_regex(r"[A-Z][a-z]{1,9}( [a-zA-Z0-9,;'()\"%-]{1,9}){1,10}[.!]", fullmatch=True)
NAME = st.from_regex(r"[A-Z][a-z]{3,9}( [a-z]{3,9}){0,2}", fullmatch=True)


def survives(answer: Answer[Any], value: Any, reasoning: str = "") -> None:
    for form in FORMATS:
        reading = answer.parse(answer.render(value, form, reasoning))
        assert reading.value == value and type(reading.value) is type(value)


@pytest.mark.parametrize("answer", EVERY, ids=repr)
@pytest.mark.parametrize("form", FORMATS)
def test_what_an_instruction_shows_is_read(answer: Answer[Any], form: Format) -> None:
    for value in answer.ends():
        survives(answer, value)
        if value != () and answer.reasoning:
            survives(answer, value, "It is close, but I have made up my mind.")
    assert answer.instruction(form) in answer.retry("it states no answer", form)


@pytest.mark.parametrize("answer", EVERY, ids=repr)
def test_a_schema_is_strict_and_has_the_reasoning_first(answer: Answer[Any]) -> None:
    schema = answer.schema()
    assert list(schema["properties"]) == schema["required"] == [*["reasoning"] * answer.reasoning, answer.key]
    assert schema["additionalProperties"] is False
    for value in answer.ends():
        assert list(json.loads(answer.render(value, "json"))) == schema["required"]


@given(
    st.integers(1, 5), st.booleans(), st.booleans(), st.sampled_from(["Response", "Submission", "Critique"]), st.data()
)
def test_choices_survive(count: int, letters: bool, neither: bool, noun: str, data: st.DataObject) -> None:
    answer = Choice(count=count + 1, letters=letters, neither=neither, noun=noun)
    survives(answer, data.draw(st.integers(0 if neither else 1, count + 1)))


@given(st.integers(0, 10), st.integers(1, 100), st.sampled_from([None, 1, 0.5, 0.1]), st.data())
def test_ratings_survive(low: int, length: int, step: float | None, data: st.DataObject) -> None:
    answer = Rating(low=low, high=low + length, step=step)
    steps = data.draw(st.integers(0, int(length / (step or 0.01))))
    value = round(low + steps * (step or 0.01), 2)
    survives(answer, int(value) if value.is_integer() else value) if isinstance(value, float) else survives(
        answer, value
    )


@given(st.lists(NAME, min_size=2, max_size=5, unique_by=str.lower), st.data())
def test_ratings_with_words_survive(levels: list[str], data: st.DataObject) -> None:
    survives(Rating(levels=tuple(levels)), data.draw(st.sampled_from(levels)))


@given(st.integers(2, 6), st.data())
def test_scores_survive(count: int, data: st.DataObject) -> None:
    answer = Scores(names=tuple(f"Response {number}" for number in range(1, count + 1)), high=10)
    survives(answer, {name: data.draw(st.integers(1, 10)) for name in answer.names})


@given(st.lists(NAME, min_size=2, max_size=5, unique_by=str.lower), st.sampled_from([None, 0.5]), st.data())
def test_scores_of_criteria_survive(names: list[str], step: float | None, data: st.DataObject) -> None:
    answer = Scores(names=tuple(names), low=0, high=5, step=step)
    value = {name: data.draw(st.integers(0, 10)) / 2 for name in names}
    survives(answer, {name: int(one) if one.is_integer() else one for name, one in value.items()})


@given(st.sampled_from("ABCDEFGH"))
def test_options_survive(letter: str) -> None:
    survives(Option(letters="ABCDEFGH"), letter)


@given(st.one_of(st.integers(-(10**9), 10**9), st.decimals(-9999, 9999, places=2).map(float)))
def test_numbers_survive(value: float) -> None:
    survives(Number(), int(value) if float(value).is_integer() else value)


@given(st.lists(LINE, max_size=12).map(tuple))
def test_claims_survive(claims: tuple[str, ...]) -> None:
    survives(Claims(), claims)


@given(st.lists(LINE, min_size=1, max_size=5).map("\n\n".join))
def test_passages_survive(text: str) -> None:
    survives(Passage(), text)


@given(st.lists(NAME, min_size=1, max_size=8, unique_by=str.lower), st.booleans(), st.data())
def test_aspects_survive(names: list[str], definitions: bool, data: st.DataObject) -> None:
    definition = LINE if definitions else st.just("")
    survives(Aspects(count=len(names), definitions=definitions), {name: data.draw(definition) for name in names})


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=6))
def test_weights_survive(raw: list[int]) -> None:
    answer = Weights(names=("Accuracy", "Depth", "Clarity of style", "Is it kind?", "Humour", "Length")[: len(raw)])
    whole = {name: 100 * one / sum(raw) for name, one in zip(answer.names, raw, strict=True)}
    for form in FORMATS:
        value = answer.parse(answer.render(whole, form)).value
        assert list(value) == list(answer.names)
        assert value == pytest.approx(whole) and sum(value.values()) == pytest.approx(100)


def seconds(answer: Answer[Any], text: str) -> float:
    """The processor time that a text takes; the better of two runs, since other programs run too."""
    return min(timeit.repeat(lambda: outcome(answer, text), timer=time.process_time, number=1, repeat=2))


def outcome(answer: Answer[Any], text: str) -> Reading[Any] | str:
    try:
        return answer.parse(text)
    except UnreadableReply as reason:
        return str(reason)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of a text that fails
@settings(
    max_examples=settings().max_examples * 2 // 5,  # each text is read by every answer
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(TEXTS)
def test_any_text_is_read_or_refused_soon(text: str) -> None:
    for declared in ANSWERS.values():
        answer = declared["default"]
        found = outcome(answer, text)
        if isinstance(found, str):
            assert 0 < len(found) < 300
        else:
            assert 0 <= found.span[0] <= found.span[1] <= len(text)
        assert seconds(answer, text) < SECONDS, (type(answer), len(text), text[:60])
