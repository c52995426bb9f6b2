"""How often the interval of people's position bias holds the true effect, and how often a bias is found without one.

`python -m tests.bench.bench_position_of_people [STUDIES]`. Annotators see the responses in counterbalanced order
(`storage.labelling.blocks`): of each item the order is drawn, and the next annotator has the other one. Each
chooses the response shown first with probability `bias`, otherwise the better one with probability .8. The true effect
is bias / 2.
"""

from argparse import ArgumentParser

import numpy as np

from core.statistics.reports.biases import BiasRow, people_row

ITEMS, ANNOTATORS, BIASES = (30, 100, 300), (1, 2, 3, 5), (0.0, 0.2, 0.5)


def simulate(rng: np.random.Generator, items: int, annotators: int, bias: float) -> BiasRow | None:
    """Return the row of people in one study."""
    drawn, better = (rng.integers(1, 3, (items, 1)) for _ in range(2))
    first = np.where(np.arange(annotators) % 2 == 0, drawn, 3 - drawn)
    honest = np.where(rng.random(first.shape) < 0.8, better, 3 - better)
    values = np.where(rng.random(first.shape) < bias, first, honest)
    names = np.repeat([f"i{number}" for number in range(items)], annotators).tolist()
    return people_row(values.ravel().astype(float), first.ravel().astype(float), names)


def main(studies: int) -> None:
    """Print one row for each number of items and annotators and each bias."""
    rng = np.random.default_rng(1)
    print("items annotators bias  covered  found")
    for items in ITEMS:
        for annotators in ANNOTATORS:
            for bias in BIASES:
                rows = [row for _ in range(studies) if (row := simulate(rng, items, annotators, bias)) is not None]
                ends = [(row.effect.low, row.effect.high) for row in rows]
                covered = [low <= bias / 2 <= high for low, high in ends if low is not None and high is not None]
                found = np.mean([row.found for row in rows])
                print(f"{items:5} {annotators:10} {bias:4}  {np.mean(covered):.3f}    {found:.3f}")


if __name__ == "__main__":
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("studies", type=int, nargs="?", default=1_000, help="simulated studies of each cell")
    main(parser.parse_args().studies)
