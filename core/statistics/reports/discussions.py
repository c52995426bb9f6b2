"""Opinion changes in discussions of judges: how many, towards people or away, after whom, and what rounds and judges
contribute.

Only stored opinions are used. A panel's choice is the value of more than half of its judges' latest readable opinions.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.labels import majority_value
from core.statistics.data.arrays import Floats
from core.statistics.data.patterns import Units, cluster_table
from core.statistics.measures.bias import binomial_p
from core.statistics.measures.comparison import Comparison, correct_comparisons, paired_comparison, with_corrected
from core.statistics.measures.means import effective_counts, wilson_interval
from core.statistics.measures.resampling import Statistic, bootstrap, stack_statistics


@dataclass(frozen=True)
class StatedOpinion:
    """A readable opinion of one judge in one round: 1, 2, or 0 for a tie."""

    judge: str
    round: int
    value: int


@dataclass(frozen=True)
class Debate:
    """The discussions of one target: one, or one in each order of the responses."""

    trace: int
    group: str
    """The document or dialogue, or the item: debates of one group are not independent."""
    discussions: tuple[tuple[StatedOpinion, ...], ...]
    """The opinions of each discussion in the order in which the judges spoke."""
    reference: int | None
    sequential: bool = False
    """Whether a judge reads the earlier replies of its own round."""

    @property
    def opinions(self) -> tuple[StatedOpinion, ...]:
        """The opinions of all discussions."""
        return tuple(opinion for discussion in self.discussions for opinion in discussion)


@dataclass(frozen=True)
class ChangeRow:
    """How often a judge's last opinion is not its first one."""

    judge: str
    opinions: int
    """Discussions with two opinions or more of the judge."""
    changed: int
    share: float
    low: float
    high: float
    towards: int
    """Changes from another value to that of the reference."""
    away: int
    """Changes from the reference's value to another."""
    p: float
    """Exact sign test of as many changes towards as away."""
    p_corrected: float = 1.0
    """Holm's, over the judges."""
    traces: tuple[int, ...] = ()
    """The traces in which it changed."""


@dataclass(frozen=True)
class InfluenceRow:
    """How often a judge adopts the opinion of another one from which it differed."""

    judge: str
    source: str
    heard: int
    """Replies of the judge after a differing opinion of the source."""
    adopted: int
    """Of these, replies with the source's value."""
    share: float
    low: float
    high: float
    traces: tuple[int, ...] = ()
    """The traces in which it was adopted."""


# Of the whole debate with itself.
NOT_COMPARED = Comparison("", "", None, None, None, 0, None, None, None)


@dataclass(frozen=True)
class AblationRow:
    """The panel's majority without a judge or without later rounds, against that of all judges and rounds."""

    left_out: str
    """A judge, or empty."""
    rounds: int
    """The opinions up to this number of rounds; the first opinions are round 1."""
    targets: int
    """Targets with a reference."""
    decided: float
    """The share of targets with a majority."""
    accuracy: float
    """No majority is an error."""
    gain: Comparison = NOT_COMPARED
    """The accuracy minus that of the whole debate; p is corrected by Holm's method over the rows."""


@dataclass(frozen=True)
class VotesRow:
    """How many independent votes the opinions of a panel are worth, before or after the discussion.

    Judges that err on the same targets confirm each other's errors: K votes with a mean correlation rho of their errors
    have the variance of K / (1 + (K - 1) rho) independent ones (Kish 1965, the design effect of a cluster).
    """

    rounds: int
    """The opinions up to this number of rounds."""
    judges: int
    """K."""
    discussions: int
    """Those with a reference and an opinion of every judge."""
    correlation: float | None
    """rho: the sum of the covariances of every two judges' errors, divided by that of the products of their standard
    deviations. None if no two judges err."""
    votes: float | None = None
    """Between 1 and K."""
    low: float | None = None
    high: float | None = None
    """Of the votes: the BCa interval of rho over items, documents or dialogues."""
    reason: str = ""


@dataclass(frozen=True)
class PanelReport:
    """The discussions of one panel on one criterion."""

    judges: tuple[str, ...]
    criterion: str
    debates: int
    rounds: int
    changes: tuple[ChangeRow, ...]
    influences: tuple[InfluenceRow, ...]
    ablations: tuple[AblationRow, ...]
    """The whole debate first."""
    votes: tuple[VotesRow, ...] = ()
    """Before the discussion, and after it."""

    @property
    def sentence(self) -> str:
        """What the discussion changes, with its n."""
        changed, opinions = (sum(getattr(row, name) for row in self.changes) for name in ("changed", "opinions"))
        towards, away = (sum(getattr(row, name) for row in self.changes) for name in ("towards", "away"))
        text = f"{changed:,} of {opinions:,} opinions changed; {towards:,} to the reference's value, {away:,} from it."
        found = [row for row in self.influences if row.heard >= MIN_HEARD]
        if found:
            most = max(found, key=lambda row: row.share)
            text += (
                f" {most.judge} adopts the opinion of {most.source} most often: {most.adopted:,} of {most.heard:,} "
                f"times that they differed ({most.share:.2f} [{most.low:.2f}, {most.high:.2f}])."
            )
        whole = next((row for row in self.ablations if not row.left_out and row.rounds == self.rounds), None)
        first = next((row for row in self.ablations if not row.left_out and row.rounds == 1), None)
        if whole is not None and first is not None and first.gain.difference is not None:
            gain, low, high = 0.0 - first.gain.difference, first.gain.low, first.gain.high
            ends = "" if low is None or high is None else f" [{0 - high:+.2f}, {0 - low:+.2f}]"
            text += (
                f" The majority is right on {whole.accuracy:.2f} of {whole.targets:,} targets, before the discussion "
                f"on {first.accuracy:.2f}: a difference of {gain:+.2f}{ends}."
            )
        return text + self.votes_sentence

    @property
    def votes_sentence(self) -> str:
        """How many independent votes the last opinions are worth, after a space; empty if it is not known."""
        last = self.votes[-1] if self.votes else None
        if last is None or last.votes is None:
            return ""
        ends = "" if last.low is None else f" [{last.low:.1f}, {last.high:.1f}]"
        return (
            f" The last opinions of the {last.judges} judges are worth {last.votes:.1f}{ends} independent votes "
            f"(n {last.discussions:,})."
        )


# Fewer targets with a reference have no ablation.
MIN_TARGETS = 10
# Fewer replies after a differing opinion are in the table, and not in the sentence.
MIN_HEARD = 5


def report_panel(criterion: str, debates: Sequence[Debate], *, resamples: int = 1000) -> PanelReport:
    """Return what happens in the discussions of a panel."""
    judges = tuple(sorted({opinion.judge for debate in debates for opinion in debate.opinions}))
    rounds = max((opinion.round for debate in debates for opinion in debate.opinions), default=0) + 1
    return PanelReport(
        judges,
        criterion,
        len(debates),
        rounds,
        tuple(change_rows(debates, judges)),
        tuple(influence_rows(debates)),
        tuple(ablation_rows(debates, judges, rounds, resamples=resamples)),
        tuple(votes_row(debates, judges, number, resamples=resamples) for number in sorted({1, rounds})),
    )


def votes_row(debates: Sequence[Debate], judges: Sequence[str], rounds: int, *, resamples: int = 1000) -> VotesRow:
    """Return the effective number of votes of the latest opinions up to a number of rounds."""
    wrong, groups = [], []
    for debate in debates:
        for discussion in debate.discussions if debate.reference is not None else ():
            latest = {opinion.judge: opinion.value for opinion in discussion if opinion.round < rounds}
            if len(latest) == len(judges):
                wrong.append([latest[judge] != debate.reference for judge in judges])
                groups.append(debate.group)
    row = VotesRow(rounds, len(judges), len(wrong), None)
    if len(set(groups)) < MIN_TARGETS or len(judges) < 2:
        return replace(row, reason=f"{MIN_TARGETS} targets with a reference and an opinion of every judge are needed")
    units = Units(np.ones(len(wrong)), cluster_table(groups, np.arange(len(wrong)), len(wrong)))
    (found,) = bootstrap(stack_statistics([error_correlation(np.array(wrong, float))]), units, resamples)
    if found.value is None:
        return replace(row, reason="no two judges err")
    votes, low, high = (
        None if rho is None else min(max(row.judges / max(1 + (row.judges - 1) * rho, 1e-9), 1.0), row.judges)
        for rho in (found.value, found.high, found.low)
    )
    return replace(row, correlation=found.value, votes=votes, low=low, high=high, reason=found.problem)


def error_correlation(wrong: Floats) -> Statistic:
    """Return the statistic of the mean correlation of judges' errors (N, K), each pair weighed by its variation."""

    def correlation(weights: Floats) -> Floats:
        shares = weights @ wrong / weights.sum(axis=1, keepdims=True)
        spread = np.sqrt(np.maximum(shares * (1 - shares), 0))
        together = weights @ wrong.sum(axis=1) ** 2 / weights.sum(axis=1)
        covariances = together - shares.sum(axis=1) ** 2 - (spread**2).sum(axis=1)
        products = spread.sum(axis=1) ** 2 - (spread**2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(products > 1e-12, covariances / products, np.nan)

    return correlation


def change_rows(debates: Sequence[Debate], judges: Sequence[str]) -> list[ChangeRow]:
    """Return first against last opinions of each judge, in each discussion with two of its opinions or more."""
    rows = []
    for judge in judges:
        pairs = [
            (debate, own[0].value, own[-1].value)
            for debate in debates
            for discussion in debate.discussions
            if len(own := [opinion for opinion in discussion if opinion.judge == judge]) > 1
        ]
        if not pairs:
            continue
        changed = [(debate, first, last) for debate, first, last in pairs if first != last]
        judged = [(debate, first, last) for debate, first, last in changed if debate.reference is not None]
        towards = [last == debate.reference for debate, _, last in judged if last == debate.reference]
        away = [debate for debate, first, _ in judged if first == debate.reference]
        share, low, high = _share([first != last for _, first, last in pairs], [d.group for d, _, _ in pairs])
        p = binomial_p(len(towards), len(towards) + len(away))
        traces = tuple(dict.fromkeys(debate.trace for debate, _, _ in changed))
        rows.append(
            ChangeRow(judge, len(pairs), len(changed), share, low, high, len(towards), len(away), p, traces=traces)
        )
    return with_corrected(rows, [row.p for row in rows])


def influence_rows(debates: Sequence[Debate]) -> list[InfluenceRow]:
    """Return how often each judge adopts each other judge's opinion, the most frequent first.

    Counted are a judge's replies whose own opinion before differed from the source's latest one that it had read.
    Judges of the same opinion share an adoption: it is no proof of a cause.
    """
    outcomes: dict[tuple[str, str], list[tuple[Debate, bool]]] = defaultdict(list)
    for debate in debates:
        for discussion in debate.discussions:
            for place, opinion in enumerate(discussion):
                read = _read_before(discussion[:place], opinion, sequential=debate.sequential)
                before = read.pop(opinion.judge, None)
                for source, value in read.items() if before is not None else ():
                    if value != before:
                        outcomes[opinion.judge, source].append((debate, opinion.value == value))
    rows = []
    for (judge, source), found in outcomes.items():
        adopted = [was_adopted for _, was_adopted in found]
        share, low, high = _share(adopted, [debate.group for debate, _ in found])
        traces = tuple(dict.fromkeys(debate.trace for debate, was_adopted in found if was_adopted))
        rows.append(InfluenceRow(judge, source, len(found), sum(adopted), share, low, high, traces))
    return sorted(rows, key=lambda row: (-row.share, row.judge, row.source))


def _read_before(earlier: Sequence[StatedOpinion], opinion: StatedOpinion, *, sequential: bool) -> dict[str, int]:
    """Return judge -> the latest opinion that the speaker had read, its own included."""
    return {
        other.judge: other.value
        for other in earlier
        if other.round < opinion.round or (sequential and other.judge != opinion.judge)
    }


def ablation_rows(
    debates: Sequence[Debate], judges: Sequence[str], rounds: int, *, resamples: int = 1000
) -> list[AblationRow]:
    """Return the majority of all judges after each number of rounds, and without each judge before and after.

    The last opinions without a judge are those of judges who read its replies: the difference is its own vote only.
    """
    compared = [debate for debate in debates if debate.reference is not None]
    if len(compared) < MIN_TARGETS or rounds < 2:
        return []
    variants = [("", rounds), *(("", number) for number in range(1, rounds))]
    if len(judges) > 2:
        variants += [(judge, number) for judge in judges for number in (1, rounds)]
    choices = {variant: [_majority(debate, *variant) for debate in compared] for variant in variants}
    right = {
        variant: np.array([value == debate.reference for value, debate in zip(values, compared, strict=True)], float)
        for variant, values in choices.items()
    }
    whole, groups = variants[0], [debate.group for debate in compared]
    comparisons = correct_comparisons(
        [
            paired_comparison(str(variant), str(whole), right[variant] - right[whole], groups, resamples)
            for variant in variants[1:]
        ]
    )
    return [
        AblationRow(
            judge, number, len(compared), sum(v is not None for v in choices[judge, number]) / len(compared),
            float(right[judge, number].mean()), gain,
        )
        for (judge, number), gain in zip(variants, [NOT_COMPARED, *comparisons], strict=True)
    ]  # fmt: skip


def _majority(debate: Debate, left_out: str, rounds: int) -> int | None:
    """Return the value of more than half of the latest opinions, in both orders together; None without one."""
    votes = [
        value
        for discussion in debate.discussions
        for value in {
            opinion.judge: opinion.value
            for opinion in discussion
            if opinion.round < rounds and opinion.judge != left_out
        }.values()
    ]
    value = majority_value(votes) if votes else None
    return None if value is None else int(str(value))


def _share(hits: Sequence[bool], groups: Sequence[str]) -> tuple[float, float, float]:
    """Return a share with Wilson's interval, its counts divided by the design effect of the groups."""
    found, n = effective_counts(np.array(hits, bool), groups)
    return (found / n, *wilson_interval(found, n))
