import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from core.formats.records import (
    CriterionRecord,
    ItemRecord,
    MarkRecord,
    RulingRecord,
    RunRecord,
    ScaleRecord,
    StudyRecord,
    StudyRules,
)
from core.items import Criterion
from core.labels import PREFERENCE, Ruling, Scale
from core.problems import FileRefused, Problem
from storage import items, labels, studies, traces
from storage.database import reading, writing
from storage.transfer import exports, imports
from storage.transfer.imports import Added
from tests.conftest import a_label, a_target, an_item
from tests.storage.shared import RUN, a_trace, a_turn, a_verdict

AT = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


def everything():
    """A record of every sort."""
    ruling = Ruling(target=a_target("item 1"), value=0, rule="discussion", reason="equal", adjudicator="dee", at=AT)
    return [
        StudyRecord(
            description="d",
            guidelines="g",
            rules=StudyRules(overlap=2, reveal=False),
            prompts={"scaleeval/opinion": "Which is better?"},
            sample=True,
        ),
        CriterionRecord(criterion=Criterion(name="helpfulness", definition="How helpful.", rubric=("not", "very"))),
        ScaleRecord(kind="preference", criterion="helpfulness", scale=PREFERENCE),
        *(ItemRecord(item=an_item(f"item {number}")) for number in range(3)),
        RUN.model_copy(update={"settings": {"rounds": 3}, "prompts": {"a": "b"}, "seed": 5, "created_at": AT}),
        a_trace("item 0", a_turn(), a_verdict()),
        a_trace("item 1", a_turn(), a_verdict("agreed", (2, 2, 2))),
        a_label(1, at=AT, reason="so", seconds=2.5),
        a_label(2, at=AT, blind=False),
        a_label(1, "bob"),
        MarkRecord(target=a_target(), annotator="bob", mark="note", text="odd", at=AT),
        RulingRecord(ruling=ruling),
    ]


def held(engine, study):
    with reading(engine) as session:
        there = studies.get(session, study)
    return list(exports.records(engine, there))


def test_every_sort_of_record_is_taken(engine):
    added = imports.load(engine, "s", everything())
    assert added == Added(items=3, runs=1, traces=2, labels=3, marks=1, rulings=1)
    assert added.sentence() == "added 3 items, 1 runs, 2 traces, 3 labels, 1 marks, 1 rulings"
    with reading(engine) as session:
        study = studies.get(session, "s")
        assert (study.description, study.rules.overlap, study.sample) == ("d", 2, True)
        assert [label.value for label in labels.history(session, study.id, a_target(), "ann")] == [1, 2]


def test_the_same_records_again_add_nothing(engine):
    imports.load(engine, "s", everything())
    before = held(engine, "s")
    again = imports.load(engine, "s", everything())
    assert again == Added()
    assert again.sentence() == "nothing new: everything in it was here already"
    assert held(engine, "s") == before


def test_what_was_labelled_here_is_known_when_it_comes_back(engine, a_study):
    with writing(engine) as session:
        for value in (1, 2, None, 2):
            labels.put(session, a_study.id, a_target(), "ann", value, reason="so", seconds=1.25)
        labels.rule(session, a_study.id, a_target(), 1, rule="expert", reason="so", adjudicator="dee")
    assert imports.load(engine, "s", held(engine, "s")) == Added()


def test_identical_lines_without_a_moment_are_all_kept_and_known_again(engine, a_study):
    lines = [a_label(1), a_label(2), a_label(1), a_label(1)]
    assert imports.load(engine, "s", lines).labels == 4
    assert imports.load(engine, "s", lines).labels == 0
    assert imports.load(engine, "s", [*lines, a_label(1)]).labels == 1
    with reading(engine) as session:
        assert [label.value for label in labels.history(session, a_study.id, a_target())] == [1, 2, 1, 1, 1]


def test_the_same_moment_in_another_zone_is_the_same_label(engine, a_study):
    there = AT.astimezone(timezone(timedelta(hours=9)))
    assert imports.load(engine, "s", [a_label(1, at=AT)]).labels == 1
    assert imports.load(engine, "s", [a_label(1, at=there)]).labels == 0
    assert imports.load(engine, "s", [a_label(1, at=AT.replace(tzinfo=None), annotator=" ann ")]).labels == 0
    with reading(engine) as session:
        assert labels.history(session, a_study.id, a_target())[0].at == AT


def test_the_same_records_in_another_study_are_new(engine):
    imports.load(engine, "s", everything())
    assert imports.load(engine, "t", everything()).labels == 3


def test_true_and_one_are_different_labels(engine, a_study):
    target = a_target(kind="answer")
    said = [a_label(value).model_copy() for value in (True, 1, 1.0)]
    said = [one.model_copy(update={"label": one.label.model_copy(update={"target": target})}) for one in said]
    assert imports.load(engine, "s", said).labels == 3
    with reading(engine) as session:
        history = labels.history(session, a_study.id, target)
    assert [repr(label.value) for label in history] == ["True", "1", "1.0"]


FAULTS = {
    "an item with other words": ItemRecord(item=an_item("item 0", prompt="another")),
    "an item that is not there": a_label(1, item="item 9"),
    "a trace without its run": a_trace("item 2", run="nobody's"),
    "a trace without its item": a_trace("item 9"),
    "a run with other settings": RUN.model_copy(update={"settings": {"rounds": 4}}),
    "a longer trace": a_trace("item 0", a_turn(), a_turn(1), a_verdict()),
    "a label off its scale": a_label(7),
    "a ruling off its scale": RulingRecord(
        ruling=Ruling(target=a_target(), value=True, rule="expert", reason="so", adjudicator="dee")
    ),
    "an opinion off its scale": a_trace("item 2", a_verdict("agreed", (3, 3, 3))),
    "another criterion": CriterionRecord(criterion=Criterion(name="helpfulness", definition="Something else.")),
    "another scale": ScaleRecord(
        kind="preference", criterion="helpfulness", scale=Scale(level="nominal", categories=(1, 2))
    ),
    "a name that is none": a_label(1, annotator=" "),
    "a moment outside of all calendars": a_label(1, at=datetime.min.replace(tzinfo=timezone(timedelta(hours=9)))),
    "a seed that is too large": RunRecord(name="seeded", protocol="scaleeval", seed=2**80),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_record_leaves_nothing_behind(engine, fault):
    imports.load(engine, "s", everything())
    before = held(engine, "s")
    new = [ItemRecord(item=an_item("new")), a_label(1, "new", "new")]
    with pytest.raises(Problem):
        imports.load(engine, "s", [*new, FAULTS[fault], *new])
    assert held(engine, "s") == before
    with pytest.raises(Problem):
        imports.load(engine, "t", [*everything(), FAULTS[fault]])
    with reading(engine) as session:
        assert studies.names(session) == ["s"]


def test_a_file_that_turns_out_wrong_at_its_end_leaves_nothing_behind(engine):
    def records():
        yield from everything()
        raise FileRefused("expected JSON", line=17)

    with pytest.raises(FileRefused, match="line 17"):
        imports.load(engine, "s", records())
    with reading(engine) as session:
        assert studies.names(session) == []


def test_a_shorter_trace_than_the_one_here_changes_nothing(engine):
    imports.load(engine, "s", everything())
    assert imports.load(engine, "s", [a_trace("item 0", a_verdict())]) == Added()
    with reading(engine) as session:
        (first, _) = traces.find(session, traces.Filter(studies.get(session, "s").id))
        assert len(traces.events(session, first.id)) == 2


def test_progress_is_told_to_the_end(engine):
    told = []
    many = [ItemRecord(item=an_item(f"item {number}")) for number in range(25_000)]
    imports.load(engine, "s", many, lambda *progress: told.append(progress))
    assert told == [(10_000, 25_000), (20_000, 25_000), (25_000, 25_000)]
    told.clear()
    imports.load(engine, "t", everything(), lambda *progress: told.append(progress))
    imports.load(engine, "t", everything(), lambda *progress: told.append(progress))
    assert [there for _, there in told] == [8] * len(told)
    assert told[-1] == (8, 8)


def test_who_labels_during_an_import_only_waits(engine, a_study):
    """The one place for writers on SQLite is taken while the records go in, and only then."""

    def records():
        yield ItemRecord(item=an_item("new"))
        with writing(engine) as session:
            labels.put(session, a_study.id, a_target(), "ann", 1)

    assert imports.load(engine, "s", records()).items == 1


def test_an_import_that_is_killed_leaves_nothing_behind(engine, a_study):
    address = engine.url.render_as_string(hide_password=False)
    program = f"""
        import sys, time
        from core.formats.records import ItemRecord
        from storage import database
        from storage.transfer import imports
        from tests.conftest import a_label, an_item

        def progress(done, there):
            print(done, flush=True)
            time.sleep(60)

        records = [ItemRecord(item=an_item(f"new {{n}}")) for n in range(100)] + [a_label(1, item="new 1")]
        imports.load(database.connect({address!r}), "s", records, progress)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"100\n"
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 20
    with reading(engine) as session:
        assert len(items.all_of(session, a_study.id)) == 3
    assert imports.load(engine, "s", [ItemRecord(item=an_item("new 1"))]).items == 1
    assert time.monotonic() < end
