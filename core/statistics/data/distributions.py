"""The normal distribution and Student's t, without the import of SciPy until a t is needed."""

import math
from statistics import NormalDist

_NORMAL = NormalDist()


def normal_cdf(z: float) -> float:
    """Return the probability of a standard normal value below z, with full precision in the lower tail.

    `NormalDist.cdf` subtracts from 1 there, so it is 0 below -8.3.
    """
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(probability: float) -> float:
    """Return the standard normal value below which values have this probability, 0 < probability < 1."""
    return _NORMAL.inv_cdf(probability)


def students_t_cdf(degrees: float, t: float) -> float:
    """Return the probability of a value of Student's t below t, with these degrees of freedom."""
    from scipy.special import stdtr  # takes a sixth of a second to import

    return float(stdtr(degrees, t))


def students_t_quantile(degrees: float, probability: float) -> float:
    """Return the value below which values of Student's t with these degrees of freedom have this probability."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))
