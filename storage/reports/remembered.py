"""What follows from data alone, remembered as long as the data exists.

The opinions of a study stay the same frame while labels are added, which changes far more often. Pages that draw the
same version of a study share its data, so what several of them need is computed once.
"""

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Result = TypeVar("Result")
_results: dict[int, tuple["weakref.ref[object]", dict[Hashable, Any]]] = {}
"""By the identity of the data."""
_changing = threading.Lock()


def _forget(place: int) -> Callable[[object], None]:
    results = _results  # the name of the module is None while the interpreter ends

    def forget(_: object) -> None:
        results.pop(place, None)

    return forget


def once(data: object, key: Hashable, compute: Callable[[], Result]) -> Result:
    """Return `compute()`, or its earlier result for the same data and key; shared, so do not modify.

    The data, a frame or a frozen object, is never modified. The result has no reference to it, because it would exist
    as long as the process.
    """
    place = id(data)
    with _changing:
        known = _results.get(place)
        if known is None or known[0]() is not data:
            known = _results[place] = (weakref.ref(data, _forget(place)), {})
    if key not in known[1]:
        known[1][key] = compute()
    result: Result = known[1][key]
    return result
