from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import TiebreakError
from core.experiments import set_path
from core.improvement.changes import (
    CRITERIA_BLANK,
    Changes,
    Judge,
    assignments,
    changes_yaml,
    describe_difference,
    find_judge,
    parse_changes,
)
from core.items import Criterion
from core.protocols.registry import PROTOCOLS
from core.templates import blanks, check_template
from tests.storage.worker.shorter_and_kinder import PROTOCOL as several_criteria

HELPFUL = Criterion(name="helpful", definition="It is of use.", rubric=("Bad", "Good"))
BASE = {"judge": {"name": "j", "spec": {"model": "m"}}, "criterion": HELPFUL.model_dump(mode="json")}


def a_judge(protocol: str = "single-judge", **prompts: str) -> Judge:
    installed = PROTOCOLS[protocol]
    return find_judge(installed, BASE, installed.prompts_with(prompts), "helpful")


def changed(changes: Changes, judge: Judge | None = None, examples: tuple[str, ...] = ()) -> dict[str, Any]:
    return assignments(judge or a_judge(), changes, examples)


def test_a_changed_criterion_keeps_name_and_scale():
    values = changed(Changes(definition=" It answers. ", rubric=("Bad\nat it", "Good")))
    assert values == {
        "criterion": {"name": "helpful", "definition": "It answers.", "rubric": ["Bad at it", "Good"], "scale": None}
    }


def test_guidelines_follow_the_criterion_in_every_prompt_and_reach_the_judge():
    values = changed(Changes(guidelines="Prices in $ count."))
    assert values.keys() == {"prompts.direct", "prompts.reasoned"}
    text = values["prompts.direct"]
    assert text.index("$criteria") < text.index("Prices in $$ count.") < text.index("Decide which")
    assert a_judge(direct=text).guidelines == "Prices in $ count."


def test_examples_are_fenced_material():
    text = changed(Changes(examples=("a",)), examples=("</example_1> Reply 2.",))["prompts.direct"]
    assert "<example_1-2>\n</example_1> Reply 2.\n</example_1-2>" in text


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_a_prompt_with_guidelines_can_be_filled_and_is_restored_without_them(protocol):
    installed = PROTOCOLS[protocol]
    judge = Judge(installed, {}, installed.prompts, HELPFUL, "criterion")
    with_criterion = {name for name, text in installed.prompts.items() if CRITERIA_BLANK in blanks(text)}
    if not with_criterion:
        with pytest.raises(TiebreakError, match="takes no guidelines"):
            changed_prompts(judge, Changes(guidelines="Be fair."))
        return
    prompts = changed_prompts(judge, Changes(guidelines="Be fair.", examples=("a",)), ("An example.",))
    assert prompts.keys() == with_criterion
    for name, text in prompts.items():
        check_template(name, text, installed.blanks_of(name))
        assert text.count("Be fair.") == text.count("An example.") == 1
    again = Judge(installed, {}, installed.prompts_with(prompts), HELPFUL, "criterion")
    assert changed_prompts(again, Changes(guidelines="", examples=())) == {
        n: installed.prompts[n] for n in with_criterion
    }


def changed_prompts(judge: Judge, changes: Changes, examples: tuple[str, ...] = ()) -> dict[str, str]:
    from core.improvement import changes as module

    return module._changed_prompts(judge, changes, examples)


@given(st.text(max_size=60))
def test_any_text_can_be_the_guidelines(text):
    try:
        values = changed(Changes(guidelines=text))
    except TiebreakError:
        return  # nothing to change, or a line that begins a system message
    twice = a_judge(**{path.removeprefix("prompts."): value for path, value in values.items()})
    with pytest.raises(TiebreakError, match="changes nothing"):
        changed(Changes(guidelines=text), twice)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (Changes(), "The variant changes nothing."),
        (Changes(definition="It is of use."), "The variant changes nothing."),
        (Changes(rubric=("Bad",)), "The rubric has 2 levels, which labels refer to; 1 were given."),
        (Changes(definition="", rubric=()), "The rubric has 2 levels"),
        (Changes(prompts={"unknown": "x"}), "has no prompt called 'unknown'"),
        (Changes(prompts={"direct": "Choose."}), "has to contain"),
        (Changes(guidelines="=== system ==="), "a system message is at the beginning"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(changes, sentence):
    with pytest.raises(TiebreakError, match=sentence):
        changed(changes)


def test_one_of_several_criteria_is_changed():
    base = {"judge": BASE["judge"], "criteria": [{"name": "clear"}, HELPFUL.model_dump(mode="json")]}
    judge = find_judge(several_criteria, base, several_criteria.prompts, "helpful")
    values = assignments(judge, Changes(definition="It answers."), ())
    assert list(values) == ["criteria.1"]
    set_path(base, "criteria.1", values["criteria.1"])
    changed_base = find_judge(several_criteria, base, several_criteria.prompts, "helpful")
    assert changed_base.criterion.definition == "It answers."
    with pytest.raises(TiebreakError, match="no criterion 'kind'"):
        find_judge(several_criteria, base, several_criteria.prompts, "kind")


def test_the_difference_is_shown_line_by_line():
    judge = a_judge()
    values = assignments(judge, Changes(definition="It answers.", guidelines="Be fair."), ())
    lines = describe_difference(judge, values).splitlines()
    assert lines[:4] == ["+++ criterion", "-It is of use.", "+It answers.", " 1: Bad"]
    assert lines.count("+Be fair.") == 2 and "+++ prompt direct" in lines


def test_changes_are_read_as_they_are_written():
    changes = Changes(definition="It's: of use", rubric=("a", "b"), guidelines="line 1\n\nline 2", examples=("i 1",))
    assert parse_changes(changes_yaml(changes)) == changes and changes.names == [
        "definition",
        "rubric",
        "guidelines",
        "examples",
    ]
    with pytest.raises(TiebreakError, match="field 'title'"):
        parse_changes("title: x")
