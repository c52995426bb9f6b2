"""Aspect weights fitted to people's preferences, and the preferences that they predict for items left out of the fit.

The model is logistic: P(response 1 is preferred) = 1 / (1 + exp(-sum_k b_k d_k)), d_k the difference of the two
responses' scores on aspect k, b_k >= 0. A tie counts as half a preference for each. A small ridge penalty keeps b
finite if the scores separate people's preferences perfectly. The weights are b as shares of their sum, so they
replace the weights of a judge in the same weighted sum.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from core.statistics.data.arrays import Bools, Floats

FOLDS = 10
RIDGE = 0.01
"""The penalty RIDGE * sum b_k^2 on the mean loss of an item; it hardly moves weights of more than 20 items."""


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


def cross_validated_weights(differences: Floats, preferred: Floats, groups: Sequence[str], seed: int = 0) -> Floats:
    """Return for each item the shares (N, K) fitted on the items of other folds.

    Items of a group (a dialogue, a document) are in one fold, so no item is in the fit that it is judged by. There
    are ten folds, or one for each group if there are fewer.
    """
    weights = np.full(differences.shape, np.nan)
    for fold in folds(groups, seed):
        weights[fold] = fit_weights(differences[~fold], preferred[~fold])
    return weights


def folds(groups: Sequence[str], seed: int = 0) -> Iterator[Bools]:
    """Yield a mask (N,) of the items of each fold; needs two groups or more."""
    names, codes = np.unique(np.array(groups, object).astype(str), return_inverse=True)
    order = np.random.default_rng(seed).permutation(names.size)
    fold_of_group = np.empty(names.size, int)
    fold_of_group[order] = np.arange(names.size) % min(FOLDS, names.size)
    for number in range(min(FOLDS, names.size)):
        yield fold_of_group[codes] == number
