"""Hypothesis strategies for records: any text that a database can store, any finite number."""

from datetime import timedelta, timezone

from hypothesis import strategies as st

from core.formats.records import (
    AdjudicationRecord,
    AnnotatorRecord,
    CriterionRecord,
    GuidelinesReadRecord,
    GuidelinesRecord,
    ItemRecord,
    KnownAnswerRecord,
    LabelRecord,
    MarkRecord,
    ReplyRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    StudyRules,
    TargetRecord,
    TraceRecord,
    TrainingAnswerRecord,
    ViewRecord,
)
from core.items import Criterion, Item, Response
from core.labels import Adjudication, Kind, Label, Opinion, Scale, Target
from core.trace import (
    CallFailed,
    ReplyUnreadable,
    SchemaRefused,
    TraceFailed,
    TraceRestarted,
    Turn,
    TurnCompleted,
    Usage,
    Verdict,
    VerdictReached,
)

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
optional_texts = st.none() | texts
floats = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.integers() | floats
values = st.booleans() | numbers | texts | st.dictionaries(texts, floats, max_size=3)
time_zones = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
times = st.none() | st.datetimes(timezones=st.none() | time_zones)
kinds = st.sampled_from(Kind.__args__)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


def tuples(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, max_size=3).map(tuple)


scales = st.builds(
    Scale,
    level=st.sampled_from(["nominal", "ordinal", "interval"]),
    categories=tuples(st.booleans() | numbers | texts),
    low=st.none() | floats,
    high=st.none() | floats,
)
targets = st.builds(Target, item=texts, kind=kinds, criterion=texts, part=texts)
criteria = st.builds(Criterion, name=texts, definition=texts, rubric=tuples(texts), scale=st.none() | scales)
responses = st.builds(Response, text=texts, system=optional_texts, image=optional_texts)
items = st.builds(
    Item,
    id=texts,
    prompt=texts,
    responses=tuples(responses),
    context=optional_texts,
    reference=optional_texts,
    scenario=optional_texts,
    group=optional_texts,
)
labels = st.builds(
    Label,
    target=targets,
    annotator=texts,
    value=st.none() | values,
    blind=st.booleans(),
    reason=texts,
    seconds=st.none() | floats.map(lambda number: number + 0.0),  # SQLite stores -0.0 as 0.0
    at=times,
)
adjudications = st.builds(
    Adjudication, target=targets, value=values, rule=texts, reason=texts, adjudicator=texts, at=times
)
usages = st.builds(
    Usage,
    prompt_tokens=st.none() | st.integers(),
    completion_tokens=st.none() | st.integers(),
    seconds=st.none() | floats,
    dollars=st.none() | floats,
)
turns = st.builds(
    Turn,
    speaker=texts,
    step=texts,
    round=st.integers(),
    model=texts,
    reply=texts,
    reading=st.none() | values,
    problem=texts,
    shown=tuples(st.integers()),
    usage=usages,
    prompt=texts,
    criterion=texts,
    notes=tuples(texts),
    format=st.sampled_from(["text", "json"]),
    reading_rule=texts,
    reading_span=st.none() | st.tuples(st.integers(), st.integers()),
    read_by=texts,
)
opinions = st.builds(
    Opinion,
    kind=kinds,
    judge=texts,
    stage=st.sampled_from(["first", "last", "verdict"]),
    value=st.none() | values,
    criterion=texts,
    part=texts,
    problem=texts,
    reason=texts,
)
verdicts = st.builds(
    Verdict,
    outcome=st.sampled_from(["agreed", "disputed", "no_verdict"]),
    value=st.none() | values,
    reason=texts,
    opinions=tuples(opinions),
    contention=st.none() | floats,
)
events = st.one_of(
    st.builds(TurnCompleted, ask=st.integers(), turn=turns),
    st.builds(ReplyUnreadable, ask=st.integers(), turn=turns, max_tokens=st.none() | st.integers()),
    st.builds(CallFailed, ask=st.integers(), speaker=texts, problem=texts, wait=st.none() | floats),
    st.builds(SchemaRefused, ask=st.integers(), speaker=texts, problem=texts),
    st.builds(VerdictReached, verdict=verdicts),
    st.builds(TraceFailed, problem=texts),
    st.builds(TraceRestarted, reason=texts),
)
rules = st.builds(StudyRules, overlap=st.integers(1, 9), reveal=st.booleans(), lease_minutes=st.integers(1, 90))
records = st.one_of(
    st.builds(
        StudyRecord,
        description=texts,
        guidelines=texts,
        rules=rules,
        prompts=st.dictionaries(texts, texts, max_size=2),
        sample=st.booleans(),
    ),
    st.builds(CriterionRecord, criterion=criteria),
    st.builds(ScaleRecord, kind=kinds, criterion=texts, scale=scales),
    st.builds(ItemRecord, item=items),
    st.builds(
        RunRecord,
        name=texts,
        protocol=texts,
        criterion=texts,
        settings=st.dictionaries(texts, json_values, max_size=3),
        prompts=st.dictionaries(texts, texts, max_size=2),
        seed=st.integers(),
        source=st.sampled_from(["live", "imported", "sample"]),
        created_at=times,
        ended_at=times,
        state=st.sampled_from(["requested", "cancelled", "stopped", "finished"]),
        ceiling=st.none() | floats,
        parallel=st.integers(1, 20),
    ),
    st.builds(GuidelinesRecord, version=st.integers(1), text=texts, at=times),
    st.builds(AnnotatorRecord, name=texts),
    st.builds(TargetRecord, target=targets, overlap=st.none() | st.integers(0)),
    st.builds(ReplyRecord, target=targets, annotator=texts, author=texts, text=texts, closed=st.booleans(), at=times),
    st.builds(KnownAnswerRecord, target=targets, value=values, reason=texts, at=times),
    st.builds(
        TrainingAnswerRecord,
        target=targets,
        annotator=texts,
        attempt=st.integers(1, 9),
        value=values,
        reason=texts,
        correct=st.booleans(),
        passed=st.none() | st.booleans(),
        seconds=st.none() | floats,
        at=times,
    ),
    st.builds(ViewRecord, target=targets, annotator=texts, at=times),
    st.builds(GuidelinesReadRecord, annotator=texts, version=st.integers(0), at=times),
    st.builds(TraceRecord, run=texts, item=texts, events=tuples(events)),
    st.builds(LabelRecord, label=labels),
    st.builds(
        MarkRecord,
        target=targets,
        annotator=texts,
        mark=st.sampled_from(["skip", "flag", "note"]),
        text=texts,
        on=st.booleans(),
        at=times,
    ),
    st.builds(AdjudicationRecord, ruling=adjudications),
)
