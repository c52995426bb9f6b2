"""Records as hypothesis makes them: any text a database can hold, any finite number."""

from datetime import timedelta, timezone

from hypothesis import strategies as st

from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    LabelRecord,
    MarkRecord,
    RulingRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    StudyRules,
    TraceRecord,
)
from core.items import Criterion, Item, Response
from core.labels import Kind, Label, Opinion, Ruling, Scale, Target
from core.trace import CallFailed, ReplyUnreadable, TraceFailed, Turn, TurnTaken, Usage, Verdict, VerdictReached

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
maybe = st.none() | texts
floats = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.integers() | floats
values = st.booleans() | numbers | texts | st.dictionaries(texts, floats, max_size=3)
zones = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
moments = st.none() | st.datetimes(timezones=st.none() | zones)
kinds = st.sampled_from(Kind.__args__)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


def several(strategy: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(strategy, max_size=3).map(tuple)


scales = st.builds(
    Scale,
    level=st.sampled_from(["nominal", "ordinal", "interval"]),
    categories=several(st.booleans() | numbers | texts),
    low=st.none() | floats,
    high=st.none() | floats,
)
targets = st.builds(Target, item=texts, kind=kinds, criterion=texts, part=texts)
criteria = st.builds(Criterion, name=texts, definition=texts, rubric=several(texts), scale=st.none() | scales)
responses = st.builds(Response, text=texts, system=maybe, image=maybe)
items = st.builds(
    Item,
    id=texts,
    prompt=texts,
    responses=several(responses),
    context=maybe,
    reference=maybe,
    scenario=maybe,
    group=maybe,
)
labels = st.builds(
    Label,
    target=targets,
    annotator=texts,
    value=st.none() | values,
    blind=st.booleans(),
    reason=texts,
    seconds=st.none() | floats,
    at=moments,
)
rulings = st.builds(Ruling, target=targets, value=values, rule=texts, reason=texts, adjudicator=texts, at=moments)
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
    shown=several(st.integers()),
    usage=usages,
    prompt=texts,
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
)
verdicts = st.builds(
    Verdict,
    outcome=st.sampled_from(["agreed", "disputed", "no_verdict"]),
    value=st.none() | values,
    reason=texts,
    opinions=several(opinions),
)
events = st.one_of(
    st.builds(TurnTaken, ask=st.integers(), turn=turns),
    st.builds(ReplyUnreadable, ask=st.integers(), turn=turns),
    st.builds(CallFailed, ask=st.integers(), speaker=texts, problem=texts, wait=st.none() | floats),
    st.builds(VerdictReached, verdict=verdicts),
    st.builds(TraceFailed, problem=texts),
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
        settings=st.dictionaries(texts, plain, max_size=3),
        prompts=st.dictionaries(texts, texts, max_size=2),
        seed=st.integers(),
        source=st.sampled_from(["live", "imported", "sample"]),
        created_at=moments,
    ),
    st.builds(TraceRecord, run=texts, item=texts, events=several(events)),
    st.builds(LabelRecord, label=labels),
    st.builds(
        MarkRecord,
        target=targets,
        annotator=texts,
        mark=st.sampled_from(["skip", "flag", "note"]),
        text=texts,
        on=st.booleans(),
        at=moments,
    ),
    st.builds(RulingRecord, ruling=rulings),
)
