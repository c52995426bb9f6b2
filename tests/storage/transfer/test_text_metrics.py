"""Metrics of texts as judges. The libraries are optional: without them one module with known scores stands for them."""

import sys
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

import cli
from core.errors import TiebreakError
from core.formats.records import CriterionRecord, ItemRecord, LabelRecord, Record, ScaleRecord
from core.items import Criterion, Response
from core.labels import Label, Scale, Target
from storage.reports import alignment
from storage.transfer import imports, text_metrics
from tests.conftest import make_item
from tests.storage.shared import stored_study


class Scorer:
    """Scores the share of the reference's words that a text has."""

    def __init__(self, variants: list[str], use_stemmer: bool) -> None:
        self.variants = variants

    def score(self, reference: str, text: str) -> dict[str, SimpleNamespace]:
        words = reference.split()
        return {self.variants[0]: SimpleNamespace(fmeasure=sum(word in text.split() for word in words) / len(words))}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("rouge_score.rouge_scorer")
    module.RougeScorer = Scorer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rouge_score", ModuleType("rouge_score"))
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", module)
    monkeypatch.setattr(text_metrics, "version", lambda package: "0")


def scored(engine: Engine, records: list[Record], metric: str, output: str = "") -> pd.DataFrame:
    """Import records, score them by the command, which prints `output`, and return the verdicts."""
    imports.import_records(engine, "m", records)
    words = ["judges", "metric", metric, "--study", "m", "--database", str(engine.url)]
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0 and output in " ".join(result.output.split()), result.output
    again = CliRunner().invoke(cli.app, words)
    assert "The study has a run called" in " ".join(again.stderr.split())
    return alignment.load_data(engine, stored_study(engine, "m"), None).opinions


@pytest.mark.usefixtures("library")
def test_the_scores_of_a_metric_are_verdicts_on_the_scale_of_each_criterion(engine: Engine) -> None:
    """Half of the reference's words are .5 of the way from 1 to 3; an item without a reference has no verdict."""
    texts = {"a": "one two", "b": "one", "c": "three"}
    records: list[Record] = [
        ItemRecord(item=make_item(name, responses=(Response(text=text),), reference="one two"))
        for name, text in texts.items()
    ]
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    records += [
        ItemRecord(item=make_item("d", responses=(Response(text="one"),))),
        CriterionRecord(criterion=Criterion(name="engaging")),
        ScaleRecord(kind="score", criterion="engaging", scale=scale),
    ]
    verdicts = scored(engine, records, "rouge-l")
    values = dict(zip(verdicts["item"], verdicts["value"], strict=True))
    assert {item: values[item] for item in "abc"} == {"a": 3, "b": 2, "c": 1} and values["d"] is None
    assert set(verdicts["judge"]) == {"ROUGE-L"}


@pytest.mark.usefixtures("library")
def test_of_three_responses_each_pair_has_a_preference(engine: Engine) -> None:
    responses = tuple(Response(text=text) for text in ("three", "one two", "one"))
    pair = Target(item="a", kind="preference", criterion="overall quality", part="1-2")
    records: list[Record] = [
        ItemRecord(item=make_item("a", responses=responses, reference="one two")),
        LabelRecord(label=Label(target=pair, annotator="ann", value=2)),
    ]
    opinions = scored(engine, records, "rouge-1")
    assert dict(zip(opinions["part"], opinions["value"], strict=True)) == {"1-2": 2, "1-3": 2, "2-3": 1}


@pytest.mark.usefixtures("library")
def test_each_response_has_a_score_where_single_responses_are_scored_and_the_source_of_references_has_none(
    engine: Engine,
) -> None:
    """Of two systems one wrote the references; the other has the reference's text once, which is a score."""
    texts = {"a": "one two", "b": "one"}
    original, records = Response(text="one two", system="original"), list[Record]()
    for name, text in texts.items():
        responses = (original, Response(text=text, system="model"))
        records.append(ItemRecord(item=make_item(name, responses=responses, reference="one two")))
    records += [
        CriterionRecord(criterion=Criterion(name="engaging")),
        ScaleRecord(kind="score", criterion="engaging", scale=Scale(level="ordinal", categories=(1, 2, 3))),
    ]
    targets = [Target(item=item, kind="score", criterion="engaging", part=part) for item in texts for part in "12"]
    records += [LabelRecord(label=Label(target=target, annotator="ann", value=2)) for target in targets]
    found = scored(engine, records, "rouge-l", "n = 2 responses with a score; 2 left out")
    found = found.sort_values(["item", "part"])
    assert found["part"].tolist() == ["1", "2", "1", "2"] and found["kind"].unique().tolist() == ["score"]
    assert found["value"].tolist() == [None, 3, None, 2]


def test_a_library_that_is_not_installed_is_named() -> None:
    with pytest.raises(TiebreakError, match=r"There is no metric 'meteor'; there are rouge-1, "):
        text_metrics.load_metric("meteor")
    if "bert_score" not in sys.modules:
        with pytest.raises(
            TiebreakError, match=r"needs the library bert-score: pip install -r requirements-metrics.txt"
        ):
            text_metrics.load_metric("bert-score")


def test_rouge_and_bleu_of_known_texts() -> None:
    """The longest common subsequence of these has 4 of 6 words; sacreBLEU gives 1 to equal texts."""
    pytest.importorskip("rouge_score")
    pytest.importorskip("sacrebleu")
    rouge, _ = text_metrics.load_metric("rouge-l")
    assert rouge(["the cat lay on a mat"], ["the cat sat on the mat"]) == [pytest.approx(4 / 6)]
    bleu, library = text_metrics.load_metric("bleu")
    assert bleu(["the cat sat on the mat"], ["the cat sat on the mat"]) == [pytest.approx(1.0)]
    assert library.startswith("sacrebleu ")
