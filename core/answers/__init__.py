"""Answer types: each declares what a judge is asked for, and how a reply is parsed.

    from core.answers.choice import Choice

    answer = Choice(noun="Submission")
    prompt = f"{material}\\n\\n{answer.instruction()}"      # or instruction("json") together with answer.schema()
    try:
        reading = answer.parse(reply)                     # value 1, 2 or 0; rule "labelled"; span (120, 135)
    except UnreadableReply as reason:
        second = answer.retry(str(reason))                # the reason, and the form once more

=========  ======================================  ==========================================
Type       A value                                 The last lines of a well-formed reply
=========  ======================================  ==========================================
Choice     1, 2, ... or 0 for neither              Final answer: 2
Rating     4, 3.5, "good"                          Rating: 4
Scores     {"Response 1": 8, "Response 2": 7.5}    Response 1: 8 / Response 2: 7.5
Option     "B"                                     Final answer: B
Number     42                                      Final answer: 42
Truth      True, False                             Final answer: true
Claims     ("One thing holds.", "So does another.")  1. One thing holds. / 2. So does another.
Aspects    {"Accuracy": "Are the facts right?"}    1. Accuracy: Are the facts right?
Weights    {"Accuracy": 70.0, "Clarity": 30.0}     Accuracy: 70% / Clarity: 30%
Passage    "A text without a form."                A text without a form.
=========  ======================================  ==========================================

A parser accepts both formats, whichever was requested. It considers, in this order of priority, structured output,
marks around an answer (`\\boxed{2}`, `<answer>2</answer>`, `[[A]]`) and labels that call it final; other labels and the
last line; and plain sentences at the end or the beginning. Names take precedence over positions. Two answers that
differ are unreadable, unless the later one announces a correction; text that is negated, quoted, conditional, hedged or
the view of another person is no answer. No value is guessed: a wrong value is worse than none.

The words that parsers know are in `words.toml`.
"""
