from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from core.improvement.changes import assign_parts, connected_items, set_names
from tests.conftest import make_item

texts = st.sampled_from(["", "a", "b", "c", "d", "e"])
items_of_a_study = st.lists(
    st.tuples(texts, texts, texts, st.sampled_from(["math", "coding", None])), min_size=1, max_size=14
).map(
    lambda rows: [
        make_item(f"i{n}", prompt=prompt or f"own {n}", context=context or None, group=group or None, scenario=scenario)
        for n, (prompt, context, group, scenario) in enumerate(rows)
    ]
)
shares = st.sampled_from([0.2, 0.5, 0.7])


@given(items_of_a_study, shares, st.integers(0, 5))
def test_no_link_between_the_parts(items, share, seed):
    parts = assign_parts(items, {}, share=share, seed=seed)
    assert parts.keys() == {item.id for item in items}
    for field in ("context", "group"):
        values = {
            part: {getattr(i, field) for i in items if parts[i.id] == part} - {None} for part in set(parts.values())
        }
        assert len(values) < 2 or not values["development"] & values["held-out"]
    prompts = {p: {i.prompt for i in items if parts[i.id] == p and not i.context} for p in set(parts.values())}
    assert len(prompts) < 2 or not prompts["development"] & prompts["held-out"]


@given(items_of_a_study, shares, st.integers(0, 5))
def test_every_scenario_has_its_share_up_to_the_largest_set(items, share, seed):
    parts = assign_parts(items, {}, share=share, seed=seed)
    sets = connected_items(items)
    largest = max(map(len, sets))
    scenario = {item.id: min(i.scenario or "" for i in connected) for connected in sets for item in connected}
    for name in {*scenario.values(), "all"}:
        members = [item for item in parts if name in ("all", scenario[item])]
        held = sum(parts[item] == "held-out" for item in members)
        assert abs(held - share * len(members)) <= largest


@given(items_of_a_study, shares, st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_items_has_no_effect(items, share, seed, random):
    shuffled = random.sample(items, len(items))
    assert assign_parts(shuffled, {}, share=share, seed=seed) == assign_parts(items, {}, share=share, seed=seed)


@given(items_of_a_study, shares, st.integers(0, 5), st.integers(0, 14))
def test_later_items_change_no_part_and_open_no_leak(items, share, seed, first):
    before = assign_parts(items[:first], {}, share=share, seed=seed)
    added = assign_parts(items, before, share=share, seed=seed)
    assert not added.keys() & before.keys()
    together = before | added
    for connected in connected_items([item for item in items if item.id in together]):
        assert len({together[item.id] for item in connected}) == 1
    left_out = {item.id for item in items} - together.keys()
    for connected in connected_items(items):
        if any(item.id in left_out for item in connected):
            assert {before.get(item.id) for item in connected} >= {"development", "held-out"}


def test_another_seed_gives_another_split_of_the_same_size():
    items = [make_item(f"item {n}", prompt=f"question {n}") for n in range(40)]
    first, second = (assign_parts(items, {}, share=0.5, seed=seed) for seed in (1, 2))
    assert first != second
    assert Counter(first.values()) == Counter(second.values()) == {"development": 20, "held-out": 20}


def test_items_with_an_equal_prompt_and_other_contexts_do_not_belong_together():
    contexts = [make_item(name, prompt="Summarise.", context=name) for name in ("a", "b", "A ")]
    assert set_names(contexts) == {"a": "a", "b": "b", "A ": "a"}
    assert len(connected_items([make_item(name, prompt=" Why ?") for name in ("a", "b")])) == 1
