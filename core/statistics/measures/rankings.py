"""How far two rankings are apart: Kendall's distance with ties, top-k lists, partial rankings.

Fagin, Kumar & Sivakumar 2003, "Comparing top k lists"; Fagin, Kumar, Mahdian, Sivakumar & Vee 2006,
"Comparing partial rankings". All work on few things (aspects, systems), so on plain pairs.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from core.statistics.data.arrays import Floats
from core.statistics.measures.pairwise import signs


def ranks(weights: Floats) -> Floats:
    """Rank 1 for the largest weight; ties share the mean of their ranks. (n,) -> (n,)."""
    above = (weights[None, :] > weights[:, None]).sum(axis=1)
    tied = (weights[None, :] == weights[:, None]).sum(axis=1)
    return np.asarray(above + (tied + 1) / 2)


def kendall_distance(x: Floats, y: Floats) -> float | None:
    """(1 - tau_b) / 2: 0 the same order, 1 the opposite; None where either ranks everything alike.

    This is the distance of DnA-Eval's published code, which however returns 0, "identical", where
    tau_b is undefined.
    """
    over_x, over_y = signs(x), signs(y)
    spread = np.sqrt((over_x**2).sum() * (over_y**2).sum())
    return float(1 - (over_x * over_y).sum() / spread) / 2 if spread else None


def partial_distance(x: Floats, y: Floats, p: float = 0.5) -> float:
    """K^(p) of partial rankings: 1 for each pair in opposite order, p for each tied in one only.

    With p = 1/2 this is K_prof, a metric (Fagin et al. 2006). Divide by n (n - 1) / 2 for a share.
    """
    over_x, over_y = signs(x), signs(y)
    opposite = (over_x * over_y < 0).sum() / 2
    tied_once = ((over_x == 0) != (over_y == 0)).sum() / 2
    return float(opposite + p * tied_once)


def top_k_distance(first: Sequence[Hashable], second: Sequence[Hashable], p: float = 0.0) -> float:
    """K^(p) of two top-k lists, best first (Fagin et al. 2003, section 3.1).

    Over all pairs of things in either list: both lists have both, 1 if in opposite order; one list
    has both and the other has one, 1 if the other prefers the lower one; each has a different one,
    1; one list has both and the other neither, p. p = 0 is optimistic and no metric; p = 1/2 neutral.
    """
    places = [{thing: place for place, thing in enumerate(ranked)} for ranked in (first, second)]
    things = dict.fromkeys([*first, *second])
    return float(sum(penalty(i, j, places, p) for i, j in combinations(things, 2)))


def penalty(i: Hashable, j: Hashable, places: Sequence[dict[Hashable, int]], p: float) -> float:
    """What one pair adds: a thing that a list lacks stands below all that it has."""
    orders = []
    for place in places:
        if i not in place and j not in place:
            return p
        last = len(place)
        orders.append(place.get(i, last) - place.get(j, last))
    return float(orders[0] * orders[1] < 0)
