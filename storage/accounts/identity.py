"""Who acts: an account, or an annotator by name on a server without accounts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Actor:
    """Somebody who uses the pages, the API or the command line."""

    name: str
    """The annotator's name; empty for a visitor of a server without accounts who has not entered one."""
    account_id: int | None = None
    """None on a server without accounts."""
    administrator: bool = False


@dataclass(frozen=True)
class Identity:
    """What a cookie or a token proves."""

    accounts: bool
    """Whether the server has accounts; without them a name is enough."""
    actor: Actor | None = None
    """None if nobody is signed in with an account."""
    login_id: int | None = None
    """The session; None for an API token."""
    token: str = ""
    """The name of the API token; empty for a session."""
