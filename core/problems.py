"""What can go wrong, in words for a person.

Problem                 one clear sentence, shown as it is on a page and on the command line
├── FileRefused         a file that cannot be read: line, field and what was expected
├── Unreadable          a model's reply that is not a verdict
├── Temporary           a provider's trouble that may pass: it is tried again
├── Permanent           a provider's trouble that will not pass: wrong key, unknown model
└── Stopped             a run that ends early because it was told to: cancelled, or at its ceiling on money
"""


class Problem(Exception):
    """Shown to a person as one sentence; never a stack trace."""


class FileRefused(Problem):
    """A file that is wrong is refused whole."""

    def __init__(self, expected: str, *, line: int | None = None, field: str | None = None) -> None:
        where = [f"line {line}" if line is not None else "", f"field {field!r}" if field else ""]
        place = ", ".join(part for part in where if part)
        super().__init__(f"{place}: {expected}" if place else expected)


class Unreadable(Problem):
    """A reply that cannot be read is not a verdict."""


class Temporary(Problem):
    """The provider may answer later; `after` is the wait it asked for, in seconds."""

    def __init__(self, sentence: str, after: float | None = None) -> None:
        super().__init__(sentence)
        self.after = after


class Permanent(Problem):
    """Asking again would not help."""


class Stopped(Problem):
    """Nothing went wrong: the run was cancelled or reached its ceiling, and can be resumed."""
