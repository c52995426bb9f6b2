"""Who may do what in a study: roles, and the check that pages, the API and exports call.

Without accounts everybody may do everything. Administrators are owners of every study. An annotator or adjudicator may
see the judges' opinions and the results of a study only after labelling everything in it that waits for them.
"""

from collections.abc import Iterable, Mapping, Set
from enum import StrEnum

from sqlalchemy import delete, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.records import RunRecord
from core.texts import _, mark
from core.trace import Spec
from storage.accounts import registry
from storage.db import audit, connections, guards
from storage.db.tables import AnnotatorRow, MemberRow, StudyRow
from storage.runs import runs
from storage.runs.calls import OPERATED, stored_models
from storage.studies import annotators, studies


class Role(StrEnum):
    """The role of a member of a study."""

    owner = "owner"
    researcher = "researcher"
    adjudicator = "adjudicator"
    annotator = "annotator"
    viewer = "viewer"


class Permission(StrEnum):
    """What a role allows in a study."""

    open = "open"
    """Know that the study exists; every member may."""
    label = "label"
    adjudicate = "adjudicate"
    """Decide cases, and answer flags and notes."""
    view = "view"
    """See traces, opinions of judges, and results."""
    export = "export"
    run = "run"
    """Start, cancel and resume runs."""
    edit = "edit"
    """Change guidelines, rules, criteria, prompts, training and readings, and import into the study."""
    operate = "operate"
    """Set addresses of models, the variables of their keys, prices, and paths of files on the server."""
    manage = "manage"
    """Change members, and read the audit log."""


PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.owner: frozenset(Permission),
    Role.researcher: frozenset(Permission) - {Permission.operate, Permission.manage},
    Role.adjudicator: frozenset({Permission.open, Permission.label, Permission.adjudicate}),
    Role.annotator: frozenset({Permission.open, Permission.label}),
    Role.viewer: frozenset({Permission.open, Permission.view}),
}
VERBS: Mapping[Permission, str] = {
    Permission.open: mark("open this study"),
    Permission.label: mark("label in this study"),
    Permission.adjudicate: mark("adjudicate in this study"),
    Permission.view: mark("see the traces and results of this study"),
    Permission.export: mark("export this study"),
    Permission.run: mark("start runs in this study"),
    Permission.edit: mark("change this study"),
    Permission.operate: mark("set addresses, key variables, prices or paths in this study"),
    Permission.manage: mark("manage the members of this study"),
}
ADMINISTRATION = "administration"
ADMINISTRATORS_ONLY = mark("Only an administrator may do this.")


class Forbidden(TiebreakError):
    """An actor whose role does not allow something."""


def is_unrestricted(session: Session, actor: registry.Actor) -> bool:
    """Return whether an actor may do everything: an administrator, or anybody while there are no accounts."""
    return actor.administrator if actor.account_id is not None else not registry.exist(session)


def require(session: Session, study_id: int, actor: registry.Actor, permission: Permission) -> None:
    """Raise Forbidden unless the actor has the permission in the study; it permits changes in the current operation."""
    if allows(session, study_id, actor, permission):
        return guards.grant(study_id, permission.value)
    if permission is Permission.view and Permission.label in _permissions(session, study_id, actor):
        raise Forbidden(
            _("You may see the traces and results of this study after you have labelled your targets in it.")
        )
    raise Forbidden(_("Your role does not allow you to {verb}.", verb=_(VERBS[permission])))


def allows(session: Session, study_id: int, actor: registry.Actor, permission: Permission) -> bool:
    """Return whether the actor has the permission in the study."""
    return permission in allowed(session, study_id, actor, {permission})


def allowed(session: Session, study_id: int, actor: registry.Actor, wanted: Set[Permission]) -> Set[Permission]:
    """Return those of the permissions that the actor has in the study."""
    if is_unrestricted(session, actor):
        return wanted
    permissions = _permissions(session, study_id, actor)
    is_after_labelling = Permission.view in wanted - permissions and Permission.label in permissions
    if is_after_labelling and _has_labelled(session, study_id, actor):
        permissions |= {Permission.view}
    return wanted & permissions


def study(session: Session, actor: registry.Actor, name: str) -> studies.Study:
    """Return the study called `name`; raises TiebreakError if there is none that the actor may know of."""
    known = study_names(session, actor)
    if name not in known:
        existing = ", ".join(repr(other) for other in known[:8]) or "none yet"
        raise TiebreakError(f"There is no study called {name!r}; your studies: {existing}.")
    return studies.get(session, name)


def require_administrator(session: Session, actor: registry.Actor) -> None:
    """Raise Forbidden unless the actor may manage accounts and create studies."""
    if not is_unrestricted(session, actor):
        raise Forbidden(_(ADMINISTRATORS_ONLY))
    guards.grant(guards.EVERY_STUDY, ADMINISTRATION)


def require_import(session: Session, actor: registry.Actor, name: str) -> None:
    """Raise Forbidden unless the actor may import into a study, or create it if there is none of this name."""
    if name not in studies.names(session):
        return require_administrator(session, actor)
    study_id = studies.get(session, name).id
    require(session, study_id, actor, Permission.edit)
    guards.grant(study_id, guards.IMPORT)


def study_names(session: Session, actor: registry.Actor, permission: Permission = Permission.open) -> list[str]:
    """Return the names of the studies in which the actor's role has a permission, newest first."""
    names = studies.names(session)
    if is_unrestricted(session, actor):
        return names
    roles = _roles(session, actor)
    return [name for name in names if name in roles and permission in PERMISSIONS[roles[name]]]


def permissions_anywhere(session: Session, actor: registry.Actor) -> frozenset[Permission]:
    """Return the permissions that the actor's roles have in any study, without those that come after labelling."""
    if is_unrestricted(session, actor):
        return frozenset(Permission)
    return frozenset().union(*(PERMISSIONS[role] for role in _roles(session, actor).values()))


def _roles(session: Session, actor: registry.Actor) -> dict[str, Role]:
    """Return study -> the actor's role in it."""
    annotator_id = annotators.find_id(session, actor.name) if actor.name else None
    query = (
        select(col(StudyRow.name), col(MemberRow.role))
        .join(MemberRow, col(MemberRow.study_id) == col(StudyRow.id))
        .where(col(MemberRow.annotator_id) == annotator_id)
    )
    return {name: Role(role) for name, role in session.execute(query)}


def role_of(session: Session, study_id: int, name: str) -> Role | None:
    """Return the role of an annotator in a study; None without one."""
    return members(session, study_id).get(name)


def members(session: Session, study_id: int) -> dict[str, Role]:
    """Return name -> role of the members of a study, by name."""
    query = (
        select(col(AnnotatorRow.name), col(MemberRow.role))
        .join(MemberRow, col(MemberRow.annotator_id) == col(AnnotatorRow.id))
        .where(col(MemberRow.study_id) == study_id)
        .order_by(col(AnnotatorRow.name))
    )
    return {name: Role(role) for name, role in session.execute(query)}


def set_role(session: Session, study_id: int, name: str, role: Role | None) -> None:
    """Give the account of an annotator a role in a study, or with None remove it."""
    annotator_id = annotators.get_or_create_id(session, registry.get(session, name).name)
    audit.record(session, audit.Action.role, study_id=study_id, account=name, role=role.value if role else "none")
    if role is None:
        own = (col(MemberRow.study_id) == study_id, col(MemberRow.annotator_id) == annotator_id)
        session.execute(delete(MemberRow).where(*own))
        return
    row = {"study_id": study_id, "annotator_id": annotator_id, "role": role.value, "at": connections.clock(session)}
    connections.upsert(session, MemberRow, ["study_id", "annotator_id"], row)


def require_models(session: Session, study_id: int, actor: registry.Actor, specs: Iterable[Spec]) -> None:
    """Raise Forbidden for addresses, key variables and prices of models that the actor may not set.

    Those that a live run of the study has for the same model were set by an owner: all who may start runs can use them.
    """
    # What only owners set of a model.
    values = {(spec.model, *(getattr(spec, name) for name in OPERATED)) for spec in specs}
    chosen = {own for own in values if any(value is not None for value in own[1:])}
    if not chosen or allows(session, study_id, actor, Permission.operate):
        return
    live = [run for run in runs.of_study(session, study_id) if run.source == "live"]
    if chosen - {values for run in live for values in stored_models([run.settings, run.extractor])}:
        raise Forbidden("Only an owner of this study may set addresses, key variables or prices of models.")


def require_imported(session: Session, study_id: int, actor: registry.Actor, record: RunRecord) -> None:
    """Raise Forbidden for an imported run with addresses, key variables or prices, if the actor may not set them.

    An imported run can be resumed, and others can use what it has.
    """
    found = {values for values in stored_models([record.settings, record.extractor]) if any(values[1:])}
    if found and not allows(session, study_id, actor, Permission.operate):
        raise Forbidden(
            "Only an owner of this study may import runs with addresses, key variables or prices of models."
        )


def _permissions(session: Session, study_id: int, actor: registry.Actor) -> frozenset[Permission]:
    if actor.account_id is None:  # without an account, while others have one
        return frozenset()
    role = role_of(session, study_id, actor.name)
    return frozenset() if role is None else PERMISSIONS[role]


def _has_labelled(session: Session, study_id: int, actor: registry.Actor) -> bool:
    """Return whether the actor has labelled something, and nothing waits or was skipped."""
    from storage.labelling import home

    summaries = home.summaries(session, studies.by_id(session, study_id), actor.name)
    waiting = sum(summary.todo + summary.skipped + summary.drafts for summary in summaries)
    return not waiting and any(summary.done for summary in summaries)
