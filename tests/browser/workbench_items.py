"""Pairs of responses for the workbench in a browser, with texts that have gone wrong before."""

from typing import Any

Task = dict[str, Any]

ARABIC = "الماء يغلي عند درجة حرارة 100 مئوية.\nThis line is English.\nوهذا سطر عربي آخر."
LATEX = r"Since \(a^2 + b^2 = c^2\), we get \[c = \sqrt{a^2 + b^2}\] and $x_1 * y_2$ stays, C:\new\table too."
ICON = "Use :material/home: and :red[not red], <b>not bold</b> and ![x](http://example.invalid/x.png)."
TABLE = (
    "| city | inhabitants | area | elevation | mayor | founded | river |\n|---|---|---|---|---|---|---|\n"
    "| Vienna | 2,005,760 | 414.78 km² | 190 m | long name of a person | first century | Danube |\n\n"
    "```python\ndef a_function_with_a_long_name(first_argument, second_argument, third_argument, fourth_argument):\n"
    "    return first_argument + second_argument * third_argument - fourth_argument  # a comment at the far right\n```"
)
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


def options(*given: tuple[str, Any, str, str, str]) -> list[dict[str, Any]]:
    return [dict(zip(("key", "value", "label", "short", "colour"), one, strict=True)) for one in given]


PREFERENCE = options(
    ("1", 1, "Response 1 is better", "1", "response-1"),
    ("2", 2, "Response 2 is better", "2", "response-2"),
    ("0", 0, "Neither is better", "neither", "tie"),
)


def block(name: str, title: str, text: str, *, number: int = 0, form: str = "plain", **more: Any) -> dict[str, Any]:
    return {"id": name, "title": title, "format": form, "text": text} | ({"number": number} if number else {}) | more


def target(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "kind": kind, "group": "", "required": True, "question": ""} | more


def task(name: str, number: int, panel: str, question: str, **more: Any) -> Task:
    blank: Task = {"criterion": None, "scenario": None, "above": [], "columns": [], "targets": [], "training": False}
    return blank | {"id": name, "number": number, "panel": panel, "question": question} | more


HELPFUL = {
    "name": "helpfulness",
    "definition": "Does the response help the person who asked to do what they wanted?",
    "rubric": ["Ignores the request", "Helps in part", "Does all that was asked"],
}


def pair(name: str, number: int, prompt: str, left: str, right: str, form: str = "plain", **more: Any) -> Task:
    columns = [
        block("response-1", "Response 1", left, number=1, form=form),
        block("response-2", "Response 2", right, number=2, form=form),
    ]
    return task(
        name,
        number,
        "choice",
        "Which response is more helpful?",
        criterion=HELPFUL,
        scenario="brainstorming",
        above=[block("question", "Question", prompt)],
        columns=columns,
        targets=[target(f"g-{name}", "preference", options=PREFERENCE)],
    ) | (more)


def disagreements(study: int) -> list[Task]:
    """320 pairs; the first ones have the texts that are hard to show."""
    prefix = f"t{study}"
    turns = [
        {"speaker": "person", "text": "Can I bring my dog to the office?"},
        {"speaker": "assistant", "text": "Which country are you in?"},
        {"speaker": "person", "text": "Austria. And what about a cat, and who has to agree?"},
    ]
    dialogue = {"id": "question", "title": "Dialogue", "format": "dialogue", "turns": turns}
    special = [
        pair(f"{prefix}-1", 1, "I am tired every day. What can I do that costs nothing?", LEFT, RIGHT),
        pair(f"{prefix}-2", 2, "متى يغلي الماء؟", ARABIC, "At 100 °C at sea level."),
        pair(f"{prefix}-3", 3, r"Prove that \(c = 5\).", LATEX, ICON),
        pair(f"{prefix}-4", 4, "Show a table and code.", TABLE, "No table here.", form="markdown"),
        pair(f"{prefix}-5", 5, "Say something.", "", TABLE),
        pair(f"{prefix}-6", 6, "", "Ask your employer and your colleagues.", "Cats are always fine.", above=[dialogue]),
        pair(f"{prefix}-7", 7, "A long question. " * 60, "long " * 4000, "short"),
    ]
    plain = [
        pair(
            f"{prefix}-{n}",
            n,
            f"Question {n}: why does it rain?",
            f"Response {n} a. {WORDS}",
            f"Response {n} b. {WORDS}",
        )
        for n in range(8, 321)
    ]
    return [*special, *plain]


def debate(number: int) -> dict[str, Any]:
    """The trace of a pair: three judges, two rounds, one change of mind."""
    text = "Submission 1 gives steps that cost nothing. Submission 2 recommends energy drinks, which do cost money."
    swapped = [{"start": 0, "end": 12, "column": "response-2"}, {"start": 44, "end": 56, "column": "response-1"}]
    quote = {"block": "response-2", "start": 34, "end": 47} if number == 1 else None

    def turn(stage: int, value: int | None, reason: str, **more: Any) -> dict[str, Any]:
        shown = {None: "–", 0: "tie", 1: "1", 2: "2"}[value]
        return {
            "stage": stage,
            "value": value,
            "short": shown,
            "problem": "",
            "changed": False,
            "reason": reason,
        } | more

    judges = [
        {
            "name": "judge A",
            "turns": [
                turn(0, 1, "The steps are concrete and safe.", text="The steps are concrete and safe."),
                turn(1, 1, "It answers the cost.", text="It answers the cost."),
                turn(
                    2, 1, "Concrete, free, and it says when to see a doctor.", text="Concrete, free, and it says when."
                ),
            ],
        },
        {
            "name": "judge B",
            "turns": [
                turn(0, 2, "Shorter and quicker.", text="Shorter and quicker."),
                turn(
                    1,
                    1,
                    text.split(". ")[0] + ".",
                    text=text,
                    references=swapped,
                    changed=True,
                    passages=[quote] if quote else [],
                ),
                turn(2, 1, text.split(". ")[0] + ".", text=text, references=swapped),
            ],
        },
        {
            "name": "judge C",
            "turns": [
                turn(0, None, "", problem="refused to answer", text=""),
                turn(
                    1,
                    2,
                    "The second one mentions sleep, which is the most common cause.",
                    text="Sleep is the most common cause.",
                ),
                turn(
                    2,
                    2,
                    "Sleep is the most common cause of tiredness.",
                    text="Sleep is the most common cause of tiredness.",
                ),
            ],
        },
    ]
    grid = {
        "run": "trio",
        "protocol": "ScaleEval",
        "href": "/traces?trace=93",
        "outcome": "No consensus after 2 rounds",
        "stages": ["first", "round 1", "round 2"],
        "judges": judges,
    }
    return {"stances": [grid]}


def long_debate() -> dict[str, Any]:
    """Five judges and forty rounds of about 1,200 characters each."""
    words = f"{WORDS} " * 12
    judges = [
        {
            "name": f"judge {name}",
            "turns": [
                {"stage": stage, "value": 1 + (stage + place) % 2, "short": str(1 + (stage + place) % 2), "problem": ""}
                | {"changed": stage > 0, "reason": words[:120], "text": words, "references": []}
                for stage in range(41)
            ],
        }
        for place, name in enumerate("ABCDE")
    ]
    stages = ["first", *(f"round {number}" for number in range(1, 41))]
    grid = {"run": "long", "protocol": "ScaleEval", "href": None, "outcome": "No consensus after 40 rounds"}
    return {"stances": [grid | {"stages": stages, "judges": judges}]}


def reveal(one: Task) -> dict[str, Any]:
    """What is shown after the label of a target."""
    return long_debate() if one["number"] == 8 else debate(one["number"])
