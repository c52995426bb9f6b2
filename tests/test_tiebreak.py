"""The public Python API: frames of a study, and the interface for authors of protocols."""

import subprocess
import sys

import pytest

import tiebreak
from core.formats import tiebreak as tiebreak_format
from storage.database import connect, database_url
from storage.transfer import imports, samples
from tests.paths import ROOT

pytestmark = pytest.mark.slow  # whole commands and runs


@pytest.fixture
def study() -> tiebreak.Study:
    database = tiebreak.open()
    imports.import_records(connect(database_url()), "tour", tiebreak_format.read(samples.path()))
    return database.study("tour")


def test_every_public_name_exists():
    assert [name for name in tiebreak.__all__ if not hasattr(tiebreak, name)] == []


def test_studies_are_listed_and_opened_by_name(study):
    assert tiebreak.open().studies() == ["tour"]
    assert study.name == "tour"
    with pytest.raises(tiebreak.TiebreakError, match="another"):
        tiebreak.open().study("another")


def test_frames_hold_a_row_for_each_item_label_target_and_opinion(study):
    assert len(study.items()) == 32
    assert set(study.labels().columns) >= {"item", "kind", "criterion", "rater", "value"}
    assert study.labels()["rater"].nunique() == 3
    gold = study.gold()
    assert len(gold) == 26  # the targets that people labelled or adjudicated
    assert gold["source"].isin(["adjudicated", "unanimous", "majority", "mean", "single", "unresolved"]).all()
    assert study.opinions()["stage"].isin(["first", "last", "verdict"]).all()


def test_figures_are_those_of_the_command_line(study):
    kappa = study.agreement().query("statistic == 'fleiss_kappa' and criterion == 'helpfulness' and group == 'all'")
    assert kappa["value"].tolist() == [pytest.approx(0.635566, abs=1e-6)]
    accuracy = study.alignment().query(
        "statistic == 'accuracy_gold' and judge == 'judge B' and criterion == 'helpfulness'"
    )
    assert accuracy["value"].tolist() == [pytest.approx(23 / 24)]


def test_comparisons_biases_systems_and_discussions_are_frames(study):
    assert {"judge", "other_judge", "difference", "p_corrected"} <= set(study.comparisons().columns)
    ranked = {*study.judges()["judge"], *study.comparisons().attrs["not_compared"]}
    assert set(study.opinions()["rater"]) <= ranked
    assert set(study.biases()["bias"]) >= {"position", "length"}
    assert study.systems()["system"].nunique() >= 2
    discussions = study.discussions()
    assert set(discussions["row"]) == {"changes", "adopts", "majority"}
    adopted = discussions.query("row == 'adopts' and judge == 'judge C' and source == 'judge A'").iloc[0]
    assert (adopted["count"], adopted["n"]) == (7, 23)


def test_a_rule_of_judges_outside_its_range_is_refused(study):
    with pytest.raises(tiebreak.TiebreakError, match=r"The margin must be between 0 and 0\.5, not nan\."):
        study.judges(margin=float("nan"))


def test_judges_take_the_choices_of_their_page(study):
    counted, left_out = study.judges(), study.judges(abstentions="excluded", margin=0.2)
    assert list(counted["judge"]) and set(counted["judge"]) == set(left_out["judge"])
    with pytest.raises(tiebreak.TiebreakError, match="'nowhere'"):
        study.judges(scenario="nowhere")
    with pytest.raises(TypeError):
        study.judges(marign=0)


def test_causes_slices_and_plans_are_frames(study):
    assert {"judge", "judge_error", "human_noise"} <= set(study.causes().columns)
    assert {"judge", "other_judge", "separated"} <= set(study.plan().columns)
    assert {"judge", "feature", "value"} <= set(study.slices().columns)


def test_importing_the_api_loads_neither_pandas_nor_litellm_nor_streamlit():
    code = (
        "import sys, tiebreak; print([n for n in ('pandas', 'litellm', 'streamlit', 'sqlalchemy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
