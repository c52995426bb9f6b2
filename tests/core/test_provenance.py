"""Captions with n, method, seed and versions."""

import inspect
import tomllib

from core.provenance import RESAMPLES, VERSION, caption
from core.statistics.measures.agreement import estimate_score_statistics
from core.statistics.measures.means import critique_scores, mean_estimate
from tests.paths import ROOT


def test_the_caption_has_n_method_seed_and_versions():
    text = caption("Accuracy", [40, 62], "targets")
    assert text.startswith("Accuracy. n = 40 to 62 targets. 95 % intervals: ")
    assert "seed 0" in text and f"tiebreak {VERSION}" in text and "numpy" in text


def test_the_stated_version_and_defaults_are_those_in_use():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    for function in (estimate_score_statistics, mean_estimate, critique_scores):
        parameters = inspect.signature(function).parameters
        assert parameters["resamples"].default == RESAMPLES
