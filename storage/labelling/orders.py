"""The orders of queues that were used last in this process: to shuffle a long queue takes a tenth of a second."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock

MAX_STORED = 64
_stored: OrderedDict[Hashable, tuple[Hashable, Sequence[int]]] = OrderedDict()
_lock = Lock()


def find(key: Hashable, version: Hashable, compute: Callable[[], Sequence[int]]) -> Sequence[int]:
    """Return the order under a key, computed if there is none or its version is another one."""
    with _lock:
        stored = _stored.get(key)
        if stored is not None and stored[0] == version:
            _stored.move_to_end(key)
            return stored[1]
    order = array("q", compute())
    with _lock:
        _stored[key] = (version, order)
        _stored.move_to_end(key)
        while len(_stored) > MAX_STORED:
            _stored.popitem(last=False)
    return order
