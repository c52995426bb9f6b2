"""Pairs of responses for the workbench in a browser, with texts that have gone wrong before."""

from typing import Any

from core.items import Response
from core.trace import Event
from tests.storage.shared import a_turn, a_verdict

ARABIC = "الماء يغلي عند درجة حرارة 100 مئوية.\nThis line is English.\nوهذا سطر عربي آخر."
LATEX = r"Since \(a^2 + b^2 = c^2\), we get \[c = \sqrt{a^2 + b^2}\] and $x_1 * y_2$ stays, C:\new\table too."
ICON = "Use :material/home: and :red[not red], <b>not bold</b> and ![x](http://example.invalid/x.png)."
TABLE = (
    "| city | inhabitants | area | elevation | mayor | founded | river |\n|---|---|---|---|---|---|---|\n"
    "| Vienna | 2,005,760 | 414.78 km² | 190 m | long name of a person | first century | Danube |\n\n"
    "```python\ndef a_function_with_a_long_name(first_argument, second_argument, third_argument, fourth_argument):\n"
    "    return first_argument + second_argument * third_argument - fourth_argument  # a comment at the far right\n```"
)
DIALOGUE = f"Person: Can I bring my dog?\nAssistant: {'Which country? ' * 40}\nPerson: And a cat, and who has to agree?"
WORDS = "The answer names the main cause first and then lists two side effects that matter for a beginner."
LEFT = (
    "Start with a short walk every morning, ten minutes at first. After a week, add two minutes a day until you reach "
    "half an hour.\n\nEat a breakfast with some protein, such as eggs or yoghurt, and drink a glass of water "
    "before coffee.\n\nKeep a note of how you slept. Most people see a difference after three weeks, and a "
    "doctor should be asked if the tiredness stays longer than six."
)
RIGHT = (
    "To feel less tired, you could try energy drinks, which work quickly. A short walk every morning also helps, ten "
    "minutes at first.\n\nSleep at least nine hours, because everybody needs nine hours of sleep.\n\nIf the "
    "tiredness stays, ask a doctor."
)


def pair(prompt: str, left: str, right: str, **fields: Any) -> dict[str, Any]:
    return {"prompt": prompt, "responses": (Response(text=left), Response(text=right))} | fields


def plain(count: int) -> list[dict[str, Any]]:
    return [pair("Why does it rain?", f"Response {n} a. {WORDS}", f"Response {n} b. {WORDS}") for n in range(count)]


SPECIAL = [
    pair("I am tired every day. What can I do that costs nothing?", LEFT, RIGHT),
    pair("متى يغلي الماء؟", ARABIC, "At 100 °C at sea level."),
    pair(r"Prove that \(c = 5\).", LATEX, ICON),
    pair("Show a table and code.", TABLE, "No table here."),
    pair("What does this program print?\n\n```python\nprint(6 * 9)\n```", "", TABLE),
    pair(DIALOGUE, "Ask your employer and your colleagues.", "Cats are always fine."),
    pair("A long question. " * 60, "long " * 4000, "short"),
]


def _debate(*rounds: tuple[tuple[int, str], ...]) -> tuple[Event, ...]:
    """A disputed debate with the value and the text of each judge in each round, on swapped responses."""
    turns = [
        a_turn(number, speaker=f"j{judge}", round=stage, reading=value, reply=text, shown=(2, 1))
        for number, (stage, judge, value, text) in enumerate(
            (stage, judge, *turn) for stage, turns in enumerate(rounds) for judge, turn in enumerate(turns)
        )
    ]
    return *turns, a_verdict()


QUOTES = 'Submission 1 gives steps that cost nothing. Submission 2 recommends "energy drinks", which do cost money.'
DEBATES = {
    1: _debate(
        ((1, "The steps are concrete and safe."), (2, "Shorter and quicker."), (1, "Safe.")),
        ((1, "It answers the cost."), (1, QUOTES), (1, "It is free.")),
    ),
}
"""Number of an item -> the events of its trace: a change of mind."""
