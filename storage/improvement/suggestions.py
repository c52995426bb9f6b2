"""Proposals by a model: it gets the disagreements on development items, and nothing of held-out items."""

import asyncio
from dataclasses import dataclass

from sqlalchemy import Engine

from core.errors import TiebreakError
from core.improvement import suggestion
from core.improvement.changes import Changes
from core.items import Criterion
from core.llm import secrets
from core.llm.client import Model
from core.llm.router import Router
from core.protocols import registry, settings_file
from core.trace import Ask, Spec, model_specs
from storage.database import reading
from storage.improvement import disagreements, judges
from storage.runs import Run
from storage.studies import Study

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


def prepare(
    engine: Engine, study: Study, run: str, criterion: str | None = None, model: str | None = None, cases: int = 10
) -> Request:
    """Return the request with at most `cases` disagreements; `model` is by default that of the run's first judge.

    Raises TiebreakError without a disagreement, or if the model has no key.
    """
    with reading(engine) as session:
        current = judges.of_run(session, study.id, run, criterion)
        found = disagreements.cases(session, study.id, current)[:cases]
    spec = next((own for own in specs(current.run) if model in (None, own.model)), Spec(model=model or ""))
    spec = spec.model_copy(update={"max_tokens": max(spec.max_tokens, MAX_TOKENS), "answer_format": "text"})
    if problem := secrets.describe_problem(spec.model, spec.address or "", spec.key_variable or ""):
        raise TiebreakError(f"{spec.model}: {problem}")
    judge = current.judge
    template = suggestion.study_template(study.prompts)
    ask = suggestion.suggestion_request(judge.criterion, judge.guidelines, found, spec, template)
    return Request(ask, judge.criterion, len(found))


def specs(run: Run) -> list[Spec]:
    """Return the models of a run."""
    settings = settings_file.validate_settings(run.settings, registry.get(run.protocol))
    return [spec for _, spec in model_specs(settings)]


def request_changes(request: Request, model: Model | None = None) -> Changes:
    """Return the changes that the model proposes, in one call; raises TiebreakError."""

    async def ask() -> Changes:
        client = model or Router()
        try:
            return await suggestion.suggest(client, request.ask, request.criterion)
        finally:
            await client.close()

    return asyncio.run(ask())
