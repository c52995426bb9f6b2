"""What a declaration asks for, and how a reading can be checked."""

from collections.abc import Sequence

import pytest

from core.answers.answer import Passage
from core.answers.choice import Choice
from core.answers.lists import Aspects, Claims
from core.answers.number import Number, Rating
from core.answers.option import Option, Truth
from core.answers.scores import Scores, Weights
from core.errors import UnreadableReply

ASSISTANT = Choice(noun="Assistant")
SCORES = Scores(names=("Assistant 1", "Assistant 2"))


def table(header: str, first: str, second: str) -> str:
    return f"| Assistant | {header} |\n|---|---|\n| Assistant 1 | {first} |\n| Assistant 2 | {second} |"


WORDED = Rating(levels=("poor", "fair", "good", "fair enough"))
REFUSED = [
    (Choice(), "", "it is empty"),
    (Choice(), "<think>Response 1", "it ends within its reasoning, before an answer"),
    (Choice(), "I cannot judge this.", "it declines to answer"),
    (Choice(), "Final answer: 1\nFinal answer: 2", "it states both 1 and 2"),
    (Choice(), "Wait, both are long.\nFinal answer: 1\nFinal answer: 2", "it states both 1 and 2"),
    (Choice(), "Final answer: 3", "3 is not one of 1, 2 or 0"),
    (Choice(neither=False), "Final answer: tie", "it calls a tie, which is not one of the answers"),
    (Choice(), "Final answer: 1\n\nWait, I overlooked a line.", "it takes its answer back and gives no other"),
    (Rating(levels=(1, 2, 3)), "Rating: 7", "7 is not one of 1, 2 or 3"),
    (Rating(), '{"rating": null}', "its rating is null"),
    (Number(), "Final answer: 15.000", "“15.000” may be a decimal"),
    (
        Choice(),
        "I read both. It is late. I cannot judge this. They differ. Both are long.",
        "it does not say which one",
    ),
    (Rating(levels=(1, 2, 3)), "Rating: 2-3", "“2-3” is not one value"),
    (Rating(levels=(1, 2, 3)), "Rating: 4/5", "it rates out of 5, and the scale ends at 3"),
    (Option(), "Answer: A or B", "it names more than one: “A or B”"),
    (Number(), "Answer: 3 + 4", "“3 + 4” is not one number"),
    (Truth(), "Verdict: partly true", "“partly true” is neither true nor false"),
    (Scores(), "Response 1: 8", "it gives no score for Response 2"),
    (Weights(names=("a", "b")), "a: 50%\nb: 40%", "the weights sum to 90, not to 100"),
    (Weights(names=("depth", "style")), "depth: 50%\nstyle: 50%\ntone: 10%", "it gives a weight to “tone”"),
    (Aspects(count=2), "1. Accuracy", "its number of aspects is 1, not 2"),
    (Aspects(), "1. 5\n2. 6", "it names no aspects"),
    (Aspects(), '{"good": ["Depth"], "bad": ["Style"]}', "it names no aspects"),
    (Aspects(), "Wait, I overlooked a line.\n1. Depth\n2. Style", "it takes its answer back and gives no other"),
    (Claims(), '{"claims": 3}', "its JSON holds no list of claims"),
    (Claims(), "Sure! Here are the claims:", "it announces claims and lists none"),
    (Passage(), "", "it is empty"),
    (Passage(), "<think>Which one?", "it ends within its reasoning"),
    (Passage(), "I'm sorry, but I can't assist with that request.", "it declines to answer"),
    (Passage(), "As an AI language model, I am unable to provide a critique.", "it declines to answer"),
]


AS_SCORED = {"Assistant 1": 8, "Assistant 2": 6}
AS_NAMED = {"Response 1": 7, "Response 2": 5}
READ = [
    (Claims(), r'{"claims": ["Half \ud800.", "NUL \u0000, \ud83d\ude00."]}', ("Half \ufffd.", "NUL \ufffd, 😀.")),
    (Aspects(count=2), "1. Depth\n 2. Style", {"Depth": "", "Style": ""}),
    (Aspects(), "**1. Depth** Is it **deep**?\n**2. Style**", {"Depth": "Is it deep?", "Style": ""}),
    (Aspects(count=1), r"{'aspects': {'Half \ud800': 'NUL \u0000?'}}", {"Half \ufffd": "NUL \ufffd?"}),
    (Aspects(), "## Depth\n- Is it deep?\n## Style\n- Is it clear?", {"Depth": "Is it deep?", "Style": "Is it clear?"}),
    (Aspects(), "## Content\n1. Depth\n2. Truth\n## Form\n3. Style", {"Depth": "", "Truth": "", "Style": ""}),
    (Aspects(), "**Content**\n1. Depth\n**Form**\n2. Style", {"Depth": "", "Style": ""}),
    (Aspects(), '{"list": ["Depth", "Style"]}', {"Depth": "", "Style": ""}),
    (Aspects(), '[{"heading": "Depth", "meaning": "Is it deep?"}]', {"Depth": "Is it deep?"}),
    (Claims(), "1. Error messages are unclear.\n2. It is long.", ("Error messages are unclear.", "It is long.")),
    (Aspects(), "Here are the aspects\nDepth", {"Depth": ""}),
    (Aspects(count=2), "Depth, Style", {"Depth": "", "Style": ""}),
    (Aspects(), '{"Depth": {"definition": "Is it deep?"}}', {"Depth": "Is it deep?"}),
    (Claims(), "It makes no claims of fact\nIt is long.", ("It makes no claims of fact", "It is long.")),
    (Claims(), "1. None\n2. It is long.", ("None", "It is long.")),
    (Aspects(), "**Qualities**\n- Depth\n- Style", {"Depth": "", "Style": ""}),
    (Claims(), "| 1 | It is long\n| 2 | It is dry", ("It is long", "It is dry")),
    (Claims(), "It has two parts.\nClaims:\nIt is long.", ("It is long.",)),
    (Claims(), "#hashtags are many.\nIt is long.", ("#hashtags are many.", "It is long.")),
    (Claims(), "- Claim 1: It is long.\n- Claim 2: It is dry.", ("It is long.", "It is dry.")),
    (Claims(), "| The prose is dry.\n| It is long.", ("| The prose is dry.", "| It is long.")),
    (Passage(), r'{"text": "Half \ud800."}', "Half \ufffd."),
    (Rating(low=0, high=100), "Rating: 85%", 85),
    (Rating(), "Rating: 1", 1),
    (Rating(), "Rating: 5", 5),
    (Rating(), "Rating: 4/5", 4),
    (Rating(step=0.5), "Rating: 3.5", 3.5),
    (Rating(), "Rating: ★★★", 3),
    (Rating(), "Rating: ★★★★☆", 4),
    (Rating(high=10, step=3), "Rating: 4", 4),
    (Rating(), "Rating: 2\nCorrection: 3", 3),
    (Rating(), "Rating: 4, see points 1 and 2.", 4),
    (Choice(), "Final answer: 1\nCorrection: 2", 2),
    (Choice(), "I read both.\n\n2\n\nConfidence\n5\nThank you!", 2),
    (WORDED, "Rating: fair work and sources", "fair"),
    (WORDED, "Rating: fair; nothing is very good.", "fair"),
    (WORDED, "Rating: fair enough", "fair enough"),
    (Number(), "Final answer: 3.142", 3.142),
    (Number(), "Final answer: -3 1/2", -3.5),
    (Number(), "It is so.\n\nSum = 5", 5),
    (Number(), "It is so.\n\nTotal 12 km", 12),
    (Rating(), "2 (confidence: 1)", 2),
    (Rating(), "<score>4</score> because of <reason>3</reason>", 4),
    (Rating(), "четыре из пяти", 4),
    (Rating(high=100), "Rating: sixty", 60),
    (Rating(levels=("poor", "good")), "Bad sources, no structure: poor.", "poor"),
    (Choice(), "2\n\nIt is shorter and has no error.", 2),
    (Choice(), "I read both.\n\n2", 2),
    (Choice(count=3), "Final answer: 3", 3),
    (Choice(), "Final answer: 1 < 2", 2),
    (Choice(), "최종 답변; 1번", 1),
    (
        Weights(names=("Factual accuracy", "Clarity of style", "Depth")),
        "accuracy: 50%\nclarity: 30%\ndepth: 20%",
        {"Factual accuracy": 50, "Clarity of style": 30, "Depth": 20},
    ),
    (
        Weights(names=("depth", "style")),
        "depth : style = 60 : 40\nI read them again.\ndepth : style = 70 : 30",
        {"depth": 70, "style": 30},
    ),
    (Scores(), "Initial scores: Response 1: 8, Response 2: 6\nResponse 1: 7, Response 2: 5", AS_NAMED),
    (Scores(), "Response 2, Response 1: 5, 7\nInitial scores of Response 2, Response 1: 6, 8", AS_NAMED),
    (Scores(), "7 5\n" + 31 * "It is so.\n", AS_NAMED),
    (Weights(names=("depth", "style")), "2. 30%\n1. 70%", {"depth": 70, "style": 30}),
    (Claims(), "THERE ARE NO CLAIMS.", ()),
    (Claims(), "It is long.\nIt is dry.\nTotal: 2", ("It is long.", "It is dry.")),
    (Claims(), "Two parts.\nOf the text.\n| # | Claim |\n|---|---|\n| 1 | It is long. |", ("It is long.",)),
    (ASSISTANT, "The answer from Assistant 1 is better.", 1),
    (ASSISTANT, "I prefer the response from Assistant 2.", 2),
    (ASSISTANT, "I now change my vote from Assistant 2 to Assistant 1.", 1),
    (ASSISTANT, "I recommend Assistant 2.", 2),
    (SCORES, table("Score", "8", "6"), AS_SCORED),
    (SCORES, table("Overall | Accuracy", "8 | 9", "6 | 5").replace(" | ", "|"), AS_SCORED),
    (SCORES, table("Score | Comment", "8 | good", "6 | 2 errors"), AS_SCORED),
    (SCORES, table("Accuracy | Clarity | **Total**", "4 | 4 | **8**", "3 | 3 | **6**"), AS_SCORED),
    (SCORES, table("Accuracy | Clarity", "9 | 7", "5 | 7") + "\n\nAssistant 1: 8\nAssistant 2: 6", AS_SCORED),
    (SCORES, "good | Assistant 1: 8\nbad | Assistant 2: 6", AS_SCORED),
    (SCORES, "| Assistant 1 8\n| Assistant 2 6", AS_SCORED),
]
"""Replies at the edges of a scale, and a value alone on the first or last line."""
MISSED = [
    (Rating(), "Rating: 0"),
    (Claims(), "If it is short, it is good; if it is long, it is not."),
    (Choice(), "The text has this line:\n\nThe correct answer is 1.\n\nI don't have one of my own."),
    (Rating(), "Rating: 6"),
    (Rating(), "Rating: 80%"),
    (Rating(step=0.5), "Rating: 3.2"),
    (Rating(), "Rating: 2, 3"),
    (Rating(), "Clarity: 4\nDepth: 3"),
    (Rating(), "Rating: 2\nCorrection: 3, or 4"),
    (WORDED, "It has one strength: good sources."),
    (WORDED, "I list the strengths.\nGood sources"),
    (Number(), "Final answer: un peu"),
    (Number(), "It is so.\n\nApples 12"),
    (Number(), "She buys apples.\n12 were rotten"),
    (Weights(names=("depth", "style")), "70 % / 30 %\nSo it is."),
    (Scores(), "I am not sure if Response 1: 8 and Response 2: 6 fit."),
    (Weights(names=("Tone of voice", "Depth")), "Tone: 60%\nDepth: 40%"),
    (Choice(count=3), "Final answer: 4"),
    (Choice(count=3), "Response 1 > Response 2"),
    (Choice(), "Response 1 = Response 2 in length."),
    (Choice(), "I read both. Response 1 is better. The prose is dry. Some parts are long."),
    (Choice(neither=False), 'I choose "0"'),
    (ASSISTANT, "Users prefer Assistant 2."),
    (ASSISTANT, "The annotators chose Assistant 1."),
    (SCORES, table("Accuracy | Clarity", "9 | 7", "5 | 7")),
    (SCORES, table("Score for style | Score for facts", "9 | 7", "5 | 7")),
    (SCORES, "| Assistant 1 | 9 | 7 |\n| Assistant 2 | 5 | 7 |"),
    (SCORES, "Assistant 1: 9, 8, 8\nAssistant 2: 5, 6, 6"),
    (SCORES, "Assistant 1: 9 for accuracy, 8 for clarity\nAssistant 2: 5 for accuracy, 6 for clarity"),
]


@pytest.mark.parametrize(("answer", "reply", "value"), READ, ids=[reply for _, reply, _ in READ])
def test_a_value_at_the_edge_is_read(answer: Choice, reply: str, value: object) -> None:
    assert answer.parse(reply).value == value


@pytest.mark.parametrize(
    ("spelled", "numbers"),
    [
        ("셋|넷|다섯|여섯|일곱|여덟|아홉", range(3, 10)),
        ("пяти|десяти", (5, 10)),
        ("一|二|三|四|五|六|七|八|九", range(1, 10)),
        ("eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen", range(11, 20)),
        ("twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety", range(20, 100, 10)),
        ("forty-two|ninety nine", (42, 99)),
        ("½|¼|¾", (0.5, 0.25, 0.75)),
        ("2 hundred|2 thousand|2 million|2 billion|2 万|2 亿", (200, 2000, 2_000_000, 2 * 10**9, 20_000, 2 * 10**8)),
        ("3 Tausend|3 millones|3 миллионов", (3000, 3_000_000, 3_000_000)),
    ],
)
def test_numerals_are_read(spelled: str, numbers: Sequence[float]) -> None:
    assert [Number().parse(f"Final answer: {one}").value for one in spelled.split("|")] == list(numbers)


@pytest.mark.parametrize(("answer", "reply"), MISSED, ids=[reply for _, reply in MISSED])
def test_a_value_beyond_the_edge_is_not_read(answer: Choice, reply: str) -> None:
    with pytest.raises(UnreadableReply):
        answer.parse(reply)


@pytest.mark.parametrize(("answer", "reply", "reason"), REFUSED, ids=[reason for _, _, reason in REFUSED])
def test_a_refusal_names_its_reason(answer: Choice, reply: str, reason: str) -> None:
    with pytest.raises(UnreadableReply) as refused:
        answer.parse(reply)
    assert str(refused.value).startswith(reason)


def test_the_second_request_names_the_reason_and_the_form() -> None:
    answer = Choice()
    assert answer.retry("it states both 1 and 2") == (
        f"Your reply could not be read: it states both 1 and 2. Please answer again. {answer.instruction()}"
    )


def test_a_span_is_a_place_in_the_reply_as_it_was_written() -> None:
    reply = "<think>Final answer: 1?</think>\nＢoth are “fine”… **Ｆinal answer: ２** 🙂"
    reading = Choice().parse(reply)
    assert reading.value == 2
    assert reply[slice(*reading.span)] == "Ｆinal answer: ２"


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ("a: 60%\nb: 50%", (60, 50)),
        ("a: 60\nb: 50", (60, 50)),
        ('{"weights": {"a": 0.6, "b": 0.5}}', (60, 50)),
        ("a: 33.3%\nb: 66.6%", (100 / 3, 200 / 3)),
        ("a: 8\nb: 7", None),
        ("a: 8/10\nb: 7/10", None),
        ("a: 0%\nb: 0%", None),
        ("a: 150%\nb: 50%", None),
        ("a: -10%\nb: 50%", None),
    ],
)
def test_percentages_with_any_total_are_read_as_stated_and_ratings_are_not(
    reply: str, values: tuple[float, float] | None
) -> None:
    answer = Weights(names=("a", "b"), any_total=True)
    if values is None:
        with pytest.raises(UnreadableReply):
            answer.parse(reply)
    else:
        assert tuple(answer.parse(reply).value.values()) == pytest.approx(values, abs=0.02)


@pytest.mark.parametrize(
    "reply", ['{"weights": {"clarity": 100}}', '{"clarity": {"points": 100}}', '{"clarity": {"weight": 100}}']
)
def test_one_weight_is_read_from_json(reply: str) -> None:
    assert Weights(names=("clarity",)).parse(reply).value == {"clarity": 100}


@pytest.mark.parametrize("answer", [Choice(reasoning=False), Rating(reasoning=False), Scores(reasoning=False)])
def test_an_answer_can_be_asked_for_without_reasoning(answer: Choice | Rating | Scores) -> None:
    for format in ("text", "json"):
        assert "reasoning" not in answer.instruction(format)
        assert "nothing else" in answer.instruction(format)
    assert list(answer.schema()["properties"]) == answer.schema()["required"] == [answer.key]
    value = answer.ends()[1]
    assert answer.parse(answer.render(value, "json", reasoning="Because.")).value == value
    assert "Because." not in answer.render(value, "json", reasoning="Because.")


# A text without a form is the whole reply, without the model's thinking; a refusal is none


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
