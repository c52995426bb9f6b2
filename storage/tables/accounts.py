"""The tables of accounts. An account is an annotator with credentials.

Tokens and passwords are stored as hashes only; see `storage.accounts`.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Boolean, Column, Index, Text, UniqueConstraint, false
from sqlmodel import Field

from storage.json_columns import Json
from storage.tables.table import Table, datetime_column, now, owner_column


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
    """The role of an annotator in a study; see `storage.access`."""

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
    """An entry of the audit log; see `storage.audit`. Triggers refuse every change, and nothing refers to it."""

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
