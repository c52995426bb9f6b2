"""Clusters of short texts by their words: TF-IDF, a truncated SVD, and k-means."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.provenance import SEED
from core.statistics.data.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    import numpy.typing as npt


# No clusters of fewer texts.
MIN_TEXTS = 40
MAX_CLUSTERS = 8
# Texts for each cluster at least, on average.
TEXTS_OF_CLUSTER = 10
# Terms in a larger share of the texts are ignored, in place of lists of stop words, which a language would need.
COMMON = 0.5
# Terms that name a cluster.
TERMS = 4
DIMENSIONS, SAMPLE = 50, 1000
# Words of letters: the number of a response would make clusters of verdicts.
WORDS = r"(?u)\b[^\W\d_]{2,}\b"


def cluster_texts(texts: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the cluster of each of n texts, (n,), from 0, and the name of each cluster: the terms whose weight is most
    above that in all texts. Both are empty for fewer than `MIN_TEXTS`, and for texts with no words in common.

    The number of clusters, 2 to 8, is the one with the highest silhouette (Rousseeuw 1987).
    """
    none: tuple[Ints, tuple[str, ...]] = np.empty(0, np.int64), ()
    if len(texts) < MIN_TEXTS:
        return none
    # Imported here: scikit-learn takes a second to load.
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.metrics import silhouette_score
    from sklearn.preprocessing import normalize

    weights, terms = _weigh_terms(texts)
    if weights is None or weights.shape[1] < 3:
        return none
    dimensions = min(DIMENSIONS, min(weights.shape) - 1)
    reduced = TruncatedSVD(dimensions, random_state=SEED).fit_transform(weights)
    vectors = np.asarray(normalize(reduced), np.float64)
    best: tuple[float, Ints] | None = None
    distinct = len(np.unique(vectors.round(6), axis=0))
    for k in range(2, min(MAX_CLUSTERS, len(texts) // TEXTS_OF_CLUSTER, distinct) + 1):
        found = KMeans(k, n_init=4, random_state=SEED).fit_predict(vectors).astype(np.int64)
        size = min(SAMPLE, len(texts))
        try:
            score = float(silhouette_score(vectors, found, sample_size=size, random_state=SEED))
        except ValueError:  # the sample is of one cluster
            continue
        if best is None or score > best[0]:
            best = score, found
    return none if best is None else (best[1], _names(best[1], weights, terms))


def _weigh_terms(texts: Sequence[str]) -> tuple[Any, "npt.NDArray[np.object_]"]:
    """Return the TF-IDF weights (n, T), sparse, and the T terms; None without terms."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=COMMON, token_pattern=WORDS, max_features=5000)
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError:  # no term is in two texts and not in half of them
        return None, np.empty(0, object)
    return weights, vectorizer.get_feature_names_out()


def _names(clusters: Ints, weights: Any, terms: "npt.NDArray[np.object_]") -> tuple[str, ...]:
    everywhere = np.asarray(weights.mean(axis=0)).reshape(-1)
    names: list[str] = []
    for cluster in range(int(clusters.max()) + 1):
        excess = np.asarray(weights[clusters == cluster].mean(axis=0)).reshape(-1) - everywhere
        name = ", ".join(str(terms[place]) for place in np.argsort(-excess, kind="stable")[:TERMS])
        names.append(name if name not in names else f"{name} ({cluster + 1})")
    return tuple(names)


# Aspect weights fitted to people's preferences, and the preferences that they predict for items left out of the fit.
#
# The model is logistic: P(response 1 is preferred) = 1 / (1 + exp(-sum_k b_k d_k)), d_k the difference of the two
# responses' scores on aspect k, b_k >= 0. A tie counts as half a preference for each. A small ridge penalty keeps b
# finite if the scores separate people's preferences perfectly. The weights are b as shares of their sum, so they
# replace the weights of a judge in the same weighted sum.

FOLDS = 10
# The penalty RIDGE * sum b_k^2 on the mean loss of an item; it hardly moves weights of more than 20 items.
RIDGE = 0.01


def fit_weights(differences: Floats, preferred: Floats) -> Floats:
    """Return the shares (K,) that predict preferences best; equal shares if no weight of any aspect helps.

    `differences` (N, K) are scores of response 1 minus those of response 2; `preferred` (N,) is 1 for response 1, 0 for
    response 2, one half for a tie.
    """
    from scipy.optimize import minimize  # takes a third of a second to import, and few commands fit

    def loss(b: Floats) -> tuple[float, Floats]:
        margin = differences @ b
        # log(1 + exp(m)) - y m is the loss of an item; logaddexp does not overflow.
        value = float(np.mean(np.logaddexp(0, margin) - preferred * margin) + RIDGE * (b**2).sum())
        error = 0.5 * (1 + np.tanh(margin / 2)) - preferred
        return value, differences.T @ error / preferred.size + 2 * RIDGE * b

    k = differences.shape[1]
    start = np.full(k, 0.1)
    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * k)
    total = float(result.x.sum())
    return np.full(k, 1 / k) if total < 1e-6 else np.asarray(result.x / total)


def cross_validated_weights(differences: Floats, preferred: Floats, groups: Sequence[str]) -> Floats:
    """Return for each item the shares (N, K) fitted on the items of other folds.

    Items of a group (a dialogue, a document) are in one fold, so no item is in the fit that it is judged by. There
    are ten folds, or one for each group if there are fewer.
    """
    weights = np.full(differences.shape, np.nan)
    for fold in folds(groups):
        weights[fold] = fit_weights(differences[~fold], preferred[~fold])
    return weights


def folds(groups: Sequence[str]) -> Iterator[Bools]:
    """Yield a mask (N,) of the items of each fold; needs two groups or more."""
    names, codes = np.unique(np.array(groups, object).astype(str), return_inverse=True)
    order = np.random.default_rng(SEED).permutation(names.size)
    fold_of_group = np.empty(names.size, int)
    fold_of_group[order] = np.arange(names.size) % min(FOLDS, names.size)
    for number in range(min(FOLDS, names.size)):
        yield fold_of_group[codes] == number
