"""Tasks for trying the workbench in a browser: five kinds, with texts that have gone wrong before."""

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
CRITIQUE = options(
    ("1", 1, "Critique 1 is better", "1", "response-1"),
    ("2", 2, "Critique 2 is better", "2", "response-2"),
    ("0", 0, "Neither is better", "neither", "tie"),
)
FACTUAL = options(("1", True, "Factual", "factual", "true"), ("2", False, "Not factual", "not", "false"))
COVERED = options(("1", True, "Covered", "covered", "true"), ("2", False, "Not covered", "not", "false"))
LEVELS = (
    "Useless: no statement can be used",
    "Poor: most statements are wrong",
    "Weak: important gaps",
    "Fair",
    "Good: small gaps",
    "Very good",
    "Perfect",
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
    training = [one | {"training": True} for one in special[:2]] if study == 3 else special[:2]
    return [*training, *special[2:], *plain]


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


CLAIMS = (
    "The capital of Australia is Canberra.",
    "Canberra was founded in 1913.",
    "Sydney is larger than Canberra.",
    "The parliament moved in 1988.",
    "The city has a lake in its middle.",
    "The lake is named after the architect.",
    "Melbourne was the capital before.",
    "The name means meeting place.",
)
REFERENCE = ("The answer omits the population.", "The date of the founding is right.", "The lake's name is right.")


def aius(study: int) -> list[Task]:
    return [critique(study, number) for number in range(1, 41)]


def critique(study: int, number: int) -> Task:
    name = f"a{study}-{number}"
    parts = {"critique": CLAIMS, "reference": REFERENCE}
    targets = [
        *(claim(name, "precision", "critique", place, parts["critique"]) for place in range(len(CLAIMS))),
        *(claim(name, "recall", "reference", place, parts["reference"]) for place in range(len(REFERENCE))),
        *(rating(name, quality) for quality in ("factuality", "comprehensiveness", "overall quality")),
    ]
    above = [
        block("question", "Question", "Tell me about the capital of Australia."),
        block(
            "answer",
            "Answer",
            "Canberra, founded in 1913, is the capital; Sydney is larger. Its lake is Lake Burley Griffin.",
        ),
        block(
            "known",
            "Reference answer",
            "Canberra is the capital of Australia. It has about 450,000 inhabitants.",
            fold=True,
        ),
    ]
    columns = [
        block("critique", "Critique", " ".join(CLAIMS)),
        block("reference", "Reference critique", " ".join(REFERENCE)),
    ]
    return task(
        name, number, "aius", "Judge the critique claim by claim.", above=above, columns=columns, targets=targets
    )


def claim(name: str, group: str, where: str, place: int, texts: tuple[str, ...]) -> dict[str, Any]:
    start = sum(len(text) + 1 for text in texts[:place])
    about = {
        "number": place + 1,
        "text": texts[place],
        "aiu": f"{where}.{place + 1}",
        "block": where,
        "spans": [[start, start + len(texts[place])]],
        "atomic": True,
    }
    return target(
        f"g-{name}-{where}-{place + 1}",
        f"aiu_{group}",
        group=group,
        claim=about,
        options=FACTUAL if group == "precision" else COVERED,
    )


def rating(name: str, quality: str) -> dict[str, Any]:
    lines = [(str(n), n, line, str(n), "level") for n, line in enumerate(LEVELS, 1)]
    return target(
        f"g-{name}-{quality.split()[0]}",
        "likert",
        group="rating",
        required=False,
        question=f"Rate the {quality}",
        options=options(*lines),
    )


def scores(study: int) -> list[Task]:
    levels = options(*((str(n), n, line, str(n), "level") for n, line in enumerate(LEVELS[:5], 1)))
    found = []
    for number in range(1, 61):
        name = f"s{study}-{number}"
        how: dict[str, Any] = {"number": {"low": 0, "high": 100}} if number % 2 == 0 else {"options": levels}
        found.append(
            task(
                name,
                number,
                "scores",
                "Which score from 0 to 100 for fluency?" if number % 2 == 0 else "Which score for fluency?",
                above=[block("question", "Question", "Describe your last holiday.")],
                columns=[block("response-1", "Response", f"{LEFT} ({number})", number=1)],
                targets=[target(f"g-{name}", "score", **how)],
            )
        )
    return found


def weights(study: int) -> list[Task]:
    named = [
        {"letter": "A", "name": "accuracy", "definition": "Is it true?"},
        {"letter": "B", "name": "practicality", "definition": "Can it be done today?"},
        {"letter": "C", "name": "tone", "definition": "Is it friendly?"},
        {"letter": "D", "name": "length", "definition": "Is it short enough?"},
    ]
    five = options(*((str(n), n, str(n), str(n), "level") for n in range(1, 6)))
    found = []
    for number in range(1, 41):
        name = f"w{study}-{number}"
        qualities = [
            target(
                f"g-{name}-{quality}", "aspect_quality", group="quality", required=False, question=quality, options=five
            )
            for quality in ("relevance", "clarity", "comprehensiveness")
        ]
        found.append(
            task(
                name,
                number,
                "weights",
                "How much should each aspect count for this question?",
                above=[block("question", "Question", f"How do I sleep better? ({number})")],
                targets=[target(f"g-{name}", "aspect_weights", group="weights", aspects=named), *qualities],
            )
        )
    return found


def critiques(study: int) -> list[Task]:
    found = []
    for number in range(1, 41):
        name = f"c{study}-{number}"
        columns = [
            block("critique-1", "Critique 1", "The answer is right but leaves out the population.", number=1),
            block("critique-2", "Critique 2", "Good answer!", number=2),
        ]
        above = [
            block("question", "Question", "Tell me about Canberra."),
            block("answer", "Answer", "Canberra is the capital."),
        ]
        found.append(
            task(
                name,
                number,
                "critiques",
                "Which critique is better?",
                above=above,
                columns=columns,
                targets=[target(f"g-{name}", "preference", options=CRITIQUE)],
            )
        )
    return found


def reveal(one: Task, about: dict[str, Any]) -> dict[str, Any]:
    """What is shown after the label of a target."""
    match one["panel"]:
        case "aius" if about["group"] == "rating":
            return {"opinions": []}
        case "aius":
            value = about["claim"]["number"] % 3 != 0
            said = {
                "judge": "judge A",
                "value": value,
                "problem": "",
                "reason": "It is in every atlas.",
                "evidence": "Canberra, capital of Australia",
            }
            return {
                "opinions": [
                    said,
                    said | {"judge": "judge B", "value": True, "reason": "Widely known.", "evidence": ""},
                ]
            }
        case "weights":
            judged = [
                {"judge": "judge A", "weights": {"accuracy": 40, "practicality": 30, "tone": 20, "length": 10}},
                {"judge": "judge B", "weights": {"accuracy": 60, "practicality": 20, "tone": 10, "length": 10}},
            ]
            texts = [
                block("response-1", "Response 1", LEFT, number=1),
                block("response-2", "Response 2", RIGHT, number=2),
            ]
            return {
                "weights": judged if about["group"] == "weights" else [],
                "columns": texts if about["group"] == "weights" else [],
            }
        case "scores":
            return {"stances": [peers()]}
        case _:
            return long_debate() if one["number"] == 8 else debate(one["number"])


def peers() -> dict[str, Any]:
    turns = [("peer 1", 2, "Stiff in places."), ("peer 2", 4, "Reads well."), ("area chair", 3, "Both have a point.")]
    judges = [
        {
            "name": name,
            "turns": [
                {
                    "stage": 0,
                    "value": value,
                    "short": str(value),
                    "colour": "level",
                    "problem": "",
                    "changed": False,
                    "reason": reason,
                    "text": reason,
                }
            ],
        }
        for name, value, reason in turns
    ]
    return {
        "run": "reviews",
        "protocol": "ReFeR",
        "href": None,
        "outcome": "Area chair: 3.0",
        "stages": ["score"],
        "judges": judges,
    }


KINDS = {"disagreements": disagreements, "aius": aius, "scores": scores, "weights": weights, "critiques": critiques}
