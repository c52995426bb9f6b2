"""Clusters of texts by their words."""

import numpy as np

from core.statistics.measures.texts import MIN_TEXTS, cluster_texts

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
    found = cluster_texts(texts_of(topics))
    by_topic = [set(found.clusters[topics == topic].tolist()) for topic in (0, 1)]
    assert not by_topic[0] & by_topic[1]
    for clusters, words in zip(by_topic, WORDS, strict=True):
        assert all(set(found.names[cluster].replace(",", "").split()) <= set(words) for cluster in clusters)
    assert not any("response" in name for name in found.names)


def test_few_texts_and_texts_without_common_words_have_no_clusters():
    assert cluster_texts(texts_of(np.zeros(MIN_TEXTS - 1, int))).names == ()
    assert cluster_texts([f"w{chr(97 + n % 26) * (n // 26 + 2)}" for n in range(60)]).names == ()
    assert cluster_texts([""] * 60).names == ()
