"""Experiments that extend another file, and models by other names."""

from pathlib import Path

import pytest

from core import experiments
from core.errors import FileFormatError
from core.experiments import design

TABLE = """
name: table
protocol: scaleeval
base: panel.yaml
axes:
  rounds: [1, 3]
sample: 20
"""
PANEL = """
judges:
  - {name: a, model: old, temperature: 0, answer_format: text}
  - {name: b, spec: {model: other}}
criterion: helpfulness
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "panel.yaml").write_text(PANEL)
    return tmp_path


def parse(text: str, folder: Path | None = None) -> experiments.Definition:
    return experiments.parse(text, name="e", folder=folder)


def test_an_experiment_has_the_fields_of_the_file_that_it_extends(folder: Path) -> None:
    definition = parse("extends: table.yaml\nname: today\nsample: null\nrepeats: 2\n", folder)
    assert (definition.name, definition.sample, definition.repeats) == ("today", None, 2)
    assert definition.axes == parse(TABLE, folder).axes
    assert parse(experiments.to_yaml(definition)) == definition


def test_files_are_named_from_the_folder_of_the_file_that_names_them(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "variant.yaml").write_text("extends: ../table.yaml\nmodels: ../today.yaml\n")
    (folder / "today.yaml").write_text("old: new\n")
    definition = parse("extends: own/variant.yaml\nmodels: {new: newest, third: fourth}\n", folder)
    assert (definition.base["judges"][0]["model"], definition.replaced) == ("newest", {"old": "newest"})
    assert parse(experiments.to_yaml(definition)) == definition
    assert experiments.load(folder / "own" / "variant.yaml").base["judges"][0]["model"] == "new"


def test_models_are_replaced_in_axes_and_label_them() -> None:
    text = """
protocol: single-judge
base: {judge: {name: judge, model: old}, criterion: c}
models: {old: new, other: {model: third, max_tokens: 9}}
axes:
  judge.model: [old, other, kept]
  named: {one: {set: {judge.model: other}}, two: {set: {judge: {name: judge, model: old}}}}
"""
    cells = design(parse(text))
    assert [tuple(cell.levels.values()) for cell in cells[::2]] == [("new", "one"), ("third", "one"), ("kept", "one")]
    assert cells[0].settings["judge"] == {"name": "judge", "model": "third", "max_tokens": 9}
    assert cells[3].settings["judge"] == {"name": "judge", "model": "new"}
    assert design(parse(text.replace("  named:", "  #")))[1].settings["judge"]["max_tokens"] == 9


def test_labels_that_are_models_are_renamed_and_a_file_can_hold_the_names(folder: Path) -> None:
    (folder / "today.yaml").write_text("old: {model: new, max_tokens: 9}\n")
    text = """
extends: table.yaml
models: today.yaml
axes:
  judge: {old: {set: {judges.*.model: old}}, both: {set: {judges.0: {name: old, model: old}, judges.1.model: kept}}}
"""
    cells = design(parse(text, folder))
    assert [cell.label for cell in cells] == ["new", "both"]
    assert [judge.get("spec", judge)["model"] for judge in cells[0].settings["judges"]] == ["new", "new"]
    assert cells[0].settings["judges"][1]["spec"] == {"model": "new", "max_tokens": 9}
    assert cells[1].settings["judges"][0] == {"name": "new", "model": "new", "max_tokens": 9}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("extends: gone.yaml", "'.*gone.yaml' cannot be read"),
        ("extends: [table.yaml]", "the name of another experiment's file"),
        ("extends: self.yaml", "the name of another experiment's file"),
        ("extends: table.yaml\nmodels: [old]", "the names of models with other names or settings"),
        ("extends: table.yaml\nmodels: {old: {size: 7}}", "field 'models.old': a model has no setting 'size'"),
        ("extends: table.yaml\naxes: {judges.0.model: [old, other]}\nmodels: {old: x, other: x}", "would replace two"),
    ],
)
def test_a_wrong_variant_is_refused_with_one_sentence(folder: Path, text: str, sentence: str) -> None:
    (folder / "self.yaml").write_text("extends: self.yaml\n")
    with pytest.raises(FileFormatError, match=sentence):
        parse(text, folder)
