"""The tables of accounts. An account is an annotator with credentials.

Tokens and passwords are stored as hashes only; see `storage.accounts`.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, Index, Text, UniqueConstraint, false
from sqlmodel import Field

from storage.db.columns import Json
from storage.db.tables.table import Table, datetime_column, now, owner_column, value_column


class AccountRow(Table, table=True):
    """The credentials of an annotator."""

    __tablename__ = "account"
    __table_args__ = (UniqueConstraint("annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    password: str | None = None
    """An argon2id hash with its parameters; None before an invitation is accepted, or with OIDC only."""
    email: str | None = Field(default=None, unique=True)
    """The verified address with which an OIDC provider names the person."""
    subject: str | None = Field(default=None, unique=True)
    """The issuer and the subject of the first OIDC sign-in, which later ones must have."""
    administrator: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the account manages accounts, creates studies, and is an owner of every study."""
    disabled_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())


class MemberRow(Table, table=True):
    """The role of an annotator in a study; see `storage.accounts.access`."""

    __tablename__ = "member"
    __table_args__ = (UniqueConstraint("study_id", "annotator_id"), Index(None, "annotator_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    role: str
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class LoginRow(Table, table=True):
    """A session: the time from a sign-in to the sign-out, on one browser."""

    __tablename__ = "login"
    __table_args__ = (Index(None, "account_id"),)
    id: int = Field(default=None, primary_key=True)
    account_id: int = Field(sa_column=owner_column("account.id"))
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    used_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    expires_at: datetime = Field(sa_column=datetime_column())
    revoked_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    address: str = ""
    browser: str = Field(default="", sa_column=Column(Text, nullable=False))


class InvitationRow(Table, table=True):
    """A link with which a person sets the password of an account, once."""

    __tablename__ = "invitation"
    __table_args__ = (Index(None, "account_id"),)
    id: int = Field(default=None, primary_key=True)
    account_id: int = Field(sa_column=owner_column("account.id"))
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    expires_at: datetime = Field(sa_column=datetime_column())
    used_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))


class ApiTokenRow(Table, table=True):
    """A token with which a script acts as an account."""

    __tablename__ = "api_token"
    __table_args__ = (UniqueConstraint("account_id", "name"),)
    id: int = Field(default=None, primary_key=True)
    account_id: int = Field(sa_column=owner_column("account.id"))
    name: str
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now, sa_column=datetime_column())
    expires_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    used_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    revoked_at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))


class SignInAttemptRow(Table, table=True):
    """A recent sign-in that has not succeeded, for the limits; see `storage.accounts.sign_in`."""

    __tablename__ = "sign_in_attempt"
    __table_args__ = (Index(None, "name", "at"), Index(None, "address", "at"))
    id: int = Field(default=None, primary_key=True)
    name: str
    address: str
    """The place: a network, or "device " and its name, or that of a change of a password."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class AuditRow(Table, table=True):
    """An entry of the audit log; see `storage.db.audit`. Triggers refuse every change, and nothing refers to it."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "study_id", "id"),)
    id: int = Field(default=None, primary_key=True)
    at: datetime = Field(default_factory=now, sa_column=datetime_column())
    actor: str
    action: str
    study_id: int | None = None
    study: str = ""
    """The study's name at that time."""
    address: str = ""
    details: Any = Field(sa_column=Column(Json, nullable=False))


class ServerSecretRow(Table, table=True):
    """A random key that all servers on this database share."""

    __tablename__ = "server_secret"
    purpose: str = Field(primary_key=True)
    value: str


# Tables of what people enter: labels, actions, drafts, marks, views, decisions and training.


class LabelRow(Table, table=True):
    """A label. Rows are never changed or deleted; an annotator's newest label of a target is the current one."""

    __tablename__ = "label"
    __table_args__ = (
        Index(None, "target_id", "annotator_id", "id"),
        Index(None, "annotator_id", "study_id", "target_id", "id"),
        Index(None, "study_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    value: Any = Field(default=None, sa_column=value_column())
    blind: bool = True
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    seconds: float | None = None
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    """When it was given; None if an imported file has no time."""
    fingerprint: str
    """See `storage.db.fingerprints`."""
    surplus: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the target was complete when the label arrived. Only the overlap ignores surplus labels."""
    evidence: Any = Field(default=None, sa_column=value_column())
    """The passages that the annotator selected, as a list of `core.labels.Evidence`; None for none."""
    guidelines: int | None = None
    """The version of the guidelines that the annotator had; None if it is not known."""
    shown: Any = Field(default=None, sa_column=value_column())
    """The numbers of the texts in the order in which the annotator saw them; None if it is not known."""


class GuidelinesReadRow(Table, table=True):
    """The newest version of a study's guidelines that an annotator has read."""

    __tablename__ = "guidelines_read"
    __table_args__ = (UniqueConstraint("study_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    version: int
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class ActionRow(Table, table=True):
    """The result of an action of the workbench, so a repeated request changes nothing.

    `seq` counts the actions of one client, which is an outbox in a browser.
    """

    __tablename__ = "action"
    __table_args__ = (UniqueConstraint("study_id", "annotator_id", "client", "seq"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    client: str
    seq: int
    result: Any = Field(sa_column=Column(Json, nullable=False))
    """Without the reveal, which is read again when the result is requested again."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class UndoEntryRow(Table, table=True):
    """An entry of an annotator's undo stack in one study and queue.

    The entries that are not undone are the undo stack, highest id on top; the undone ones are the redo stack, lowest id
    on top: undo takes the highest id first.
    """

    __tablename__ = "undo_entry"
    __table_args__ = (Index(None, "annotator_id", "study_id", "queue", "id"),)
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    queue: str
    type: str
    """label, skip, skips (of many tasks) or edit."""
    task_id: int = Field(sa_column=owner_column("target.id"))
    """The target that names the task; see `storage.labelling.tasks`."""
    target_id: int = Field(sa_column=owner_column("target.id"))
    before: Any = Field(default=None, sa_column=value_column())
    after: Any = Field(default=None, sa_column=value_column())
    undone: bool = False
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class OpinionViewRow(Table, table=True):
    """An annotator saw opinions or other annotators' labels of a target: later labels are not blind."""

    __tablename__ = "opinion_view"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class VisitorViewRow(Table, table=True):
    """Somebody who has not signed in saw opinions of a target; see `storage.labels.views`."""

    __tablename__ = "visitor_view"
    __table_args__ = (UniqueConstraint("visitor", "target_id"),)
    id: int = Field(default=None, primary_key=True)
    visitor: str
    """A random token in a cookie."""
    target_id: int = Field(sa_column=owner_column("target.id"))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class LeaseRow(Table, table=True):
    """A target reserved for one annotator until a time."""

    __tablename__ = "lease"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    until: datetime = Field(sa_column=datetime_column())


class DraftRow(Table, table=True):
    """An answer that an annotator has entered and not submitted."""

    __tablename__ = "draft"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id"), Index(None, "annotator_id"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class MarkRow(Table, table=True):
    """A skip, a flag or a note. Rows are never changed; the newest of each type is the current one."""

    __tablename__ = "mark"
    __table_args__ = (
        Index(None, "target_id", "annotator_id"),
        Index(None, "annotator_id", "mark", "target_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    mark: str
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    on: bool = True
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    fingerprint: str


class ReplyRow(Table, table=True):
    """A reply to an annotator's flag or note on a target. Rows are never changed; the newest tells open from closed."""

    __tablename__ = "reply"
    __table_args__ = (Index(None, "target_id", "annotator_id"),)
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    """Who flagged or noted."""
    author_id: int = Field(sa_column=owner_column("annotator.id"))
    """The author of the reply."""
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    closed: bool = False
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class AdjudicationRow(Table, table=True):
    """An adjudication. Rows are never changed or deleted; the newest of a target is the current one."""

    __tablename__ = "adjudication"
    __table_args__ = (Index(None, "target_id", "id"), UniqueConstraint("fingerprint"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    rule: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime | None = Field(default=None, sa_column=datetime_column(optional=True))
    fingerprint: str


class KnownAnswerRow(Table, table=True):
    """The known answer of a target that is used for the training of annotators."""

    __tablename__ = "known_answer"
    __table_args__ = (UniqueConstraint("target_id"), Index(None, "study_id"))
    id: int = Field(default=None, primary_key=True)
    study_id: int = Field(sa_column=owner_column("study.id"))
    target_id: int = Field(sa_column=owner_column("target.id"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    """Shown to annotators after their answer."""
    at: datetime = Field(default_factory=now, sa_column=datetime_column())


class TrainingAnswerRow(Table, table=True):
    """An annotator's answer to a training item. It is not a label: agreement, gold and alignment do not contain it."""

    __tablename__ = "training_answer"
    __table_args__ = (UniqueConstraint("target_id", "annotator_id", "attempt"), Index(None, "annotator_id"))
    id: int = Field(default=None, primary_key=True)
    target_id: int = Field(sa_column=owner_column("target.id"))
    annotator_id: int = Field(sa_column=owner_column("annotator.id"))
    attempt: int
    """The annotator's attempts at the training of one queue, counted from 1."""
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    correct: bool
    passed: bool | None = None
    """Of the last answer of an attempt: whether the training is passed."""
    seconds: float | None = None
    at: datetime = Field(default_factory=now, sa_column=datetime_column())
