"""Every file of docs/papers loads, is valid, and has the runs and the parameters of its paper."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from core.experiments import design, files, paper_title
from core.formats.published.chateval import OVERALL
from core.items import Item, Response
from core.protocols import registry
from core.trace import Spec, model_specs
from storage.reports.published import TABLES
from tests.papers.packs import load, models_in, name_of, settings_of

RUNS = {
    "chateval/figure-3": 16,
    "chateval/figure-4-roles": 15,
    "chateval/figure-4-turns": 12,
    "chateval/table-1": 40,
    "chateval/table-2": 24,
    "chateval/table-2-g-eval": 8,
    "chateval/table-3": 3,
    "chateval/table-5": 20,
    "dna_eval/figure-3-instrusum": 24,
    "dna_eval/figure-3-llmbar": 24,
    "dna_eval/table-2-faireval": 16,
    "dna_eval/table-2-instrusum": 16,
    "dna_eval/table-2-llmbar": 16,
    "dna_eval/table-2-mtbench": 16,
    "dna_eval/table-3-instrusum": 4,
    "dna_eval/table-3-llmbar": 4,
    "dna_eval/table-4-faireval": 24,
    "dna_eval/table-4-instrusum": 24,
    "dna_eval/table-4-llmbar": 24,
    "dna_eval/table-4-mtbench": 24,
    "metacritique/critiques": 1,
    "metacritique/refinement": 1,
    "metacritique/table-4": 13,
    "metacritique/table-5": 4,
    "metacritique/table-6": 1,
    "realcritic/critique": 12,
    "realcritic/critique-graded": 12,
    "realcritic/critique-numbers": 12,
    "realcritic/iterative": 12,
    "refer/samples": 60,
    "refer/table-10": 24,
    "refer/table-11": 36,
    "refer/table-2": 48,
    "refer/table-3-captions": 2,
    "refer/table-3-images": 2,
    "refer/table-4": 27,
    "refer/table-4-gsm8k": 9,
    "refer/table-5": 24,
    "refer/table-6": 24,
    "refer/table-7": 36,
    "refer/table-8": 132,
    "refer/table-9": 48,
    "scaleeval/debates": 14,
    "scaleeval/table-3": 16,
    "scaleeval/table-4": 56,
    "scaleeval/table-5": 72,
}
"""The number of runs of each file, repeats included."""
TEMPERATURES = {
    "scaleeval": {0},
    "chateval": {0, 1},
    "dna_eval": {0},
    "metacritique": {0},
    "refer": {1},
    "realcritic": {0},
}
ITEM = Item(
    id="i", prompt="Why is the sky blue?", reference="Scattering.", context="A fact.",
    responses=(Response(text="Air scatters blue light."),),
)  # fmt: skip


def specs_of(name: str) -> list[Spec]:
    return [spec for cell in design(load(name)) for _, spec in model_specs(settings_of(cell))]


def first_prompts(name: str, responses: int) -> dict[str, list[str]]:
    """Return the label of each cell -> the prompts of its first round."""
    item = ITEM.model_copy(update={"responses": ITEM.responses * responses})
    prompts = {}
    for cell in design(load(name)):
        protocol = registry.get(cell.protocol)
        flow = protocol.flow(item, settings_of(cell), Random(0), protocol.prompts)
        prompts[cell.label] = [ask.request() for ask in next(flow)]
    return prompts


def test_the_table_has_every_file_and_each_has_a_variant_of_today() -> None:
    names = {name_of(file) for file in files()}
    assert names == {*RUNS, *(f"{name}-today" for name in RUNS)}


@pytest.mark.parametrize("file", files(), ids=name_of)
def test_a_file_has_valid_settings_and_its_number_of_runs(file: Path) -> None:
    definition = load(name_of(file))
    cells = design(definition)
    assert len(cells) * definition.repeats == RUNS[name_of(file).removesuffix("-today")]
    assert definition.name.endswith(file.stem) and definition.name not in {table.name for table in TABLES}
    for cell in cells:
        settings_of(cell)
    labels = [cell.run_name(definition.name, 1, 1) for cell in cells]
    assert len(set(labels)) == len(labels) and all(len(label) < 200 for label in labels)


@pytest.mark.parametrize("name", RUNS)
def test_models_as_published_are_asked_for_text_at_the_papers_temperature(name: str) -> None:
    specs = specs_of(name)
    assert {spec.temperature for spec in specs} <= TEMPERATURES[name.partition("/")[0]]
    assert {spec.answer_format for spec in specs} == {"text"}


@pytest.mark.parametrize("name", RUNS)
def test_models_of_today_replace_every_model_and_are_asked_for_structured_output(name: str) -> None:
    published, today = set(models_in(load(name).model_dump())), load(f"{name}-today")
    assert not published & set(models_in(today.model_dump()))
    assert {spec.answer_format for spec in specs_of(f"{name}-today")} == {"auto"}
    assert not published & {label for axis in today.axes for label in axis.labels}


def test_a_files_first_line_names_its_table() -> None:
    assert paper_title("scaleeval/table-5").startswith("Table 5: six formats of the criterion")
    assert all(len(paper_title(name)) > 20 for name in RUNS)


def limits(name: str) -> Counter[tuple[str, int]]:
    """Return how often each (role, limit of tokens) occurs in the first cell that is a review."""
    cell = next(cell for cell in design(load(name)) if cell.protocol == "refer" and cell.settings["peers"])
    settings: Any = settings_of(cell)
    peers = Counter(("peer", peer.spec.max_tokens) for peer in settings.peers)
    return peers + Counter([("chair", settings.chair.spec.max_tokens)])


def test_reviews_have_the_token_limits_of_appendix_c() -> None:
    assert limits("refer/table-2") == {("peer", 128): 3, ("chair", 256): 1}
    assert limits("refer/table-3-images") == {("peer", 192): 2, ("chair", 256): 1}
    assert limits("refer/table-4") == {("peer", 256): 3, ("chair", 4096): 1}
    exact = [spec for spec in specs_of("refer/table-2") if spec.max_tokens in (128, 256)]
    assert all(spec.max_tokens == spec.max_tokens_ceiling for spec in exact)


def test_the_debates_are_of_the_papers_panel_rounds_and_rubrics() -> None:
    cells = design(load("scaleeval/debates"))
    for settings in map(settings_of, cells):
        assert [judge.spec.model for judge in settings.judges] == [
            "gpt-4-1106-preview", "anthropic/claude-2", "gpt-3.5-turbo-1106",
        ]  # fmt: skip
        assert (settings.rounds, settings.stopping, settings.words) == (3, "unanimity", 150)
        assert len(settings.criterion.rubric) == 5 and all(" - " in level for level in settings.criterion.rubric)
    assert len({(settings_of(cell).criterion.name, cell.run["scenario"]) for cell in cells}) == 14


def test_the_chair_alone_varies_in_table_5_and_what_it_is_shown_in_table_11() -> None:
    for name in ("refer/table-5", "refer/table-11", "refer/samples"):
        by_criterion: dict[str, set[tuple[str, ...]]] = {}
        for label, prompts in first_prompts(name, 1).items():
            by_criterion.setdefault(label.rpartition(" · ")[2], set()).add(tuple(prompts))
        assert len(by_criterion) == 4 and all(len(peers) == 1 for peers in by_criterion.values()), name


def test_chateval_has_the_papers_agents_turns_and_orders() -> None:
    settings = {cell.levels["method"]: settings_of(cell) for cell in design(load("chateval/table-1"))}
    shape = {name: (len(s.personas), s.strategy, s.rounds, s.both_orders) for name, s in settings.items()}
    assert shape == {
        "single agent": (1, "independent", 1, True),
        "ensemble": (3, "independent", 1, True),
        "MEC + BPC": (3, "independent", 1, True),
        "ChatEval": (2, "one by one", 2, True),
    }
    assert {s.criterion_name for s in settings.values()} == {OVERALL.name}
    roles = [settings_of(cell).personas for cell in design(load("chateval/table-3"))]
    assert [len({persona.role for persona in personas}) for personas in roles] == [1, 1, 2]
