"""The page Policy: the answer, the piles, sending targets to people, and verdicts that stand."""

import pytest
from sqlalchemy import func, select
from sqlmodel import col

from core.designs import Design, Form
from core.formats.records import ItemRecord, Record
from pages.parts import resources
from storage.db import connections
from storage.db.tables import TargetRow
from storage.labels import designs
from tests.conftest import make_item
from tests.pages.visits import page_text, prepare_copy, prepare_study, visit
from tests.storage.reports import planted_policies as planted

PAGE = "results/policy"


@pytest.fixture
def study() -> None:
    prepare_copy(planted.records)


def two_judges() -> list[Record]:
    """Return the planted study with a second judge that is right about everything."""
    records = planted.records()
    truth = {one.label.target.item: one.label.value for one in records if one.type == "label"}
    records.append(planted.run("second"))
    records += [
        planted.trace(f"item {number}", int(truth.get(f"item {number}", 1)), number / 500, judge="second")  # type: ignore[arg-type]
        for number in range(500)
    ]
    return records


def metrics(app: object) -> dict[str, int]:
    return {one.label: int(one.value.replace(",", "")) for one in app.metric}  # type: ignore[attr-defined]


def test_the_piles_follow_the_promise_and_open_their_targets(study: None) -> None:
    strict, loose = (metrics(visit(PAGE, risk=risk)) for risk in ("8.0", "20.0"))
    assert 0 < strict["Accepted from careful"] < loose["Accepted from careful"]
    assert sum(strict.values()) == sum(loose.values()) == 500
    app = visit(PAGE, risk="1.0")
    assert metrics(app) == {"Accepted from careful": 0, "To people": 500}
    assert "Not enough labels." in page_text(app)
    app = visit(PAGE, risk="10.0")
    app.button(key="open_pile_1").click().run()
    assert f"Selected targets: {metrics(app)['To people']:,}" in page_text(app)
    assert "Reliability" not in page_text(app) and "Do the signals tell" in page_text(app)


def test_escalated_targets_are_sent_to_people(study: None) -> None:
    app = visit(PAGE, risk="10.0")
    button = app.button(key="send_to_people")
    wanted = int(button.label.split()[1])
    button.click().run()
    assert f"{wanted} targets added to the annotators' queue." in page_text(app)
    with connections.reading(resources.engine()) as session:
        queued = session.scalar(select(func.count()).where(col(TargetRow.disputed), col(TargetRow.overlap) == 3))
    assert queued == wanted
    app = visit(PAGE, risk="10.0")
    app.button(key="send_to_people").click().run()
    assert f"0 targets added to the annotators' queue. {wanted} were in it already." in page_text(app)


def test_labels_that_could_decide_are_put_into_the_queue() -> None:
    design, records = Design(Form.random, 3, {"": 0.08}), planted.records(600, labels=0, error=0.1)
    verdicts = {one.item: one.events[0].verdict.value for one in records if one.type == "trace"}  # type: ignore[union-attr]
    prepare_study(records)
    with connections.writing(resources.engine()) as session:
        designs.set_design(session, 1, planted.CRITERION, design)
        frame = designs.frame(session, 1)
    assert frame is not None
    prepare_study([planted.label(item, int(verdicts[item])) for item in frame.item[frame.drawn]])  # type: ignore[arg-type]
    app = visit(PAGE, risk="5.0")
    button = app.button(key="draw_more")
    wanted = int(button.label.split()[1])
    assert f"{wanted} targets, drawn at random" in page_text(app)
    button.click().run()
    with connections.reading(resources.engine()) as session:
        after = designs.frame(session, 1)
    assert after is not None and after.drawn.sum() == frame.drawn.sum() + wanted


def test_accepted_verdicts_stand_until_they_are_withdrawn(study: None) -> None:
    app = visit(PAGE, risk="10.0")
    app.button(key="accept_policy").click().run()
    assert "The policy that stands accepts" in page_text(app)
    assert "accept_policy" not in [button.key for button in app.button]
    assert "Holds: with 240 labels" in page_text(app).replace("\\", "")
    imported = [ItemRecord(item=make_item("later")), planted.trace("later", 1, 0.5)]
    prepare_study(imported)
    assert "Expired: the population changed since" in page_text(visit(PAGE)).replace("\\", "")
    app = visit(PAGE, risk="10.0")
    app.button(key="withdraw_policy").click().run()
    assert "The policy that stands" not in page_text(app)


def test_a_second_judge_gets_what_the_first_passes_on_and_none_escalates_to_itself() -> None:
    prepare_study(two_judges())
    app = visit(PAGE, judge="careful", second="second", risk="12.0")
    found = metrics(app)
    assert list(found) == ["Accepted from careful", "Accepted from second", "To people"] and sum(found.values()) == 500
    app = visit(PAGE, judge="careful", second="careful")
    assert "cannot escalate to itself" in page_text(app) and "Accepted from careful" in metrics(app)
