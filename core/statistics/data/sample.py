"""How targets came to their labels: the draw of a design, as arrays beside targets, and what each labelled one counts.

A target that is drawn with a probability stands for 1 / probability targets of its stratum (Horvitz & Thompson 1952).
Weights are scaled so that the labelled targets of a stratum count as many as the stratum has targets (Hájek 1971;
Särndal, Swensson & Wretman 1992, section 7.6): a drawn target that nobody labelled is taken as missing at random within
its stratum.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.statistics.data.arrays import Bools, Floats, Ints, ratio

# Below this many labels of a stratum intervals can be too narrow, see docs/statistics.md.
FEW_LABELS = 50
# A stratum with fewer labels has no value: one label of it would count for all of its targets.
FEWEST_OF_STRATUM = 10
# Between the criterion and the name of a stratum: those of several criteria are different strata.
SEPARATOR = "\n"


@dataclass(frozen=True)
class Draw:
    """The draw of P patterns: targets of a pattern have one stratum and one weight."""

    strata: Ints
    """(P,): the number of each pattern's stratum."""
    weights: Floats
    """(P,): how many targets each labelled one stands for; 0 without a label, and if it was not drawn."""
    sizes: Floats
    """(H,): the targets of each stratum in the population."""

    def calibrated(self, frequencies: Floats, used: Bools) -> "Draw":
        """Return the draw with the weights of the used patterns (P,) so that they stand for all that are labelled.

        For statistics of targets with a further label: whether it exists yet says nothing about the target.
        """
        totals, kept = (
            np.bincount(self.strata, self.weights * frequencies * mask, minlength=self.sizes.size)
            for mask in (np.ones(used.size), used)
        )
        factors = np.nan_to_num(ratio(totals, kept))
        return Draw(self.strata, self.weights * used * factors[self.strata], self.sizes)

    def degrees(self, frequencies: Floats) -> int:
        """Return the labelled items less the strata that have some: degrees of freedom of the variance."""
        labels = np.bincount(self.strata, frequencies * (self.weights > 0), minlength=self.sizes.size)
        return int(labels.sum()) - int(np.count_nonzero(labels))

    def select(self, places: Ints | Bools) -> Self:
        """Return the draw of some of the patterns, which stand for as many as before."""
        return type(self)(self.strata[places], self.weights[places], self.sizes)

    def resample(self, frequencies: Floats, number: int, rng: np.random.Generator) -> Floats:
        """Return what the patterns count in each resample (number, P), drawn within strata.

        One unit less than a stratum has is drawn from it, and counts the more (Rao & Wu 1988): the variance has the
        right degrees of freedom. The sizes of the strata vary too, as in another population of as many targets.
        """
        counted = np.zeros((number, frequencies.size))
        total = int(self.sizes.sum())
        sizes = rng.multinomial(total, self.sizes / total, number) if total else np.zeros((number, self.sizes.size))
        shares = np.nan_to_num(ratio(sizes, self.sizes))
        for stratum in range(self.sizes.size):
            own = np.flatnonzero((self.strata == stratum) & (self.weights > 0) & (frequencies > 0))
            units = int(frequencies[own].sum())
            if units > 1:
                drawn = rng.multinomial(units - 1, frequencies[own] / units, number) * (units / (units - 1))
            else:
                drawn = np.tile(frequencies[own], (number, 1))
            counted[:, own] = drawn * self.weights[own] * shares[:, [stratum]]
        return counted

    def without_each(self, frequencies: Floats, most: int) -> tuple[Floats, Floats]:
        """Return what the patterns count without one unit of each (J, P), and how often each occurs (J,).

        The others of its stratum count the more. Of more than `most` patterns, a random part.
        """
        own = np.flatnonzero((self.weights > 0) & (frequencies > 0))
        if own.size > most:
            own = np.sort(np.random.default_rng(0).choice(own, most, replace=False))
        units = np.bincount(self.strata, frequencies * (self.weights > 0), minlength=self.sizes.size)
        counted = np.tile(frequencies * self.weights, (own.size, 1))
        for row, place in enumerate(own.tolist()):
            of_stratum, n = self.strata == self.strata[place], units[self.strata[place]]
            counted[row, place] -= self.weights[place]
            counted[row, of_stratum] *= n / (n - 1) if n > 1 else 1.0
        return counted, frequencies[own]


@dataclass(frozen=True)
class Sample(Draw):
    """The draw of N targets, all of which are in the population of one design, each as a pattern of its own."""

    probability: Floats
    """(N,): with which each target is drawn, in (0, 1]; 0 in a stratum that is never drawn."""
    drawn: Bools
    """(N,): whether it was drawn. Labels of other targets were chosen, and have no probability."""
    names: tuple[str, ...] = ()
    """The names of the strata."""

    @classmethod
    def of_labelled(
        cls, strata: Ints, probability: Floats, drawn: Bools, labelled: Bools, names: tuple[str, ...] = ()
    ) -> Self:
        """Return the draw of a whole population of N targets with the weights of those that are drawn and labelled."""
        sizes = np.bincount(strata, minlength=len(names)).astype(float)
        own = np.where(drawn & labelled & (probability > 0), ratio(np.ones(strata.size), probability), 0.0)
        totals = np.bincount(strata, own, minlength=sizes.size)
        weights = np.nan_to_num(own * ratio(sizes, totals)[strata])
        return cls(strata, weights, sizes, probability, drawn, names)

    def select(self, places: Ints | Bools) -> Self:
        """Return the draw of some of the targets, which stand for as many as before."""
        own = self.probability[places], self.drawn[places], self.names
        return type(self)(self.strata[places], self.weights[places], self.sizes, *own)

    def describe(self, used: Bools | None = None) -> str:
        """Return how many targets of each stratum have labels, of those where the mask (N,) is true."""
        own = self.weights > 0 if used is None else (self.weights > 0) & used
        labelled = np.bincount(self.strata[own], minlength=self.sizes.size)
        strata = [
            (name.rpartition(SEPARATOR)[2], count, size)
            for name, count, size in zip(self.names, labelled.tolist(), self.sizes.tolist(), strict=True)
            if size
        ]
        parts = [f"{count:,} of {size:,.0f} {name}".strip() for name, count, size in strata]
        few = [name for name, count, size in strata if 0 < count < min(FEW_LABELS, size)]
        caveat = f"; fewer than {FEW_LABELS} labels of a stratum: intervals may be too narrow" if few else ""
        return f"drawn by design: {', '.join(parts)}{caveat}" if parts else ""

    def has_few_labels(self, least: int) -> bool:
        """Return whether a stratum with some labels has fewer than this many, and further targets."""
        labelled = np.bincount(self.strata[self.weights > 0], minlength=self.sizes.size)
        return bool(((labelled > 0) & (labelled < np.minimum(least, self.sizes))).any())


def answered(first: Ints, chosen: Bools, drawn: Bools, labelled: Bools) -> tuple[Bools, Floats]:
    """Return which of the N targets of a stratum count as drawn, and the share of each one's class with a label.

    `first` (N,) is the round that drew a target, `chosen` (N,) whether it had a label before: all of these have labels,
    of the others of the round only some, so those with labels are no random part of the drawn ones. They are classes
    that answer differently (Särndal, Swensson & Wretman 1992, section 15.6): with the probability times the share of
    its class that has a label, each class counts as many as were drawn of it. Until enough of a class have labels, its
    round and later ones do not count as drawn: the earlier rounds alone are a random part.
    """
    start = int(first[drawn & chosen].min())
    classes = np.where(first < start, 0, 2 * first + chosen)
    kept, share = drawn.copy(), np.ones(first.size)
    for code in np.unique(classes[drawn]).tolist():
        own = drawn & (classes == code)
        count = int((own & labelled).sum())
        if count < min(1 if code % 2 else FEWEST_OF_STRATUM, own.sum()):
            kept &= classes < max(code - code % 2, 1)
            break
        share[own] = count / own.sum()
    return kept, share
