"""Refuses settings of a model that no call can use, before a run is created.

The settings of stored runs are not checked again: they can be opened, whatever they contain.
"""

import math
from collections.abc import Iterator

from core.frozen import Frozen
from core.llm.chat_request import FIXED
from core.trace import Spec, model_specs

REASONING_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "default")
"""The levels of the providers; a model accepts some of them."""
MOST_TOKENS = 10_000_000
LONGEST_TIMEOUT = 86_400.0
"""Seconds."""
RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "max_tokens": (1, MOST_TOKENS),
    "max_tokens_ceiling": (1, MOST_TOKENS),
    "timeout": (0.1, LONGEST_TIMEOUT),
    "seed": (-(2**63), 2**63 - 1),
}
"""The lowest and the highest value of each number."""
OWN_SETTINGS = ("temperature", "top_p", "seed", "max_tokens")
"""Parameters with a setting of their own. `reasoning_effort` may be in `extra`, for a level that only a server has."""


def find_problems(settings: Frozen) -> Iterator[tuple[str, str]]:
    """Yield (dotted path, reason) of every value in the settings that no call can use."""
    for path, spec in model_specs(settings):
        for name, reason in describe_problems(spec):
            yield f"{path}.{name}" if path else name, reason


def describe_problems(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (field, reason) of every value of a model that no call can use."""
    for name, (lowest, highest) in RANGES.items():
        value = getattr(spec, name)
        if value is not None and not (math.isfinite(value) and lowest <= value <= highest):
            yield name, f"this should be a number from {lowest:,} to {highest:,}, not {value:g}."
    # A ceiling that nobody set is the default, and a longer first reply is then not requested again.
    if "max_tokens_ceiling" in spec.model_fields_set and spec.max_tokens_ceiling < spec.max_tokens:
        yield "max_tokens_ceiling", f"this should be at least max_tokens, {spec.max_tokens:,}."
    if spec.reasoning_effort is not None and spec.reasoning_effort not in REASONING_EFFORTS:
        yield "reasoning_effort", f"this should be one of {', '.join(REASONING_EFFORTS)}."
    for name in spec.extra:
        if name in FIXED:
            yield "extra", f"this cannot set {name!r}: Tiebreak sets it in every request."
        elif name in OWN_SETTINGS:
            yield "extra", f"this cannot set {name!r}: it is a setting of its own."
