"""Exceptions whose message is written for the user.

TiebreakError               one sentence, shown unchanged on a page and on the command line
├── FileFormatError         an invalid file: line, field and expected value
├── UnreadableReply         a model's reply without the expected answer
├── TemporaryFailure        a transient error of a provider: the call is retried
├── PermanentFailure        a lasting error of a provider: wrong key, unknown model
│   ├── UnsupportedSchema   the provider does not accept the JSON schema of an answer
│   └── ContextExceeded     the request is longer than the model's context
└── RunStopped              a run that ends early: cancelled, or at its cost limit
"""

from typing import Any, get_args


class TiebreakError(Exception):
    """Shown to the user as one sentence, without a stack trace."""


class FileFormatError(TiebreakError):
    """A file with an error; none of it is imported."""

    def __init__(self, expected: str, *, line: int | None = None, field: str | None = None) -> None:
        parts = [f"line {line}" if line is not None else "", f"field {field!r}" if field else ""]
        location = ", ".join(filter(None, parts))
        self.expected, self.field = expected, field
        super().__init__(f"{location}: {expected}" if location else expected)


class UnreadableReply(TiebreakError):
    """A reply that cannot be read; it does not count as a verdict."""


class TemporaryFailure(TiebreakError):
    """A failed call that may succeed later; `retry_after` is the wait in seconds that the provider requested."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentFailure(TiebreakError):
    """A failed call that would fail again."""


class UnsupportedSchema(PermanentFailure):
    """A provider that does not accept the JSON schema of an answer; the answer can be requested as text."""


class ContextExceeded(PermanentFailure):
    """A request that is longer than the model's context: the judge has no opinion, and the others continue."""


class RunStopped(TiebreakError):
    """A run that was cancelled or reached its cost limit; it can be resumed."""


def check_literal(name: str, value: object, allowed: Any) -> None:
    """Check a value of a Literal type for callers in Python, who may have no type checker.

    Raise TiebreakError, with the allowed values, for a value that a Literal type does not have.
    """
    values = get_args(allowed)
    if not isinstance(value, str) or value not in values:
        raise TiebreakError(f"`{name}` is {', '.join(map(repr, values[:-1]))} or {values[-1]!r}, not {value!r}.")
