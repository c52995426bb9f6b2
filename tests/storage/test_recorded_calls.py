"""Estimates of runs compared with the recorded usage of the sample studies."""

import pytest

from core.formats import tiebreak
from core.llm.costs import RecordedCalls, estimate_run
from core.protocols import registry
from storage.db.connections import reading
from storage.runs import call_totals, runs, traces
from storage.runs.calls import model_names
from storage.studies import items, studies
from storage.transfer import imports, samples
from storage.worker import _launch


def other_calls(session, study_id, run):
    """Return the means over the other runs of the protocol, so that no run is used for its own estimate."""
    others = [other for other in runs.of_study(session, study_id) if other.protocol == run.protocol and other != run]
    totals = [call_totals.of_runs(session, [other.id]) for other in others]
    calls = sum(one.calls for one in totals)
    if calls < _launch.MIN_RECORDED_CALLS:
        return None
    tokens, seconds = (sum(getattr(one, name) for one in totals) for name in ("completion_tokens", "seconds"))
    return RecordedCalls(calls, tokens / calls, seconds / calls)


@pytest.mark.slow
# The replies of the sample of single-step were written by hand, without tokens.
@pytest.mark.parametrize("name", sorted({*samples.studies().values()} - {"single-step"}))
def test_expected_tokens_are_within_a_factor_of_two_of_the_recorded(engine, name):
    imports.import_records(engine, "s", tiebreak.read(samples.path(name)))
    compared = 0
    with reading(engine) as session:
        study = studies.get(session, "s")
        by_id = {item.id: item for item in items.of_study(session, study.id)}
        for run in runs.of_study(session, study.id):
            judged = traces.find(session, traces.Filter(study.id, run_id=run.id))
            used = call_totals.of_runs(session, [run.id])
            protocol = registry.get(run.protocol)
            settings = protocol.settings.model_validate(run.settings)
            recorded = other_calls(session, study.id, run)
            estimate = estimate_run(protocol, [by_id[trace.item] for trace in judged], settings, recorded=recorded)
            assert estimate.expected is not None
            tokens = used.prompt_tokens + used.completion_tokens
            expected = estimate.expected.prompt_tokens + estimate.expected.completion_tokens
            assert tokens / 2 < expected < tokens * 2, run.name
            compared += 1
    assert compared


def test_recorded_calls_are_those_of_the_protocol_in_the_study(engine):
    imports.import_records(engine, "s", tiebreak.read(samples.path("refer")))
    with reading(engine) as session:
        study = studies.get(session, "s")
        models = model_names(runs.of_study(session, study.id)[0].settings)
        recorded = _launch.find_recorded(session, study.id, "refer", models)
        assert recorded is not None and recorded.calls >= 100
        assert 10 < (recorded.completion_tokens or 0) < 40 and 0.5 < (recorded.seconds or 0) < 2
        of_others = _launch.find_recorded(session, study.id, "refer", ["local"])
        assert of_others is not None and of_others.seconds is None
        assert of_others.completion_tokens == recorded.completion_tokens
        assert _launch.find_recorded(session, study.id, "scaleeval", models) is None
