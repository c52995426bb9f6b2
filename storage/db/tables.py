"""The tables, by subject. All of them are in the metadata of `Table`.

The tables have their own registry, so a hot reload can import this module twice, and a naming convention, so migrations
can name every constraint.
"""

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.orm import declared_attr, registry
from sqlmodel import Field, SQLModel
from sqlmodel.sql.sqltypes import AutoString

from core.llm import PARALLEL_CALLS
from storage.db.columns import Json

NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

REGISTRY = registry(metadata=MetaData(naming_convention=NAMING_CONVENTION))


class Table(SQLModel, registry=REGISTRY):
    """The parent of all tables."""

    # Rows are made without validation; to build the validators of all tables takes every command 30 ms.
    model_config = {"defer_build": True}

    @declared_attr.directive
    def __tablename__(cls) -> str:
        """Return `aiu_edit` for the class AiuEditRow."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Row")).lower()


class Row(Table):
    """The parent of the tables whose key is an id."""

    id: int = Field(default=None, primary_key=True)


class OfStudy(Row):
    """The parent of the tables whose rows are of one study, and deleted with it."""

    study_id: int = Field(foreign_key="study.id", ondelete="CASCADE")


class OfAnnotator(Row):
    """The parent of the tables whose rows are what an annotator did with a target."""

    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")


def row_types() -> dict[str, Any]:
    """Return name -> class of all tables, those that others refer to first."""
    classes = {str(mapper.class_.__tablename__): mapper.class_ for mapper in REGISTRY.mappers}
    return {table.name: classes[table.name] for table in Table.metadata.sorted_tables}


def now() -> datetime:
    """Return the current time in UTC, with its zone."""
    return datetime.now(UTC)


def value_column() -> Any:
    """Return a column for the value of a label or an opinion: SQL NULL, not JSON null, if it is missing."""
    return Column(Json(none_as_null=True), nullable=True)


# Tables of a study's content: guidelines, criteria, scales, items, targets, and the annotators of all studies.


class StudyRow(Row, table=True):
    """Items, criteria, guidelines and labelling rules under one name."""

    name: str = Field(unique=True)
    description: str = Field(default="", sa_column=Column(Text, nullable=False))
    guidelines: str = Field(default="", sa_column=Column(Text, nullable=False))
    rules: Any = Field(sa_column=Column(Json, nullable=False))
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    sample: bool = False
    secret: str
    """The key of the opaque ids and random orders of the workbench, and of its CSRF tokens; never sent to a browser."""
    created_at: datetime = Field(default_factory=now)
    archived_at: datetime | None = None
    """Since when nobody is offered its targets."""
    deleted_at: datetime | None = None
    deleted_name: str | None = None
    """The name before the deletion: it is free for another study."""
    removals: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """How often a run was deleted or restored, or labels were erased: numbers of rows alone do not show
    it (see `storage.labels.labels.version`)."""


class GuidelinesRow(OfStudy, table=True):
    """One version of a study's guidelines, numbered from 1. The newest is also in the study's row."""

    __table_args__ = (UniqueConstraint("study_id", "version"),)
    version: int
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(default_factory=now)


class CriterionRow(OfStudy, table=True):
    """A criterion of a study."""

    __table_args__ = (UniqueConstraint("study_id", "name"),)
    name: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ScaleRow(OfStudy, table=True):
    """The declared scale of one kind and criterion."""

    __table_args__ = (UniqueConstraint("study_id", "kind", "criterion"),)
    kind: str
    criterion: str
    body: Any = Field(sa_column=Column(Json, nullable=False))


class ItemRow(OfStudy, table=True):
    """An item. `key` is its id in the study's file, `position` its place there."""

    __table_args__ = (UniqueConstraint("study_id", "key"), Index(None, "study_id", "position"))
    key: str
    position: int
    scenario: str | None = None
    cluster: str | None = None
    body: Any = Field(sa_column=Column(Json, nullable=False))


class TranscriptRow(OfStudy, table=True):
    """A transcript under the digest by which items refer to it; see `storage.studies.transcripts`."""

    __table_args__ = (UniqueConstraint("study_id", "digest"),)
    digest: str
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """Compressed JSON."""


class TargetRow(OfStudy, table=True):
    """A unit that a person and a protocol can both judge: a kind, a criterion and a part of an item."""

    __table_args__ = (
        UniqueConstraint("item_id", "kind", "criterion", "part"),
        Index(None, "study_id", "kind", "criterion", "disputed", "counted", "overlap"),
    )
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE")
    kind: str
    criterion: str
    part: str
    overlap: int | None = None
    """Labels wanted of this target, if it differs from the study's overlap."""
    counted: int = Field(default=0, sa_column=Column(Integer, nullable=False, server_default=text("0")))
    """Annotators with a current label that counts towards the overlap; see `storage.labels.targets`."""
    disputed: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether people are asked about it: it was drawn, labels were requested, or, without a design, a trace has no
    agreement on it; see `storage.labels.targets`."""
    stratum: str = Field(default="", sa_column=Column(Text, nullable=False, server_default=text("''")))
    probability: float | None = None
    """With which the design draws it, see `storage.labels.designs`; None without a design of its kind and criterion."""
    drawn: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    round: int | None = None
    """The first round of the design that draws it."""


class DesignRow(OfStudy, table=True):
    """A round of the design of a kind and criterion: which targets people label. Only `before` of a row changes."""

    __table_args__ = (UniqueConstraint("study_id", "kind", "criterion", "round"),)
    kind: str
    criterion: str
    round: int
    form: str
    by: str
    seed: int = Field(sa_column=Column(BigInteger, nullable=False))
    shares: Any = Field(sa_column=Column(Json, nullable=False))
    cuts: Any = Field(sa_column=Column(Json, nullable=False))
    floor: float
    created_at: datetime = Field(default_factory=now)
    author: str
    before: Any = Field(default_factory=list, sa_column=Column(Json, nullable=False, server_default=text("'[]'")))
    """Keys of targets that had a label before this round, the first to draw them."""
    between_runs: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether targets on which two runs differ are disputed."""


class AnnotatorRow(Row, table=True):
    """A person who labels, adjudicates or views results."""

    name: str = Field(unique=True)
    created_at: datetime = Field(default_factory=now)


# Tables of what models do: experiments, runs, traces, events, calls, opinions and edited AIUs.


class DeletedRunRow(OfStudy, table=True):
    """A deleted run, which can be restored for some time; see `storage.transfer.deletions`."""

    __table_args__ = (Index(None, "study_id"),)
    name: str
    traces: int
    fields: Any = Field(sa_column=Column(Json, nullable=False))
    """Columns of the run that an export does not contain."""
    records: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    """The run and its traces in Tiebreak's own format, compressed with gzip."""
    deleted_at: datetime = Field(default_factory=now)


class ExperimentRow(OfStudy, table=True):
    """Runs that differ in named settings."""

    __table_args__ = (UniqueConstraint("study_id", "name"),)
    name: str
    definition: str = Field(sa_column=Column(Text, nullable=False))
    """The experiment's file in YAML, with the settings that it named."""
    ceiling: float | None = None
    """Cost limit in dollars of all runs together."""
    created_at: datetime = Field(default_factory=now)


class RunRow(OfStudy, table=True):
    """One protocol with one settings over many items."""

    __table_args__ = (UniqueConstraint("study_id", "name"), Index(None, "experiment_id"))
    name: str
    protocol: str
    criterion: str = ""
    settings: Any = Field(sa_column=Column(Json, nullable=False))
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    seed: int = 0
    ceiling: float | None = None
    """Cost limit in dollars."""
    parallel: int = PARALLEL_CALLS
    """Concurrent calls to one model."""
    extractor: Any = Field(default=None, sa_column=value_column())
    """The model that is asked which value an unreadable reply states; None for none."""
    pairs: str = Field(default="", sa_column=Column(AutoString(), nullable=False, server_default=""))
    """Which pairs of responses are compared, as `core.items.Pairs` has it; empty if it has no such setting."""
    repeat: int = Field(default=1, sa_column=Column(Integer, nullable=False, server_default=text("1")))
    """The number of the repetition: runs with other numbers have independent replies."""
    fresh: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether every call is made anew, also if another run has made it."""
    experiment_id: int | None = Field(default=None, foreign_key="experiment.id", ondelete="SET NULL")
    cell: Any = Field(default=None, sa_column=value_column())
    """The cell of the experiment's design: axis -> level, as text."""
    source: str = "live"
    state: str = "requested"
    """requested, cancelling, cancelled, stopped (at the ceiling, or by an error: see `problem`) or finished."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    claimed_by: str | None = None
    """The worker that executes it. The claim expires at `claimed_until` unless the worker renews it."""
    claimed_until: datetime | None = None
    created_at: datetime = Field(default_factory=now)
    ended_at: datetime | None = None
    call_totals: Any = Field(default=None, sa_column=value_column())
    """Name -> sum over its calls, of a run that has ended: see `storage.runs.call_totals`."""


class TraceRow(OfStudy, table=True):
    """One item, or one pair of its responses, in a run."""

    __table_args__ = (
        UniqueConstraint("run_id", "item_id", "part"),
        Index(None, "study_id", "outcome"),
        Index(None, "run_id", "outcome"),
    )
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE")
    part: str = Field(default="", sa_column=Column(AutoString(), nullable=False, server_default=""))
    """The part of the targets that it judges if it is on a pair of responses ("1-3"); otherwise empty."""
    outcome: str = "waiting"
    """waiting, failed, agreed, disputed or no_verdict."""
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    uncertainty: float = 0.0  # of earlier versions: nothing reads it
    contention: float | None = None
    """See `core.verdicts`; None if there is no verdict, or if it cannot be computed."""
    shown_orders: Any = Field(default=None, sa_column=value_column())
    """The distinct orders in which its turns show the responses, sorted; None until it has a verdict."""
    claimed_by: str | None = None
    """The worker that has begun it; the claim counts while that worker has claimed the run."""


class EventRow(Table, table=True):
    """An event. The prompt has its own column: a list of turns is read without it."""

    __table_args__ = (Index(None, "run_id", "type"),)
    trace_id: int = Field(primary_key=True, foreign_key="trace.id", ondelete="CASCADE")
    seq: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    type: str
    body: Any = Field(sa_column=Column(Json, nullable=False))
    prompt: str = Field(default="", sa_column=Column(Text, nullable=False))
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None
    reused: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the reply was stored before: tokens, seconds and dollars are those of the call that was made then."""
    at: datetime = Field(default_factory=now)


class CallRow(Table, table=True):
    """The reply to a call, which any run of the database can reuse; see `storage.runs.calls`."""

    __table_args__ = (Index(None, "run_id"),)
    key: str = Field(primary_key=True)
    """See `core.llm.wire`."""
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    """The run that made the call."""
    reply: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now)


class PendingCallRow(Row, table=True):
    """A call that is about to be sent, or was sent, and whose reply is not stored.

    If its worker has ended, the call was interrupted.
    """

    __table_args__ = (Index(None, "run_id"), Index(None, "worker", "key"))
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    key: str
    worker: str
    """The worker's claim of the run."""
    at: datetime = Field(default_factory=now)


class LiveTraceRow(Table, table=True):
    """A trace that somebody watches, and its open calls; see `storage.runs.traces`."""

    trace_id: int = Field(primary_key=True, foreign_key="trace.id", ondelete="CASCADE")
    watched_until: datetime
    calls: Any = Field(sa_column=Column(Json, nullable=False, default=list))
    """A list of `core.llm.progress.OpenCall`."""
    at: datetime = Field(default_factory=now)
    """When the worker stated the calls."""


class UnreadReplyRow(OfStudy, table=True):
    """A reply that the parser could not read, one per turn.

    The rows follow from the events; they make replies that are to be read by a person countable and listable.
    """

    __table_args__ = (
        UniqueConstraint("trace_id", "ask"),
        Index(None, "study_id", "read_by", "id"),
        Index(None, "run_id"),
    )
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    trace_id: int = Field(foreign_key="trace.id", ondelete="CASCADE")
    ask: int
    seq: int
    """The event with the turn."""
    judge: str
    step: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    """The reason why it is unreadable, without details of the reply: `storage.runs.outcomes.reason_without_details`."""
    read_by: str = ""
    """Empty while it is unreadable; otherwise "parser" (of a later version), "extractor: MODEL" or "person: NAME"."""


class OpinionRow(OfStudy, table=True):
    """A judge's value for a target at one stage of a trace."""

    __table_args__ = (Index(None, "study_id", "stage"), Index(None, "target_id"), Index(None, "trace_id"))
    run_id: int = Field(foreign_key="run.id", ondelete="CASCADE")
    trace_id: int = Field(foreign_key="trace.id", ondelete="CASCADE")
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    judge: str
    stage: str
    value: Any = Field(default=None, sa_column=value_column())
    problem: str = Field(default="", sa_column=Column(Text, nullable=False))
    outcome: str | None = None
    """The outcome of a verdict's criterion if the trace judges several; None for the trace's."""
    contention: float | None = None
    """The contention of a verdict's criterion if the trace judges several; None for the trace's."""


class AiuEditRow(OfStudy, table=True):
    """An edit of an item's AIUs. Rows are never changed; `number` counts an item's edits from 1."""

    __table_args__ = (UniqueConstraint("item_id", "number"), Index(None, "study_id"))
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE")
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    number: int
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime | None = None


# Tables of improving a judge: the parts of items, variants, evaluations on held-out items, versions of criteria.


class SplitRow(OfStudy, table=True):
    """The split of a study's items, and the rule of acceptance that was fixed with it. It never changes."""

    __table_args__ = (UniqueConstraint("study_id"),)
    share: float
    """Of held-out items."""
    seed: int
    rule: Any = Field(sa_column=Column(Json, nullable=False))
    """`core.improvement.comparison.AcceptanceRule`."""
    author: str
    at: datetime = Field(default_factory=now)


class ItemPartRow(OfStudy, table=True):
    """The part of an item. Rows are added when items get gold, and never changed."""

    __table_args__ = (UniqueConstraint("item_id"), Index(None, "study_id", "held_out"))
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE")
    held_out: bool = Field(sa_column=Column(Boolean, nullable=False))


class VariantRow(OfStudy, table=True):
    """A proposed change of a judge. Only `development` changes."""

    __table_args__ = (UniqueConstraint("study_id", "name"),)
    name: str
    kind: str
    criterion: str
    protocol: str
    base: Any = Field(sa_column=Column(Json, nullable=False))
    """The current judge as a settings file, with every template that differs from the protocol's."""
    seed: int
    changes: Any = Field(sa_column=Column(Json, nullable=False))
    """`core.improvement.changes.Changes`."""
    assignments: Any = Field(sa_column=Column(Json, nullable=False))
    """Path -> value of what the changes set in the base."""
    origin: str
    """"person", or "model: NAME"."""
    author: str
    development: str | None = None
    """The name of its newest experiment on development items."""
    at: datetime = Field(default_factory=now)


class HeldOutUseRow(OfStudy, table=True):
    """The evaluation of a variant on held-out items: one for each variant. Only `result` is added, once."""

    __table_args__ = (UniqueConstraint("variant_id"), Index(None, "study_id"))
    variant_id: int = Field(foreign_key="variant.id", ondelete="CASCADE")
    author: str
    experiment: str
    result: Any = Field(default=None, sa_column=value_column())
    """`core.improvement.comparison.PairedResult`; None until its runs have ended."""
    at: datetime = Field(default_factory=now)


class CriterionVersionRow(OfStudy, table=True):
    """A version of a criterion and of the prompts of a protocol, numbered from 1. Rows are never changed."""

    __table_args__ = (UniqueConstraint("study_id", "criterion", "version"),)
    criterion: str
    version: int
    body: Any = Field(sa_column=Column(Json, nullable=False))
    protocol: str
    prompts: Any = Field(sa_column=Column(Json, nullable=False))
    """Template name -> text, if it differs from the protocol's."""
    variant_id: int | None = Field(default=None, foreign_key="variant.id", ondelete="CASCADE")
    """The accepted variant; None for a version that was not found here."""
    note: str = Field(sa_column=Column(Text, nullable=False))
    author: str
    at: datetime = Field(default_factory=now)


# Tables of accounts. An account is an annotator with credentials.
#
# Tokens and passwords are stored as hashes only; see `storage.accounts`.


class AccountRow(Row, table=True):
    """The credentials of an annotator."""

    __table_args__ = (UniqueConstraint("annotator_id"),)
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    password: str | None = None
    """An argon2id hash with its parameters; None before an invitation is accepted, or with OIDC only."""
    email: str | None = Field(default=None, unique=True)
    """The verified address with which an OIDC provider names the person."""
    subject: str | None = Field(default=None, unique=True)
    """The issuer and the subject of the first OIDC sign-in, which later ones must have."""
    administrator: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the account manages accounts, creates studies, and is an owner of every study."""
    disabled_at: datetime | None = None
    created_at: datetime = Field(default_factory=now)


class MemberRow(OfStudy, table=True):
    """The role of an annotator in a study; see `storage.accounts.access`."""

    __table_args__ = (UniqueConstraint("study_id", "annotator_id"), Index(None, "annotator_id"))
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    role: str
    at: datetime = Field(default_factory=now)


class LoginRow(Row, table=True):
    """A session: the time from a sign-in to the sign-out, on one browser."""

    __table_args__ = (Index(None, "account_id"),)
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE")
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now)
    used_at: datetime = Field(default_factory=now)
    expires_at: datetime
    revoked_at: datetime | None = None
    address: str = ""
    browser: str = Field(default="", sa_column=Column(Text, nullable=False))


class InvitationRow(Row, table=True):
    """A link with which a person sets the password of an account, once."""

    __table_args__ = (Index(None, "account_id"),)
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE")
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime
    used_at: datetime | None = None


class ApiTokenRow(Row, table=True):
    """A token with which a script acts as an account."""

    __table_args__ = (UniqueConstraint("account_id", "name"),)
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE")
    name: str
    token: str = Field(unique=True)
    """The SHA-256 hash of the token."""
    created_at: datetime = Field(default_factory=now)
    expires_at: datetime | None = None
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class SignInAttemptRow(Row, table=True):
    """A recent sign-in that has not succeeded, for the limits; see `storage.accounts.sign_in`."""

    __table_args__ = (Index(None, "name", "at"), Index(None, "address", "at"))
    name: str
    address: str
    """The place: a network, or "device " and its name, or that of a change of a password."""
    at: datetime = Field(default_factory=now)


class AuditRow(Row, table=True):
    """An entry of the audit log; see `storage.db.audit`. Triggers refuse every change, and nothing refers to it."""

    __table_args__ = (Index(None, "study_id", "id"),)
    at: datetime = Field(default_factory=now)
    actor: str
    action: str
    study_id: int | None = None
    study: str = ""
    """The study's name at that time."""
    address: str = ""
    details: Any = Field(sa_column=Column(Json, nullable=False))


class ServerSecretRow(Table, table=True):
    """A random key that all servers on this database share."""

    purpose: str = Field(primary_key=True)
    value: str


# Tables of what people enter: labels, actions, drafts, marks, views, decisions and training.


class LabelRow(OfStudy, table=True):
    """A label. Rows are never changed or deleted; an annotator's newest label of a target is the current one."""

    __table_args__ = (
        Index(None, "target_id", "annotator_id", "id"),
        Index(None, "annotator_id", "study_id", "target_id", "id"),
        Index(None, "study_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    value: Any = Field(default=None, sa_column=value_column())
    blind: bool = True
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    seconds: float | None = None
    at: datetime | None = None
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


class GuidelinesReadRow(OfStudy, table=True):
    """The newest version of a study's guidelines that an annotator has read."""

    __table_args__ = (UniqueConstraint("study_id", "annotator_id"),)
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    version: int
    at: datetime = Field(default_factory=now)


class ActionRow(OfStudy, table=True):
    """The result of an action of the workbench, so a repeated request changes nothing.

    `seq` counts the actions of one client, which is an outbox in a browser.
    """

    __table_args__ = (UniqueConstraint("study_id", "annotator_id", "client", "seq"),)
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    client: str
    seq: int
    result: Any = Field(sa_column=Column(Json, nullable=False))
    """Without the reveal, which is read again when the result is requested again."""
    at: datetime = Field(default_factory=now)


class UndoEntryRow(OfStudy, table=True):
    """An entry of an annotator's undo stack in one study and queue.

    The entries that are not undone are the undo stack, highest id on top; the undone ones are the redo stack, lowest id
    on top: undo takes the highest id first.
    """

    __table_args__ = (Index(None, "annotator_id", "study_id", "queue", "id"),)
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    queue: str
    type: str
    """label, skip, skips (of many tasks) or edit."""
    task_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    """The target that names the task; see `storage.labelling.tasks`."""
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    before: Any = Field(default=None, sa_column=value_column())
    after: Any = Field(default=None, sa_column=value_column())
    undone: bool = False
    repeat: bool = Field(default=False, sa_column=Column(Boolean, nullable=False, server_default=false()))
    """Whether the task is a repeat of the target."""
    at: datetime = Field(default_factory=now)


class OpinionViewRow(OfAnnotator, table=True):
    """An annotator saw opinions or other annotators' labels of a target: later labels are not blind."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    at: datetime = Field(default_factory=now)


class VisitorViewRow(Row, table=True):
    """Somebody who has not signed in saw opinions of a target; see `storage.labels.views`."""

    __table_args__ = (UniqueConstraint("visitor", "target_id"),)
    visitor: str
    """A random token in a cookie."""
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    at: datetime = Field(default_factory=now)


class LeaseRow(OfAnnotator, table=True):
    """A target reserved for one annotator until a time."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id"),)
    until: datetime


class DraftRow(OfAnnotator, table=True):
    """An answer that an annotator has entered and not submitted."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id"), Index(None, "annotator_id"))
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now)


class MarkRow(OfAnnotator, table=True):
    """A skip, a flag or a note. Rows are never changed; the newest of each type is the current one."""

    __table_args__ = (
        Index(None, "target_id", "annotator_id"),
        Index(None, "annotator_id", "mark", "target_id", "id"),
        UniqueConstraint("fingerprint"),
    )
    mark: str
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    on: bool = True
    at: datetime | None = None
    fingerprint: str


class ReplyRow(OfAnnotator, table=True):
    """A reply to an annotator's flag or note on a target. Rows are never changed; the newest tells open from closed."""

    __table_args__ = (Index(None, "target_id", "annotator_id"),)
    """Who flagged or noted."""
    author_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    """The author of the reply."""
    text: str = Field(default="", sa_column=Column(Text, nullable=False))
    closed: bool = False
    at: datetime = Field(default_factory=now)


class AdjudicationRow(OfAnnotator, table=True):
    """An adjudication. Rows are never changed or deleted; the newest of a target is the current one."""

    __table_args__ = (Index(None, "target_id", "id"), UniqueConstraint("fingerprint"))
    value: Any = Field(sa_column=Column(Json, nullable=False))
    rule: str
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime | None = None
    fingerprint: str


class KnownAnswerRow(OfStudy, table=True):
    """The known answer of a target that is used for the training of annotators."""

    __table_args__ = (UniqueConstraint("target_id"), Index(None, "study_id"))
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    """Shown to annotators after their answer."""
    at: datetime = Field(default_factory=now)


class TrainingAnswerRow(OfAnnotator, table=True):
    """An annotator's answer to a training item. It is not a label: agreement, gold and alignment do not contain it."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id", "attempt"), Index(None, "annotator_id"))
    attempt: int
    """The annotator's attempts at the training of one queue, counted from 1."""
    value: Any = Field(sa_column=Column(Json, nullable=False))
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    correct: bool
    passed: bool | None = None
    """Of the last answer of an attempt: whether the training is passed."""
    seconds: float | None = None
    at: datetime = Field(default_factory=now)


class RepeatRow(OfStudy, table=True):
    """An annotator's answer to a repeat of a labelled target: no label. The newest row is current, as of `LabelRow`."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id", "number"), Index(None, "study_id", "annotator_id"))
    target_id: int = Field(foreign_key="target.id", ondelete="CASCADE")
    annotator_id: int = Field(foreign_key="annotator.id", ondelete="CASCADE")
    number: int
    """The annotator's answers to the repeat, counted from 1."""
    value: Any = Field(default=None, sa_column=value_column())
    blind: bool = True
    """Whether no answer to the repeat was revealed before."""
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    evidence: Any = Field(default_factory=list, sa_column=Column(Json, nullable=False))
    shown: Any = Field(default_factory=list, sa_column=Column(Json, nullable=False))
    seconds: float | None = None
    at: datetime = Field(default_factory=now)


class RepeatDraftRow(OfAnnotator, table=True):
    """An answer to a repeat that an annotator has entered and not submitted."""

    __table_args__ = (UniqueConstraint("target_id", "annotator_id"), Index(None, "annotator_id"))
    body: Any = Field(sa_column=Column(Json, nullable=False))
    at: datetime = Field(default_factory=now)
