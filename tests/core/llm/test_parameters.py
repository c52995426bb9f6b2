"""The settings of a judge reach the provider, or the reply says which one did not."""

from dataclasses import replace

import pytest

from core.llm.client import Reply
from core.llm.secrets import find_problems
from core.protocols import Judge
from core.protocols.single_judge.settings import PairSettings
from core.trace import Spec
from tests.core.llm.asking import complete_ask, make_ask
from tests.openai_server import run_server


def test_the_system_message_of_a_template_precedes_that_of_the_settings() -> None:
    with run_server() as server:
        ask = make_ask(server.address, system="Reply in English.")
        complete_ask(replace(ask, system="You judge texts."))
    (body,) = server.bodies
    assert body["messages"][0] == {"role": "system", "content": "You judge texts.\n\nReply in English."}


@pytest.mark.litellm
@pytest.mark.slow  # importing litellm takes seconds
def test_a_setting_that_the_model_does_not_accept_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.address)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        reply = complete_ask(make_ask(None, model="gpt-3.5-turbo", reasoning_effort="low", seed=7))
    assert isinstance(reply, Reply)
    assert reply.notes == ("gpt-3.5-turbo does not accept reasoning_effort: the parameter was omitted.",)
    assert "reasoning_effort" not in server.bodies[0] and server.bodies[0]["seed"] == 7


@pytest.mark.parametrize(
    "fields",
    [
        {"extra": {"headers": {"Authorization": "Bearer sk-abcdefghijklmnop1234"}}},
        {"extra": {"keys": ["sk-abcdefghijklmnop1234"]}},
        {"system": "sk-abcdefghijklmnop1234"},
    ],
)
def test_settings_with_a_key_are_refused(fields: dict[str, object]) -> None:
    judge = Judge(name="ann", spec=Spec.model_validate({"model": "m"} | fields))
    settings = PairSettings.model_validate({"judge": judge, "criterion": {"name": "clarity"}})
    ((path, reason),) = find_problems(settings)
    assert path == "judge.spec" and reason.startswith(
        "its system message or extra parameters contain something that looks like a key."
    )


def test_settings_stored_before_these_fields_load() -> None:
    assert Spec.model_validate({"model": "m", "temperature": 0.5}) == Spec(model="m", temperature=0.5)


def test_settings_with_extra_parameters_can_be_the_key_of_a_dictionary() -> None:
    assert {Spec(model="m", extra={"top_k": 20}): 1}[Spec(model="m", extra={"top_k": 20})] == 1
