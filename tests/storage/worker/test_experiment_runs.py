import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from core import experiments as files
from core.errors import PermanentFailure, TiebreakError
from core.formats.records import ItemRecord, LabelRecord, ScaleRecord
from core.items import Response
from core.labels import Label, Scale, Target
from core.llm.client import Reply, ScriptedModel
from core.trace import Ask, Usage, VerdictReached
from storage.db.connections import reading, writing
from storage.db.tables import EventRow
from storage.reports import peer_reviews
from storage.runs import claims, experiments, runs, traces
from storage.studies.studies import Study
from storage.transfer import imports
from storage.worker import (
    StopRequests,
    estimate,
    execute_experiment,
    failed_part,
    find_run,
    influence_definition,
    plan,
    start,
)
from tests.conftest import make_item
from tests.core.protocols.critiques import make_item as make_critiqued_item
from tests.core.protocols.critiques import worked_example_reply
from tests.sessions import read
from tests.storage.critique_studies import import_study
from tests.storage.shared import find_traces

FILE = """
name: formats
protocol: single-judge
base: {judge: {name: j, model: m}, criterion: helpfulness}
axes: {format: [general, masked]}
repeats: 2
"""
PAID = Usage(prompt_tokens=10, completion_tokens=5, seconds=1.0, dollars=0.1)


def reply(ask: Ask) -> Reply:
    return Reply(text="Final answer: 1", usage=PAID)


def begin(engine: Engine, study: Study, text: str = FILE) -> int:
    return start(engine, study, plan(engine, study, files.parse(text)))


def execute(engine: Engine, experiment_id: int, answer: Any = reply) -> tuple[experiments.Progress, list[Ask]]:
    model = ScriptedModel(answer)
    progress = asyncio.run(execute_experiment(engine, experiment_id, lambda progress: None, model))
    return progress, model.asked


def test_every_cell_has_a_run_for_each_repeat(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    progress, _ = execute(engine, experiment_id)
    assert (progress.state, progress.runs, progress.finished, progress.done) == ("finished", 4, 4, 12)
    made = read(engine, experiments.runs_of, experiment_id)
    assert [(run.name, run.cell, run.repeat) for run in made] == [
        ("formats · general · repeat 1", {"format": "general"}, 1),
        ("formats · masked · repeat 1", {"format": "masked"}, 1),
        ("formats · general · repeat 2", {"format": "general"}, 2),
        ("formats · masked · repeat 2", {"format": "masked"}, 2),
    ]
    assert progress.summary().startswith("4 of 4 runs finished, 12 of 12 traces, 0 failed; 12 calls; $")


def test_repeats_at_temperature_0_have_stored_seeds_that_differ(engine: Engine, a_study: Study) -> None:
    planned = plan(engine, a_study, files.parse(FILE.replace("repeats: 2", "repeats: 3")))
    assert any("Repeats of m differ by the seed" in note for note in planned.notes)
    _, asked = execute(engine, experiment_id := start(engine, a_study, planned))
    made = read(engine, experiments.runs_of, experiment_id)
    assert [run.settings["judge"]["spec"]["seed"] for run in made] == [None, None, 1, 1, 2, 2]
    assert {ask.spec.seed for ask in asked} == {None, 1, 2}
    sampled = plan(
        engine, a_study, files.parse(FILE.replace("model: m", "model: m, temperature: 1").replace("formats", "s"))
    )
    assert not any("seed" in note for note in sampled.notes)


def test_starting_again_continues_and_adds_the_cells_of_a_larger_design(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    execute(engine, experiment_id)
    larger = FILE.replace("[general, masked]", "[general, masked, flipped]")
    assert begin(engine, a_study, larger) == experiment_id
    progress, asked = execute(engine, experiment_id)
    assert (progress.runs, progress.done, len({ask.prompt for ask in asked})) == (6, 18, 3)
    assert not execute(engine, begin(engine, a_study, larger))[1]


def test_a_stop_cancels_all_runs_and_the_same_command_continues_without_a_repeated_call(
    engine: Engine, a_study: Study
) -> None:
    requests, prompts = StopRequests(), Counter[str]()

    async def answer(ask: Ask) -> Reply:
        prompts[ask.prompt] += 1
        requests.count += prompts.total() == 2
        await asyncio.sleep(0.3)
        return reply(ask)

    model, text = ScriptedModel(answer), FILE.replace("repeats: 2", "parallel: 2")
    experiment_id = begin(engine, a_study, text)
    run = execute_experiment(engine, experiment_id, lambda progress: None, model, requests=requests)
    progress = asyncio.run(run)
    assert (progress.state, progress.done, progress.totals.calls, prompts.total()) == ("cancelled", 2, 2, 2)
    assert read(engine, claims.unclaimed) == [], "no worker continues it"
    progress, asked = execute(engine, begin(engine, a_study, text))
    assert (progress.state, progress.done, len(asked)) == ("finished", 6, 4)


def test_two_processes_that_start_an_experiment_at_once_create_each_run_once(engine: Engine, a_study: Study) -> None:
    planned = plan(engine, a_study, files.parse(FILE))
    same, other = (plan(engine, a_study, files.parse(FILE.replace("model: m", f"model: {model}"))) for model in "mx")
    experiment_id = start(engine, a_study, planned)
    assert start(engine, a_study, same) == experiment_id
    assert len(read(engine, experiments.runs_of, experiment_id)) == 4
    with pytest.raises(TiebreakError, match="has a run with other settings"):
        start(engine, a_study, other)


def test_an_invalid_cell_and_one_without_items_are_named_before_a_run_is_created(
    engine: Engine, a_study: Study
) -> None:
    with pytest.raises(TiebreakError, match="unknown: field 'format': input should be 'general'"):
        begin(engine, a_study, FILE.replace("masked", "unknown"))
    planned = plan(engine, a_study, files.parse(FILE + "scenario: nowhere"))
    with pytest.raises(TiebreakError, match="no item in the scenario 'nowhere' for general"):
        start(engine, a_study, planned)
    with reading(engine) as session:
        assert not experiments.of_study(session, a_study.id) and not runs.of_study(session, a_study.id)


def test_what_the_study_does_not_have_is_named_before_the_start(engine: Engine, a_study: Study) -> None:
    unknown = FILE.replace("criterion: helpfulness", "criterion: nosuch")
    notes = plan(engine, a_study, files.parse(f"{unknown}reference: debate:later\n")).notes
    assert notes[:2] == [
        "The study has no run or experiment 'later' yet, which is the reference of the results.",
        "The study has no criterion 'nosuch': judges are given its name alone.",
    ]
    for reference, sentence in (("nosuch", "There is no reference 'nosuch'"), ("debate:formats", "own reference")):
        with pytest.raises(TiebreakError, match=sentence):
            plan(engine, a_study, files.parse(f"{FILE}reference: {reference}\n"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("axes: {format", "axes: {words: [50], format", "has runs with the axes format; give the changed one another"),
        ("model: m", "model: other", "has a run with other settings or prompts for general"),
        ("repeats: 2", "repeats: 2\nsample: 1", "has runs with another value of 'sample'"),
    ],
)
def test_an_experiment_is_not_continued_with_other_settings(
    engine: Engine, a_study: Study, old: str, new: str, sentence: str
) -> None:
    begin(engine, a_study)
    with pytest.raises(TiebreakError, match=sentence):
        begin(engine, a_study, FILE.replace(old, new))


def test_the_ceiling_holds_for_all_runs_together(engine: Engine, a_study: Study) -> None:
    priced = FILE.replace("model: m", "model: m, max_tokens: 1, prompt_price: 0, completion_price: 100000")
    experiment_id = begin(engine, a_study, priced + "ceiling: 0.45\nparallel: 1\n")
    progress, asked = execute(engine, experiment_id)
    assert (progress.state, len(asked)) == ("stopped", 4)
    assert "The ceiling of $0.45 is reached." in progress.problem and progress.states == {"finished": 1, "stopped": 3}
    progress, asked = execute(engine, begin(engine, a_study, priced + "ceiling: 100\nparallel: 1\n"))
    assert (progress.state, len(asked)) == ("finished", 8)


def test_a_cell_that_fails_does_not_keep_the_others_from_their_end(engine: Engine, a_study: Study) -> None:
    imports.import_records(engine, "s", [ItemRecord(item=make_item(f"further item {n}")) for n in range(4)])
    text = FILE.replace("axes: {", "axes: {judge.model: [broken, works], ")

    def answer(ask: Ask) -> Reply:
        if ask.spec.model == "broken":
            raise PermanentFailure("The model is unknown.")
        return Reply(text="Final answer: 1")

    progress, _ = execute(engine, begin(engine, a_study, text), answer)
    assert progress.states == {"stopped": 4, "finished": 4} and progress.state == "stopped"
    assert "formats · broken · masked · repeat 2: The first 5 items all failed" in progress.problem
    assert "The model is unknown." in progress.problem and "works" not in progress.problem


def test_only_what_failed_is_continued_and_each_failing_run_is_listed(engine: Engine, a_study: Study) -> None:
    """One model fails on one of three items; afterwards it works, and the other cell is not touched."""
    text = FILE.replace("axes: {format: [general, masked]}", "axes: {judge.model: [shaky, sound]}")
    is_down = True

    def answer(ask: Ask) -> Reply:
        if ask.spec.model == "shaky" and is_down and "item 1" in ask.prompt:
            raise PermanentFailure("The model is busy.")
        return reply(ask)

    text = text.replace("repeats: 2", "repeats: 1")
    progress, _ = execute(engine, begin(engine, a_study, text), answer)
    (failing,) = progress.failing
    assert (failing.run, failing.state, failing.done, failing.failed) == ("formats · shaky", "incomplete", 2, 1)
    assert "The model is busy." in failing.problem and progress.statuses[1].state == "finished"
    is_down = False
    planned = failed_part(engine, plan(engine, a_study, files.parse(text)))
    assert [made.name for _, made in planned.existing] == ["formats · shaky"] and not planned.new
    progress, asked = execute(engine, start(engine, a_study, planned), answer)
    assert (progress.failing, progress.done, len(asked)) == ([], 6, 1)


def test_runs_at_once_use_the_servers_of_all_models_together_and_share_the_ceiling(
    engine: Engine, a_study: Study
) -> None:
    """A call reserves and costs $0.1: five runs that may each spend $0.45 make four calls together."""
    axes = f"{{judge.model: [{', '.join(f'm{n}' for n in range(5))}]}}"
    text = FILE.replace("{format: [general, masked]}", axes).replace(
        "repeats: 2", "repeats: 1\nparallel: 1\nfresh: true"
    )
    text = text.replace("model: m}", "model: m, max_tokens: 1, prompt_price: 0, completion_price: 100000}")
    running, most, pause = set[str](), 0, 0.0

    class Slow(ScriptedModel):
        async def complete(self, ask: Ask) -> Reply:
            nonlocal most
            running.add(ask.spec.model)
            most = max(most, len(running))
            await asyncio.sleep(pause)
            running.discard(ask.spec.model)
            return await super().complete(ask)

    def run(name: str, at_once: int, extra: str = "") -> experiments.Progress:
        nonlocal pause
        pause = 0.2 if at_once > 1 else 0.0
        started = begin(engine, a_study, text.replace("name: formats", f"name: {name}") + extra)
        execution = execute_experiment(engine, started, lambda progress: None, Slow(reply), at_once=at_once)
        return asyncio.run(execution)

    assert run("single", 1).state == "finished" and most == 1
    assert run("together", 5).state == "finished" and most == 5
    assert run("limited", 5, "ceiling: 0.45\n").totals.calls == 4


def test_cells_that_differ_in_the_chair_alone_share_the_peers(engine: Engine) -> None:
    records = [ItemRecord(item=make_item(name, responses=(Response(text=name),))) for name in ("a", "b")]
    study = import_study(engine, *records)
    text = """
name: chairs
protocol: refer
base:
  peers: [{name: p1, model: m1}, {name: p2, model: m2}]
  chair: {name: chair, model: c1}
  criterion: {name: Engaging, scale: {level: ordinal, categories: [1, 2, 3]}}
axes: {chair.model: [c1, c2]}
"""
    planned = plan(engine, study, files.parse(text))
    assert estimate(engine, planned) == (
        "2 new runs, 4 traces: expected about 12 calls, price unknown; a call that is stored, or that several runs "
        "share, is paid once; at most 24 calls if every reply has to be requested twice"
    )
    progress, asked = execute(engine, start(engine, study, planned), lambda ask: "Rating of Engaging: 2")
    assert progress.state == "finished"
    assert sorted(ask.spec.model for ask in asked) == ["c1", "c1", "c2", "c2", "m1", "m1", "m2", "m2"]
    assert (progress.totals.calls, progress.totals.reused) == (12, 4)


def test_the_chair_is_asked_again_without_each_peer_and_the_misleading_one_is_found(engine: Engine) -> None:
    """People say 1 and so does the first peer; the second says 3, and the chair follows the highest review."""
    items = [ItemRecord(item=make_item(f"i{n}", responses=(Response(text=str(n)),))) for n in range(6)]
    target = {"kind": "score", "criterion": "Engaging"}
    labels = [
        LabelRecord(label=Label(target=Target(item=f"i{n}", **target), annotator="ann", value=1)) for n in range(6)
    ]
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    study = import_study(engine, *items, ScaleRecord(kind="score", criterion="Engaging", scale=scale), *labels)
    base = """
name: reviews
protocol: refer
base:
  peers: [{name: together_ai/meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo, model: m1}, {name: p2, model: m2}]
  chair: {name: chair, model: c}
  criterion: {name: Engaging, scale: {level: ordinal, categories: [1, 2, 3]}}
"""

    def answer(ask: Ask) -> Reply:
        is_high = ask.spec.model == "m2" or (ask.spec.model == "c" and "Rating: 3" in ask.prompt)
        return Reply(text=f"Rating of Engaging: {3 if is_high else 1}", usage=Usage(dollars=0.001))

    llama = "Meta-Llama-3.1-8B-Instruct-Turbo"
    long = f"together_ai/meta-llama/{llama}"  # longer than a level may be, as in docs/papers/refer
    execute(engine, begin(engine, study, base), answer)
    run = find_run(engine, study, "reviews")
    definition = influence_definition(engine, run)
    progress, asked = execute(engine, start(engine, study, plan(engine, study, definition)), answer)
    assert progress.state == "finished" and {ask.spec.model for ask in asked} == {"c"}
    with reading(engine) as session:
        errors = peer_reviews.load_errors(session, run)
        rows = {row.name: row for row in peer_reviews.load_influences(session, run, errors)}
    values = {name: (row.items, row.change.value, row.error.value) for name, row in rows.items()}
    assert values == {"all peers, another seed": (6, 0, 0), f"without {llama}": (6, 0, 0), "without p2": (6, 2, 2)}
    # Another chair says 1, and the chair that follows the highest review is asked again with altered reviews. Newer
    # reviews on another criterion have no verdict in common.
    other = base.replace("model: c}", "model: d}").replace("name: reviews", "name: others")
    execute(engine, begin(engine, study, other), answer)
    elsewhere = other.replace("name: others", "name: elsewhere").replace("name: Engaging", "name: Natural")
    for text in (elsewhere, elsewhere.replace("elsewhere", "e").replace("model: d}", "model: e}")):
        execute(engine, begin(engine, study, text), lambda ask: "Rating of Natural: 1")
    definition = influence_definition(engine, run, altered=True)
    progress, asked = execute(engine, start(engine, study, plan(engine, study, definition)), answer)
    assert progress.state == "finished" and {ask.spec.model for ask in asked} == {"c"}
    with reading(engine) as session:
        rows = {row.name: row for row in peer_reviews.load_influences(session, run, errors)}
        front = peer_reviews.load_front(session, run, errors)
    assert {name: (row.items, row.change.value, row.error.value) for name, row in rows.items()} == values | {
        f"{llama}: opposite": (6, 0, 0), "p2: opposite": (6, 2, 2), f"{llama}: of another item": (6, 0, 0),
        "p2: of another item": (6, 0, 0), "chair d": (6, 2, 2), "jury of 2 chairs": (6, 1, 1),
    }  # fmt: skip
    points = {one.peers: (one.peer_count, one.samples, one.items, one.error.value, one.on_front) for one in front}
    assert points == {long: (1, 1, 6, 0, True), "p2": (1, 1, 6, 2, False), f"{long}, p2": (2, 1, 6, 2, False)}
    assert [one.dollars for one in front] == pytest.approx([2, 2, 3])


def test_judges_of_critiques_share_references_and_aius_with_equal_ids(engine: Engine) -> None:
    study = import_study(engine, ItemRecord(item=make_critiqued_item()))
    text = """
name: critics
protocol: metacritique
base:
  writer: {name: writer, model: w}
  judges: [{name: judge, model: j1}]
axes: {judges.0.model: [j1, j2]}
"""
    experiment_id = begin(engine, study, text)
    progress, asked = execute(engine, experiment_id, worked_example_reply)
    steps = Counter(ask.step for ask in asked if ask.spec.model == "w")
    assert steps == {"reference_answer": 1, "reference_critique": 1, "extract": 2}
    assert progress.totals.reused == 4
    with reading(engine) as session:
        ids = [run.id for run in experiments.runs_of(session, experiment_id)]
        found = [find_traces(session, traces.Filter(study.id, run_id))[0].id for run_id in ids]
        events = [traces.events(session, trace_id)[-1][1] for trace_id in found]
    judged = [{(o.kind, o.part) for o in e.verdict.opinions} for e in events if isinstance(e, VerdictReached)]
    assert len(judged[0]) == 12 and judged[0] == judged[1]


# The progress of an experiment


def test_the_rate_is_that_of_the_last_two_minutes(engine: Engine, a_study: Study) -> None:
    """Six traces ended an hour ago, and six a minute ago."""
    experiment_id = begin(engine, a_study)
    execute(engine, experiment_id)
    with writing(engine) as session:
        ids = [run.id for run in experiments.runs_of(session, experiment_id)]
        for run_ids, age in ((ids[:2], 3600), (ids[2:], 60)):
            changed = update(EventRow).where(col(EventRow.run_id).in_(run_ids))
            session.execute(changed.values(at=datetime.now(UTC) - timedelta(seconds=age)))
    assert read(engine, experiments.progress, experiment_id).per_minute == pytest.approx(6, rel=0.1)


def test_traces_without_a_verdict_are_counted(engine: Engine, a_study: Study) -> None:
    progress, _ = execute(engine, begin(engine, a_study), lambda ask: "I would rather not say.")
    assert (progress.done, progress.failed, progress.no_verdict) == (12, 0, 12)
    assert "12 of 12 traces, 0 failed, 12 without a verdict; " in progress.summary()


def test_cancelling_counts_the_runs_that_had_not_ended(engine: Engine, a_study: Study) -> None:
    experiment_id = begin(engine, a_study)
    with writing(engine) as session:
        assert experiments.cancel(session, experiment_id) == 4
        assert experiments.cancel(session, experiment_id) == 0
