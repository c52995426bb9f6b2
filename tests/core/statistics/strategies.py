"""Generated ratings for property tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.statistics.data.ratings import Ratings
from tests.core.statistics.builders import ratings_from_codes


@st.composite
def generated_ratings(draw, *, raters=(2, 5), missing=True, items=(1, 14)) -> Ratings:
    """Ratings of any shape: few or many categories, all equal or all different, with or without missing labels."""
    n_categories = draw(st.integers(2, 6))
    shape = draw(st.integers(*items)), draw(st.integers(*raters))
    lowest = -1 if missing else 0
    highest = draw(st.integers(lowest, n_categories - 1))
    codes = draw(arrays.arrays(np.int16, shape, elements=st.integers(lowest, max(highest, 0))))
    return ratings_from_codes(codes, n_categories)
