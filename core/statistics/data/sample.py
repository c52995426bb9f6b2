"""How targets came to their labels: the design of a draw, as arrays beside the targets of a dataset."""

from dataclasses import dataclass

from core.statistics.data.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class Sample:
    """The draw of N targets, all of which are in the population of one design."""

    strata: Ints
    """(N,): the number of each target's stratum."""
    probability: Floats
    """(N,): with which each target is drawn, in (0, 1]; 0 in a stratum that is never drawn."""
    drawn: Bools
    """(N,): whether it was drawn. Labels of other targets were chosen, and have no probability."""
    numbers: Floats
    """(N,): permanent random numbers in (0, 1), independent of labels and opinions."""
    names: tuple[str, ...] = ()
    """The names of the strata."""

    def select(self, places: Ints | Bools) -> "Sample":
        """Return the draw of some of the targets."""
        return Sample(
            self.strata[places], self.probability[places], self.drawn[places], self.numbers[places], self.names
        )
