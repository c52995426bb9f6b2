"""The share of pairs on which a judge makes the same choice in both orders, from stored turns."""

import asyncio

from sqlalchemy import Engine

from core.formats.records import ItemRecord, RunRecord, TraceRecord
from core.items import Criterion
from core.labels import Opinion
from core.llm.client import ScriptedModel
from core.protocols import Judge
from core.protocols.dna_eval.settings import Settings
from core.protocols.registry import PROTOCOLS
from core.statistics.reports.alignment import AlignmentRow
from core.trace import Ask, Event, Spec, Verdict, VerdictReached
from storage.reports import alignment
from storage.reports._order_consistency import STATISTIC
from storage.studies import studies
from storage.worker import _launch
from tests.conftest import make_item
from tests.storage.shared import a_turn, import_study


def trace(item: str, *readings: object, rounds: int = 1) -> TraceRecord:
    """Return a trace of judge j0 with two readings in each round, for the orders 1-2 and 2-1."""
    events: list[Event] = [
        a_turn(n, speaker="j0", round=n // 2, reading=reading, problem="" if reading is not None else "unreadable",
               shown=(1, 2) if n % 2 == 0 else (2, 1))
        for n, reading in enumerate(readings)
    ]  # fmt: skip
    last = readings[-2:]
    value = last[0] if last[0] == last[1] and isinstance(last[0], int) else None
    opinion = Opinion(
        kind="preference", judge="j0", stage="last", value=value, criterion="helpfulness",
        problem="" if value is not None else "the choice changes with the order",
    )  # fmt: skip
    verdict = Verdict(outcome="agreed" if value is not None else "disputed", value=value, opinions=(opinion,))
    return TraceRecord(run="r", item=item, events=(*events, VerdictReached(verdict=verdict)))


def consistency(engine: Engine, by: alignment.By, *traces: TraceRecord) -> list[AlignmentRow]:
    items = [ItemRecord(item=make_item(one.item, scenario="math")) for one in traces]
    run = RunRecord(name="r", protocol="single-judge", criterion="helpfulness")
    study = import_study(engine, [*items, run, *traces])
    return [row for row in alignment.rows(engine, study, by, resamples=5) if row.statistic == STATISTIC]


def test_a_flip_is_inconsistent_and_an_unreadable_order_is_left_out(engine: Engine) -> None:
    traces = (trace("a", 1, 1), trace("b", 1, 2), trace("c", 0, 0), trace("d", None, 1))
    (row,) = consistency(engine, "all", *traces)
    assert (row.judge, row.criterion, row.value, row.items) == ("j0", "helpfulness", 2 / 3, 3)
    assert row.low is not None and "1 of 4 pairs are unreadable in an order" in row.reason
    assert row.reference == ""


def test_only_the_last_round_counts(engine: Engine) -> None:
    (row,) = consistency(engine, "all", trace("a", 1, 2, 2, 2))
    assert (row.value, row.items) == (1.0, 1)


def test_scores_are_choices_and_scenarios_are_groups(engine: Engine) -> None:
    higher, equal = {"1": 9.0, "2": 3.0}, {"1": 5.0, "2": 5.0}
    (row,) = consistency(engine, "scenario", trace("a", higher, higher), trace("b", higher, equal))
    assert (row.group, row.value, row.items) == ("math", 0.5, 2)


def test_a_judge_asked_in_one_order_has_no_row(engine: Engine) -> None:
    one_order = trace("a", 1, 1)
    events = tuple(event for event in one_order.events if getattr(event, "ask", 0) == 0)
    assert consistency(engine, "all", one_order.model_copy(update={"events": events})) == []


def test_a_debate_counts_with_the_last_opinion_in_each_order(engine: Engine) -> None:
    one = trace("a", 1, 2)
    reply = a_turn(2, speaker="j0", step="reply", round=1, reading=1, shown=(2, 1))
    (row,) = consistency(engine, "all", one.model_copy(update={"events": (*one.events[:2], reply, one.events[2])}))
    assert (row.value, row.items) == (1.0, 1)


def test_scores_by_aspect_count_with_their_weighted_sum(engine: Engine) -> None:
    settings = Settings(
        judges=(Judge(name="j0", spec=Spec(model="m")),),
        aspects=(Criterion(name="x"), Criterion(name="y")),
        criterion=Criterion(name="helpfulness"),
        both_orders=True,
    )

    def reply(ask: Ask) -> str:
        """Prefer response 1 on x, which decides, and on y what is read first."""
        if ask.step == "weights":
            return "x: 90\ny: 10"
        return "9 1" if ask.round == 2 or ask.shown == (1, 2) else "1 9"

    study = imports_study(engine)
    request = _launch.RunRequest(study, PROTOCOLS["dna_eval"], settings, "run")
    run_id = _launch.create_run(engine, request)
    asyncio.run(_launch.execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(reply)))
    rows = [row for row in alignment.rows(engine, study, "all", resamples=5) if row.statistic == STATISTIC]
    assert [(row.judge, row.value, row.items) for row in rows] == [("j0", 1.0, 1)]


def imports_study(engine: Engine) -> studies.Study:
    """Import a study of one item."""
    return import_study(engine, [ItemRecord(item=make_item("a"))])
