"""Policies of a stored study: signals, states, certificates and verdicts that stand."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from core.designs import Design, Form
from core.errors import TiebreakError
from core.formats.records import Record, TraceRecord
from core.labels import Opinion
from core.trace import Turn, TurnCompleted, Verdict, VerdictReached
from storage.db.connections import reading, writing
from storage.labels import designs
from storage.reports import certificates, label_plans, policy, signals
from storage.reports.alignment import load_data
from storage.reports.certificates import Standing
from storage.reports.judge_ranking import Selection
from storage.reports.policy import PolicyQuery, Reason, State
from storage.reports.signals import Signal
from storage.studies import studies
from storage.studies.studies import Study
from storage.transfer import imports
from storage.transfer.gold import GoldOptions, gold_rows
from tests.conftest import make_item
from tests.sessions import read, write
from tests.storage.reports import planted_policies as planted
from tests.storage.reports.test_alignment import import_study

PROMISE = PolicyQuery(risk=0.1)


@pytest.fixture
def study(engine: Engine) -> Study:
    return import_study(engine, planted.records())


@pytest.fixture(scope="module")
def read_study(module_engine: Engine) -> Study:
    """The same study, for tests that only read it."""
    return import_study(module_engine, planted.records())


@pytest.fixture(scope="module")
def certificate(module_engine: Engine, read_study: Study) -> dict[str, Any]:
    """The certificate of its report, as it is stored."""
    made: dict[str, Any] = json.loads(json.dumps(certify(module_engine, read_study)))
    return made


def certify(engine: Engine, study: Study, query: PolicyQuery = PROMISE) -> dict[str, object] | None:
    data = load_data(engine, study, "gold")
    with reading(engine) as session:
        return certificates.make(session, study, data, policy.report(session, study, data, query))


def test_sure_verdicts_are_accepted_and_the_others_go_to_people(module_engine: Engine, read_study: Study) -> None:
    report = policy.of_study(module_engine, read_study, PROMISE)
    assert (report.state, report.query.judges, report.parts[0].signal) == (State.accept, ("careful",), Signal.stated)
    assert report.risk_upper is not None and report.risk_upper <= 0.1
    assert 100 < report.accepted < 500 and report.accepted + (report.pile == 1).sum() == report.targets == 500
    assert report.labelled == 240 and report.effective == pytest.approx(240)
    verification = report.cascade.verification
    assert verification is not None and verification.labelled <= 24
    assert report.hours == pytest.approx(report.undecided_by_people * 3 * 36 / 3600)
    assert "may stand without a person" in policy.describe(report)
    row = policy.table(report)
    assert {"state", "signal", "threshold", "risk_upper", "accepted", "to_people", "coverage", "n"} <= set(row)
    json.dumps(row, allow_nan=False)


def test_a_risk_out_of_reach_is_none_with_the_labels_that_could_decide(
    module_engine: Engine, read_study: Study
) -> None:
    report = policy.of_study(module_engine, read_study, PolicyQuery(risk=0.01))
    assert report.accepted == 0 and report.risk_upper is None
    assert (report.state, report.reason) == (State.not_enough_labels, Reason.few_labels)
    harder = import_study(module_engine, planted.records(error=2.0), name="harder")
    report = policy.of_study(module_engine, harder, PolicyQuery(risk=0.05))
    assert (report.state, report.reason) == (State.none, Reason.too_many_errors)
    row = policy.table(report)
    assert row["state"] == "none" and row["threshold"] is None and row["accepted"] == 0


def test_labels_that_could_decide_are_drawn_by_the_design(engine: Engine) -> None:
    study = import_study(engine, planted.records(600, labels=0, error=0.1))
    write(engine, designs.set_design, study.id, planted.CRITERION, Design(Form.random, 3, {"": 0.08}))
    frame = read(engine, designs.frame, study.id)
    assert frame is not None
    verdicts = {one.item: one.events[0].verdict.value for one in planted.records(600, 0, 0.1) if one.type == "trace"}  # type: ignore[union-attr]
    drawn = frame.item[frame.drawn].tolist()
    imports.import_records(engine, study.name, [planted.label(item, int(verdicts[item])) for item in drawn])  # type: ignore[arg-type]
    query = PolicyQuery(risk=0.05, signal="stated")
    before = policy.of_study(engine, study, query)
    assert before.reason is Reason.few_labels and before.more is not None
    assert f"labels of {before.more.strata['']:,} targets, drawn" in policy.describe_more(before)
    ranking, _ = label_plans.of_study(engine, study, Selection())
    assert ranking.threshold.endswith(policy.describe_more(before))
    write(engine, policy.draw_more, study, before)
    frame = read(engine, designs.frame, study.id)
    assert frame is not None and frame.drawn.sum() == len(drawn) + before.more.strata[""]
    new = [planted.label(item, int(verdicts[item])) for item in set(frame.item[frame.drawn]) - set(drawn)]  # type: ignore[arg-type]
    imports.import_records(engine, study.name, new)
    assert policy.of_study(engine, study, query).state is State.accept


def test_labels_of_disputed_targets_say_nothing_of_the_others(engine: Engine) -> None:
    changed: list[Record] = []
    for number, record in enumerate(planted.records(300, labels=0)):
        changed.append(record)
        if isinstance(record, TraceRecord) and number % 6 == 2:
            opinions = [replace_value(one) for one in record.events[0].verdict.opinions]  # type: ignore[union-attr]
            event = VerdictReached(verdict=Verdict(outcome="disputed", opinions=tuple(opinions)))
            changed[-1] = record.model_copy(update={"events": (event,)})
            changed.append(planted.label(record.item, 1))
    report = policy.of_study(engine, import_study(engine, changed), PROMISE)
    assert (report.state, report.reason) == (State.not_enough_labels, Reason.disputed)
    assert "disputed targets only" in policy.describe(report)


def replace_value(opinion: Opinion) -> Opinion:
    return opinion.model_copy(update={"confidence": 0.9})


def test_a_tie_of_people_counts_as_an_error(engine: Engine, study: Study) -> None:
    before = policy.of_study(engine, study, PROMISE)
    threshold = before.parts[0].threshold
    opinion_of = {
        record.item: record.events[0].verdict.opinions[0]  # type: ignore[union-attr]
        for record in planted.records()
        if isinstance(record, TraceRecord)
    }
    labelled = [one.label.target.item for one in planted.records() if one.type == "label"]
    sure = [item for item in labelled if (opinion_of[item].confidence or 0) >= (threshold or 0)]
    ties = [planted.label(item, 3 - int(opinion_of[item].value), "annotator 2") for item in sure[:5]]  # type: ignore[arg-type]
    imports.import_records(engine, study.name, ties)
    after = policy.of_study(engine, study, PROMISE)
    assert after.undecided == 5 and "count as errors" in policy.describe_basis(after)
    assert after.accepted < before.accepted


def test_names_that_a_study_does_not_have_are_refused(module_engine: Engine, read_study: Study) -> None:
    for query in (
        replace(PROMISE, judges=("nobody",)),
        replace(PROMISE, criterion="other"),
        replace(PROMISE, signal="token"),
        replace(PROMISE, risk=0.0),
        replace(PROMISE, looks=0),
    ):
        with pytest.raises(TiebreakError):
            policy.of_study(module_engine, read_study, query)


def panel_trace(number: int, choices: tuple[int, ...], rounds: int) -> TraceRecord:
    """Return a debate whose verdict is 1, with the last opinions of three judges."""
    turns = tuple(
        TurnCompleted(
            ask=place,
            turn=Turn(
                speaker=f"j{place % 3}", step="rating", round=place // 3, model="m", reply="1", reading=1,
                shown=((1, 2), (2, 1))[place % 2], probabilities={"1": 0.5 + number / 100, "2": 0.1},
            ),
        )
        for place in range(3 * rounds)
    )  # fmt: skip
    kind, criterion = "preference", planted.CRITERION
    opinions = tuple(
        Opinion(kind=kind, judge=f"j{place}", stage="last", value=value, criterion=criterion)
        for place, value in enumerate(choices)
    )
    verdict = Opinion(kind=kind, judge="panel", stage="verdict", value=1, criterion=criterion)
    concluded = Verdict(outcome="agreed", value=1, opinions=(*opinions, verdict), contention=number / 10)
    return TraceRecord(run="panel", item=f"item {number}", events=(*turns, VerdictReached(verdict=concluded)))


def test_signals_are_read_from_what_is_stored(engine: Engine) -> None:
    from core.formats.records import ItemRecord

    records: list[Record] = [planted.run("panel"), planted.run("twice a"), planted.run("twice b")]
    records[1:] = [
        run.model_copy(update={"settings": {"judge": {"name": "twice", "spec": {"model": "m"}}}})
        for run in records[1:]  # type: ignore[union-attr]
    ]
    choices = ((1, 1, 1), (1, 1, 2), (1, 2, 2))
    for number, choice in enumerate(choices):
        item = f"item {number}"
        records += [ItemRecord(item=make_item(f"item {number}")), panel_trace(number, choice, rounds=number + 1)]
        records.append(planted.label(item, 1))
        for name in ("a", "b"):
            value = 2 if (name, number) == ("b", 0) else 1
            one = planted.trace(item, value, None, judge="twice")
            records.append(one.model_copy(update={"run": f"twice {name}"}))
    study = import_study(engine, records)
    data = load_data(engine, study, "gold")
    (dataset,) = data.categorical_datasets
    with reading(engine) as session:
        of_panel = signals.of_judge(session, study.id, data.opinions, dataset, "panel")
        twice = next(name for name in dataset.judges if name.endswith("twice a"))
        of_repeated = signals.of_judge(session, study.id, data.opinions, dataset, twice)
    assert of_panel[Signal.panel].tolist() == pytest.approx([1, 2 / 3, 1 / 3])
    assert of_panel[Signal.contention].tolist() == pytest.approx([1, 0.9, 0.8])
    assert of_panel[Signal.rounds].tolist() == pytest.approx([1, 1 / 2, 1 / 3])
    assert of_panel[Signal.token].tolist() == pytest.approx([0.5, 0.51, 0.52])
    assert of_repeated[Signal.repeats].tolist() == pytest.approx([0.5, 1, 1])
    assert of_repeated[Signal.none].tolist() == [1, 1, 1]


def test_a_certificate_holds_until_something_changes(engine: Engine, study: Study) -> None:
    certificate = certify(engine, study)
    assert certificate is not None and certificate == certify(engine, study)
    parsed = certificates.parse(json.dumps({"state": "accept", "certificate": certificate}))
    found = certificates.verify(engine, study, parsed)
    assert found.standing is Standing.holds
    assert found.risk_upper == pytest.approx(certificate["risk_upper"])
    assert certificates.page(certificate)[0].sentences[0].startswith(f"{certificate['accepted']:,} verdicts stand")
    imports.import_records(engine, study.name, [_new_item(), planted.trace("item 900", 1, 0.9)])
    found = certificates.verify(engine, study, parsed)
    assert (found.standing, found.changed) == (Standing.expired, ("the population",))


def test_a_certificate_states_what_is_not_known_of_an_imported_judge(
    module_engine: Engine, certificate: dict[str, Any]
) -> None:
    (judge,) = certificate["judges"]
    assert (judge["runs"], judge["source"], judge["models"]) == (["careful"], "imported", ["m"])
    assert judge["unknown"] == ["prompts", "settings"]
    named = [planted.run(model=planted.JUDGE), *planted.records()[1:]]
    of_named = certify(module_engine, import_study(module_engine, named, name="named")) or {}
    assert of_named["judges"][0]["unknown"] == ["model", "prompts", "settings"]  # type: ignore[index]
    sections = certificates.page(of_named)
    assert "imported with the run careful" in " ".join(sections[0].sentences)
    assert sections[1].rows[0]["models"] == "not known"
    prompted = [planted.run(prompt="Judge."), *planted.records()[1:]]
    known = certify(module_engine, import_study(module_engine, prompted, name="prompted")) or {}
    assert known["judges"][0]["unknown"] == [] and len(certificates.page(known)[0].sentences) == 2  # type: ignore[index]


def _new_item() -> Record:
    from core.formats.records import ItemRecord

    return ItemRecord(item=make_item("item 900"))


@pytest.mark.parametrize(
    ("part", "name"),
    [("models", "model"), ("prompts_hash", "prompt"), ("settings_hash", "settings"), ("verdicts_hash", "verdicts")],
)
def test_a_certificate_of_another_judge_is_expired(
    module_engine: Engine, read_study: Study, certificate: dict[str, Any], part: str, name: str
) -> None:
    changed = certificate | {"judges": [certificate["judges"][0] | {part: "another"}]}
    found = certificates.verify(module_engine, read_study, certificates.parse(json.dumps(changed)))
    assert (found.standing, found.changed) == (Standing.expired, (f"the {name} of careful",))


@pytest.mark.parametrize("field", ["accepted", "risk_upper", "n", "design"])
def test_a_certificate_that_was_edited_promises_nothing(
    module_engine: Engine, read_study: Study, certificate: dict[str, Any], field: str
) -> None:
    edited = certificates.parse(json.dumps(certificate | {field: 0}))
    assert certificates.verify(module_engine, read_study, edited).standing is Standing.altered


def test_later_labels_can_break_a_certificate(engine: Engine, study: Study) -> None:
    certificate = certify(engine, study)
    assert certificate is not None
    stored = {one.label.target.item for one in planted.records() if one.type == "label"}
    verdicts = {one.item: one.events[0].verdict.value for one in planted.records() if isinstance(one, TraceRecord)}  # type: ignore[union-attr]
    wrong = [planted.label(item, 3 - int(value)) for item, value in verdicts.items() if item not in stored]  # type: ignore[arg-type]
    imports.import_records(engine, study.name, wrong)
    found = certificates.verify(engine, study, certificate)
    assert found.standing is Standing.broken and "Broken" in found.sentence


def test_a_file_that_is_no_certificate_is_refused() -> None:
    for text in ("", "[]", "{}", '{"certificate": null}', '{"format": "other"}'):
        with pytest.raises(TiebreakError, match="no certificate"):
            certificates.parse(text)


def test_accepted_verdicts_stand_until_the_policy_is_withdrawn(engine: Engine, study: Study) -> None:
    certificate = certify(engine, study)
    assert certificate is not None
    with writing(engine) as session:
        certificates.save(session, study.id, certificate)
        certificates.save(session, study.id, certificate)
    (stored,) = read(engine, studies.by_id, study.id).rules.policies
    assert stored == certificate
    accepting = read(engine, studies.by_id, study.id)
    values = certificates.standing_values(engine, accepting)
    assert len(values) == certificate["accepted"]
    with reading(engine) as session:
        rows = list(gold_rows(session, accepting, GoldOptions(policy=values)))
        people = [row.gold for row in gold_rows(session, accepting)]
    assert [row.gold for row in rows if row.gold.source != "policy"] == people
    (first, *_) = standing = [row for row in rows if row.gold.source == "policy"]
    labelled = {gold.target for gold in people}
    assert len(standing) == len(values.keys() - labelled)
    assert first.policy.startswith("careful, stated from 0.") and first.gold.value == values[first.gold.target][0]
    imports.import_records(engine, study.name, [_new_item(), planted.trace("item 900", 1, 0.9)])
    with pytest.raises(TiebreakError, match=r"does not stand\. Expired: the population"):
        certificates.standing_values(engine, accepting)
    with writing(engine) as session:
        certificates.withdraw(session, study.id, "preference", planted.CRITERION)
        assert studies.by_id(session, study.id).rules.policies == ()
        with pytest.raises(TiebreakError, match="No policy stands"):
            certificates.standing_values(engine, studies.by_id(session, study.id))


def test_labels_of_a_design_count_by_their_probability(engine: Engine) -> None:
    design = Design(Form.random, 3, {"": 0.4})
    study = import_study(engine, planted.records(600, labels=0, error=0.1))
    write(engine, designs.set_design, study.id, planted.CRITERION, design)
    frame = read(engine, designs.frame, study.id)
    assert frame is not None
    verdicts = {one.item: one.events[0].verdict.value for one in planted.records(600, 0, 0.1) if one.type == "trace"}  # type: ignore[union-attr]
    drawn = frame.item[frame.drawn].tolist()
    chosen = frame.item[~frame.drawn].tolist()[:20]
    imports.import_records(engine, study.name, [planted.label(item, int(verdicts[item])) for item in [*drawn, *chosen]])  # type: ignore[arg-type]
    report = policy.of_study(engine, study, PROMISE)
    assert (report.state, report.accepted, report.labelled, report.chosen) == (State.accept, 600, len(drawn), 20)
    assert "drawn by design" in report.design
    assert int((~report.has_gold).sum()) == 600 - len(drawn) - 20
