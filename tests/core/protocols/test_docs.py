"""The pages in docs/protocols name what the protocols have."""

import re

import pytest
import yaml

from core.llm.costs import estimate_run
from core.protocols.registry import BUILT_IN, PROTOCOLS
from core.protocols.settings_file import parse_run_file
from tests.conftest import make_item
from tests.paths import ROOT

DOCS = ROOT / "docs" / "protocols"
PAGES = {
    "dna_baselines": "dna_eval",
    "single-judge": "single_judge",
    "single-score": "single_judge",
    "single-step": "single_judge",
    "metacritique-single": "critique_baselines",
    "metacritique-pairwise": "critique_baselines",
    "metacritique-refinement": "critique_baselines",
    "critique-correction": "critique_baselines",
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_page_of_a_protocol_names_its_prompts_and_nothing_that_it_lacks(name: str) -> None:
    page = PAGES.get(name, name)
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert f"{page}.md" in (DOCS / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w$-]+)`", text))
    assert PROTOCOLS[name].prompts.keys() <= named
    of_page = [other for other in BUILT_IN if PAGES.get(other, other) == page]
    blanks = {blank for other in of_page for text in PROTOCOLS[other].prompts.values() for blank in _blanks(text)}
    assert {word[1:] for word in named if word.startswith("$")} <= blanks


def _blanks(text: str) -> list[str]:
    return re.findall(r"\$(\w+)", text)


def test_the_example_of_a_replaced_prompt_can_be_used() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "prompts:" in block)
    debate = {"judges": [{"name": name, "model": name} for name in "ab"], "criterion": "helpfulness"}
    run = parse_run_file(yaml.safe_dump(debate) + example, PROTOCOLS["scaleeval"], ())
    templates = PROTOCOLS["scaleeval"].prompts_with(run.prompts)
    assert estimate_run(PROTOCOLS["scaleeval"], [make_item()], run.settings, templates=templates).calls_at_least == 2
