"""Names and formats the values of verdicts and labels."""

from collections.abc import Mapping

from core.labels import Value

RESPONSE_NAMES = {1: "Response 1", 2: "Response 2", 0: "Neither"}
VERDICT_NAMES = {value: f"{name} is better" for value, name in RESPONSE_NAMES.items()}
"""The values of a preference as names, and as sentences."""


def format_value(value: Value | None) -> str:
    """Return a value as text: `2`, `2.33`, `B`, `8 : 6`, `clarity 4, brevity 3.50`; a dash for None."""
    match value:
        case None:
            return "–"
        case float():
            return f"{value:g}" if value.is_integer() else f"{value:.2f}"
        case Mapping():
            return _format_scores(value)
        case _:
            return str(value)


def _format_scores(scores: Mapping[str, float]) -> str:
    """Return scores as text: those of two responses as a ratio, all others with their names."""
    if list(scores) == ["1", "2"]:
        return " : ".join(format_value(score) for score in scores.values())
    return ", ".join(f"{name} {format_value(score)}" for name, score in scores.items())


def aspect_letter(index: int) -> str:
    """Return A, B, C ... for the aspects in their order."""
    return chr(ord("A") + index)
