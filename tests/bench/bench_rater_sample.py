"""Coverage of intervals of agreement if annotators are a sample: with annotators as fixed, and as a sample.

    python -m tests.bench.bench_rater_sample [STUDIES]

A label is 1 if the item's value + the annotator's bias + noise is positive, with the standard deviations 1, .6 and .6.
The truth is the statistic of 400 annotators on 4,000 items.
"""

from argparse import ArgumentParser

import numpy as np

from core.statistics.data.arrays import Codes
from core.statistics.data.ratings import Ratings
from core.statistics.measures.agreement import estimate_statistics, with_raters_as_sample

NAMES = ("percent", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1")
ITEMS, SPREAD = 200, 0.6


def draw(rng: np.random.Generator, raters: int, items: int = ITEMS) -> Codes:
    """Return the labels (items, raters)."""
    value, bias = rng.normal(size=(items, 1)), SPREAD * rng.normal(size=raters)
    return (value + bias + SPREAD * rng.normal(size=(items, raters)) > 0).astype(np.int16)


def ratings(codes: Codes) -> Ratings:
    """Return labels with names."""
    items, raters = (tuple(map(str, range(size))) for size in codes.shape)
    return Ratings(items, raters, codes, (0, 1))


def main(studies: int) -> None:
    """Print the coverage in per cent."""
    rng = np.random.default_rng(0)
    many = estimate_statistics(ratings(draw(rng, 400, 4_000)), NAMES, resamples=0)
    truth = {name: one.value or 0.0 for name, one in many.items()}
    print("raters", "annotators", *NAMES, sep="\t", flush=True)
    for raters in (2, 3, 5, 7, 10):
        covered = {kind: dict.fromkeys(NAMES, 0) for kind in ("fixed", "sample")}
        for _ in range(studies):
            drawn = ratings(draw(rng, raters))
            fixed = estimate_statistics(drawn, NAMES, resamples=400)
            for kind, found in (("fixed", fixed), ("sample", with_raters_as_sample(drawn, fixed))):
                for name, one in found.items():
                    if one.low is not None and one.high is not None:
                        covered[kind][name] += one.low <= truth[name] <= one.high
        for kind, counts in covered.items():
            print(raters, kind, *(f"{100 * count / studies:.1f}" for count in counts.values()), sep="\t", flush=True)


if __name__ == "__main__":
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("studies", type=int, nargs="?", default=500, help="simulated studies of each cell")
    main(parser.parse_args().studies)
