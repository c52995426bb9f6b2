"""The page that improves a judge: split, disagreements, proposals by a person or a model, evaluation, acceptance."""

import asyncio
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.llm.client import ScriptedModel
from pages.parts import resources
from storage.db import audit
from storage.db.audit import Action
from storage.db.connections import connect, database_url, reading
from storage.improvement import splits, variants
from storage.runs import experiments
from storage.studies import studies
from storage.studies.studies import Study
from storage.worker import execute_experiment
from tests.databases import create_database
from tests.pages.visits import page_text, visit
from tests.sessions import read
from tests.storage.improvement import studies_to_improve as planted
from tests.storage.improvement.studies_to_improve import BETTER, USELESS, answer


@pytest.fixture(scope="module")
def planted_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a database with the study and its executed run, which each test copies."""
    path = tmp_path_factory.mktemp("planted") / "tiebreak.db"
    engine = connect(create_database(path))
    planted.prepare(engine)
    engine.dispose()
    return path


@pytest.fixture
def study(planted_file: Path) -> Study:
    copy = Path(database_url().removeprefix("sqlite:///"))
    copy.parent.mkdir()
    shutil.copy(planted_file, copy)
    return read(resources.engine(), studies.get, "s")


@pytest.fixture
def split_study(study: Study) -> Study:
    planted.split(resources.engine(), study)
    return study


def click(app: AppTest, key: str) -> AppTest:
    next(button for button in app.button if button.key == key or button.label == key).click()
    return app.run()


def open_step(step: str) -> AppTest:
    return visit("setup/improve", "ann", study="s", improve_step=step)


def test_the_split_is_made_once_with_its_rule(study: Study) -> None:
    app = visit("setup/improve", "ann", study="s")
    assert "24 items with gold: 12 development, 12 held-out" in page_text(app)
    app = app.slider(key="split_share").set_value(25).run()
    assert "24 items with gold: 18 development, 6 held-out" in page_text(app)
    app.slider(key="split_share").set_value(50)
    app.number_input(key="split_evaluations").set_value(3)
    app = click(app, "Split")
    text = page_text(app)
    assert "12 development items · 12 held-out items" in text
    assert "corrected for **3** planned evaluations" in text


def test_disagreements_show_development_items_only_and_record_the_view(split_study: Study) -> None:
    app = open_step("Disagreements")
    text = page_text(app)
    parts = read(resources.engine(), splits.parts, split_study.id)
    held_out = [item for item, part in parts.items() if part == "held-out"]
    assert "disagreements on development items" in text and "Judge: **Response 2 is better**" in text
    assert not any(f"**{item}**" in text or f"for {item}?" in text for item in held_out)
    assert read(resources.engine(), splits.count_seen, split_study.id, "ann") == 0


def test_a_person_proposes_a_variant(split_study: Study) -> None:
    app = open_step("Propose")
    next(w for w in app.text_area if w.label == "Definition").set_value("Of use, and brief.")
    next(w for w in app.text_input if w.label == "Name of the variant").set_value("brief")
    app = click(app, "store_variant")
    assert "**brief**" in page_text(app) and "Not evaluated yet" in page_text(app)
    (stored,) = read(resources.engine(), variants.of_study, split_study.id)
    assert (stored.changes.names, stored.origin, stored.author) == (["definition"], "person", "ann")
    assert "+Of use, and brief." in app.code[0].value


def test_a_model_proposes_from_development_items(split_study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(lambda ask: "DEFINITION:\nOf use, and brief.")
    monkeypatch.setattr(resources, "model_client", lambda: model)
    app = click(open_step("Propose"), "improve_propose")
    assert "Proposed by m" in page_text(app)
    assert next(w for w in app.text_area if w.label == "Definition").value == "Of use, and brief."
    next(w for w in app.text_input if w.label == "Name of the variant").set_value("brief")
    click(app, "store_variant")
    with reading(resources.engine()) as session:
        parts = splits.parts(session, split_study.id)
        (stored,) = variants.of_study(session, split_study.id)
        (request, *_) = audit.entries(session, audit.Filter(split_study.id, (Action.run.value,)))
    assert not any(f"for {item}?" in model.asked[0].prompt for item, part in parts.items() if part == "held-out")
    assert stored.origin == "model: m" and request.details["models"] == ["m"]


def execute_all(study: Study) -> None:
    ids = [experiment.id for experiment in read(resources.engine(), experiments.of_study, study.id)]
    for experiment_id in ids:
        asyncio.run(execute_experiment(resources.engine(), experiment_id, lambda progress: None, ScriptedModel(answer)))


def open_question(app: AppTest, variant: int, part: str) -> AppTest:
    app.session_state[f"evaluate_{variant}_{part}"] = True
    return app.run()


def test_a_variant_is_evaluated_and_accepted_and_the_page_counts_the_uses(split_study: Study) -> None:
    engine = resources.engine()
    planted.propose(engine, split_study, "useless", USELESS)
    brief = planted.propose(engine, split_study, "brief", BETTER)
    app = open_question(open_step("Variants"), brief.id, "development")
    assert "and the judge without its changes, on 12 development items" in page_text(app)
    app = click(app, f"start_{brief.id}_development")
    assert not app.error
    execute_all(split_study)
    app = open_step("Variants")
    assert "Score 0." in page_text(app) and "0 of 5" in page_text(app)
    app = open_question(app, brief.id, "held-out")
    assert "This is use 1 of 5. It cannot be undone." in page_text(app)
    click(app, f"start_{brief.id}_held-out")
    execute_all(split_study)
    app = open_step("Variants")
    text = page_text(app)
    assert "**1 of 5** planned evaluations" in text and "4 evaluations left" in text
    assert "is above 0; p, corrected for 5 planned evaluations" in text
    app = click(app, f"accept_{brief.id}")
    assert "Version 2" in page_text(app) and not app.error
    app = click(open_step("Variants"), "restore_1")
    assert "version 1 restored" in page_text(app)
