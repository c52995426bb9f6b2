"""What runs generated becomes the items' own, for many items at once; confirmed AIUs keep their labels."""

import pytest
from sqlalchemy import Engine

from core.aius import Undo
from core.critiques import aius_with_text_ids, precision_target
from core.errors import TiebreakError
from core.formats.records import ItemRecord
from core.protocols import Judge
from core.trace import Ask, Spec
from storage.db.connections import reading
from storage.labels import labels
from storage.runs import aius, inputs
from storage.studies.studies import Study
from tests.core.protocols.critiques import CLAIMS, CRITIQUE, make_complete_item, make_item, worked_example_reply
from tests.sessions import read, write
from tests.storage.critique_studies import import_study, run_records, save_answer

OLD = aius_with_text_ids("model", CLAIMS)
OTHER_WORDS = {"Ada can own a ladder.": "A ladder can be owned by Ada.", "The reason should be put better.": "Brief."}


def other_extraction(ask: Ask) -> str:
    """Return the worked example with other words for two AIUs."""
    if ask.step != "extract":
        return "Final answer: true" if ask.step in ("precision", "recall") else worked_example_reply(ask)
    reply = worked_example_reply(ask)
    for text, other in OTHER_WORDS.items():
        reply = reply.replace(text, other)
    return reply


@pytest.fixture
def study(engine: Engine) -> Study:
    """Two items without AIUs, which the run "first" has extracted for both and "second" again, otherwise, for one."""
    one, two = make_item(), make_item(id="again")
    records = [*run_records(one, worked_example_reply, "first"), *run_records(two, worked_example_reply, "first")[1:]]
    return import_study(
        engine, ItemRecord(item=one), ItemRecord(item=two), *records, *run_records(one, other_extraction, "second")
    )


def adopt(engine: Engine, study: Study, run: str | None = None) -> int:
    return write(engine, inputs.adopt_all, study.id, "eve", run)


def texts(engine: Engine, study: Study, item: str = "ladder") -> list[str]:
    state = read(engine, aius.current_state, study.id, item)
    return [aiu.text for aiu in state.critiques[0].aius or ()]


def test_every_item_that_lacks_aius_adopts_those_of_a_run(engine: Engine, study: Study) -> None:
    assert adopt(engine, study, "first") == 2
    assert texts(engine, study) == texts(engine, study, "again") == list(CLAIMS)
    assert adopt(engine, study) == 0
    with pytest.raises(TiebreakError, match="no run called 'third' that splits critiques"):
        adopt(engine, study, "third")
    (edit,) = read(engine, aius.history, study.id, "again")
    assert (edit.number, edit.annotator, edit.change.type) == (1, "eve", "adopt")


def test_critiques_that_a_run_wrote_are_adopted_if_the_run_is_named(engine: Engine) -> None:
    written, complete = make_item(id="bare", critiques=()), make_complete_item()
    critics = (Judge(name="critic", spec=Spec(model="c")),)

    def reply(ask: Ask) -> str:
        if ask.step in ("precision", "recall"):
            return "Final answer: true"
        return CRITIQUE if ask.step == "hypothesis_critique" else worked_example_reply(ask)

    records = [ItemRecord(item=item) for item in (written, complete)]
    run = [*run_records(written, reply, "w", critics=critics), *run_records(complete, reply, "w", critics=critics)[1:]]
    study = import_study(engine, *records, *run)
    assert (adopt(engine, study), adopt(engine, study, "w"), adopt(engine, study, "w")) == (1, 1, 0)
    states = read(engine, aius.current_states, study.id)
    assert [critique.author for critique in states["bare"].critiques] == ["critic", "a"]
    assert [critique.id for critique in states["ladder"].critiques] == ["c1", "ref", "critic"]


def test_of_several_runs_the_newest_counts(engine: Engine, study: Study) -> None:
    assert adopt(engine, study) == 2
    assert "Brief." in texts(engine, study) and texts(engine, study, "again") == list(CLAIMS)


def test_confirmed_aius_of_a_reextraction_keep_their_id_text_and_labels(engine: Engine, study: Study) -> None:
    adopt(engine, study, "first")
    kept = next(aiu for aiu in OLD if aiu.text == "Ada can own a ladder.")
    save_answer(engine, study, precision_target("ladder", kept.id), True)
    (found,) = read(engine, inputs.reextractions, study.id, "second")
    proposed = {match.old.text: match.new for match in found.matches()}
    assert "The reason should be put better." not in proposed
    confirmed = {("ladder", "model"): {proposed[kept.text].id: kept.id}}
    assert write(engine, inputs.replace_aius, study.id, "eve", "second", confirmed) == 1
    after = texts(engine, study)
    assert kept.text in after and "Brief." in after and "The reason should be put better." not in after
    with reading(engine) as session:
        assert kept.id in aius.current_state(session, study.id, "ladder").aius()
        assert len(labels.history(session, study.id, precision_target("ladder", kept.id))) == 1
    write(engine, aius.save_edit, study.id, "ladder", "eve", Undo(edit=2))
    assert texts(engine, study) == list(CLAIMS)


def test_without_a_confirmation_a_reextracted_aiu_is_a_new_one(engine: Engine, study: Study) -> None:
    adopt(engine, study, "first")
    write(engine, inputs.replace_aius, study.id, "eve", "second", {("ladder", "model"): {}})
    assert "A ladder can be owned by Ada." in texts(engine, study)
