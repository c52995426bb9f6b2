"""Variants: proposed changes of the judge of a run, by a person or by a model. A stored variant never changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.experiments import MAX_LABEL, Axis, Definition, Level
from core.frozen import Frozen
from core.improvement import suggestion
from core.improvement.changes import Changes, Judge, Part, assignments
from core.items import Criterion
from core.labels import Kind
from core.llm import router, secrets
from core.llm.client import Model
from core.protocols import registry, settings_file
from core.protocols.refer import auto_prompt
from core.trace import Ask, Spec, model_specs
from storage.db import audit
from storage.db.connections import reading, writing
from storage.db.tables import VariantRow, now
from storage.improvement import judges, splits
from storage.reports import peer_reviews
from storage.runs.runs import Run
from storage.studies import studies
from storage.studies.studies import Study

PERSON = "person"


class Variant(Frozen):
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
    assignments: Mapping[str, Any]  # path -> value of what the changes set in the base
    origin: str
    author: str
    development: str | None  # the name of its newest experiment on development items
    at: datetime

    @property
    def current(self) -> Judge:
        """The judge without the changes."""
        return judges.judge_of(self.protocol, self.base, self.criterion)

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
        prompts = {name: text for name, text in self.current.templates.items() if own.get(name) != text}
        count = f" of {len(items):,} items" if part == "development" else ""
        return Definition(
            name=f"{self.name} · {part}{count}",
            description=f"The variant {self.name} and the judge without its changes, on {part} items.",
            protocol=self.protocol,
            base={**self.base, "prompts": prompts} if prompts or "prompts" in self.base else dict(self.base),
            axes=(
                Axis(
                    name=judges.AXIS,
                    levels=(Level(label=judges.CURRENT, set={}), Level(label=self.name, set=dict(self.assignments))),
                ),
            ),
            seed=self.seed,
            items=items,
            reference="gold",
        )


def add(
    session: Session, study_id: int, name: str, current: judges.CurrentJudge, changes: Changes, *, origin: str = PERSON
) -> Variant:
    """Store a variant; raises TiebreakError for changes that cannot be made, or that a variant has already."""
    studies.lock(session, study_id)
    name = " ".join(name.split())
    if not name or len(name) > MAX_LABEL or name == judges.CURRENT:
        raise TiebreakError(f"A variant needs a name of at most {MAX_LABEL} characters, other than {judges.CURRENT!r}.")
    known = of_study(session, study_id)
    if name in (variant.name for variant in known):
        raise TiebreakError(f"The study has a variant {name!r} already.")
    splits.get(session, study_id)
    chosen = changes.examples or ()
    examples = splits.disagreement_examples(session, study_id, current, chosen) if chosen else ()
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
    judges.check_is_current(session, study_id, current.judge)
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


def _variant(row: VariantRow) -> Variant:
    return Variant.model_validate(row, from_attributes=True)


# Proposals by a model: it gets the disagreements on development items, and nothing of held-out items.

MAX_TOKENS = 2000


@dataclass(frozen=True)
class Request:
    """A request for a proposal."""

    ask: Ask
    criterion: Criterion
    cases: int

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.ask.spec.model


def prepare_suggestions(
    engine: Engine, study: Study, run: str, criterion: str | None = None, model: str | None = None, cases: int = 10
) -> Request:
    """Return the request with at most `cases` disagreements; `model` is by default that of the run's first judge.

    Raises TiebreakError without a disagreement, or if the model has no key.
    """
    with reading(engine) as session:
        current = judges.of_run(session, study.id, run, criterion)
        found = splits.disagreement_cases(session, study.id, current)[:cases]
    spec = next((own for own in suggestion_specs(current.run) if model in (None, own.model)), Spec(model=model or ""))
    spec = spec.model_copy(update={"max_tokens": max(spec.max_tokens, MAX_TOKENS), "answer_format": "text"})
    secrets.check_key(spec)
    judge = current.judge
    ask = suggestion.suggestion_request(judge.criterion, judge.guidelines, found, spec)
    return Request(ask, judge.criterion, len(found))


def examples_of(session: Session, study_id: int, criterion: str) -> list[auto_prompt.RatedItem]:
    """Return the items that people rated and that are not held out: a model may read them before it is evaluated."""
    parts = splits.parts(session, study_id)
    rated = peer_reviews.rated_items(session, study_id, criterion)
    return [one for one in rated if parts.get(one.item.id) != "held-out"]


def draft_guidelines(
    engine: Engine, study: Study, criterion: str, spec: Spec, count: int, model: Model | None = None
) -> tuple[auto_prompt.Draft, list[auto_prompt.RatedItem]]:
    """Return evaluation guidelines that a model drafts from `count` items that people rated, and these items.

    Held-out items are no examples. Raises TiebreakError without rated items, or if the model has no key.
    """
    secrets.check_key(spec)
    with writing(engine) as session:
        found = next((one for one in studies.criteria(session, study.id) if one.name == criterion), None)
        if found is None:
            raise TiebreakError(f"The study has no criterion {criterion!r}.")
        examples = auto_prompt.select_examples(examples_of(session, study.id, criterion), count)
        ask = auto_prompt.guidelines_request(found, examples, spec, study.templates("refer"))
        audit.record(session, audit.Action.run, study_id=study.id, change="guidelines drafted", models=[spec.model])
    return router.call(partial(auto_prompt.draft_guidelines, ask=ask), model), examples


def suggestion_specs(run: Run) -> list[Spec]:
    """Return the models of a run."""
    settings = settings_file.validate_settings(run.settings, registry.get(run.protocol))
    return [spec for _, spec in model_specs(settings)]


def request_changes(request: Request, model: Model | None = None) -> Changes:
    """Return the changes that the model proposes, in one call; raises TiebreakError."""
    return router.call(partial(suggestion.suggest, ask=request.ask, criterion=request.criterion), model)
