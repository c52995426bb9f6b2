"""The public Python API: frames of a study, and the interface for authors of protocols."""

import subprocess
import sys
from random import Random

import pytest

import tiebreak
from core.formats import tiebreak as tiebreak_format
from storage.db.connections import connect
from storage.transfer import imports, samples
from tests.databases import create_database
from tests.paths import ROOT

pytestmark = pytest.mark.slow  # whole commands and runs


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> tiebreak.Database:
    url = create_database(tmp_path_factory.mktemp("api") / "tiebreak.db")
    imports.import_records(connect(url), "tour", tiebreak_format.read(samples.path()))
    return tiebreak.open(url)


@pytest.fixture(scope="module")
def study(database) -> tiebreak.Study:
    return database.study("tour")


def test_every_public_name_exists():
    assert [name for name in tiebreak.__all__ if not hasattr(tiebreak, name)] == []


def test_studies_are_listed_and_opened_by_name(database, study):
    assert database.studies() == ["tour"]
    assert study.name == "tour"
    with pytest.raises(tiebreak.TiebreakError, match="another"):
        database.study("another")


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
    compared = study.comparisons()
    assert {"judge", "other_judge", "difference", "p_corrected"} <= set(compared.columns)
    ranked = {*study.judges()["judge"], *compared.attrs["not_compared"]}
    assert set(study.opinions()["rater"]) <= ranked
    assert set(study.biases()["bias"]) >= {"position", "length"}
    assert study.systems()["system"].nunique() >= 2
    discussions = study.discussions()
    assert set(discussions["row"]) == {"changes", "adopts", "majority", "effective votes"}
    adopted = discussions.query("row == 'adopts' and judge == 'judge C' and source == 'judge A'").iloc[0]
    assert (adopted["count"], adopted["n"]) == (7, 23)


def test_judges_take_the_choices_of_their_page(study):
    counted, left_out = study.judges(), study.judges(abstentions="excluded", margin=0.2)
    assert list(counted["judge"]) and set(counted["judge"]) == set(left_out["judge"])
    with pytest.raises(tiebreak.TiebreakError, match="'nowhere'"):
        study.judges(scenario="nowhere")
    with pytest.raises(TypeError):
        study.judges(marign=0)


@pytest.mark.parametrize(
    ("method", "arguments", "sentence"),
    [
        ("agreement", {"by": "x"}, "`by` is 'all', 'scenario', 'criterion' or 'raters', not 'x'."),
        ("alignment", {"by": "raters"}, "`by` is 'all', 'scenario' or 'criterion', not 'raters'."),
        ("judges", {"abstentions": "exclude"}, "`abstentions` is 'error', 'excluded' or 'tie', not 'exclude'."),
        ("judges", {"min_coverage": "high"}, "`min_coverage` is a number, not 'high'."),
        ("comparisons", {"abstentions": None}, "`abstentions` is 'error', 'excluded' or 'tie', not None."),
        ("plan", {"abstentions": []}, "`abstentions` is 'error', 'excluded' or 'tie', not []."),
        ("figure", {"name": "judge"}, "`name` is 'judges' or 'agreement', not 'judge'."),
    ],
)
def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are(study, method, arguments, sentence):
    with pytest.raises(tiebreak.TiebreakError) as raised:
        getattr(study, method)(**arguments)
    assert str(raised.value) == sentence


def test_a_format_of_a_criterion_that_there_is_not_is_refused():
    with pytest.raises(tiebreak.TiebreakError, match=r"`form` is 'general', 'shortened', .* or 'masked', not 'short'"):
        tiebreak.criterion_text(tiebreak.Criterion(name="c"), "short", Random(0))


def test_opening_a_file_that_does_not_exist_creates_none(tmp_path):
    path = tmp_path / "mistyped.db"
    with pytest.raises(tiebreak.TiebreakError, match=r"There is no database file '.*mistyped.db'"):
        tiebreak.open(f"sqlite:///{path}")
    assert not path.exists()


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
