"""Versions of a criterion with the prompts of a protocol: what accepted variants replaced, and can be restored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.study_records import CriterionRecord
from core.improvement.changes import Judge
from core.items import Criterion
from core.protocols import registry
from storage import audit, studies
from storage.tables import CriterionVersionRow, VariantRow, now


@dataclass(frozen=True)
class Version:
    """A criterion and the prompts of a protocol, as the study had them from some time on."""

    version: int
    criterion: Criterion
    protocol: str
    prompts: Mapping[str, str]
    """Template name -> text, if it differs from the protocol's."""
    variant: str | None
    """The accepted variant; None for a version that was not found here."""
    note: str
    author: str
    at: datetime

    def equals(self, criterion: Criterion, protocol: str, templates: Mapping[str, str]) -> bool:
        """Return whether a judge has this criterion and, if it is of the same protocol, these prompts."""
        if self.criterion != criterion:
            return False
        return self.protocol != protocol or self.prompts == own_prompts(protocol, templates)


def own_prompts(protocol: str, templates: Mapping[str, str]) -> dict[str, str]:
    """Return the templates that differ from the protocol's."""
    installed = registry.get(protocol).prompts
    return {name: text for name, text in templates.items() if installed.get(name) != text}


def of_criterion(session: Session, study_id: int, criterion: str) -> list[Version]:
    """Return the versions of a criterion, newest first; none before a variant was accepted."""
    row = CriterionVersionRow
    query = (
        select(row, col(VariantRow.name))
        .outerjoin(VariantRow, col(VariantRow.id) == col(row.variant_id))
        .where(col(row.study_id) == study_id, col(row.criterion) == criterion)
        .order_by(col(row.version).desc())
    )
    return [
        Version(
            found.version, Criterion.model_validate(found.body), found.protocol, found.prompts, variant, found.note,
            found.author, found.at,
        )
        for found, variant in session.execute(query)
    ]  # fmt: skip


def check_is_current(session: Session, study_id: int, judge: Judge) -> None:
    """Raise TiebreakError for a judge that a newer version has replaced: a variant is compared with the newest."""
    newest = next(iter(of_criterion(session, study_id, judge.criterion.name)), None)
    if newest is not None and not newest.equals(judge.criterion, judge.protocol.name, judge.templates):
        source = f"the variant {newest.variant!r}" if newest.variant else newest.note
        raise TiebreakError(
            f"This judge is no longer the current one: version {newest.version} of {judge.criterion.name!r} is from "
            f"{source}. Start from a run that has it."
        )


def replace(
    session: Session,
    study_id: int,
    criterion: Criterion,
    protocol: str,
    templates: Mapping[str, str],
    *,
    before: Criterion,
    note: str,
    variant_id: int | None = None,
) -> int:
    """Make a criterion and the templates of a protocol the study's, as a new version, and return its number.

    What the study had before is a version too; `before` is its criterion if the study has none of this name.
    """
    studies.lock(session, study_id)
    stored = {one.name: one for one in studies.criteria(session, study_id)}.get(criterion.name, before)
    study = studies.by_id(session, study_id)
    templates_before = study.templates(protocol)
    newest = next(iter(of_criterion(session, study_id, criterion.name)), None)
    number = newest.version if newest else 0
    if newest is None or not newest.equals(stored, protocol, templates_before) or newest.protocol != protocol:
        number += 1
        text = "the text before the first accepted variant" if newest is None else "changes outside of this page"
        _insert(session, study_id, number, stored, protocol, templates_before, text, None)
    _insert(session, study_id, number + 1, criterion, protocol, templates, note, variant_id)
    studies.save_criterion(session, study_id, CriterionRecord(criterion=criterion))
    others = {key: text for key, text in study.prompts.items() if not key.startswith(f"{protocol}/")}
    own = {f"{protocol}/{name}": text for name, text in own_prompts(protocol, templates).items()}
    studies.update_prompts(session, study_id, others | own)
    audit.record_change(session, study_id, f"criterion {criterion.name}, version {number + 1}: {note}")
    return number + 1


def restore(session: Session, study_id: int, criterion: str, version: int) -> int:
    """Make an earlier version the newest one again, and return its new number; raises TiebreakError."""
    found = [one for one in of_criterion(session, study_id, criterion) if one.version == version]
    if not found:
        raise TiebreakError(f"The criterion {criterion!r} has no version {version}.")
    templates = registry.get(found[0].protocol).prompts_with(found[0].prompts)
    note = f"version {version} restored"
    chosen = found[0].criterion
    return replace(session, study_id, chosen, found[0].protocol, templates, before=chosen, note=note)


def _insert(
    session: Session,
    study_id: int,
    number: int,
    criterion: Criterion,
    protocol: str,
    templates: Mapping[str, str],
    note: str,
    variant_id: int | None,
) -> None:
    session.add(
        CriterionVersionRow(
            study_id=study_id,
            criterion=criterion.name,
            version=number,
            body=criterion.model_dump(mode="json"),
            protocol=protocol,
            prompts=own_prompts(protocol, templates),
            variant_id=variant_id,
            note=note,
            author=audit.actor_name(),
            at=now(),
        )
    )
    session.flush()
