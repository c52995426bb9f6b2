"""Columns of judges and gold are guessed from their names and cells."""

import pytest

from core.formats.mapping.guess import guess_block, guess_roles, warn_of_models

FIVE = {"level": "ordinal", "categories": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("cells", "block"),
    [
        (["A", "B", "tie", ""], {"kind": "preference", "values": {"A": 1, "B": 2, "tie": 0}}),
        (["model_1", "Model 2"], {"kind": "preference", "values": {"model_1": 1, "Model 2": 2}}),
        (["1", "2", "0"], {"kind": "preference", "values": {}}),
        (["A", "B", "ERROR"], {"kind": "preference", "values": {"A": 1, "B": 2}}),
        (["4", "5", "ERROR"], {"kind": "score", "scale": FIVE}),
        (["A", "B", "T"], {"kind": "preference", "values": {"A": 1, "B": 2, "T": 0}}),
        (["1", "2", "tie"], {"kind": "preference", "values": {"tie": 0}}),
        (["win", "lose", "tie"], {"kind": "preference", "values": {"tie": 0}}),
        (
            ["model_a", "model_b", "tie", "tie (bothbad)"],
            {"kind": "preference", "values": {"model_a": 1, "model_b": 2, "tie": 0, "tie (bothbad)": 0}},
        ),
        (["A", "B", "No preference"], {"kind": "preference", "values": {"A": 1, "B": 2, "No preference": 0}}),
        (["A", "B", "C"], {"kind": "preference", "values": {"A": 1, "B": 2}}),  # a third response, or "cannot decide"
        (["T", "F"], None),
        (["1", "2", "T"], {"kind": "preference", "values": {}}),
        (["A", "ERROR"], None),
        (["1", "5", "4"], {"kind": "score", "scale": FIVE}),
        (["2.5", "4"], {"kind": "score", "scale": {"level": "interval", "low": 1, "high": 5}}),
        (["87", "12"], {"kind": "score", "scale": {"level": "interval", "low": 0, "high": 100}}),
        (["A good answer."], None),
        (["", " "], None),
        (["1000"], None),
    ],
)
def test_the_meaning_of_cells_is_guessed(cells: list[str], block: dict | None) -> None:
    assert guess_block(cells) == block


def test_columns_of_judges_and_gold_are_guessed_by_name_and_cells() -> None:
    rows = [{"id": "1", "gpt-4": "A", "claude": "A text.", "gold": "B", "ann": "A"}]
    assert guess_roles(["id", "gpt-4", "claude", "gold", "ann"], rows) == (["gpt-4"], "gold")


@pytest.mark.parametrize(
    "name", ["gpt4_pair", "ChatGPT", "claude-3", "expert_llm", "llama3", "Judge 1", "my reward model"]
)
def test_annotators_with_names_of_models_are_reported(name: str) -> None:
    warning = warn_of_models([name, "expert_1", "Hellman", "Claudette", "Judgement Day"])
    assert warning.startswith("1 annotator has the name of a model") and name in warning and "Hellman" not in warning


def test_no_person_is_reported_as_a_model_and_long_lists_are_shortened() -> None:
    assert warn_of_models(["expert_1", "Ann", "Stallman", ""]) == ""
    warning = warn_of_models([f"gpt-{n}" for n in range(40)] * 2)
    assert (
        warning.startswith("40 annotators have names of models")
        and "'gpt-0'" in warning
        and "'gpt-9'" not in warning
        and " more; " in warning
    )
    assert "\n" not in warn_of_models(["gpt\nid: x"])
