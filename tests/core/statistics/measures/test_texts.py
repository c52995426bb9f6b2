"""Clusters of texts by their words."""

import numpy as np
import pytest

from core.statistics.measures.texts import MIN_TEXTS, cluster_texts, cross_validated_weights, fit_weights, folds

WORDS = (
    ("longer", "detailed", "covers", "explanation", "steps", "thorough", "complete"),
    ("code", "compiles", "tests", "pass", "runs", "function", "correct"),
)


def text_of(topic: int, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS[topic], 5, replace=False))


def texts_of(topics: np.ndarray, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"Response {number % 2 + 1}: {text_of(topic, rng)}" for number, topic in enumerate(topics)]


def test_texts_about_two_topics_are_two_clusters_named_by_their_terms():
    topics = np.arange(80) % 2
    clusters_of, names = cluster_texts(texts_of(topics))
    by_topic = [set(clusters_of[topics == topic].tolist()) for topic in (0, 1)]
    assert not by_topic[0] & by_topic[1]
    for clusters, words in zip(by_topic, WORDS, strict=True):
        assert all(set(names[cluster].replace(",", "").split()) <= set(words) for cluster in clusters)
    assert not any("response" in name for name in names)


def test_few_texts_and_texts_without_common_words_have_no_clusters():
    assert cluster_texts(texts_of(np.zeros(MIN_TEXTS - 1, int)))[1] == ()
    assert cluster_texts([f"w{chr(97 + n % 26) * (n // 26 + 2)}" for n in range(60)])[1] == ()
    assert cluster_texts([""] * 60)[1] == ()


# Weights fitted to preferences, and never on the items that they are used for.


def drawn(true_weights: tuple[float, ...], items: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    differences = rng.integers(-5, 6, (items, len(true_weights))).astype(float)
    probability = 1 / (1 + np.exp(-2 * differences @ np.array(true_weights)))
    return differences, (rng.random(items) < probability).astype(float)


def test_the_weights_of_the_preferences_are_found():
    assert fit_weights(*drawn((0.6, 0.3, 0.1))) == pytest.approx([0.6, 0.3, 0.1], abs=0.05)


def test_where_no_weight_helps_the_shares_are_equal():
    assert fit_weights(np.ones((30, 2)), np.zeros(30)) == pytest.approx([0.5, 0.5])


def test_separated_preferences_have_finite_weights():
    differences = np.array([[1.0, 0.0], [-1.0, 0.0]] * 20)
    assert np.isfinite(fit_weights(differences, np.array([1.0, 0.0] * 20))).all()


def test_an_item_does_not_change_its_own_weights():
    differences, preferred = drawn((0.5, 0.5), 40)
    groups = [str(number // 2) for number in range(40)]
    before = cross_validated_weights(differences, preferred, groups)
    changed = preferred.copy()
    changed[6:8] = 1 - changed[6:8]  # the two items of one group
    after = cross_validated_weights(differences, changed, groups)
    assert np.array_equal(before[6:8], after[6:8]) and not np.array_equal(before, after)


def test_every_group_is_in_one_fold():
    groups = ["a", "a", "b", "c", "c", "d"]
    masks = list(folds(groups))
    assert np.sum(masks, axis=0).tolist() == [1] * 6 and len(masks) == 4
    assert all(mask[0] == mask[1] and mask[3] == mask[4] for mask in masks)
