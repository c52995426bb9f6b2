"""The help texts of settings."""

import pytest
from pydantic import Field

from core.frozen import Frozen, help_text
from core.wording import short_names
from storage.reports.run_comparison import differences


class Parent(Frozen):
    """A class with a field."""

    inherited: int = 0
    """Inherited by the child."""
    replaced: int = 0
    """The parent's text."""


class Child(Parent):
    """Fields of all kinds."""

    replaced: int = 1
    """The child's text, which has
    two lines."""
    without: int = 0
    described: int = Field(default=0, description="A description.")
    """A docstring."""

    def method(self) -> None:
        """Do nothing."""


def test_a_help_text_is_the_description_or_the_docstring_below_the_field() -> None:
    assert {name: help_text(Child, name) for name in Child.model_fields} == {
        "inherited": "Inherited by the child.",
        "replaced": "The child's text, which has two lines.",
        "without": "",
        "described": "A description.",
    }


#


BASE = {
    "judges": [{"name": "a", "spec": {"model": "m", "temperature": 0.0}}, {"name": "b", "spec": {"model": "m"}}],
    "rounds": 3,
    "shuffle": True,
    "scale": {"categories": [1, 2, 3]},
    "steps": "",
}


def with_(**changes: object) -> dict[str, object]:
    return {**BASE, **changes}


def test_only_what_differs_is_listed_under_the_paths_of_axes() -> None:
    other = with_(
        judges=[{"name": "a", "spec": {"model": "m", "temperature": 0.7}}, {"name": "b", "spec": {"model": "n"}}],
        shuffle=False,
    )
    assert [(one.path, one.values, one.is_text) for one in differences([BASE, other])] == [
        ("judges.0.temperature", ("0", "0.7"), False),
        ("judges.1.model", ("m", "n"), False),
        ("shuffle", ("true", "false"), False),
    ]
    assert differences([BASE, with_(), BASE]) == []


def test_a_setting_that_a_run_does_not_have_is_a_dash() -> None:
    values = {one.path: one.values for one in differences([BASE, {"rounds": 3, "order": "simultaneous"}])}
    assert values["order"] == ("–", "simultaneous") and values["scale.categories"] == ("1, 2, 3", "–")
    assert "rounds" not in values and "steps" not in values


def test_a_long_text_is_compared_by_line() -> None:
    texts = ["Read.\nJudge the response.\nAnswer.", "Read.\nJudge the response twice.\nAnswer."]
    (long,) = differences([with_(steps=text) for text in texts])
    assert long.path == "steps" and long.is_text
    assert long.lines(1) == [
        "@@ -1,3 +1,3 @@", " Read.", "-Judge the response.", "+Judge the response twice.", " Answer.",
    ]  # fmt: skip


def test_templates_that_only_one_run_has_differ() -> None:
    texts = [{"a": "same", "b": "one"}, {"a": "same", "c": "two"}, {"a": "same", "b": "one"}]
    found = differences([{}, {}, {}], texts)
    assert [(one.path, one.values) for one in found] == [("b", ("one", "–", "one")), ("c", ("–", "two", "–"))]


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["e · x · general · repeat 1", "e · y · general · repeat 1"], ["x", "y"]),
        (["e · x · 1", "e · y · 2"], ["x · 1", "y · 2"]),
        (["first", "second"], ["first", "second"]),
        (["a", "a · a"], ["a", "a · a"]),
        (["e · x", "e"], ["e · x", "e"]),
    ],
)
def test_names_of_runs_are_shown_without_their_common_parts(names: list[str], short: list[str]) -> None:
    assert short_names(names) == dict(zip(names, short, strict=True))
