"""Studies: rules, criteria, scales and progress."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, Text, func, select
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session
from sqlmodel import col

from core.annotator_names import invisible_character, normalize_name
from core.designs import DEFAULT_AGREED_SHARE
from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord, GuidelinesRecord, ScaleRecord, StudyRecord, StudyRules
from core.items import Criterion
from core.labels import PEERS, PREFERENCE, TRUTH, Kind, Scale, Value
from storage.db import audit
from storage.db.connections import execute, insert_missing, upsert
from storage.db.fingerprints import to_utc
from storage.db.tables import (
    AdjudicationRow,
    CriterionRow,
    GuidelinesReadRow,
    GuidelinesRow,
    LabelRow,
    OpinionRow,
    ScaleRow,
    StudyRow,
    TargetRow,
    now,
)

# Versions of a study's guidelines, and the version that each annotator has read.


@dataclass(frozen=True)
class Guidelines:
    """A version of the guidelines; version 0 is a study without any."""

    version: int
    text: str


def add_guidelines_version(session: Session, study_id: int, text: str) -> None:
    """Add a version, unless the newest one has this text. The study must be locked (see `lock`)."""
    newest = current_guidelines(session, study_id)
    if text != newest.text:
        row = {"study_id": study_id, "version": newest.version + 1, "text": text, "at": now()}
        insert_missing(session, GuidelinesRow, [row])


def add_imported(session: Session, study_id: int, versions: Sequence[GuidelinesRecord]) -> None:
    """Add the versions of a file that the study does not have; the study must be locked.

    Raises TiebreakError where the study has another text under the same version.
    """
    query = select(col(GuidelinesRow.version), col(GuidelinesRow.text)).where(col(GuidelinesRow.study_id) == study_id)
    stored = dict(session.execute(query).all())
    for record in versions:
        if stored.setdefault(record.version, record.text) != record.text:
            raise TiebreakError(f"Version {record.version} of the guidelines has another text in this study.")
    rows = [
        {"study_id": study_id, "version": version.version, "text": version.text, "at": to_utc(version.at) or now()}
        for version in versions
    ]
    insert_missing(session, GuidelinesRow, rows)


def guidelines_versions(session: Session, study_id: int) -> list[GuidelinesRecord]:
    """Return every version, oldest first."""
    query = select(GuidelinesRow).where(col(GuidelinesRow.study_id) == study_id).order_by(col(GuidelinesRow.version))
    return [GuidelinesRecord(version=row.version, text=row.text, at=row.at) for row in session.scalars(query)]


def current_guidelines(session: Session, study_id: int) -> Guidelines:
    """Return the newest version."""
    query = (
        select(col(GuidelinesRow.version), col(GuidelinesRow.text))
        .where(col(GuidelinesRow.study_id) == study_id)
        .order_by(col(GuidelinesRow.version).desc())
    )
    newest = session.execute(query.limit(1)).first()
    return Guidelines(*newest) if newest is not None else Guidelines(0, "")


def read_guidelines_version(session: Session, study_id: int, annotator_id: int) -> int:
    """Return the newest version that an annotator has read; 0 for none."""
    query = select(func.max(col(GuidelinesReadRow.version))).where(
        col(GuidelinesReadRow.study_id) == study_id, col(GuidelinesReadRow.annotator_id) == annotator_id
    )
    return session.scalars(query).one() or 0


def mark_guidelines_read(session: Session, study_id: int, annotator_id: int, version: int) -> None:
    """Record that an annotator has read a version; an older version than the recorded one changes nothing."""
    newest = current_guidelines(session, study_id).version
    read = max(min(version, newest), read_guidelines_version(session, study_id, annotator_id))
    row = {"study_id": study_id, "annotator_id": annotator_id, "version": read, "at": now()}
    upsert(session, GuidelinesReadRow, ("study_id", "annotator_id"), row)


MAX_NAME_LENGTH = 120
NEW_STUDY = StudyRecord(rules=StudyRules(agreed_share=DEFAULT_AGREED_SHARE))
"""What a study begins with that no file describes."""
DEFAULT_SCALES: dict[Kind, Scale] = {
    "preference": PREFERENCE,
    "aiu_precision": TRUTH,
    "aiu_recall": TRUTH,
    "misleading_peer": PEERS,
}
Scales = Mapping[tuple[Kind, str], Scale]


@dataclass(frozen=True)
class Study:
    """A study without its items, labels and runs."""

    id: int
    name: str
    description: str
    guidelines: str
    rules: StudyRules
    prompts: dict[str, str]
    """The study's own templates, which replace the protocols': "protocol/ask" -> template."""
    sample: bool
    archived: bool = False
    """Whether nobody is offered its targets any more."""

    def templates(self, protocol: str) -> dict[str, str]:
        """Return every template of a protocol, with the study's own in place; those no longer used are left out."""
        from core.protocols import registry

        installed = registry.get(protocol)
        own = {name: self.prompts.get(f"{protocol}/{name}") for name in (*installed.prompts, *installed.raw_prompts)}
        return installed.prompts_with({name: text for name, text in own.items() if text is not None})


def get_or_create(
    session: Session, name: str, record: StudyRecord | None = None, versions: Sequence[GuidelinesRecord] = ()
) -> Study:
    """Return the study called `name`, locked (see `lock`); a new one is created from `record`, or as NEW_STUDY.

    `versions` of its guidelines are added; those in effect stay in effect.
    """
    name, record = normalize_study_name(name), record or NEW_STUDY
    row = {
        "name": name,
        "description": record.description,
        "guidelines": record.guidelines,
        "rules": record.rules.model_dump(),
        "prompts": record.prompts,
        "sample": record.sample,
        "secret": secrets.token_hex(16),
        "created_at": now(),
    }
    if _find(session, name) is None:
        insert_missing(session, StudyRow, [row])
    study = get(session, name)
    lock(session, study.id)
    add_imported(session, study.id, versions)
    add_guidelines_version(session, study.id, study.guidelines)
    return study


def normalize_study_name(text: str) -> str:
    """Return a name as it is stored: one line, no whitespace around it.

    Raises TiebreakError for an invalid one, such as one with invisible characters, which would look like another.
    """
    name = " ".join(text.split())
    if not name or len(name) > MAX_NAME_LENGTH:
        raise TiebreakError(f"A study needs a name of at most {MAX_NAME_LENGTH} characters.")
    if hidden := invisible_character(name):
        raise TiebreakError(f"The name of a study has visible characters only, and this one has {hidden}.")
    return name


def lock(session: Session, study_id: int) -> None:
    """Lock a study until the end of the transaction: claims of targets and new runs wait for each other.

    SQLite has one writer at a time anyway. On PostgreSQL, rows that refer to the study can still be added meanwhile.
    """
    row = select(col(StudyRow.id)).where(col(StudyRow.id) == study_id)
    session.execute(row.with_for_update(key_share=True))


def names(session: Session) -> list[str]:
    """Return the names of all studies, newest first; those that are archived at the end."""
    query = select(col(StudyRow.name)).where(is_present())
    return list(session.scalars(query.order_by(col(StudyRow.archived_at).is_not(None), col(StudyRow.id).desc())))


def is_present() -> ColumnElement[bool]:
    """Return whether a study is not deleted (see `storage.transfer.deletions`)."""
    return col(StudyRow.deleted_at).is_(None)


def rename(session: Session, study_id: int, name: str) -> None:
    """Change the name of a study and of its folder of images; raises TiebreakError if it is invalid or in use."""
    lock(session, study_id)
    name, row = normalize_study_name(name), session.get_one(StudyRow, study_id)
    if name != row.name and _find(session, name) is not None:
        raise TiebreakError(f"A study called {name!r} already exists.")
    from core.llm import images  # imports the clients of models

    former, folder = images.media_folder(row.name), images.media_folder(name)
    audit.record_change(session, study_id, f"renamed to {name}")
    row.name = name
    session.flush()
    if former != folder and former.is_dir() and not folder.exists():
        former.rename(folder)


def archive(session: Session, study_id: int, archived: bool = True) -> None:
    """Archive a study, or end that: nobody is offered targets of an archived study, and its results stay."""
    lock(session, study_id)
    session.get_one(StudyRow, study_id).archived_at = now() if archived else None
    audit.record_change(session, study_id, "archived" if archived else "activated")


def get(session: Session, name: str) -> Study:
    """Return the study called `name`; raises TiebreakError if there is none."""
    row = _find(session, name)
    if row is None:
        existing = ", ".join(repr(other) for other in names(session)[:8]) or "none yet"
        raise TiebreakError(f"There is no study called {name!r}; studies here: {existing}.")
    return _study(row)


def by_id(session: Session, study_id: int) -> Study:
    """Return the study with that id."""
    return _study(session.get_one(StudyRow, study_id))


def secret(session: Session, study_id: int) -> bytes:
    """Return the key of the study's opaque ids, random orders and CSRF tokens."""
    return bytes.fromhex(session.scalars(select(col(StudyRow.secret)).where(col(StudyRow.id) == study_id)).one())


def _find(session: Session, name: str) -> StudyRow | None:
    return session.scalars(select(StudyRow).where(col(StudyRow.name) == name, is_present())).first()


def update(session: Session, study_id: int, *, description: str, guidelines: str, rules: StudyRules) -> None:
    """Change a study's description, guidelines and labelling rules; existing labels stay as they are."""
    lock(session, study_id)
    row = session.get_one(StudyRow, study_id)
    row.description, row.guidelines, row.rules = description, guidelines, rules.model_dump()
    add_guidelines_version(session, study_id, guidelines)


def update_prompts(session: Session, study_id: int, prompts: dict[str, str]) -> None:
    """Replace the study's own templates; a protocol's are used if the study has none."""
    session.get_one(StudyRow, study_id).prompts = prompts


def criteria(session: Session, study_id: int) -> list[Criterion]:
    """Return the study's criteria, sorted by name."""
    query = select(col(CriterionRow.body)).where(col(CriterionRow.study_id) == study_id)
    return [Criterion.model_validate(body) for body in session.scalars(query.order_by(col(CriterionRow.name)))]


def save_criterion(session: Session, study_id: int, record: CriterionRecord) -> None:
    """Add a criterion, or change the one with that name."""
    criterion = record.criterion
    row = {"study_id": study_id, "name": criterion.name, "body": criterion.model_dump(mode="json")}
    upsert(session, CriterionRow, ("study_id", "name"), row)


def add_criterion(session: Session, study_id: int, record: CriterionRecord) -> None:
    """Add a criterion from a file; raises TiebreakError for a known name with a different definition.

    A file may have the name only: then the study's criterion stays as it is.
    """
    criterion = record.criterion
    stored = {criterion.name: criterion for criterion in criteria(session, study_id)}.get(criterion.name)
    if stored is None:
        save_criterion(session, study_id, record)
    elif criterion not in (stored, Criterion(name=criterion.name)):
        raise TiebreakError(f"Criterion {criterion.name!r} is in this study already, with another definition or scale.")


def declare_scale(session: Session, study_id: int, record: ScaleRecord) -> None:
    """Declare a scale; raises TiebreakError if a different one is declared, or if a label is not on it."""
    key = (record.kind, record.criterion)
    declared = scales(session, study_id).get(key)
    if declared is None:
        for value in _label_values(session, study_id, *key):
            check_value({key: record.scale}, *key, value)
        row = {"study_id": study_id, "kind": record.kind, "criterion": record.criterion}
        insert_missing(session, ScaleRow, [row | {"body": record.scale.model_dump(mode="json")}])
    elif declared != record.scale:
        raise TiebreakError(
            f"The scale of {record.kind} on {record.criterion!r} is declared differently in this study."
        )


def set_categories(session: Session, study_id: int, criterion: str, categories: Sequence[str]) -> None:
    """Replace the list of values of answers on a criterion; raises TiebreakError if a value that is used is missing."""
    if len(categories) < 2 or len({*categories}) < len(categories):
        raise TiebreakError("Enter at least two different categories, one a line.")
    lock(session, study_id)
    new = Scale(level="nominal", categories=tuple(categories))
    for table in (LabelRow, AdjudicationRow, OpinionRow):
        for value in _label_values(session, study_id, "answer", criterion, table):
            check_value({("answer", criterion): new}, "answer", criterion, value)
    row = {"study_id": study_id, "kind": "answer", "criterion": criterion, "body": new.model_dump(mode="json")}
    upsert(session, ScaleRow, ("study_id", "kind", "criterion"), row)


def _label_values(session: Session, study_id: int, kind: str, criterion: str, table: Any = LabelRow) -> list[Value]:
    """Return the distinct values of labels, compared as text because PostgreSQL's json type has no equality."""
    query = (
        select(sql_cast(col(table.value), Text))
        .join(TargetRow, col(TargetRow.id) == col(table.target_id))
        .where(col(TargetRow.study_id) == study_id, col(TargetRow.kind) == kind, col(TargetRow.criterion) == criterion)
        .where(col(table.value).is_not(None))
        .distinct()
    )
    return [json.loads(value) for value in session.scalars(query)]


def scales(session: Session, study_id: int) -> dict[tuple[Kind, str], Scale]:
    """Return the declared scales by (kind, criterion)."""
    query = select(col(ScaleRow.kind), col(ScaleRow.criterion), col(ScaleRow.body))
    rows = execute(session, query.where(col(ScaleRow.study_id) == study_id))
    return {(cast(Kind, row.kind), row.criterion): Scale.model_validate(row.body) for row in rows}


def scales_of_labels(session: Session, study_id: int) -> dict[tuple[Kind, str], Scale]:
    """Return the declared scales, and those of criteria for scores on them without a declared one."""
    own: dict[tuple[Kind, str], Scale] = {
        ("score", criterion.name): criterion.scale for criterion in criteria(session, study_id) if criterion.scale
    }
    return own | scales(session, study_id)


def scale(session: Session, study_id: int, kind: Kind, criterion: str) -> Scale | None:
    """Return the declared scale of a kind and criterion, otherwise the kind's default."""
    return scales(session, study_id).get((kind, criterion)) or DEFAULT_SCALES.get(kind)


def check_value(declared: Scales, kind: Kind, criterion: str, value: Value | None) -> None:
    """Raise TiebreakError for a value that is not on the scale of its kind and criterion, if one is declared."""
    scale = declared.get((kind, criterion)) or DEFAULT_SCALES.get(kind)
    if value is not None and scale is not None and not scale.contains(value):
        place = f"{kind} on {criterion!r}" if criterion else kind
        raise TiebreakError(f"{value!r} is not on the scale of {place}: expected {_describe_scale(scale)}.")


def check_verdict(declared: Scales, kind: Kind, criterion: str, value: Value | None) -> None:
    """Raise TiebreakError for a verdict that is not on its scale; a mean between two scores is."""
    scale = declared.get((kind, criterion)) or DEFAULT_SCALES.get(kind)
    if kind != "score" or scale is None or not scale.covers(value):
        check_value(declared, kind, criterion, value)


def _describe_scale(scale: Scale) -> str:
    if scale.categories:
        return " or ".join(repr(category) for category in scale.categories)
    return f"a number from {scale.low} to {scale.high}"


def _study(row: StudyRow) -> Study:
    rules, is_archived = StudyRules.model_validate(row.rules), row.archived_at is not None
    return Study(row.id, row.name, row.description, row.guidelines, rules, dict(row.prompts), row.sample, is_archived)


# The slices of a study's targets that are saved under a name.

MAX_SLICES = 50


def save_slice(session: Session, study_id: int, name: str, conditions: Sequence[tuple[str, str]]) -> str:
    """Save the targets that meet all conditions under a name, in place of an earlier slice of it; return the name."""
    name = normalize_name(name)
    if not conditions:
        raise TiebreakError("A slice needs a condition.")
    slices = {**_rules(session, study_id).slices, name: tuple(dict.fromkeys(conditions))}
    if len(slices) > MAX_SLICES:
        raise TiebreakError(f"A study has at most {MAX_SLICES} slices.")
    _store(session, study_id, slices)
    return name


def delete_slice(session: Session, study_id: int, name: str) -> None:
    """Delete a slice; raises TiebreakError if there is none."""
    slices = dict(_rules(session, study_id).slices)
    if slices.pop(name, None) is None:
        raise TiebreakError(f"There is no slice {name!r}.")
    _store(session, study_id, slices)


def _rules(session: Session, study_id: int) -> StudyRules:
    lock(session, study_id)
    return StudyRules.model_validate(session.get_one(StudyRow, study_id).rules)


def _store(session: Session, study_id: int, slices: dict[str, tuple[tuple[str, str], ...]]) -> None:
    rules = _rules(session, study_id).model_copy(update={"slices": slices})
    session.get_one(StudyRow, study_id).rules = rules.model_dump()
