"""What follows from a data frame alone, remembered as long as the frame exists.

The opinions of a study stay the same frame while labels are added, which changes far more often.
"""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")
_results: dict[int, "tuple[weakref.ref[pd.DataFrame], dict[Hashable, Any]]"] = {}
"""By the identity of a frame."""
_changing = threading.Lock()


def once(frame: "pd.DataFrame", key: Hashable, compute: Callable[[], Result]) -> Result:
    """Return `compute()`, or its earlier result for the same frame and key; shared, so do not modify.

    The frame is never modified. The result has no reference to it, because it would exist as long as the process.
    """
    place = id(frame)
    with _changing:
        known = _results.get(place)
        if known is None or known[0]() is not frame:
            known = _results[place] = (weakref.ref(frame, lambda _: _results.pop(place, None)), {})
    if key not in known[1]:
        known[1][key] = compute()
    result: Result = known[1][key]
    return result
