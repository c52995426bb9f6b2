from typing import Any

import pytest

from core import experiments
from core.errors import FileFormatError
from core.experiments import design

FILE = """
protocol: scaleeval
base:
  judges:
    - {name: a, model: m, temperature: 0}
    - {name: b, spec: {model: n}}
  criterion: helpfulness
axes:
  format: [general, masked]
  rounds: [1, 3]
  panel:
    equal: {set: {judges.*.model: x, judges.b.temperature: 0.5}}
    own: {set: {judges.1.max_tokens: 99}}
exclude:
  - {format: masked, rounds: [1, 3], panel: own}
repeats: 2
sample: 20
ceiling: 5
"""


def parse(text: str = FILE, **fields: Any) -> experiments.Definition:
    return experiments.parse(text, name="e", **fields)


def test_cells_are_the_combinations_that_are_not_excluded() -> None:
    cells = design(parse())
    assert [tuple(cell.levels.values()) for cell in cells] == [
        ("general", "1", "equal"),
        ("general", "1", "own"),
        ("general", "3", "equal"),
        ("general", "3", "own"),
        ("masked", "1", "equal"),
        ("masked", "3", "equal"),
    ]
    assert cells[3].run_name("e", 2, 2) == "e · general · 3 · own · repeat 2"
    assert cells[3].run_name("e", 1, 1) == "e · general · 3 · own"


def test_paths_set_nested_settings_in_both_forms_of_a_judge() -> None:
    equal, own = design(parse())[:2]
    assert equal.settings["judges"] == [
        {"name": "a", "model": "x", "temperature": 0},
        {"name": "b", "spec": {"model": "x", "temperature": 0.5}},
    ]
    assert own.settings["judges"][1] == {"name": "b", "spec": {"model": "n", "max_tokens": 99}}
    assert (equal.settings["rounds"], equal.settings["criterion"]) == (1, "helpfulness")


def test_a_parameter_of_models_is_set_for_every_model() -> None:
    text = FILE.replace("format: [general, masked]", "temperature: [0, 0.7]").replace("format: masked, ", "")
    cells = design(parse(text))
    specs = [judge.get("spec", judge) for judge in cells[-1].settings["judges"]]
    assert [spec["temperature"] for spec in specs] == [0.7, 0.5]


def test_seeds_items_protocols_and_prompts_are_axes_too(tmp_path) -> None:
    (tmp_path / "other.yaml").write_text("judge: {name: j, model: m}\ncriterion: c\n")
    text = """
protocol: scaleeval
base: {criterion: c}
axes:
  seed: [0, 1]
  method:
    debate: {set: {rounds: 2}}
    single: {set: {protocol: single-judge, base: other.yaml, prompts.direct: "Which one?"}}
"""
    cells = design(parse(text, folder=tmp_path))
    assert [(cell.protocol, cell.run["seed"]) for cell in cells] == [
        ("scaleeval", 0), ("single-judge", 0), ("scaleeval", 1), ("single-judge", 1),
    ]  # fmt: skip
    assert cells[1].settings == {
        "judge": {"name": "j", "model": "m"}, "criterion": "c", "prompts": {"direct": "Which one?"},
    }  # fmt: skip


def test_the_written_file_is_the_same_experiment(tmp_path) -> None:
    definition = parse()
    written = experiments.to_yaml(definition)
    assert experiments.parse(written) == definition
    assert experiments.to_yaml(experiments.parse(written)) == written
    (tmp_path / "base.yaml").write_text("rounds: 3\n")
    named = parse("protocol: scaleeval\nbase: base.yaml\naxes: {rounds: [1, 2]}\n", folder=tmp_path)
    assert experiments.parse(experiments.to_yaml(named)) == named


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("protocol: [", "this is not YAML"),
        ("- a", "an experiment should be a list of names and values"),
        ("base: {}", "field 'protocol'"),
        ("protocol: p\nunknown: 1", "field 'unknown'"),
        ("protocol: p\naxes: [1]", "this should be names with lists of values"),
        ("protocol: p\naxes: {rounds: 3}", "this should be a list of values"),
        ("protocol: p\naxes: {rounds: []}", "an axis needs at least one value"),
        ("protocol: p\naxes: {rounds: [1, 1]}", "the value '1' occurs twice"),
        ("protocol: p\naxes: {judge: [{model: m}]}", "needs a short name"),
        ("protocol: p\naxes: {rounds: [1]}\nexclude: [{round: 1}]", "there is no axis 'round'"),
        ("protocol: p\naxes: {rounds: [1]}\nexclude: [{rounds: 2}]", "the axis 'rounds' has no value '2'"),
        ("protocol: p\naxes: {rounds: [1]}\nexclude: [1]", "this should be axes with values"),
        ("protocol: p\nbase: gone.yaml", "the settings file 'gone.yaml' is not here"),
        ("protocol: p\nrepeats: 0", "field 'repeats'"),
        ("protocol: p\nitems: []", "field 'items': this has no item"),
        ("protocol: p\nbase: &a [*a]", "line 2: a value cannot contain itself"),
        ("protocol: p\naxes:\n  format: [general]\n  format: [masked]", "line 4: 'format' occurs twice"),
    ],
)
def test_a_wrong_file_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(FileFormatError, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    ("axis", "sentence"),
    [
        ("judges.5.model: [m]", "the list of the base has no element '5'"),
        ("judges.a.spec.extra.x: [m]", "the base has no setting at this path"),
        ("criterion.name.x: [m]", "the base has no setting at this path"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(axis: str, sentence: str) -> None:
    base = "base: {judges: [{name: a, model: m}], criterion: c}"
    with pytest.raises(FileFormatError, match=sentence):
        design(parse(f"protocol: scaleeval\n{base}\naxes: {{{axis}}}"))


@pytest.mark.parametrize(
    "axis", ["seed: [abc]", "seed: [2.5]", "sample: [0]", "sample: [2.5]", "limit: [-3]", "limit: [abc]", "items: [[]]"]
)
def test_a_level_of_the_seed_or_of_the_items_is_validated(axis: str) -> None:
    with pytest.raises(FileFormatError, match=f"field 'axes.{axis.partition(':')[0]}': "):
        design(parse(f"protocol: scaleeval\naxes: {{{axis}}}"))


def test_keys_of_a_merged_mapping_can_be_replaced_and_merged_again() -> None:
    text = "protocol: p\nbase: {a: &a {x: 1, y: 2}, b: &b {<<: *a, x: 3}, c: {<<: *b, y: 4}}"
    assert parse(text).base["c"] == {"x": 3, "y": 4}


def test_an_experiment_without_cells_is_refused() -> None:
    with pytest.raises(FileFormatError, match="every combination of values is excluded"):
        design(parse("protocol: scaleeval\naxes: {rounds: [1]}\nexclude: [{rounds: 1}]"))


def test_the_axis_criterion_replaces_further_criteria_of_the_base() -> None:
    base = "protocol: scaleeval\nbase: {criterion: helpfulness, criteria: [clarity]}\n"
    cells = design(parse(base + "axes: {criterion: [helpfulness, clarity]}"))
    assert [cell.settings for cell in cells] == [{"criterion": "helpfulness"}, {"criterion": "clarity"}]
