"""Every statistic once: its names, where it applies, and the function that computes it.

Screens, commands, the Python API, LaTeX and the table of docs/statistics.md read these entries. A statistic is its
function in `measures` and one entry here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import MappingProxyType

from core.labels import Level
from core.statistics.data.arrays import Floats
from core.statistics.measures import coefficients, pairwise
from core.statistics.measures.pairwise import TableStatistic
from core.statistics.measures.resampling import Statistic

NOMINAL: frozenset[Level] = frozenset({"nominal"})
ORDERED: frozenset[Level] = frozenset({"ordinal", "interval"})
EVERY = NOMINAL | ORDERED
NONE: frozenset[Level] = frozenset()


class Role(Enum):
    """What a statistic is about."""

    raters = "any number of raters"
    pairs = "two raters; of more, the mean over pairs"
    judge = "a judge and a reference"
    weights = "weights of aspects"


@dataclass(frozen=True)
class Entry:
    """One statistic."""

    id: str
    """In CSV, JSON and addresses: never changed."""
    name: str
    """In sentences, LaTeX and axes."""
    short: str
    """The heading of a column."""
    help: str
    """One sentence."""
    role: Role
    bounds: tuple[float, float] = (-1, 1)
    """The smallest and the largest value; an agreement coefficient of few labels can be below -1."""
    levels: frozenset[Level] = NONE
    """The levels of a scale with categories for which the agreement of annotators reports it."""
    of_numbers: bool = False
    """Whether it is reported for labels without categories."""
    table: frozenset[Level] = NONE
    """The levels for which it is in the table of a page; files have every statistic."""
    headline: frozenset[Level] = NONE
    """The levels for which it represents the agreement of all raters, or, with the role `pairs`, of each two."""
    of_counts: Callable[[Floats, Floats], Statistic] | None = None
    """Category counts (P, K) and the numbers of the categories (K,) -> the statistic."""
    of_table: Callable[[Floats], TableStatistic] | None = None
    """The numbers of the categories (K,) -> the statistic of tables of two raters."""
    reference: str = ""


def _kappa(weights: Callable[[int], Floats]) -> Callable[[Floats], TableStatistic]:
    return lambda numbers: partial(pairwise.cohen_kappa, agreement_weights=weights(numbers.size))


_AGREEMENT = (
    Entry(
        "percent", "Percent", "Percent",
        "The chance that two raters of a target, drawn at random, agree. Chance is not taken out.",
        Role.raters, (0, 1), levels=EVERY, table=frozenset({"nominal", "ordinal"}),
        of_counts=lambda counts, _: coefficients.percent_agreement(counts), reference="Fleiss 1971, eq. 2",
    ),
    Entry(
        "cohen_kappa", "Cohen's kappa", "Cohen",
        "Agreement of two raters beyond chance, each with their own margins.",
        Role.pairs, levels=EVERY, headline=NOMINAL, of_table=lambda _: pairwise.cohen_kappa, reference="Cohen 1960",
    ),
    Entry(
        "fleiss_kappa", "Fleiss' kappa", "Fleiss",
        "Fleiss' kappa: agreement beyond chance, 1 is perfect and 0 is chance, for any number of raters.",
        Role.raters, levels=EVERY, table=NOMINAL, headline=NOMINAL,
        of_counts=lambda counts, _: coefficients.fleiss_kappa(counts), reference="Fleiss 1971; Gwet 2014, 2.4.3",
    ),
    Entry(
        "krippendorff_alpha_nominal", "Krippendorff's alpha", "Alpha",
        "Krippendorff's alpha for categories without an order: like Fleiss' kappa, with labels of equal weight.",
        Role.raters, levels=EVERY, table=NOMINAL, headline=NOMINAL,
        of_counts=lambda counts, _: coefficients.alpha_nominal(counts), reference="Krippendorff 2011",
    ),
    Entry(
        "krippendorff_alpha_ordinal", "Krippendorff's alpha, ordinal", "Alpha, ordinal",
        "Krippendorff's alpha for ordered categories: a larger distance counts more.",
        Role.raters, levels=ORDERED, of_numbers=True, table=frozenset({"ordinal"}), headline=frozenset({"ordinal"}),
        of_counts=lambda counts, _: coefficients.alpha_ordinal(counts), reference="Krippendorff 2011",
    ),
    Entry(
        "krippendorff_alpha_interval", "Krippendorff's alpha, interval", "Alpha, interval",
        "Krippendorff's alpha for numbers: disagreement is the squared difference.",
        Role.raters, levels=ORDERED, of_numbers=True, table=frozenset({"interval"}), headline=frozenset({"interval"}),
        of_counts=coefficients.alpha_interval, reference="Krippendorff 2011",
    ),
    Entry(
        "gwet_ac1", "Gwet's AC1", "AC1",
        "Gwet's AC1: agreement beyond chance that does not fall when one category is very common.",
        Role.raters, levels=EVERY, table=NOMINAL,
        of_counts=lambda counts, _: coefficients.gwet_ac(counts), reference="Gwet 2008",
    ),
    Entry(
        "gwet_ac2_quadratic", "Gwet's AC2, quadratic weights", "AC2",
        "Gwet's AC2 with quadratic weights: AC1 for ordered categories, where a larger distance counts more.",
        Role.raters, levels=ORDERED, table=frozenset({"ordinal"}),
        of_counts=lambda counts, _: coefficients.gwet_ac(counts, coefficients.quadratic_weights(counts.shape[1])),
        reference="Gwet 2014, chapter 3",
    ),
    Entry(
        "pearson", "Pearson's r", "Pearson", "The mean linear correlation of two raters.",
        Role.pairs, levels=ORDERED, of_numbers=True,
        of_table=lambda numbers: partial(pairwise.pearson, numbers=numbers),
    ),
    Entry(
        "spearman", "Spearman's rho", "Spearman",
        "The mean rank correlation of two raters; a rater who is stricter throughout does not lower it.",
        Role.pairs, levels=ORDERED, of_numbers=True, table=ORDERED, headline=ORDERED,
        of_table=lambda _: pairwise.spearman,
    ),
    Entry(
        "kendall_tau_b", "Kendall's tau-b", "Tau-b", "The mean rank correlation of two raters, by pairs of items.",
        Role.pairs, levels=ORDERED, of_numbers=True, of_table=lambda _: pairwise.kendall_tau_b,
        reference="Kendall 1945",
    ),
    Entry(
        "cohen_kappa_linear", "Cohen's kappa, linear weights", "Linear kappa",
        "Cohen's kappa with the distance of categories.", Role.pairs,
        of_table=_kappa(coefficients.linear_weights), reference="Cohen 1968",
    ),
    Entry(
        "cohen_kappa_quadratic", "Cohen's kappa, quadratic weights", "Quadratic kappa",
        "Cohen's kappa with the squared distance of categories.", Role.pairs,
        of_table=_kappa(coefficients.quadratic_weights), reference="Cohen 1968",
    ),
)  # fmt: skip
_WEIGHTS = (
    Entry(
        "weights_distance", "Weight distance", "Distance",
        "Half the sum of the differences of weights: the part of the whole that differs.", Role.weights, (0, 1),
    ),
    Entry(
        "rank_distance", "Rank distance", "Rank distance",
        "(1 − Kendall's tau-b) / 2 of the order of the weights: 0 is the same order, 1 the opposite.",
        Role.weights, (0, 1),
    ),
    Entry(
        "kendall_w", "Kendall's W", "Kendall's W", "The concordance of the raters' orders, 1 is the same order.",
        Role.weights, (0, 1), reference="Kendall & Babington Smith 1939",
    ),
)  # fmt: skip
_JUDGES = (
    Entry(
        "accuracy_gold", "accuracy gold", "Accuracy", "The share of targets on which the judge has the reference.",
        Role.judge, (0, 1),
    ),
    Entry(
        "cohen_kappa_gold", "cohen kappa gold", "κ", "Cohen's kappa of the judge and the reference.", Role.judge,
    ),
    Entry(
        "human_ceiling", "human ceiling, accuracy", "Human ceiling",
        "The accuracy of an annotator who is left out in turn, with the others.", Role.judge, (0, 1),
    ),
    Entry(
        "human_ceiling_spearman", "human ceiling, Spearman's rho", "Human ceiling",
        "The rank correlation of an annotator who is left out in turn, with the others.", Role.judge,
    ),
    Entry(
        "judge_against_others", "judge with the others, accuracy", "With the others",
        "The accuracy of the judge with the annotators, one of whom is left out in turn.", Role.judge, (0, 1),
    ),
    Entry(
        "judge_against_others_spearman", "judge with the others, Spearman's rho", "With the others",
        "The rank correlation of the judge with the annotators, one of whom is left out in turn.", Role.judge,
    ),
)  # fmt: skip
ENTRIES = (*_AGREEMENT, *_WEIGHTS, *_JUDGES)
BY_ID: Mapping[str, Entry] = MappingProxyType({entry.id: entry for entry in ENTRIES})


def name(id: str) -> str:
    """Return the name of a statistic in a sentence or for print; an unknown one names itself."""
    return BY_ID[id].name if id in BY_ID else id.replace("_", " ")


def of_level(level: Level) -> tuple[str, ...]:
    """Return the ids of the agreement of annotators on a scale with categories, in the order of files."""
    return tuple(entry.id for entry in ENTRIES if level in entry.levels)


def of_numbers() -> tuple[str, ...]:
    """Return the ids of the agreement of annotators on numbers without categories."""
    return tuple(entry.id for entry in ENTRIES if entry.of_numbers)


def of_role(role: Role) -> tuple[str, ...]:
    """Return the ids with a role."""
    return tuple(entry.id for entry in ENTRIES if entry.role is role)


def table_of(level: Level) -> tuple[str, ...]:
    """Return the ids in the table of a page for a level."""
    return tuple(entry.id for entry in ENTRIES if level in entry.table)


def headlines_of(level: Level, role: Role = Role.raters) -> tuple[str, ...]:
    """Return the ids that represent the agreement of all raters, or of each two: the first that is defined counts."""
    return tuple(entry.id for entry in ENTRIES if entry.role is role and level in entry.headline)
