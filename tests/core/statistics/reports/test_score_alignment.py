"""Alignment of judges with numeric verdicts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from core.labels import Scale
from core.statistics.reports.alignment import alignment_rows
from tests.core.statistics.frames import STARS, frame_from_words


def test_scores_are_correlated_with_the_mean_of_annotators():
    annotators, verdicts = {"a1": "1234512345", "a2": "1334522345"}, "1224513354"
    labels, opinions = frame_from_words(annotators, "score"), frame_from_words({"gpt": verdicts}, "score", "judge")
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS)}
    scores = np.array([[int(char) for char in word] for word in annotators.values()])
    judge = [int(char) for char in verdicts]
    assert rows["spearman"].value == pytest.approx(stats.spearmanr(judge, scores.mean(axis=0)).statistic)
    assert rows["pearson"].value == pytest.approx(stats.pearsonr(judge, scores.mean(axis=0)).statistic)
    assert rows["spearman"].raters == 2
    assert rows["human_ceiling_spearman"].value == pytest.approx(stats.spearmanr(*scores).statistic)
    against_others = np.mean([stats.spearmanr(judge, other).statistic for other in scores])
    assert rows["judge_against_others_spearman"].value == pytest.approx(against_others)


def test_one_annotator_has_no_ceiling_and_the_reason_says_so():
    labels = frame_from_words({"a1": "1234512345"}, "score")
    opinions = frame_from_words({"gpt": "1224513354"}, "score", "judge")
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales=STARS)}
    assert rows["human_ceiling_spearman"].value is None
    assert "no annotator shares 3 items" in rows["human_ceiling_spearman"].reason


def test_a_problem_without_an_answer_is_a_wrong_one_in_the_agreement_of_all_problems():
    target = {"kind": "answer", "criterion": "", "part": ""}
    labels = pd.DataFrame([target | {"item": f"i{n}", "rater": "gold", "value": 12.5} for n in range(4)])
    answers = [12.5, 12.5, 3, None]
    opinions = pd.DataFrame([target | {"item": f"i{n}", "judge": "j", "value": v} for n, v in enumerate(answers)])
    scale = Scale(level="interval", low=-1e12, high=1e12)
    rows = {row.statistic: row for row in alignment_rows(labels, opinions, scales={("answer", ""): scale})}
    assert (rows["accuracy_gold"].value, rows["accuracy_gold"].items) == (pytest.approx(2 / 3), 3)
    assert (rows["example_level_agreement"].value, rows["example_level_agreement"].items) == (0.5, 4)
