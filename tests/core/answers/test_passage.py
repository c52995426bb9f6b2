"""A text without a form is the whole reply, without the model's thinking; a refusal is none."""

import pytest

from core.answers import Passage, UnreadableReply


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("  Option B is right.\n", "Option B is right."),
        ("<think>Which one?</think>\n\nOption B.\n\nIt floats.", "Option B.\n\nIt floats."),
        ("Hm, let me see.\n</think>\nOption B.", "Option B."),
        ("The date is missing.", "The date is missing."),
        ("I'm sorry for the delay of your parcel.", "I'm sorry for the delay of your parcel."),
        ("I cannot recommend the first plan: it costs more.", "I cannot recommend the first plan: it costs more."),
    ],
)
def test_the_text_is_read_with_its_place(reply: str, text: str) -> None:
    reading = Passage().parse(reply)
    assert reading.value == text == reply[slice(*reading.span)]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "it is empty"),
        ("<think>Which one?", "it ends within its reasoning"),
        ("I'm sorry, but I can't assist with that request.", "it declines to answer"),
        ("I cannot help with that.", "it declines to answer"),
        ("As an AI language model, I am unable to provide a critique.", "it declines to answer"),
    ],
)
def test_a_reply_without_a_text_is_unreadable(reply: str, reason: str) -> None:
    with pytest.raises(UnreadableReply, match=reason):
        Passage().parse(reply)


def test_the_instruction_names_the_text() -> None:
    assert Passage(noun="critique").instruction() == (
        "Write only the critique, without an introduction or a closing remark."
    )
