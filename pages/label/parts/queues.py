"""The names of the queues, and the pages that they are labelled on."""

from collections.abc import Mapping

from pages.parts import shell

TITLES: Mapping[str, str] = {
    "disagreements": "Disagreements",
    "scores": "Scores",
    "answers": "Answers",
    "weights": "Aspect weights",
    "aius": "AIUs",
    "critiques": "Critique comparison",
    "critique_ratings": "Critique ratings",
    "refined_answers": "Refined answers",
}
SCRIPTS: Mapping[str, str] = {
    "disagreements": "label/disagreements.py",
    "scores": "label/scores.py",
    "answers": "label/scores.py",
    "weights": "label/weights.py",
    "aius": "label/aius.py",
    "critiques": "label/critiques.py",
    "critique_ratings": "label/critiques.py",
    "refined_answers": "label/critiques.py",
}
CRITIQUE_TASKS: Mapping[str, str] = {
    "critiques": "Compare critiques",
    "critique_ratings": "Rate critiques",
    "refined_answers": "Compare refined answers",
}
"""The queues of one page, and their names in its URL."""


def address(queue: str) -> dict[str, str]:
    """Return the URL parameters of the page, besides the study, if it has several queues."""
    return {"task": CRITIQUE_TASKS[queue]} if queue in CRITIQUE_TASKS else {}


def page(queue: str) -> str:
    """Return the path of the page of a queue."""
    return shell.page_path(SCRIPTS[queue])
