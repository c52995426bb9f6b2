"""Distances of rankings: Kendall's distance with ties, partial rankings, top-k lists.

Fagin, Kumar & Sivakumar 2003, "Comparing top k lists"; Fagin, Kumar, Mahdian, Sivakumar & Vee 2006, "Comparing partial
rankings". Rankings here are of few elements (aspects, systems), so all pairs are enumerated.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Floats
from core.statistics.measures.pairwise import sign_matrix


def descending_ranks(weights: Floats) -> Floats:
    """Return rank 1 for the largest weight; ties share the mean of their ranks. (n,) -> (n,)."""
    larger = (weights[None, :] > weights[:, None]).sum(axis=1)
    tied = (weights[None, :] == weights[:, None]).sum(axis=1)
    return np.asarray(larger + (tied + 1) / 2)


def kendall_distance(x: Floats, y: Floats) -> float | None:
    """(1 - tau_b) / 2: 0 for the same order, 1 for the opposite; None if x or y ties all elements.

    This is the distance of DnA-Eval's published code, which however returns 0, "identical", if tau_b is undefined.
    """
    signs_x, signs_y = sign_matrix(x), sign_matrix(y)
    spread = np.sqrt((signs_x**2).sum() * (signs_y**2).sum())
    if not spread:
        return None
    return float(np.clip(1 - (signs_x * signs_y).sum() / spread, 0, 2)) / 2


def partial_ranking_distance(x: Floats, y: Floats, p: float = 0.5) -> float:
    """K^(p) of partial rankings: 1 for each pair in opposite order, p for each pair tied in one ranking only.

    With p = 1/2 this is K_prof, a metric (Fagin et al. 2006). Divide by n (n - 1) / 2 for a share.
    """
    signs_x, signs_y = sign_matrix(x), sign_matrix(y)
    opposite = (signs_x * signs_y < 0).sum() / 2
    tied_once = ((signs_x == 0) != (signs_y == 0)).sum() / 2
    return float(opposite + p * tied_once)


def top_k_distance(first: Sequence[Hashable], second: Sequence[Hashable], p: float = 0.0) -> float:
    """K^(p) of two top-k lists, best first (Fagin et al. 2003, section 3.1).

    Over all pairs of elements in either list: both lists have both, 1 if in opposite order; one list has both and the
    other has one, 1 if the other prefers the lower one; each has a different one, 1; one list has both and the other
    neither, p. p = 0 is optimistic and no metric; p = 1/2 neutral.
    """
    positions = [{element: position for position, element in enumerate(ranked)} for ranked in (first, second)]
    elements = dict.fromkeys([*first, *second])
    return float(sum(pair_penalty(i, j, positions, p) for i, j in combinations(elements, 2)))


def pair_penalty(i: Hashable, j: Hashable, positions: Sequence[dict[Hashable, int]], p: float) -> float:
    """Return the penalty of one pair; an element that a list lacks ranks below all that it has."""
    orders = []
    for position in positions:
        if i not in position and j not in position:
            return p
        last = len(position)
        orders.append(position.get(i, last) - position.get(j, last))
    return float(orders[0] * orders[1] < 0)
