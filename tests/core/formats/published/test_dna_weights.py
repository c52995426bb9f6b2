"""DnA-Eval's published weightings: the published distances, and the errors of invalid files."""

from collections import Counter
from pathlib import Path

import pytest

from core.errors import FileFormatError
from core.formats.published.dna_weights import category_of, read, recognises
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.formats.registry import detect_format
from core.protocols.dna_eval.settings import Settings
from core.statistics.reports.weight_distances import WeightUnit, rater_distances
from core.trace import TurnCompleted, VerdictReached
from tests.core.formats.shared import items_of, labels_of, of_kind, public_file

HEADER = "text,aspect1,aspect2,accuracy_w_gpt4,depth_w_gpt4,ann1,ann2\n"
GOOD = HEADER + """Why?,accuracy,depth,60,40,"['30%', '70%']","['80', '80']"\n"""


def write_file(folder: Path, text: str, name: str = "fair_gpt4_human.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def units(path: Path) -> list[WeightUnit]:
    """Return the weights in the records, by item and set of aspects."""
    labels, judges = {}, {}
    for record in read(path):
        match record:
            case LabelRecord(label=label):
                labels.setdefault((label.target.item, label.target.part), {})[label.annotator] = label.value
            case TraceRecord(item=item, events=events):
                for opinion in events[-1].verdict.opinions:
                    judges.setdefault((item, opinion.part), {})[opinion.judge] = opinion.value
    return [WeightUnit(item, part, "", weights, judges[item, part]) for (item, part), weights in labels.items()]


def distances(folder: str) -> dict[tuple[str, str], tuple[float | None, int, int]]:
    rows = rater_distances(units(public_file(f"dna_eval/weightings/{folder}")), resamples=0)
    return {(row.rater_a, row.rater_b): (row.distance_undefined_as_zero, row.units, row.undefined) for row in rows}


@pytest.mark.parametrize(
    ("data_set", "of_people", "units", "of_judges", "undefined"),
    [
        ("faireval", 0.1169, 50, {"gpt35": 0.1516, "gpt4": 0.1492, "llama2": 0.1804, "mistral": 0.2217}, {"gpt4": 4}),
        ("llmbar", 0.2094, 200, {"gpt35": 0.3273, "gpt4": 0.1624, "llama2": 0.1734, "mistral": 0.2114}, {}),
    ],
)
def test_a_data_set_has_its_published_distances(
    data_set: str, of_people: float, units: int, of_judges: dict[str, float], undefined: dict[str, int]
) -> None:
    by_pair = distances(data_set)
    assert by_pair["ann1", "ann2"] == (pytest.approx(of_people, abs=5e-5), units, 0)
    for judge, figure in of_judges.items():
        assert by_pair[judge, "ann1"] == (pytest.approx(figure, abs=5e-5), 50, undefined.get(judge, 0))


def test_questions_have_their_categories_which_the_average_weights_are_printed_by() -> None:
    question = "What is the central dogma of molecular biology? What processes are involved?  Who named this?"
    assert category_of(question) == "stem" and category_of("Why?") == ""
    records = list(read(public_file("dna_eval/weightings/faireval")))
    assert [len(of_kind(records, kind)) for kind in (ItemRecord, LabelRecord, RunRecord)] == [50, 100, 4]
    categories = Counter(record.scenario for record in items_of(records))
    assert "" not in categories and {"generic", "knowledge"} <= set(categories)


def test_a_file_of_weightings_is_not_taken_for_a_table(tmp_path: Path) -> None:
    file = write_file(tmp_path, GOOD)
    assert detect_format(file) == detect_format(tmp_path) == "dna-weights"
    assert not recognises(write_file(tmp_path / "..", "text,ann1,ann2\n", "other.csv"))


def test_weights_are_normalised_and_the_original_text_is_the_reason(tmp_path: Path) -> None:
    records = list(read(write_file(tmp_path, GOOD)))
    labels = {record.label.annotator: record.label for record in of_kind(records, LabelRecord)}
    assert labels["ann1"].value == {"accuracy": 30, "depth": 70} and labels["ann1"].reason == ""
    assert labels["ann2"].value == {"accuracy": 50, "depth": 50}
    assert labels["ann2"].reason == "written as ['80', '80'], which sums to 160"


def test_the_weights_of_the_model_are_a_trace(tmp_path: Path) -> None:
    (trace,) = of_kind(read(write_file(tmp_path, GOOD)), TraceRecord)
    turn, end = trace.events
    assert isinstance(turn, TurnCompleted) and (turn.turn.step, turn.turn.reply) == ("weights", "60 40")
    assert isinstance(end, VerdictReached) and end.verdict.value == {"accuracy": 60, "depth": 40}
    (run,) = of_kind(read(write_file(tmp_path, GOOD)), RunRecord)
    settings = Settings.model_validate(run.settings)
    assert run.name == "fair · gpt4" and [aspect.name for aspect in settings.aspects] == ["accuracy", "depth"]


def test_aspects_that_differ_between_rows_are_proposed_by_the_model(tmp_path: Path) -> None:
    second = """How?,truth,charm,50%,50%,"[30, 70]","[50, 50]"\n"""
    records = list(read(write_file(tmp_path, GOOD + second)))
    (run,) = of_kind(records, RunRecord)
    assert run.settings["aspects"] == [] and run.settings["proposed"] == 2
    traces = of_kind(records, TraceRecord)
    assert [event.turn.step for event in traces[1].events[:-1]] == ["aspects", "weights"]
    assert traces[1].events[0].turn.reading == "truth\ncharm"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('Why?,a,b,60,40,"[30, 70]",about half\n', "line 2, field 'ann2': expected 2 weights in percent"),
        ('Why?,a,b,60,40,"[30, 30, 40]","[50, 50]"\n', "line 2, field 'ann1': expected 2 weights"),
        (
            'Why?,a,b,-1,1,"[30, 70]","[50, 50]"\n',
            "field 'accuracy_w_gpt4': expected weights in percent: a weight is negative",
        ),
        ('Why?,a,a,60,40,"[30, 70]","[50, 50]"\n', "line 2, field 'aspect1': expected different aspects"),
        (',a,b,60,40,"[30, 70]","[50, 50]"\n', "line 2, field 'text': expected text, and it is empty"),
        ("Why?,a,b\n", "line 2: expected 7 cells"),
        ("", "has no rows"),
    ],
)
def test_an_invalid_file_is_refused_with_its_line_and_field(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(FileFormatError) as refusal:
        list(read(write_file(tmp_path, HEADER + row)))
    assert message in str(refusal.value) and "fair_gpt4_human.csv" in str(refusal.value)


@pytest.mark.parametrize(
    ("columns", "name", "model"),
    [
        ("accuracy_w_gpt4,depth_w_gpt4", "fair_x_human.csv", "gpt4"),
        ("gpt4_w1,gpt4_w2", "bar_x_human.csv", "gpt4"),
        ("llama2_w_a,llama2_w_d", "bar_x_human.csv", "llama2"),
        ("creativity_w,depth_w", "story_mistral_human.csv", "mistral"),
    ],
)
def test_the_columns_of_a_model_have_any_of_the_published_names(
    tmp_path: Path, columns: str, name: str, model: str
) -> None:
    text = f"text,aspect1,aspect2,{columns},ann1,ann2\nWhy?,accuracy,depth,60,40,30 70,80 20\n"
    (run,) = of_kind(read(write_file(tmp_path, text, name)), RunRecord)
    assert run.settings["judges"][0]["name"] == model


def test_a_row_of_zeros_is_no_verdict_and_the_rest_is_read(tmp_path: Path) -> None:
    text = HEADER + "Why?,accuracy,depth,0,0,0 0,80 20\nHow?,accuracy,depth,60,40,30 70,80 20\n"
    records = list(read(write_file(tmp_path, text)))
    labels = labels_of(records)
    assert [(label.target.item, label.annotator) for label in labels] == [
        ("fair 1", "ann2"), ("fair 2", "ann1"), ("fair 2", "ann2")
    ]  # fmt: skip
    traces = [record.events[-1] for record in of_kind(records, TraceRecord)]
    assert [event.verdict.outcome for event in traces] == ["no_verdict", "agreed"]
    assert traces[0].verdict.opinions[0].problem == "all weights are 0"
    assert traces[0].verdict.opinions[0].value == {
        "accuracy": 0,
        "depth": 0,
    }  # no order: distance 0, as published
