"""CSV downloads."""

from dataclasses import dataclass

from pages.parts import downloads


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    name: str
    value: float


def test_formulas_are_quoted_and_negative_numbers_are_not() -> None:
    assert downloads.dataclass_csv(Line, [Line("=A1", -0.5)]) == "name,value\n'=A1,-0.5\n"
