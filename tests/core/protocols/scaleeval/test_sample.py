"""The sample study of ScaleEval: consistent with the protocol, with content for every part of its pages."""

from collections import Counter
from datetime import UTC, timedelta
from itertools import pairwise

import pytest

from core.errors import UnreadableReply
from core.formats import tiebreak
from core.formats.records import (
    AdjudicationRecord,
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    TraceRecord,
)
from core.items import SCENARIOS
from core.labels import PREFERENCE
from core.protocols.prompt_parts import in_item_order
from core.protocols.registry import PROTOCOLS
from core.protocols.scaleeval.protocol import CHOICE
from core.protocols.scaleeval.settings import Settings
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_statistics
from core.trace import ReplyUnreadable, Verdict, VerdictReached, completed_turns
from storage.db import connections
from storage.transfer import imports, samples
from tests.core.protocols.sample_replays import replay_sample, replies
from tests.databases import create_database

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
    AdjudicationRecord,
)
HELPFULNESS, REASONING = "trio · helpfulness", "trio · reasoning"


def records(record_type):
    return [record for record in RECORDS if isinstance(record, record_type)]


ITEMS = {record.item.id: record.item for record in records(ItemRecord)}
RUNS = {record.name: record for record in records(RunRecord)}
TRACES = records(TraceRecord)
LABELS = [record.label for record in records(LabelRecord)]
CURRENT_LABELS = {(label.target.item, label.annotator): label.value for label in LABELS}


def verdict_of(trace: TraceRecord) -> Verdict:
    last = trace.events[-1]
    assert isinstance(last, VerdictReached)
    return last.verdict


def traces_of(run: str) -> list[TraceRecord]:
    return [trace for trace in TRACES if trace.run == run]


def debate_params():
    return [pytest.param(trace, id=f"{trace.run} {trace.item}") for trace in TRACES]


def test_every_line_is_a_record_in_the_order_in_which_records_refer_to_each_other():
    types = list(dict.fromkeys(type(record) for record in RECORDS))
    assert types == list(RECORD_TYPES)


def test_the_file_is_written_as_tiebreak_writes_it(tmp_path):
    copy = tmp_path / "copy.jsonl"
    with copy.open("w", encoding="utf-8") as stream:
        tiebreak.write(RECORDS, stream)
    assert copy.read_bytes() == samples.path().read_bytes()


def test_the_study_is_described_as_a_sample():
    (study,) = records(StudyRecord)
    assert study.sample and study.rules.overlap == 3
    assert "not the output of a model" in study.description and "no evidence about any model" in study.description
    assert study.guidelines.startswith("### ")


def test_four_items_with_two_responses_for_each_scenario():
    assert Counter(item.scenario for item in ITEMS.values()) == dict.fromkeys(SCENARIOS, 4)
    for item in ITEMS.values():
        assert [response.system for response in item.responses] == ["model A", "model B"]
        assert len({response.text for response in item.responses}) == 2


def test_some_texts_contain_markup_code_and_formulas():
    texts = [text for item in ITEMS.values() for text in (item.prompt, *(r.text for r in item.responses))]
    for piece in ("<b>", "<script>", "```python", "```sql", "$(1 - p)(1 + p) = 1 - p^2$", "|---|"):
        assert any(piece in text for text in texts), piece


def test_four_criteria_with_five_named_levels_and_a_scale():
    criteria = [record.criterion for record in records(CriterionRecord)]
    assert [criterion.name for criterion in criteria] == ["helpfulness", "creativity", "reasoning", "interpretability"]
    for criterion in criteria:
        assert criterion.definition and len(criterion.rubric) == 5
        assert all(" - " in line for line in criterion.rubric)
    assert {(record.kind, record.criterion): record.scale for record in records(ScaleRecord)} == {
        ("preference", criterion.name): PREFERENCE for criterion in criteria
    }


def test_the_runs_have_valid_settings_and_are_marked_as_samples():
    criteria = {record.criterion.name: record.criterion for record in records(CriterionRecord)}
    assert list(RUNS) == [HELPFULNESS, REASONING]
    for run in RUNS.values():
        settings = Settings.model_validate(run.settings)
        assert run.protocol in PROTOCOLS and run.source == "sample"
        assert [judge.name for judge in settings.judges] == ["judge A", "judge B", "judge C"]
        assert settings.rounds == 3 and settings.criterion == criteria[run.criterion]


def test_helpfulness_has_one_debate_per_item_and_reasoning_one_per_scenario():
    assert [trace.item for trace in traces_of(HELPFULNESS)] == list(ITEMS)
    assert Counter(ITEMS[trace.item].scenario for trace in traces_of(REASONING)) == dict.fromkeys(SCENARIOS, 1)


@pytest.mark.parametrize("trace", debate_params())
def test_replaying_the_replies_gives_the_same_debate(trace):
    assert replay_sample(RUNS[trace.run], ITEMS[trace.item], trace) == list(trace.events)


@pytest.mark.parametrize("trace", debate_params())
def test_a_reading_is_the_last_line_of_the_reply_in_the_items_own_order(trace):
    for turn in replies(trace):
        if turn.problem:
            assert turn.reading is None
            continue
        number = int(turn.reply.splitlines()[-1])
        assert turn.reading == in_item_order(turn.shown)(number)
        assert CHOICE.parse(turn.reply).value == number


@pytest.mark.parametrize("trace", debate_params())
def test_opinions_are_the_first_and_last_readings(trace):
    verdict = verdict_of(trace)
    first = {turn.speaker: turn.reading for turn in reversed(completed_turns(trace.events))}
    last = {turn.speaker: turn.reading for turn in completed_turns(trace.events)}
    values = {(opinion.judge, opinion.stage): opinion.value for opinion in verdict.opinions}
    assert values == (
        {(judge, "first"): value for judge, value in first.items()}
        | {(judge, "last"): value for judge, value in last.items()}
        | {("scaleeval", "verdict"): verdict.value}
    )


@pytest.mark.parametrize("trace", debate_params())
def test_replies_have_a_plausible_length_and_usage(trace):
    for turn in replies(trace):
        assert 20 <= len(turn.reply.split()) <= 160
        assert turn.usage.prompt_tokens and turn.usage.completion_tokens and turn.usage.seconds
        assert turn.usage.completion_tokens <= 220 and 0.5 < turn.usage.seconds < 10
        assert (turn.usage.dollars is None) == (turn.speaker == "judge C")


def test_both_orders_of_presentation_occur():
    assert {turn.shown for trace in TRACES for turn in replies(trace)} == {(1, 2), (2, 1)}


def test_every_outcome_of_a_debate_occurs():
    verdicts = [verdict_of(trace) for trace in traces_of(HELPFULNESS)]
    assert Counter(verdict.outcome for verdict in verdicts) == {"agreed": 20, "disputed": 9, "no_verdict": 3}
    immediate = [
        trace for trace in traces_of(HELPFULNESS) if verdict_of(trace).outcome == "agreed" and rounds(trace) == 1
    ]
    assert len(immediate) == 12
    assert {verdict.value for verdict in verdicts if verdict.outcome == "agreed"} == {1, 2, 0}
    last = [Counter(o.value for o in verdict.opinions if o.stage == "last") for verdict in verdicts]
    assert last.count(Counter([1, 2, 0])) >= 3


def rounds(trace: TraceRecord) -> int:
    return 1 + max(turn.round for turn in completed_turns(trace.events))


def test_judges_change_their_opinion_and_some_twice():
    changes = Counter()
    for trace in TRACES:
        readings_by_judge: dict[str, list[object]] = {}
        for turn in completed_turns(trace.events):
            readings_by_judge.setdefault(turn.speaker, []).append(turn.reading)
        changes.update(sum(a != b for a, b in pairwise(readings)) for readings in readings_by_judge.values())
    assert changes[1] >= 10 and changes[2] >= 2


def test_every_kind_of_unreadable_reply_occurs():
    settled = [turn.problem for trace in TRACES for turn in completed_turns(trace.events) if turn.problem]
    assert any("refused" in problem for problem in settled)
    assert any("cut off" in problem for problem in settled)
    assert any("which one is better" in problem for problem in settled)
    unreadable = [(trace, event) for trace in TRACES for event in trace.events if isinstance(event, ReplyUnreadable)]
    retried = [completed_turns(trace.events)[event.ask].reading for trace, event in unreadable]
    assert None in retried and any(reading is not None for reading in retried)


def test_an_unreadable_reply_cannot_be_read():
    for trace in TRACES:
        for event in trace.events:
            if isinstance(event, ReplyUnreadable):
                with pytest.raises(UnreadableReply):
                    CHOICE.parse(event.turn.reply)


def test_annotators_overlap_only_in_part():
    assert {annotator for _, annotator in CURRENT_LABELS} == {"annotator 1", "annotator 2", "annotator 3"}
    overlaps = Counter(Counter(item for item, _ in CURRENT_LABELS).values())
    assert len({item for item, _ in CURRENT_LABELS}) == 26
    assert set(overlaps) == {1, 2, 3} and overlaps[3] < 20


def test_labels_are_on_the_scale_with_plausible_times():
    for label in LABELS:
        assert label.target.item in ITEMS and PREFERENCE.contains(label.value)
        assert label.at is not None and label.at.year == 2026 and label.at.utcoffset() == timedelta(0)
        assert label.seconds is not None and 20 <= label.seconds <= 90
    assert [label.at for label in LABELS] == sorted(label.at.astimezone(UTC) for label in LABELS if label.at)


def test_some_labels_changed_after_the_debate_was_revealed():
    seen = set()
    for label in LABELS:
        key = (label.target, label.annotator)
        assert label.blind == (key not in seen)
        seen.add(key)
    changed = [label for label in LABELS if not label.blind]
    assert len(changed) == 3 and all(label.reason for label in changed)


def test_some_disputed_debates_have_no_label():
    labelled = {item for item, _ in CURRENT_LABELS}
    disputed = {trace.item for trace in traces_of(HELPFULNESS) if verdict_of(trace).outcome == "disputed"}
    assert len(disputed - labelled) == 6 and disputed & labelled


def estimate_agreement(scenario: str | None = None):
    rows = [
        (i, annotator, value)
        for (i, annotator), value in CURRENT_LABELS.items()
        if scenario in (None, ITEMS[i].scenario)
    ]
    ratings = Ratings.from_rows(*zip(*rows, strict=True), categories=PREFERENCE.categories)
    return estimate_statistics(ratings, ["percent", "fleiss_kappa", "gwet_ac1"], resamples=100)


def test_annotators_agree_moderately():
    kappa = estimate_agreement()["fleiss_kappa"].value
    assert kappa is not None and 0.5 < kappa < 0.7


def test_mathematics_shows_the_prevalence_paradox():
    statistics = estimate_agreement("math")
    assert (
        statistics["percent"].value > 0.8
        and statistics["gwet_ac1"].value > 0.8
        and statistics["fleiss_kappa"].value < 0.1
    )


def test_two_adjudications_a_flag_and_a_note():
    adjudications = [record.ruling for record in records(AdjudicationRecord)]
    assert [adjudication.adjudicator for adjudication in adjudications] == ["annotator 1"] * 2
    assert all(adjudication.reason and adjudication.target.item in ITEMS for adjudication in adjudications)
    assert Counter(mark.mark for mark in records(MarkRecord)) == {"flag": 1, "note": 1}


def test_the_sample_can_be_imported(tmp_path):
    engine = connections.connect(create_database(tmp_path / "sample.db"))
    added = imports.import_records(engine, "sample", RECORDS)
    assert (added.items, added.runs, added.traces) == (32, 2, 40)
    assert (added.labels, added.marks, added.rulings) == (len(LABELS), 2, 2)
