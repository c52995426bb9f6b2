"""From settings to a run: what it would take, making it, and carrying it in this very process."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from core.frozen import Frozen
from core.items import Item
from core.llm import costs, images
from core.llm.client import LiteLLM, Model
from core.llm.costs import Estimate
from core.problems import Problem
from core.protocols import registry, settings_file
from core.protocols.protocol import Protocol
from storage import runs, studies
from storage.database import reading, writing
from storage.runs import Progress, Run
from storage.studies import Study
from storage.worker.worker import carry_run, worker_name

PATIENCE = 60.0
"""Seconds to wait for another process that carries the run; a dead one is forgotten sooner."""


@dataclass(frozen=True)
class Order:
    """A run that somebody wants."""

    study: Study
    protocol: Protocol
    settings: Frozen
    name: str
    seed: int = 0
    parallel: int = 8
    ceiling: float | None = None
    limit: int | None = None
    scenario: str | None = None

    @property
    def prompts(self) -> dict[str, str]:
        """The text of every template, the study's own in place of ours."""
        return self.study.templates(self.protocol.name)

    @property
    def criterion(self) -> str:
        """The name of the criterion; empty where the protocol judges none or several."""
        criteria = self.protocol.criteria(self.settings)
        return criteria[0].name if len(criteria) == 1 else ""


def from_file(engine: Engine, study: Study, protocol: str, file: Path | None, name: str | None, **more: Any) -> Order:
    """The run that a settings file speaks of; its name is the file's where none is given."""
    if file is None:
        raise Problem(
            f"Name the settings: --settings FILE.yaml (examples: {registry.get(protocol).folder / 'examples'})."
        )
    wanted = registry.get(protocol)
    with reading(engine) as session:
        criteria = studies.criteria(session, study.id)
    return Order(study, wanted, settings_file.load(file, wanted, criteria), name or file.stem, **more)


def estimate(engine: Engine, order: Order) -> Estimate:
    """Calls, tokens and dollars, without asking anybody."""
    with reading(engine) as session:
        count, some = runs.planned(
            session, order.study.id, limit=order.limit, scenario=order.scenario, shown=costs.SAMPLE
        )
    _check_images(order, some)
    return costs.estimate(order.protocol, some, order.settings, texts=order.prompts, seed=order.seed, count=count)


def not_held(order: Order, expected: Estimate) -> str:
    """What the ceiling cannot do, in words; empty where it holds or where there is none."""
    if order.ceiling is None or expected.dollars is not None:
        return ""
    return "The ceiling counts only calls whose price is known, and that of some of these models is not."


def make(engine: Engine, order: Order) -> int:
    """A new run with a trace for every item; whoever carries runs will see it.

    Raises Problem for images that cannot be read, and for models that cannot see them.
    """
    if order.protocol.sends_images:
        with reading(engine) as session:
            count, _ = runs.planned(session, order.study.id, limit=order.limit, scenario=order.scenario, shown=1)
            _, every = runs.planned(session, order.study.id, limit=order.limit, scenario=order.scenario, shown=count)
        _check_images(order, every)
    with writing(engine) as session:
        return runs.create(
            session,
            order.study.id,
            order.name,
            protocol=order.protocol.name,
            criterion=order.criterion,
            settings=order.settings.model_dump(mode="json"),
            prompts=order.prompts,
            seed=order.seed,
            ceiling=order.ceiling,
            parallel=order.parallel,
            limit=order.limit,
            scenario=order.scenario,
        )


def _check_images(order: Order, some: Sequence[Item]) -> None:
    if order.protocol.sends_images:
        images.check(order.settings, some, images.folder(order.study.name))


def named(engine: Engine, study: Study, name: str) -> Run:
    """The study's run of that name."""
    with reading(engine) as session:
        known = runs.of_study(session, study.id)
    for run in known:
        if run.name == name:
            return run
    there = ", ".join(repr(run.name) for run in known) or "none"
    raise Problem(f"The study has no run called {name!r}; its runs: {there}.")


async def carry_here(
    engine: Engine, run_id: int, tell: Callable[[Run, Progress], None], model: Model | None = None
) -> tuple[Run, Progress]:
    """Carry a run in this process until it ends, telling now and then how far it is."""
    worker, model = worker_name(), model or LiteLLM()
    await _take(engine, run_id, worker)
    work = asyncio.create_task(carry_run(engine, run_id, model, worker=worker))
    last = None
    while not work.done():
        await asyncio.wait({work}, timeout=1.0)
        now = await asyncio.to_thread(progress, engine, run_id)
        if now != last:
            tell(*now)
        last = now
    await work
    await model.close()
    return progress(engine, run_id)


def progress(engine: Engine, run_id: int) -> tuple[Run, Progress]:
    """A run and how far it is."""
    with reading(engine) as session:
        return runs.get(session, run_id), runs.progress(session, run_id)


async def _take(engine: Engine, run_id: int, worker: str) -> None:
    """Become the process that carries the run, waiting for one that died to be forgotten."""
    end = time.monotonic() + PATIENCE
    while True:
        with writing(engine) as session:
            if runs.take(session, run_id, worker):
                return
        if time.monotonic() > end:
            raise Problem("Another process carries this run; watch it there, or cancel it first.")
        await asyncio.sleep(1.0)
