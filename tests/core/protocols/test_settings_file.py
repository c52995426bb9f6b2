"""Settings files: the short forms of criteria and judges, by the types of the fields."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from core.errors import FileFormatError
from core.frozen import Frozen
from core.items import Criterion
from core.protocols import Judge, Protocol
from core.protocols.registry import PROTOCOLS
from core.protocols.settings_file import load_settings, parse_run_file, parse_settings, validate_settings
from core.trace import Flow, Spec
from tests.core.protocols import debates, discussions
from tests.paths import ROOT

BREVITY = Criterion(name="brevity", definition="Fewer words.")


class Grader(Judge):
    """A judge with an additional field."""

    strict: bool = False


class GraderSettings(Frozen):
    """Settings whose field names differ from those of the built-in protocols."""

    graders: tuple[Grader, ...]
    editor: Grader | None = None
    model: Spec = Spec(model="m")
    criteria: tuple[Criterion, ...] = ()
    main: Criterion | None = None


def no_flow(item: Any, settings: Any, rng: Any, templates: Any) -> Flow:
    raise NotImplementedError


GRADING = Protocol(
    name="grading",
    title="Grading",
    description="Settings only.",
    paper="-",
    settings=GraderSettings,
    flow=no_flow,
    judges="score",
    reply_words=lambda settings: 1,
    folder=Path(__file__).parent,
)


def test_short_forms_are_expanded_by_the_types_of_the_fields() -> None:
    text = """
    graders: [{name: ann, model: gpt, temperature: 0.5, strict: true}, {name: bob, spec: {model: other}}]
    editor: {name: cid, model: local}
    model: {model: "gpt\\ud800\\0", max_tokens: 50}
    criteria: [brevity, {name: tone}, clarity]
    main: brevity
    """
    assert parse_settings(text, GRADING, [BREVITY]) == GraderSettings(
        graders=(
            Grader(name="ann", spec=Spec(model="gpt", temperature=0.5), strict=True),
            Grader(name="bob", spec=Spec(model="other")),
        ),
        editor=Grader(name="cid", spec=Spec(model="local")),
        model=Spec(model="gpt��", max_tokens=50),
        criteria=(BREVITY, Criterion(name="tone"), Criterion(name="clarity")),
        main=BREVITY,
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("graders: [", "line 1: this is not YAML."),
        ("- 1", "the settings should be a list of names and values, such as `rounds: 3`."),
        ("graders: [{name: ann}]", "field 'graders.0.spec.model': field required."),
        ("graders: [ann]", "field 'graders.0': "),
        ("graders: []\nrounds: 3", "field 'rounds': extra inputs are not permitted."),
    ],
)
def test_an_invalid_text_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(FileFormatError) as refused:
        parse_settings(text, GRADING, [])
    assert str(refused.value).startswith(sentence) and "\n" not in str(refused.value)


def test_a_prompt_that_lacks_the_judged_texts_is_refused() -> None:
    text = "judges: [{name: a, model: m}, {name: b, model: m}]\ncriterion: c\nprompts: {opinion: 'Which?'}"
    with pytest.raises(FileFormatError, match="field 'prompts'"):
        parse_run_file(text, PROTOCOLS["scaleeval"], [])


def test_a_missing_file_is_refused() -> None:
    with pytest.raises(FileFormatError, match="cannot be read: No such file"):
        load_settings(Path("missing.yaml"), GRADING, [])


def test_every_example_has_settings_that_are_equal_after_a_round_trip() -> None:
    examples = {name for protocol in PROTOCOLS.values() for name in protocol.examples}
    assert examples == {file.stem for file in ROOT.glob("core/protocols/*/examples/*.yaml")}
    for name, protocol in PROTOCOLS.items():
        for example in protocol.examples:
            settings = load_settings(protocol.example_path(example), protocol, [])
            assert validate_settings(settings.model_dump(mode="json"), protocol) == settings, name


@pytest.mark.parametrize(
    ("line", "field", "sentence"),
    [
        ("temperature: .nan", "temperature", "this should be a number from 0 to 2, not nan."),
        ("temperature: 1e400", "temperature", "this should be a number from 0 to 2, not inf."),
        ("max_tokens: 0", "max_tokens", "this should be a number from 1 to 10,000,000, not 0."),
        ("timeout: -.inf", "timeout", "this should be a number from 0.1 to 86,400.0, not -inf."),
        ("top_p: 7", "top_p", "this should be a number from 0 to 1, not 7."),
        ("reasoning_effort: extreme", "reasoning_effort", "this should be one of none, minimal, low,"),
        (
            "max_tokens: 900, max_tokens_ceiling: 800",
            "max_tokens_ceiling",
            "this should be at least max_tokens, 900.",
        ),
        ("extra: {messages: []}", "extra", "this cannot set 'messages': Tiebreak sets it in every request."),
        ("extra: {temperature: 1}", "extra", "this cannot set 'temperature': it is a setting of its own."),
    ],
)
def test_settings_that_no_call_can_use_are_refused_and_stored_ones_open(line: str, field: str, sentence: str) -> None:
    model = f"{{model: m, {line}}}"
    for text, path in ((f"graders: [{{name: a, spec: {model}}}]", "graders.0.spec"), (f"model: {model}", "model")):
        with pytest.raises(FileFormatError) as refused:
            parse_settings(text if "graders" in text else f"graders: []\n{text}", GRADING, [])
        assert str(refused.value).startswith(f"field '{path}.{field}': {sentence}")
    with pytest.raises(FileFormatError, match="extractor"):
        parse_run_file(f"graders: []\nextractor: {model}", GRADING, [])
    assert validate_settings({"graders": [], "model": yaml.safe_load(model)}, GRADING)


def test_a_criterion_that_is_given_whole_has_the_studys_fixed_texts_of_formats() -> None:
    fixed = Criterion(name="clarity", definition="Of the study.", formats={"masked": "Cl_r"})
    fields = "judge: {name: j, model: m}\ncriterion: {name: clarity, definition: Own.%s}\nformat: masked"
    found = [parse_settings(fields % own, PROTOCOLS["single-judge"], [fixed]) for own in ("", ", formats: {masked: M}")]
    assert [one.criterion.formats for one in found] == [{"masked": "Cl_r"}, {"masked": "M"}]
    assert {one.criterion.definition for one in found} == {"Own."}


# Settings of stored runs and older files, with the former names of keys and values


CHATEVAL = discussions.make_settings(visible_contributions="earlier speakers")
SCALEEVAL = debates.make_settings(reply_order="sequential")


@pytest.mark.parametrize(
    ("settings", "name", "former_name", "former_value"),
    [
        (CHATEVAL, "visible_contributions", "hearing", "speakers before"),
        (discussions.make_settings(), "visible_contributions", "hearing", "everybody"),
        (discussions.make_settings(strategy="independent"), "strategy", "strategy", "alone"),
        (SCALEEVAL, "reply_order", "speaking", "in turn"),
        (debates.make_settings(), "reply_order", "speaking", "at once"),
    ],
)
def test_former_names_and_values_are_accepted(settings: Frozen, name: str, former_name: str, former_value: str) -> None:
    stored: dict[str, Any] = settings.model_dump(mode="json")
    del stored[name]
    assert type(settings).model_validate({**stored, former_name: former_value}) == settings
