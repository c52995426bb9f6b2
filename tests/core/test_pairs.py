import pytest
from pydantic import ValidationError

from core.attempts import replay
from core.critiques import Critique
from core.errors import FileFormatError, TiebreakError
from core.items import Pairs, Response, item_name, pair_item, pair_numbers, target_item
from core.labels import Opinion
from core.llm.costs import estimate_run
from core.protocols import start_flow, trace_parts
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import parse_run_file
from core.trace import Spec, Turn
from tests.conftest import make_item, make_target

SYSTEMS = ("ant", "bee", "cat")
JUDGES = "[{name: a, model: a}, {name: b, model: b}]"
DEBATE = f"judges: {JUDGES}\ncriterion: helpfulness\nrounds: 1"


def item_of(*systems: str):
    return make_item(responses=tuple(Response(text=f"text of {name}", system=name) for name in systems))


def settings_of(protocol: str, text: str):
    return parse_run_file(text, PROTOCOLS[protocol], ())[0]


@pytest.mark.parametrize(
    ("pairs", "systems", "parts"),
    [
        (Pairs(), "ab", [""]),
        (Pairs(), "abc", ["1-2", "1-3", "2-3"]),
        (Pairs(baseline="b"), "abcd", ["1-2", "2-3", "2-4"]),
        (Pairs(baseline="b"), "bab", ["1-2", "2-3"]),
        (Pairs(baseline="b"), "ab", [""]),
        (Pairs(), "a", [""]),
    ],
)
def test_pairs_have_the_numbers_of_their_responses(pairs, systems, parts) -> None:
    assert pairs.parts(item_of(*systems)) == parts


@pytest.mark.parametrize("systems", ["ac", "acd", "bb", "b"])
def test_a_baseline_needs_a_response_and_another_one_to_compare(systems) -> None:
    with pytest.raises(TiebreakError, match=r"item 0 has (no response|only responses) of the baseline"):
        Pairs(baseline="b").parts(item_of(*systems))


@pytest.mark.parametrize("text", ["all", "baseline gpt 4"])
def test_pairs_are_text_in_files_and_in_the_database(text: str) -> None:
    pairs = Pairs.parse(text)
    assert pairs is not None
    assert str(pairs) == pairs.model_dump(mode="json") == text
    assert parse_run_file(f"{DEBATE}\npairs: {text}", PROTOCOLS["scaleeval"], ())[1].pairs == pairs


@pytest.mark.parametrize("text", ["some", "baseline", "[1]", "3"])
def test_other_pairs_are_refused(text: str) -> None:
    with pytest.raises((FileFormatError, ValidationError)):
        parse_run_file(f"{DEBATE}\npairs: {text}", PROTOCOLS["scaleeval"], ())


@pytest.mark.parametrize("part", ["", "2", "2-1", "1-1", "0-1", "1-2-3", "a-b", "1-4"])
def test_a_part_that_names_no_pair_of_the_item_leaves_it_whole(part: str) -> None:
    item = item_of(*SYSTEMS)
    assert pair_item(item, part) == item


def test_a_pair_has_two_responses_and_no_critiques() -> None:
    item = item_of(*SYSTEMS).model_copy(update={"critiques": (Critique(author="ann", text="too long", of=3),)})
    pair = pair_item(item, "1-3")
    assert [response.system for response in pair.responses] == ["ant", "cat"]
    assert pair.critiques == ()
    assert pair_numbers("1-3") == (1, 3)
    assert target_item(item, make_target(part="1-3")) == pair
    assert target_item(item, make_target(kind="score", part="1-3")) == item
    assert item_name("q", "1-3") == "q, responses 1 and 3" and item_name("q") == item_name("q", "3") == "q"


def test_protocols_that_compare_two_have_a_trace_for_each_pair_and_others_if_it_is_set() -> None:
    item = item_of(*SYSTEMS)
    every = ["1-2", "1-3", "2-3"]
    debate, dna = PROTOCOLS["scaleeval"], PROTOCOLS["dna_eval"]
    aspects = settings_of("dna_eval", "judges: [{name: a, model: a}]\naspects: [clarity]")
    assert trace_parts(debate, settings_of("scaleeval", DEBATE), item) == every
    assert trace_parts(dna, aspects, item) == [""]
    assert trace_parts(dna, aspects, item, Pairs()) == every
    chateval = PROTOCOLS["chateval"]
    rating = settings_of(
        "chateval",
        "personas: [{name: a, model: a}]\noutcome: rating\n"
        "criterion: {name: c, scale: {level: ordinal, categories: [1, 2]}}",
    )
    assert trace_parts(chateval, rating, item) == [""]
    with pytest.raises(TiebreakError, match="compares no responses"):
        trace_parts(chateval, rating, item, Pairs())


def test_the_flow_of_a_pair_reads_its_two_responses_and_stores_what_it_concludes_under_the_pair() -> None:
    protocol, settings = PROTOCOLS["scaleeval"], settings_of("scaleeval", DEBATE)
    item = item_of(*SYSTEMS)

    def start(part: str):
        return start_flow(protocol, item, settings, seed=0, templates=protocol.prompts, part=part)

    turns = {
        number: Turn(speaker=ask.speaker, step=ask.step, round=0, model=ask.spec.model, reply="2", reading=2)
        for number, ask in enumerate(next(start("1-3")))
    }
    asks = [ask.prompt for ask in next(start("1-3"))]
    assert all("text of ant" in prompt and "text of cat" in prompt and "text of bee" not in prompt for prompt in asks)
    verdict = replay(lambda: start("1-3"), turns).verdict
    assert (verdict.value, {opinion.part for opinion in verdict.opinions}) == (2, {"1-3"})
    orders = [[ask.shown for ask in next(start(part))] for part in ("1-2", "1-3", "2-3")]
    assert len({tuple(order) for order in orders}) > 1  # each pair has its own random order


def test_weights_belong_to_the_question_and_not_to_the_pair() -> None:
    protocol = PROTOCOLS["dna_eval"]
    settings = settings_of("dna_eval", "judges: [{name: a, model: a}]\naspects: [clarity]")
    flow = start_flow(protocol, item_of(*SYSTEMS), settings, seed=0, templates=protocol.prompts, part="2-3")
    asks = next(flow)
    values = {"weights": {"clarity": 100.0}, "score": {"1": 3.0, "2": 4.0}}
    with pytest.raises(StopIteration) as end:
        flow.send(
            [
                Turn(speaker="a", step=ask.step, round=ask.round, model="a", reply="", reading=values[ask.step])
                for ask in asks
            ]
        )
    opinions: tuple[Opinion, ...] = end.value.value.opinions
    assert {opinion.part for opinion in opinions if opinion.kind == "preference"} == {"2-3"}
    assert not {opinion.part for opinion in opinions if opinion.kind == "aspect_weights"} & {"", "2-3"}


def test_an_estimate_counts_pairs_and_at_most_a_second_request_and_an_extraction_of_each_reply() -> None:
    protocol, settings = PROTOCOLS["scaleeval"], settings_of("scaleeval", DEBATE)
    items = [item_of(*SYSTEMS), item_of("ant", "bee")]
    estimate = estimate_run(protocol, items, settings, count=4)
    assert (estimate.items, estimate.traces, estimate.calls_at_most) == (4, 8, 16)
    assert "4 items in 8 pairs: 16 calls" in estimate.summary()
    assert estimate.upper_bound.calls == 32
    assert estimate.upper_bound.prompt_tokens > 2 * estimate.prompt_tokens
    extractor = Spec(model="gpt-4o-mini")
    assert estimate_run(protocol, items, settings, count=4, extractor=extractor).upper_bound.calls == 48
    baseline = Pairs(baseline="ant")
    assert estimate_run(protocol, items[:1], settings, pairs=baseline).traces == 2
