"""Adding a protocol is its flow, its prompts and one line: a tiny one goes the whole way, from a run to gold."""

import asyncio

import pytest

from core import templates
from core.frozen import Frozen
from core.items import Criterion
from core.labels import Opinion
from core.llm.client import ScriptedModel
from core.problems import Unreadable
from core.protocols import registry
from core.protocols.protocol import Protocol
from core.trace import Ask, Flow, Spec, Verdict
from storage import labels, traces
from storage.database import reading
from storage.worker import launch
from storage.worker.launch import Order

CRITERION = Criterion(name="brevity")


class Settings(Frozen):
    """Who is asked."""

    judge: Spec
    criterion: Criterion = CRITERION


def flow(item, settings, chance, texts) -> Flow:
    """One judge says which response is shorter."""
    prompt = templates.render(texts, "which", one=item.responses[0].text, two=item.responses[1].text)
    (turn,) = yield [Ask("judge", "which", 0, settings.judge, prompt, read)]
    opinion = Opinion(
        kind="preference", criterion="brevity", judge="judge", stage="verdict", value=turn.reading, problem=turn.problem
    )
    outcome = "no_verdict" if turn.reading is None else "agreed"
    return Verdict(outcome=outcome, value=turn.reading, opinions=(opinion,))


def read(reply: str) -> int:
    if reply not in ("1", "2"):
        raise Unreadable("neither 1 nor 2")
    return int(reply)


@pytest.fixture
def sixth(monkeypatch, tmp_path) -> Protocol:
    """The tiny protocol, with its prompt in a folder and its line in the registry."""
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "which.txt").write_text("1: $one\n2: $two\nWhich is shorter?")
    tiny = Protocol(
        name="shorter",
        title="Shorter",
        description="The shorter wins.",
        judges="pair",
        folder=tmp_path,
        paper="-",
        settings=Settings,
        flow=flow,
        longest=lambda settings, ask: 1,
        shortest=lambda settings, ask: 1,
        reply_words=lambda settings: 1,
    )
    monkeypatch.setattr(registry, "BUILT_IN", registry.BUILT_IN | {"shorter": "shorter:PROTOCOL"})
    monkeypatch.setattr(registry, "_load", lambda location: tiny)
    return tiny


def test_a_sixth_protocol_runs_is_watched_and_gives_gold(engine, a_study, sixth):
    order = Order(a_study, sixth, Settings(judge=Spec(model="m")), "short")
    assert launch.estimate(engine, order).calls_at_most == 3
    replies = iter(["1", "2", "perhaps", "who knows"])
    run, progress = asyncio.run(
        launch.carry_here(
            engine, launch.make(engine, order), lambda run, progress: None, ScriptedModel(lambda ask: next(replies))
        )
    )
    assert run.state == "finished"
    assert (progress.agreed, progress.no_verdict, progress.totals.calls) == (2, 1, 4)
    with reading(engine) as session:
        found = traces.find(session, traces.Filter(a_study.id))
        assert sorted(trace.status for trace in found) == ["agreed", "agreed", "no_verdict"]
        golds = [gold for gold in labels.golds(session, a_study.id) if gold.target.criterion == "brevity"]
    assert sorted(str(gold.source) for gold in golds) == ["judges", "judges", "unresolved"]
