"""Exceptions whose message is written for the user.

Problem                 one clear sentence, shown unchanged on a page and on the command line
├── FileRefused         a file that cannot be read: line, field and what was expected
├── Unreadable          a model's reply that does not contain the expected answer
├── TemporaryFailure    a provider's error that may pass: the call is retried
├── PermanentFailure    a provider's error that will not pass: wrong key, unknown model
│   └── SchemaRefused   the provider does not accept the JSON schema of an answer
└── RunStopped          a run that ends early on request: cancelled, or at its cost limit
"""


class Problem(Exception):
    """Shown to the user as one sentence, without a stack trace."""


class FileRefused(Problem):
    """A file with an error; none of it is imported."""

    def __init__(self, expected: str, *, line: int | None = None, field: str | None = None) -> None:
        parts = [f"line {line}" if line is not None else "", f"field {field!r}" if field else ""]
        location = ", ".join(filter(None, parts))
        super().__init__(f"{location}: {expected}" if location else expected)


class Unreadable(Problem):
    """A reply that cannot be read; it does not count as a verdict."""


class TemporaryFailure(Problem):
    """A failed call that may succeed later; `retry_after` is the wait in seconds that the provider requested."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentFailure(Problem):
    """A failed call that would fail again."""


class SchemaRefused(PermanentFailure):
    """A provider that does not accept the JSON schema of an answer; the answer can be requested as text."""


class RunStopped(Problem):
    """A run that was cancelled or reached its cost limit; it can be resumed."""
