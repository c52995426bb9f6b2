"""The help texts of settings."""

from pydantic import ConfigDict, Field

from core.frozen import Frozen, help_text


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


class ReadByPydantic(Child):
    """The same, read by pydantic when the class is created."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    last: int = 0
    """The last field."""


def test_a_help_text_is_the_description_or_the_docstring_below_the_field() -> None:
    assert {name: help_text(Child, name) for name in Child.model_fields} == {
        "inherited": "Inherited by the child.",
        "replaced": "The child's text, which has two lines.",
        "without": "",
        "described": "A description.",
    }


def test_a_class_whose_docstrings_pydantic_reads_has_the_same_texts() -> None:
    assert ReadByPydantic.model_fields["last"].description == "The last field."
    assert help_text(ReadByPydantic, "last") == "The last field."
    assert help_text(ReadByPydantic, "inherited") == "Inherited by the child."


def test_a_class_without_source_has_no_help_texts() -> None:
    created = type("Created", (Frozen,), {"__annotations__": {"field": int}, "field": 0, "__module__": "nowhere"})
    assert help_text(created, "field") == ""
