"""From a request to a run: images, ceilings, and protocols that are not installed."""

import asyncio
from dataclasses import replace

import pytest
import yaml
from sqlalchemy import update

from core.errors import TiebreakError
from core.formats.records import ItemRecord, RunRecord
from core.items import Criterion, Response
from core.llm.client import ScriptedModel
from core.protocols import Judge
from core.protocols.registry import PROTOCOLS
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from storage.db.connections import writing
from storage.db.tables import RunRow
from storage.runs import claims, runs
from storage.studies import studies
from storage.transfer.imports import import_records
from storage.worker import (
    RunRequest,
    create_run,
    estimate_run,
    execute_here,
    request_from_file,
    resume_run,
)
from storage.worker._launch import progress
from tests.conftest import make_item
from tests.core.protocols.reviews import make_settings
from tests.sessions import read, write
from tests.storage.shared import import_study


def make_request(study, **specs):
    settings = make_settings()
    peers = tuple(peer.model_copy(update={"spec": peer.spec.model_copy(update=specs)}) for peer in settings.peers)
    return RunRequest(study, PROTOCOLS["refer"], settings.model_copy(update={"peers": peers}), "run")


def test_a_run_over_images_is_refused_where_none_are_sent_or_seen(engine):
    item = make_item(responses=(Response(text="", image="https://a.org/b.png"),))
    study = import_study(engine, [ItemRecord(item=item)])
    settings = PairSettings(judge=Judge(name="a", spec=Spec(model="m")), criterion=Criterion(name="x"))
    for start in (create_run, estimate_run):
        with pytest.raises(TiebreakError, match="has an image, and Single judge, pair sends none"):
            start(engine, RunRequest(study, PROTOCOLS["single-judge"], settings, "run"))
        with pytest.raises(TiebreakError, match="local cannot see"):
            start(engine, make_request(study, model="local"))
    assert create_run(engine, make_request(study, model="gpt-4o-mini"))


REFUSED_PROMPTS = {
    r'The prompt "direct" has to contain \$submission_1\.': "Which is better? $submission_2",
    r'The raw prompt "direct" names no rule for its replies: .*\.$': "raw:\n$submission_1 $submission_2",
    r'The raw prompt "direct" names the rule .best., .*\.$': "raw: best\n$submission_1 $submission_2",
}


@pytest.mark.parametrize("problem", REFUSED_PROMPTS)
def test_a_run_whose_prompts_cannot_be_filled_or_read_is_refused(engine, a_study, tmp_path, problem):
    settings = {"judge": {"name": "a", "model": "m"}, "criterion": "x"}
    pair = PROTOCOLS["single-judge"]
    request = RunRequest(
        a_study, pair, PairSettings(judge=Judge(name="a", spec=Spec(model="m")), criterion=Criterion(name="x")), "run"
    )
    lacking = {"direct": REFUSED_PROMPTS[problem]}
    write(engine, studies.update_prompts, a_study.id, {f"{pair.name}/{name}": text for name, text in lacking.items()})
    stored = read(engine, studies.by_id, a_study.id)
    for start in (create_run, estimate_run):
        for refused in (replace(request, study=stored), replace(request, own_prompts=lacking)):
            with pytest.raises(TiebreakError, match=problem):
                start(engine, refused)
    file = tmp_path / "settings.yaml"
    file.write_text(yaml.safe_dump(settings | {"prompts": lacking}))
    with pytest.raises(TiebreakError, match=problem):
        request_from_file(engine, a_study, pair.name, file, None)


@pytest.fixture
def foreign_run(engine, a_study):
    """A run that was created when its protocol was installed; it is not installed now."""
    run_id = create_run(engine, make_request(a_study))
    with writing(engine) as session:
        session.execute(update(RunRow).values(protocol="their-method"))
    return run_id


NOT_INSTALLED = r"The protocol 'their-method' is not installed here\. Installed protocols: .*\.$"


def test_a_run_that_is_executed_is_not_requested_again_by_a_command(engine, a_study):
    run_id = create_run(engine, make_request(a_study))
    with writing(engine) as session:
        claims.claim_run(session, run_id, "another process")
        session.execute(update(RunRow).values(problem="untouched"))
    assert resume_run(engine, a_study, "run") == run_id
    assert progress(engine, run_id)[0].problem == "untouched"
    with pytest.raises(TiebreakError, match="requested already"):
        resume_run(engine, a_study, "run", ceiling=50.0)


def test_without_its_protocol_a_run_is_refused_and_resuming_changes_nothing(engine, a_study, foreign_run, tmp_path):
    with pytest.raises(TiebreakError, match=NOT_INSTALLED):
        request_from_file(engine, a_study, "their-method", tmp_path / "settings.yaml", None)
    write(engine, runs.cancel, foreign_run)
    with pytest.raises(TiebreakError, match=NOT_INSTALLED):
        resume_run(engine, a_study, "run")
    run, _ = progress(engine, foreign_run)
    assert run.state == "cancelled"


@pytest.mark.parametrize(
    ("stored", "problem"),
    [({"protocol": "their-method"}, "'their-method' is not installed"), ({"settings": {"peers": 3}}, "field 'peers'")],
)
def test_a_missing_protocol_and_settings_that_are_no_longer_valid_stop_the_run(engine, a_study, stored, problem):
    run_id = create_run(engine, make_request(a_study))
    with writing(engine) as session:
        session.execute(update(RunRow).values(**stored))
    run, _ = asyncio.run(execute_here(engine, run_id, lambda run, progress: None, ScriptedModel(lambda ask: "1")))
    assert (run.state, problem in run.problem) == ("stopped", True)


def test_an_imported_run_is_listed_where_its_protocol_is_not_installed(engine, a_study):
    import_records(engine, "s", [RunRecord(name="elsewhere", protocol="their-method")])
    assert read(engine, runs.uninstalled_protocol_notes, a_study.id) == [
        "The protocol 'their-method' of run 'elsewhere' is not installed here."
    ]


@pytest.mark.parametrize("start", [create_run, estimate_run])
def test_a_raw_prompt_whose_rule_reads_no_reply_is_refused(engine, start):
    import_records(engine, "s", [ItemRecord(item=make_item(responses=(Response(text="x"),)))])
    request = make_request(read(engine, studies.get, "s"))
    prompts = {"chair": "raw: row\n$response $reviews"}
    with pytest.raises(
        TiebreakError, match=r'"chair" names the rule row, .*: use json, marked, labelled, line or sent'
    ):
        start(engine, replace(request, own_prompts=prompts))
    with pytest.raises(TiebreakError, match='"chair" asks for a scale of 1 to 77, and the settings have 1 to 5'):
        start(engine, replace(request, own_prompts={"chair": "raw: line\nOn a scale of 1 to 77: $response $reviews"}))
    assert start(engine, replace(request, own_prompts={"chair": "raw: row, line\n$response $reviews"}))
