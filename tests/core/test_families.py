"""The family of a model by its name."""

import pytest

from core.families import find_family


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4o-mini", "OpenAI"),
        ("gpt35", "OpenAI"),
        ("text-davinci-003", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("claude-3-5-sonnet-20241022", "Anthropic"),
        ("meta-llama/Llama-2-13b-chat", "Meta"),
        ("Qwen2.5-7B-Instruct", "Alibaba"),
        ("vicuna_13b", "LMSYS"),
        ("deepseek-r1-distill-qwen-7b", None),
        ("cerebras-gpt-6.7B", None),
        ("EleutherAI/gpt-j-6b", None),
        ("gpt-neox-20b", None),
        ("gpt4all-13b", None),
        ("gpt4o", "OpenAI"),
        ("proto1", None),
        ("annotator", None),
        ("", None),
    ],
)
def test_the_family_is_read_from_the_name(name, family):
    assert find_family(name) == family


def test_a_named_family_has_precedence():
    assert find_family("My-Judge", {"my-judge": "Meta"}) == "Meta"
    assert find_family("gpt-4", {"GPT-4": "ours"}) == "ours"
