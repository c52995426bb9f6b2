"""Variants: proposed changes of the judge of a run, by a person or by a model. A stored variant never changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.experiments import Axis, Definition, Level
from core.experiments.definition import MAX_LABEL
from core.improvement.changes import Changes, Judge, assignments
from core.improvement.split import Part
from core.items import Criterion
from core.labels import Kind
from storage import audit, studies
from storage.improvement import disagreements, splits, versions
from storage.improvement.judges import AXIS, CURRENT, CurrentJudge, judge_of
from storage.studies import Study
from storage.tables import VariantRow, now

PERSON = "person"


@dataclass(frozen=True)
class Variant:
    """A proposed change of a judge, with the judge."""

    id: int
    study_id: int
    name: str
    kind: Kind
    criterion: str
    protocol: str
    base: Mapping[str, Any]
    """The current judge as a settings file, with every template that differs from the protocol's."""
    seed: int
    changes: Changes
    assignments: Mapping[str, Any]
    """Path -> value of what the changes set in the base."""
    origin: str
    author: str
    development: str | None
    """The name of its newest experiment on development items."""
    at: datetime

    @property
    def current(self) -> Judge:
        """The judge without the changes."""
        return judge_of(self.protocol, self.base, self.criterion)

    @property
    def changed_criterion(self) -> Criterion:
        """The criterion with the changes."""
        judge = self.current
        changed = self.assignments.get(judge.path)
        return judge.criterion if changed is None else Criterion.model_validate(changed)

    @property
    def changed_templates(self) -> dict[str, str]:
        """Every template with the changes."""
        prompts = {path: text for path, text in self.assignments.items() if path.startswith("prompts.")}
        return dict(self.current.templates) | {path.removeprefix("prompts."): text for path, text in prompts.items()}

    def definition(self, study: Study, part: Part, items: tuple[str, ...]) -> Definition:
        """Return the experiment that runs the judge with and without the changes on these items."""
        own = study.templates(self.protocol)
        prompts = {name: text for name, text in self.current.templates.items() if own[name] != text}
        count = f" of {len(items):,} items" if part == "development" else ""
        return Definition(
            name=f"{self.name} · {part}{count}",
            description=f"The variant {self.name} and the judge without its changes, on {part} items.",
            protocol=self.protocol,
            base={**self.base, "prompts": prompts} if prompts or "prompts" in self.base else dict(self.base),
            axes=(
                Axis(
                    name=AXIS,
                    levels=(Level(label=CURRENT, set={}), Level(label=self.name, set=dict(self.assignments))),
                ),
            ),
            seed=self.seed,
            items=items,
            reference="gold",
        )


def add(
    session: Session, study_id: int, name: str, current: CurrentJudge, changes: Changes, *, origin: str = PERSON
) -> Variant:
    """Store a variant; raises TiebreakError for changes that cannot be made, or that a variant has already."""
    studies.lock(session, study_id)
    name = _checked_name(name)
    known = of_study(session, study_id)
    if name in (variant.name for variant in known):
        raise TiebreakError(f"The study has a variant {name!r} already.")
    splits.get(session, study_id)
    chosen = changes.examples or ()
    examples = disagreements.examples(session, study_id, current, chosen) if chosen else ()
    row = VariantRow(
        study_id=study_id,
        name=name,
        kind=current.kind,
        criterion=current.judge.criterion.name,
        protocol=current.run.protocol,
        base=dict(current.judge.base),
        seed=current.run.seed,
        changes=changes.model_dump(mode="json", exclude_defaults=True),
        assignments=assignments(current.judge, changes, examples),
        origin=origin,
        author=audit.actor_name(),
        at=now(),
    )
    same = [v.name for v in known if (v.base, v.assignments, v.protocol) == (row.base, row.assignments, row.protocol)]
    if same:
        raise TiebreakError(f"The variant {same[0]!r} has the same changes of the same judge.")
    versions.check_is_current(session, study_id, current.judge)
    session.add(row)
    session.flush()
    audit.record_change(session, study_id, f"variant {name} proposed ({origin})")
    return _variant(row)


def of_study(session: Session, study_id: int) -> list[Variant]:
    """Return the variants of a study, newest first."""
    query = select(VariantRow).where(col(VariantRow.study_id) == study_id).order_by(col(VariantRow.id).desc())
    return [_variant(row) for row in session.scalars(query)]


def get(session: Session, study_id: int, name: str) -> Variant:
    """Return the variant of a study called `name`; raises TiebreakError if there is none."""
    query = select(VariantRow).where(col(VariantRow.study_id) == study_id, col(VariantRow.name) == name)
    row = session.scalars(query).first()
    if row is None:
        raise TiebreakError(f"The study has no variant {name!r}.")
    return _variant(row)


def set_development(session: Session, variant_id: int, experiment: str) -> None:
    """Set the name of the newest experiment on development items."""
    session.get_one(VariantRow, variant_id).development = experiment


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MAX_LABEL or name == CURRENT:
        raise TiebreakError(f"A variant needs a name of at most {MAX_LABEL} characters, other than {CURRENT!r}.")
    return name


def _variant(row: VariantRow) -> Variant:
    return Variant(
        id=row.id,
        study_id=row.study_id,
        name=row.name,
        kind=cast(Kind, row.kind),
        criterion=row.criterion,
        protocol=row.protocol,
        base=row.base,
        seed=row.seed,
        changes=Changes.model_validate(row.changes),
        assignments=row.assignments,
        origin=row.origin,
        author=row.author,
        development=row.development,
        at=row.at,
    )
