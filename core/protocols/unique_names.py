"""Whoever takes part in a protocol has a name of their own: turns are told by it."""

from collections.abc import Iterable


def differ(names: Iterable[str], what: str) -> None:
    """Raise ValueError where two are called the same; `what` they are is said: "judges"."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {what} are called {name!r}; give each a name of its own")
        seen.add(name)
