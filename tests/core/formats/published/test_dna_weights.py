"""DnA-Eval's published weightings: the figures of acceptance rows 9 and 10, and a sentence for each wrong file."""

from pathlib import Path

import pytest

from core import formats
from core.formats.published.dna_weights import read, recognises
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.problems import FileRefused
from core.protocols.dna_eval.settings import Settings
from core.statistics.reports.weight_distances import Unit, compared
from core.trace import TurnTaken, VerdictReached
from tests.core.formats.shared import public

HEADER = "text,aspect1,aspect2,accuracy_w_gpt4,depth_w_gpt4,ann1,ann2\n"
GOOD = HEADER + """Why?,accuracy,depth,60,40,"['30%', '70%']","['80', '80']"\n"""


def a_file(folder: Path, text: str, name: str = "fair_gpt4_human.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def units(path: Path) -> list[Unit]:
    """What the records say, item by item and set of aspects."""
    people, judges = {}, {}
    for record in read(path):
        match record:
            case LabelRecord(label=label):
                people.setdefault((label.target.item, label.target.part), {})[label.annotator] = label.value
            case TraceRecord(item=item, events=events):
                for opinion in events[-1].verdict.opinions:
                    judges.setdefault((item, opinion.part), {})[opinion.judge] = opinion.value
    return [Unit(item, part, "", given, judges[item, part]) for (item, part), given in people.items()]


def distances(folder: str) -> dict[tuple[str, str], tuple[float | None, int, int]]:
    found = compared(units(public(f"dna_eval/weightings/{folder}")), resamples=0)
    return {(one.rater_a, one.rater_b): (one.distance_undefined_as_zero, one.items, one.undefined) for one in found}


def test_faireval_gives_the_figures_of_row_9() -> None:
    found = distances("faireval")
    assert found["ann1", "ann2"] == (pytest.approx(0.1169, abs=5e-5), 50, 0)
    for judge, figure, undefined in (
        ("gpt35", 0.1516, 0),
        ("gpt4", 0.1492, 4),
        ("llama2", 0.1804, 0),
        ("mistral", 0.2217, 0),
    ):
        assert found[judge, "ann1"] == (pytest.approx(figure, abs=5e-5), 50, undefined)


def test_llmbar_gives_the_figures_of_row_10() -> None:
    found = distances("llmbar")
    assert found["ann1", "ann2"] == (pytest.approx(0.2094, abs=5e-5), 200, 0)
    for judge, figure in (("gpt35", 0.3273), ("gpt4", 0.1624), ("llama2", 0.1734), ("mistral", 0.2114)):
        assert found[judge, "ann1"] == (pytest.approx(figure, abs=5e-5), 50, 0)


def test_undefined_distances_are_left_out_of_the_right_number() -> None:
    found = compared(units(public("dna_eval/weightings/faireval")), resamples=0)
    row = next(one for one in found if (one.rater_a, one.rater_b) == ("gpt4", "ann1"))
    assert row.distance.value == pytest.approx(0.1492 * 50 / 46, abs=1e-4)


def test_all_files_of_a_set_share_their_questions_and_what_people_said() -> None:
    records = list(read(public("dna_eval/weightings/faireval")))
    counts = {
        sort: sum(isinstance(record, sort) for record in records) for sort in (ItemRecord, LabelRecord, RunRecord)
    }
    assert counts == {ItemRecord: 50, LabelRecord: 100, RunRecord: 4}


def test_a_file_is_recognised_before_a_table_is(tmp_path: Path) -> None:
    file = a_file(tmp_path, GOOD)
    assert formats.detect(file) == formats.detect(tmp_path) == "dna-weights"
    assert not recognises(a_file(tmp_path / "..", "text,ann1,ann2\n", "other.csv"))


def test_weights_are_brought_to_100_and_what_was_written_is_kept(tmp_path: Path) -> None:
    records = list(read(a_file(tmp_path, GOOD)))
    said = {record.label.annotator: record.label for record in records if isinstance(record, LabelRecord)}
    assert said["ann1"].value == {"accuracy": 30, "depth": 70} and said["ann1"].reason == ""
    assert said["ann2"].value == {"accuracy": 50, "depth": 50}
    assert said["ann2"].reason == "written as ['80', '80'], which sums to 160"


def test_the_models_weights_are_a_recorded_trace(tmp_path: Path) -> None:
    (trace,) = [record for record in read(a_file(tmp_path, GOOD)) if isinstance(record, TraceRecord)]
    turn, end = trace.events
    assert isinstance(turn, TurnTaken) and (turn.turn.step, turn.turn.reply) == ("weights", "60 40")
    assert isinstance(end, VerdictReached) and end.verdict.value == {"accuracy": 60, "depth": 40}
    (run,) = [record for record in read(a_file(tmp_path, GOOD)) if isinstance(record, RunRecord)]
    settings = Settings.model_validate(run.settings)
    assert run.name == "fair · gpt4" and [one.name for one in settings.aspects] == ["accuracy", "depth"]


def test_aspects_that_differ_from_row_to_row_were_proposed_by_the_model(tmp_path: Path) -> None:
    second = """How?,truth,charm,50%,50%,"[30, 70]","[50, 50]"\n"""
    records = list(read(a_file(tmp_path, GOOD + second)))
    (run,) = [record for record in records if isinstance(record, RunRecord)]
    assert run.settings["aspects"] == [] and run.settings["proposed"] == 2
    traces = [record for record in records if isinstance(record, TraceRecord)]
    assert [event.turn.step for event in traces[1].events[:-1]] == ["aspects", "weights"]
    assert traces[1].events[0].turn.reading == "truth\ncharm"


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ('Why?,a,b,60,40,"[30, 70]",about half\n', "line 2, field 'ann2': expected 2 weights in percent"),
        ('Why?,a,b,60,40,"[30, 30, 40]","[50, 50]"\n', "line 2, field 'ann1': expected 2 weights"),
        (
            'Why?,a,b,0,0,"[30, 70]","[50, 50]"\n',
            "field 'accuracy_w_gpt4': expected weights in percent: all weights are 0",
        ),
        ('Why?,a,a,60,40,"[30, 70]","[50, 50]"\n', "line 2, field 'aspect1': expected different aspects"),
        (',a,b,60,40,"[30, 70]","[50, 50]"\n', "line 2, field 'text': expected text, and it is empty"),
        ("Why?,a,b\n", "line 2: expected 7 cells"),
        ("", "has no rows"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_field(tmp_path: Path, row: str, sentence: str) -> None:
    with pytest.raises(FileRefused) as refusal:
        list(read(a_file(tmp_path, HEADER + row)))
    assert sentence in str(refusal.value) and "fair_gpt4_human.csv" in str(refusal.value)


def test_a_folder_without_weightings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="expected CSV files with the columns"):
        list(read(tmp_path))
