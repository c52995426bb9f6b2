"""A large study for measurements of the result pages, with rows inserted directly: imports would take an hour."""

import random
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Engine

from core.items import Item, Response
from core.labels import Label, Target
from core.trace import Turn, TurnCompleted, Usage
from storage.db import connections
from storage.db.connections import insert_all, writing
from storage.db.fingerprints import label_row, with_fingerprint
from storage.db.tables import AnnotatorRow, EventRow, ItemRow, LabelRow, OpinionRow, RunRow, TargetRow, TraceRow, now
from storage.labels import targets
from storage.runs import call_totals
from storage.runs.events import event_row
from storage.studies import studies

STUDY, CRITERION, SCENARIOS = "large", "helpfulness", 8
SYSTEMS = ("gpt-4o", "claude-3-opus", "llama-3-70b", "mistral-large")
MODELS = ("gpt-4o", "claude-3-opus", "llama-3-8b", "mistral-small", "command-r")
UNLABELLED_EVERY = 10
"""Every tenth item has no labels and the one after it has twice as many, so queues have open targets."""
BATCH = 10_000


def plant(engine: Engine, items: int = 50_000, judges: int = 20, annotators: int = 30, labels: int = 2) -> int:
    """Insert a study of pairs, in which every judge has judged every item, with `labels` times `items` labels.

    A judge errs on 10 to 40 % of the items and has no verdict on 1 %, which is a dispute; a label is wrong on 12 %.
    Returns the id of the study.
    """
    connections.upgrade(engine)
    rng = random.Random(7)
    truth = [rng.choice((0, 1, 1, 2, 2)) for _ in range(items)]
    with writing(engine) as session:
        study = studies.get_or_create(session, STUDY).id
        _insert(session, ItemRow, (_item_row(study, number, rng) for number in range(items)))
        _insert(session, TargetRow, (_target_row(study, number) for number in range(1, items + 1)))
        names = [f"annotator {number + 1}" for number in range(annotators)]
        _insert(
            session,
            AnnotatorRow,
            ({"id": number + 1, "name": name, "created_at": now()} for number, name in enumerate(names)),
        )
        _insert(session, LabelRow, _label_rows(study, truth, names, labels, rng))
    for judge in range(judges):
        with writing(engine) as session:
            _plant_judge(session, study, judge, truth, rng)
    with writing(engine) as session:
        targets.count_labels_of_study(session, study)
        targets.mark_disputed_of_study(session, study)
    connections.update_statistics(engine)
    return study


def _insert(session: connections.Session, table: Any, rows: Iterator[dict[str, Any]]) -> None:
    for batch in connections.batches(list(rows), BATCH):
        insert_all(session, table, batch)


def _item_row(study: int, number: int, rng: random.Random) -> dict[str, Any]:
    systems = rng.sample(SYSTEMS, 2)
    responses = tuple(Response(text="word " * rng.randint(10, 60), system=system) for system in systems)
    scenario = f"scenario {number % SCENARIOS}"
    item = Item(id=f"item {number}", prompt=f"Question {number}?", responses=responses, scenario=scenario)
    return {"id": number + 1, "study_id": study, "key": item.id, "position": number, "scenario": scenario, "body": item}


def _target_row(study: int, id: int) -> dict[str, Any]:
    return {"id": id, "study_id": study, "item_id": id, "kind": "preference", "criterion": CRITERION, "part": ""}


def _label_rows(
    study: int, truth: list[int], names: list[str], labels: int, rng: random.Random
) -> Iterator[dict[str, Any]]:
    for number, value in enumerate(truth):
        target = Target(item=f"item {number}", kind="preference", criterion=CRITERION)
        times = {0: 0, 1: 2}.get(number % UNLABELLED_EVERY, 1)
        for annotator in rng.sample(range(len(names)), times * labels):
            given = value if rng.random() > 0.12 else rng.choice((0, 1, 2))
            label = Label(target=target, annotator=names[annotator], value=given)
            yield with_fingerprint(label_row(label, study, number + 1, annotator + 1))


def _plant_judge(session: connections.Session, study: int, judge: int, truth: list[int], rng: random.Random) -> None:
    name, model = f"judge {judge + 1} with a long descriptive name", MODELS[judge % len(MODELS)]
    settings = {"judges": [{"name": name, "spec": {"model": model}}]}
    names = {"name": f"run {judge + 1}", "protocol": "single-judge", "criterion": CRITERION}
    run = RunRow(study_id=study, **names, settings=settings, prompts={}, state="finished")
    session.add(run)
    session.flush()
    errors = 0.1 + 0.3 * judge / 20
    first = judge * len(truth) + 1
    traces, opinions, events = [], [], []
    for number, value in enumerate(truth):
        given = value if rng.random() > errors else rng.choice((0, 1, 2))
        verdict = None if rng.random() < 0.01 else given
        trace = first + number
        owners = {"study_id": study, "run_id": run.id}
        shown = (1, 2) if rng.random() < 0.5 else (2, 1)
        outcome = "agreed" if verdict is not None else "no_verdict"
        traces.append(
            {
                **{"id": trace, **owners, "item_id": number + 1, "outcome": outcome, "contention": 0.0, "problem": ""},
                "shown_orders": [shown],
            }
        )
        opinions.append(
            {
                **owners,
                "trace_id": trace,
                "target_id": number + 1,
                "judge": name,
                "stage": "verdict",
                "value": verdict,
                "problem": "",
            }
        )
        usage = Usage(prompt_tokens=500, completion_tokens=20, seconds=1.0, dollars=0.001)
        turn = Turn(
            speaker=name, step="opinion", round=0, model=model, reply="1", reading=verdict, shown=shown, usage=usage
        )
        events.append(event_row(TurnCompleted(ask=0, turn=turn), trace, run.id, 0, None))
    for table, rows in ((TraceRow, traces), (OpinionRow, opinions), (EventRow, events)):
        _insert(session, table, iter(rows))
    run.call_totals = call_totals.of_ended_run(session, run.id)
