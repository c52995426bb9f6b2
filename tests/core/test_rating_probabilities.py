"""The probabilities of ratings from log probabilities, as the OpenAI protocol returns them."""

import math
from typing import Any

import pytest

from core.attempts import level_probabilities
from core.errors import UnreadableReply
from core.llm.wire import token_choices
from core.protocols.single_judge.protocol import weighted_mean

LEVELS = (1, 2, 3, 4, 5)


def logprobs(*tokens: str, at: str = "4", **probabilities: float) -> dict[str, Any]:
    """Return a field `logprobs`; each token that contains `at` has these alternatives."""
    content = []
    for token in tokens:
        found = {name.strip("_"): p for name, p in probabilities.items()} if at in token else {token: 1.0}
        listed = [{"token": name, "logprob": math.log(p)} for name, p in found.items()]
        content.append({"token": token, "logprob": math.log(found.get(token, 1.0)), "top_logprobs": listed})
    return {"content": content}


def probabilities(text: str, field: Any, value: Any = 4, span: tuple[int, int] | None = None, **given: Any) -> Any:
    return level_probabilities(given.get("levels", LEVELS), value, text, span, token_choices(field, text))


def test_the_weighted_mean_is_exact() -> None:
    found = probabilities("Rating: 4", logprobs("Rating", ":", " ", "4", _4=0.5, _5=0.3, _3=0.1, x=0.1))
    assert found == pytest.approx({"3": 0.1, "4": 0.5, "5": 0.3})
    assert list(found) == ["3", "4", "5"]
    assert weighted_mean(found) == pytest.approx((3 * 0.1 + 4 * 0.5 + 5 * 0.3) / 0.9)


def test_tokens_with_spaces_and_quotes_are_the_same_level() -> None:
    field = logprobs("Rating:", " 4")
    field["content"][1]["top_logprobs"] = [
        {"token": token, "logprob": math.log(p)} for token, p in ((" 4", 0.4), ("4", 0.2), ("**4**", 0.1), (" 2", 0.3))
    ]
    assert probabilities("Rating: 4", field) == pytest.approx({"2": 0.3, "4": 0.7})


def test_a_rating_is_found_after_the_same_number_in_the_analysis() -> None:
    text = "4 points are made.\nRating: 4 out of 5"
    tokens = ("4", " points are made.\nRating: ", "4", " out of ", "5")
    field = logprobs(*tokens, _4=0.9, _5=0.1)
    field["content"][0]["top_logprobs"] = [{"token": "4", "logprob": 0.0}]
    assert probabilities(text, field, span=(19, 28)) == pytest.approx({"4": 0.9, "5": 0.1})


def test_in_json_the_last_number_is_the_rating() -> None:
    text = '{"analysis": "It has 4 points.", "rating": 4}'
    field = logprobs('{"analysis": "It has ', "4", ' points.", "rating": ', "4", "}", _4=0.8, _3=0.2)
    field["content"][1]["top_logprobs"] = [{"token": "4", "logprob": 0.0}]
    assert probabilities(text, field) == pytest.approx({"3": 0.2, "4": 0.8})


def test_tokens_of_parts_of_characters_have_the_right_place() -> None:
    text = "Bewertung für é: 4"
    pieces = [b"Bewertung f\xc3", b"\xbcr \xc3\xa9: ", b"4"]
    field = {"content": [{"token": "?", "bytes": list(piece), "logprob": 0.0, "top_logprobs": []} for piece in pieces]}
    field["content"][2]["top_logprobs"] = [{"token": "4", "logprob": 0.0}]
    assert probabilities(text, field) == {"4": 1.0}


@pytest.mark.parametrize(
    ("text", "field", "value", "problem"),
    [
        ("Rating: 4", None, 4, "no log probabilities"),
        ("Rating: 4", {"content": "4"}, 4, "no log probabilities"),
        ("Rating: 4", logprobs("other text 4"), 4, "no log probabilities"),
        ("Rating: 4", {"content": [{"token": "Rating: 4", "top_logprobs": [{"token": 1}]}]}, 4, "no log probabilities"),
        ("Rating: 4", logprobs("Rating: 4", x=1.0), 4, "not one token"),
        ("Rating: four", logprobs("Rating: four 4"[:12], at="x"), 4, "no log probabilities"),
        ("Rating: 4", logprobs("Rating: ", "4", _4=0.2, x=0.7), 4, "only 0.20 of the probability is on ratings"),
        ("Rating: 4", logprobs("Rating: ", "4", _4=float("nan")), 4, "no log probabilities"),
    ],
)  # fmt: skip
def test_without_usable_probabilities_the_reason_is_stated(text: str, field: Any, value: Any, problem: str) -> None:
    with pytest.raises(UnreadableReply, match=problem):
        probabilities(text, field, value)


def test_levels_of_two_digits_that_may_be_two_tokens_are_refused() -> None:
    field = logprobs("Rating: ", "4", _4=0.7, _1=0.3)
    with pytest.raises(UnreadableReply, match="first tokens of 1 and 10 cannot be distinguished"):
        probabilities("Rating: 4", field, levels=range(1, 11))
    field = logprobs("Rating: ", "4", _4=0.7, _1=0.2, _10=0.1)
    assert probabilities("Rating: 4", field, levels=range(1, 11)) == pytest.approx({"1": 0.2, "4": 0.7, "10": 0.1})
