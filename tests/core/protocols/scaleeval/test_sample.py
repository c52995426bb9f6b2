"""What the tour relies on: the sample study is whole, consistent with the protocol, and has something to decide."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, timedelta
from itertools import pairwise

import pytest

from core.formats import tiebreak
from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    RulingRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TraceRecord,
)
from core.items import SCENARIOS
from core.labels import PREFERENCE
from core.llm.client import Reply, ScriptedModel
from core.problems import Unreadable
from core.protocols.protocol import trace_random
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import Settings, own_order
from core.runner import run_flow
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimates
from core.trace import Ask, Event, ReplyUnreadable, Turn, TurnTaken, Verdict, VerdictReached, turns
from storage import database
from storage.transfer import imports, samples

RECORDS = list(tiebreak.read(samples.path()))
RECORD_TYPES = (
    StudyRecord,
    CriterionRecord,
    ScaleRecord,
    ItemRecord,
    RunRecord,
    TraceRecord,
    LabelRecord,
    MarkRecord,
    RulingRecord,
)
HELPFULNESS, REASONING = "trio · helpfulness", "trio · reasoning"


def of(sort):
    return [record for record in RECORDS if isinstance(record, sort)]


ITEMS = {record.item.id: record.item for record in of(ItemRecord)}
RUNS = {record.name: record for record in of(RunRecord)}
TRACES = of(TraceRecord)
LABELS = [record.label for record in of(LabelRecord)]
STANDING = {(label.target.item, label.annotator): label.value for label in LABELS}


def verdict(trace: TraceRecord) -> Verdict:
    last = trace.events[-1]
    assert isinstance(last, VerdictReached)
    return last.verdict


def replies(trace: TraceRecord) -> list[Turn]:
    """Every reply, those asked for again too."""
    return [event.turn for event in trace.events if isinstance(event, TurnTaken | ReplyUnreadable)]


def each(run: str) -> list[TraceRecord]:
    return [trace for trace in TRACES if trace.run == run]


def debates():
    return [pytest.param(trace, id=f"{trace.run} {trace.item}") for trace in TRACES]


def test_every_line_is_a_record_in_the_order_in_which_records_refer_to_each_other():
    sorts = list(dict.fromkeys(type(record) for record in RECORDS))
    assert sorts == list(RECORD_TYPES)


def test_the_file_is_written_as_tiebreak_writes_it(tmp_path):
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(RECORDS, stream)
    assert copy.read_bytes() == samples.path().read_bytes()


def test_the_study_says_that_it_proves_nothing():
    (study,) = of(StudyRecord)
    assert study.sample and study.rules.overlap == 3
    assert "no model was asked" in study.description and "proves anything about any model" in study.description
    assert study.guidelines.startswith("### ")


def test_four_items_with_two_responses_for_each_scenario():
    assert Counter(item.scenario for item in ITEMS.values()) == dict.fromkeys(SCENARIOS, 4)
    for item in ITEMS.values():
        assert [response.system for response in item.responses] == ["model A", "model B"]
        assert len({response.text for response in item.responses}) == 2


def test_there_is_text_that_looks_like_markup_and_like_a_formula():
    texts = [text for item in ITEMS.values() for text in (item.prompt, *(r.text for r in item.responses))]
    for piece in ("<b>", "<script>", "```python", "```sql", "$(1 - p)(1 + p) = 1 - p^2$", "|---|"):
        assert any(piece in text for text in texts), piece


def test_four_criteria_with_five_named_levels_and_a_scale():
    criteria = [record.criterion for record in of(CriterionRecord)]
    assert [criterion.name for criterion in criteria] == ["helpfulness", "creativity", "reasoning", "interpretability"]
    for criterion in criteria:
        assert criterion.definition and len(criterion.rubric) == 5
        assert all(" - " in line for line in criterion.rubric)
    assert {(record.kind, record.criterion): record.scale for record in of(ScaleRecord)} == {
        ("preference", criterion.name): PREFERENCE for criterion in criteria
    }


def test_the_runs_have_settings_of_the_protocol_and_say_that_they_are_samples():
    criteria = {record.criterion.name: record.criterion for record in of(CriterionRecord)}
    assert list(RUNS) == [HELPFULNESS, REASONING]
    for run in RUNS.values():
        settings = Settings.model_validate(run.settings)
        assert run.protocol in PROTOCOLS and run.source == "sample"
        assert [judge.name for judge in settings.judges] == ["judge A", "judge B", "judge C"]
        assert settings.rounds == 3 and settings.criterion == criteria[run.criterion]


def test_one_debate_an_item_on_helpfulness_and_one_a_scenario_on_reasoning():
    assert [trace.item for trace in each(HELPFULNESS)] == list(ITEMS)
    assert Counter(ITEMS[trace.item].scenario for trace in each(REASONING)) == dict.fromkeys(SCENARIOS, 1)


@pytest.mark.parametrize("trace", debates())
def test_a_debate_is_what_the_protocol_makes_of_its_replies(trace):
    run, item = RUNS[trace.run], ITEMS[trace.item]
    settings, stored = Settings.model_validate(run.settings), {}
    for turn in replies(trace):
        stored.setdefault((turn.speaker, turn.round), []).append(turn)

    def answer(ask: Ask) -> Reply:
        turn = stored[ask.speaker, ask.round].pop(0)
        finish = {"the model refused": "refused", "the reply was cut": "cut off"}.get(turn.problem[:17], "stop")
        return Reply(text=turn.reply, finish=finish, usage=turn.usage)

    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    flow = PROTOCOLS[run.protocol].flow(item, settings, trace_random(run.seed, item), run.prompts)
    asyncio.run(run_flow(flow, ScriptedModel(answer), record))
    assert without_prompts(events) == list(trace.events)
    assert not any(stored.values())


def without_prompts(events: Sequence[Event]) -> list[Event]:
    return [
        event.model_copy(update={"turn": event.turn.model_copy(update={"prompt": ""})})
        if isinstance(event, TurnTaken | ReplyUnreadable)
        else event
        for event in events
    ]


@pytest.mark.parametrize("trace", debates())
def test_a_reading_is_the_last_line_of_its_reply_in_the_items_own_order(trace):
    for turn in replies(trace):
        if turn.problem:
            assert turn.reading is None
            continue
        number = int(turn.reply.splitlines()[-1])
        assert turn.reading == (0, *turn.shown)[number] == own_order(turn.shown)(turn.reply)


@pytest.mark.parametrize("trace", debates())
def test_opinions_are_the_first_and_last_readings(trace):
    concluded = verdict(trace)
    first = {turn.speaker: turn.reading for turn in reversed(turns(trace.events))}
    last = {turn.speaker: turn.reading for turn in turns(trace.events)}
    told = {(opinion.judge, opinion.stage): opinion.value for opinion in concluded.opinions}
    assert told == (
        {(judge, "first"): value for judge, value in first.items()}
        | {(judge, "last"): value for judge, value in last.items()}
        | {("scaleeval", "verdict"): concluded.value}
    )


@pytest.mark.parametrize("trace", debates())
def test_judges_write_a_paragraph_and_use_plausible_effort(trace):
    for turn in replies(trace):
        assert 20 <= len(turn.reply.split()) <= 160
        assert turn.usage.prompt_tokens and turn.usage.completion_tokens and turn.usage.seconds
        assert turn.usage.completion_tokens <= 220 and 0.5 < turn.usage.seconds < 10
        assert (turn.usage.dollars is None) == (turn.speaker == "judge C")


def test_both_orders_of_presentation_occur():
    assert {turn.shown for trace in TRACES for turn in replies(trace)} == {(1, 2), (2, 1)}


def test_every_way_in_which_a_debate_can_end_is_there():
    concluded = [verdict(trace) for trace in each(HELPFULNESS)]
    assert Counter(one.outcome for one in concluded) == {"agreed": 20, "disputed": 9, "no_verdict": 3}
    at_once = [trace for trace in each(HELPFULNESS) if verdict(trace).outcome == "agreed" and rounds(trace) == 1]
    assert len(at_once) == 12
    assert {one.value for one in concluded if one.outcome == "agreed"} == {1, 2, 0}
    last = [Counter(o.value for o in one.opinions if o.stage == "last") for one in concluded]
    assert last.count(Counter([1, 2, 0])) >= 3


def rounds(trace: TraceRecord) -> int:
    return 1 + max(turn.round for turn in turns(trace.events))


def test_judges_change_their_minds_and_some_twice():
    changes = Counter()
    for trace in TRACES:
        said: dict[str, list[object]] = {}
        for turn in turns(trace.events):
            said.setdefault(turn.speaker, []).append(turn.reading)
        changes.update(sum(a != b for a, b in pairwise(readings)) for readings in said.values())
    assert changes[1] >= 10 and changes[2] >= 2


def test_each_kind_of_trouble_with_a_reply_is_there():
    settled = [turn.problem for trace in TRACES for turn in turns(trace.events) if turn.problem]
    assert any("refused" in problem for problem in settled)
    assert any("cut off" in problem for problem in settled)
    assert any("last line" in problem for problem in settled)
    again = [(trace, event) for trace in TRACES for event in trace.events if isinstance(event, ReplyUnreadable)]
    second = [turns(trace.events)[event.ask].reading for trace, event in again]
    assert None in second and any(reading is not None for reading in second)


def test_an_unreadable_reply_cannot_be_read():
    for trace in TRACES:
        for event in trace.events:
            if isinstance(event, ReplyUnreadable):
                with pytest.raises(Unreadable):
                    own_order(event.turn.shown)(event.turn.reply)


def test_annotators_overlap_only_in_part():
    assert {annotator for _, annotator in STANDING} == {"annotator 1", "annotator 2", "annotator 3"}
    wide = Counter(Counter(item for item, _ in STANDING).values())
    assert len({item for item, _ in STANDING}) == 26
    assert set(wide) == {1, 2, 3} and wide[3] < 20


def test_labels_are_values_of_the_scale_given_in_working_time():
    for label in LABELS:
        assert label.target.item in ITEMS and PREFERENCE.holds(label.value)
        assert label.at is not None and label.at.year == 2026 and label.at.utcoffset() == timedelta(0)
        assert label.seconds is not None and 20 <= label.seconds <= 90
    assert [label.at for label in LABELS] == sorted(label.at.astimezone(UTC) for label in LABELS if label.at)


def test_some_minds_changed_after_the_debate_was_revealed():
    seen = set()
    for label in LABELS:
        place = (label.target, label.annotator)
        assert label.blind == (place not in seen)
        seen.add(place)
    changed = [label for label in LABELS if not label.blind]
    assert len(changed) == 3 and all(label.reason for label in changed)


def test_a_newcomer_finds_disputed_debates_that_nobody_has_decided():
    labelled = {item for item, _ in STANDING}
    disputed = {trace.item for trace in each(HELPFULNESS) if verdict(trace).outcome == "disputed"}
    assert len(disputed - labelled) == 6 and disputed & labelled


def agreement(scenario: str | None = None):
    rows = [(i, who, value) for (i, who), value in STANDING.items() if scenario in (None, ITEMS[i].scenario)]
    ratings = Ratings.from_rows(*zip(*rows, strict=True), categories=PREFERENCE.categories)
    return estimates(ratings, ["percent", "fleiss_kappa", "gwet_ac1"], resamples=100)


def test_people_agree_as_people_do():
    kappa = agreement()["fleiss_kappa"].value
    assert kappa is not None and 0.5 < kappa < 0.7


def test_mathematics_shows_the_prevalence_paradox():
    found = agreement("math")
    assert found["percent"].value > 0.8 and found["gwet_ac1"].value > 0.8 and found["fleiss_kappa"].value < 0.1


def test_two_rulings_a_flag_and_a_note():
    rulings = [record.ruling for record in of(RulingRecord)]
    assert [ruling.adjudicator for ruling in rulings] == ["annotator 1"] * 2
    assert all(ruling.reason and ruling.target.item in ITEMS for ruling in rulings)
    assert Counter(mark.mark for mark in of(MarkRecord)) == {"flag": 1, "note": 1}


def test_a_store_takes_it_in_whole(tmp_path):
    engine = database.connect(f"sqlite:///{tmp_path}/sample.db")
    database.upgrade(engine)
    added = imports.load(engine, "sample", RECORDS)
    assert (added.items, added.runs, added.traces) == (32, 2, 40)
    assert (added.labels, added.marks, added.rulings) == (len(LABELS), 2, 2)
