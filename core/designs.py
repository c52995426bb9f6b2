"""Designs: which targets people label, as a rule that can be repeated, with the probability of every target.

Each target has a permanent random number in (0, 1) from the seed of its design, and a stratum from its present state.
It is drawn if its number is below the cut of its stratum. So a draw follows from the stored design alone, and a further
round with larger shares contains the earlier ones.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from core.errors import TiebreakError

DISPUTED, AGREED, UNJUDGED = "disputed", "agreed", "unjudged"
CONTENTION_STRATA = (DISPUTED, AGREED, UNJUDGED)
CONTENTION, SCENARIO, GROUP = "contention", "scenario", "group"
STRATA = (CONTENTION, SCENARIO, GROUP)
"""By what a design can be stratified."""
WHOLE = ""
"""The stratum of designs with only one; of others, the strata without a share of their own."""
FLOOR = 0.05
"""The least probability of a target in a design by uncertainty: no label weighs more than 20."""
DEFAULT_AGREED_SHARE = 0.1
"""The share of agreed pairs that people label too in a new study."""
MAX_SEED = 2**63 - 1


class Form(StrEnum):
    """How targets are drawn."""

    random = "random"
    stratified = "stratified"
    weighted = "weighted"
    """By the uncertainty of the judges."""
    everything = "everything"
    disputed = "disputed"
    """Those on which judges disagree, and no others."""


class State(NamedTuple):
    """What the stratum of a target follows from."""

    disputed: bool
    judged: bool
    scenario: str = ""
    group: str = ""
    uncertainty: float = 0.0
    """From 0 to 1: the largest contention of the traces on it."""
    between_runs: bool = False
    """Whether the verdicts of two runs differ."""


class Draw(NamedTuple):
    """What a design makes of one target."""

    stratum: str
    probability: float
    """With which it is drawn, in [0, 1]."""
    cut: float
    """It is drawn if its number is smaller."""


@dataclass(frozen=True)
class Design:
    """One round of a design of a kind and criterion of a study."""

    form: Form
    seed: int = 0
    shares: Mapping[str, float] = field(default_factory=dict)
    """Stratum -> the probability of its targets; of a design by uncertainty, what uncertainty is multiplied by."""
    by: str = ""
    """One of STRATA, for designs with several strata."""
    round: int = 1
    cuts: Mapping[str, float] = field(default_factory=dict)
    """Stratum -> its cut, where that is not its share: a fixed number of targets was drawn."""
    floor: float = FLOOR
    author: str = ""
    created_at: datetime | None = None
    before: tuple[str, ...] = ()
    """Keys of the targets that this round is the first to draw, and that had a label before it: somebody chose them."""
    between_runs: bool = False
    """Whether targets on which two runs differ are disputed; not in designs of earlier versions."""

    def draw(self, state: State) -> Draw:
        """Return the stratum, the probability and the cut of a target."""
        stratum = self.stratum(state)
        if self.form == Form.everything:
            return Draw(stratum, 1.0, 1.0)
        if self.form == Form.weighted:
            probability = min(1.0, max(self.floor, self.shares.get(WHOLE, 0.0) * state.uncertainty))
            return Draw(stratum, probability, probability)
        name = stratum if stratum in self.shares else WHOLE
        if name not in self.shares:  # a stratum that appeared after the draw, such as a new scenario
            name = min(self.shares, key=lambda name: self.shares[name], default=WHOLE)
        if not self.shares:  # while the sizes of its strata become shares
            return Draw(stratum, 0.0, 0.0)
        return Draw(stratum, self.shares[name], self.cuts.get(name, self.shares[name]))

    def stratum(self, state: State) -> str:
        """Return the name of the stratum of a target."""
        if self.by == CONTENTION:
            is_disputed = state.disputed or (self.between_runs and state.between_runs)
            return DISPUTED if is_disputed else AGREED if state.judged else UNJUDGED
        return {SCENARIO: state.scenario, GROUP: state.group}.get(self.by, WHOLE)

    @property
    def rule(self) -> "Design":
        """The design without who made it, when, and what was labelled then."""
        return replace(self, author="", created_at=None, before=())

    @property
    def is_by_chance(self) -> bool:
        """Whether the seed matters."""
        return self.form == Form.weighted or any(0 < share < 1 for share in self.shares.values())

    @property
    def draws_unjudged(self) -> bool:
        """Whether targets can be drawn that no judge has seen."""
        return self.by != CONTENTION or self.shares.get(UNJUDGED, 0) > 0


def permanent_number(seed: int, key: str) -> float:
    """Return the number of a target in (0, 1): the same on every machine and for every set of other targets.

    The order of these numbers is that of `storage.studies.items.rank`.
    """
    digest = hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()
    return float((int.from_bytes(digest[:7], "big") + 0.5) / 2**56)


def disputes_only() -> Design:
    """Return the design of disputed targets alone, whose figures say nothing of the others."""
    return Design(Form.disputed, shares={DISPUTED: 1.0, AGREED: 0.0, UNJUDGED: 0.0}, by=CONTENTION, between_runs=True)


def composed(
    present: Design | None, form: Form | None, by: str, shares: Mapping[str, float], seed: int | None
) -> Design:
    """Return the design that changes to `present` make; what is not given stays as it is.

    The strata of contention begin with every disputed target and no other.
    """
    if form is None:
        form = Form.stratified if by or present is None or present.form == Form.disputed else present.form
    if form in (Form.stratified, Form.disputed):
        by = by or (present.by if present is not None and form == Form.stratified else "") or CONTENTION
    seed = seed if seed is not None else present.seed if present is not None else 0
    if form == Form.disputed:
        return replace(disputes_only(), seed=seed, by=by)
    if form == Form.everything:
        return Design(form, seed, by=by)
    start: Design | None = disputes_only() if by == CONTENTION else None
    if present is not None and present.by == by and form in (present.form, Form.stratified):
        start = present
    before, cuts = (dict(start.shares), dict(start.cuts)) if start is not None else ({}, {})
    kept = {name: cut for name, cut in cuts.items() if name not in shares}
    return Design(form, seed, before | dict(shares), by, cuts=kept, between_runs=by == CONTENTION)


def default_design(agreed_share: float, seed: int) -> Design:
    """Return the design of a study's first verdicts: every disputed target, and a random share of the agreed ones."""
    if not agreed_share:
        return replace(disputes_only(), seed=seed)
    shares = {DISPUTED: 1.0, AGREED: float(agreed_share), UNJUDGED: 0.0}
    return Design(Form.stratified, seed, shares, CONTENTION, between_runs=True)


def check(design: Design) -> None:
    """Raise TiebreakError for a design that cannot be drawn, in one sentence."""
    if problem := _problem_of_form(design) or _problem_of_shares(design):
        raise TiebreakError(problem)


def _problem_of_form(design: Design) -> str:
    has_strata = design.form in (Form.stratified, Form.disputed)
    if abs(design.seed) > MAX_SEED:
        return "The seed of a design is a whole number of at most 18 digits."
    if has_strata and design.by not in STRATA:
        return f"A stratified design needs what it is stratified by: {', '.join(STRATA)}."
    if not has_strata and design.by:
        return f"A design with the form {design.form.value!r} has no strata."
    if design.form == Form.weighted and not 0 < design.floor <= 1:
        return "The least probability of a design by uncertainty is above 0 and at most 1."
    return ""


def _problem_of_shares(design: Design) -> str:
    if design.form == Form.everything:
        return ""
    if not design.shares:
        return "A design needs the share of each stratum."
    wrong = [name for name, share in design.shares.items() if not 0 <= share <= 1]
    if wrong and design.form != Form.weighted:
        return f"The share of {wrong[0] or 'all targets'} is {design.shares[wrong[0]]:g}; a share is from 0 to 1."
    unknown = sorted(set(design.shares) - set(CONTENTION_STRATA))
    if unknown and design.by == CONTENTION:
        return f"There is no stratum {unknown[0]!r}; there are: {', '.join(CONTENTION_STRATA)}."
    if design.form == Form.disputed and dict(design.shares) != dict(disputes_only().shares):
        return "A design of disputes alone has the share 1 of disputed targets and 0 of all others."
    return ""


def further_round(old: Design, new: Design, states: Collection[State]) -> Design:
    """Return `new` as the round after `old`, which draws every target that `old` has drawn.

    Raises TiebreakError if the probability of one of the `states` would shrink, or for another seed: then the
    probabilities of both rounds together are unknown.
    """
    if old.is_by_chance and new.is_by_chance and old.seed != new.seed:
        raise TiebreakError(f"The targets were drawn with the seed {old.seed}; a further round has the same seed.")
    seed = old.seed if old.is_by_chance else new.seed
    for name in old.shares.keys() & new.shares.keys() if old.by == new.by else ():
        if new.shares[name] < old.shares[name] - 1e-12:
            raise _shrinks(name, old.shares[name], new.shares[name])
    cuts = dict(new.cuts)
    for state in set(states):
        before, after = old.draw(state), new.draw(state)
        if after.probability < before.probability - 1e-12:
            raise _shrinks(before.stratum, before.probability, after.probability)
        if after.cut < before.cut:
            cuts[after.stratum] = max(before.cut, cuts.get(after.stratum, 0.0))
    return replace(new, round=old.round + 1, seed=seed, cuts=cuts)


def _shrinks(stratum: str, before: float, after: float) -> TiebreakError:
    name = f"{stratum} targets" if stratum in CONTENTION_STRATA else stratum or "all targets"
    return TiebreakError(
        f"The share of {name} is {before:.3g} and labels exist, so it cannot shrink to {after:.3g}: "
        "choose a larger share."
    )


def with_sizes(design: Design, sizes: Mapping[str, int], members: Mapping[str, Collection[float]]) -> Design:
    """Return the design with the shares of fixed numbers of targets: stratum -> number, the others keep their share.

    `members` are the permanent numbers of the targets in each stratum; the smallest ones are drawn.
    """
    if sizes and design.form == Form.weighted:
        raise TiebreakError("A design by uncertainty has a share, such as 0.2, and no number of pairs.")
    shares, cuts = dict(design.shares), dict(design.cuts)
    for stratum, size in sizes.items():
        numbers = sorted(members.get(stratum, ()))
        if size < 0:
            raise TiebreakError("A number of targets to draw is 0 or more.")
        shares[stratum] = min(1.0, size / len(numbers)) if numbers else 0.0
        cuts[stratum] = cut_of(numbers, size)
    return replace(design, shares=shares, cuts=cuts)


def grown(design: Design, seed: int, share: float, cut: float) -> Design:
    """Return the design with at least a share in each stratum, and the cut of that share."""
    design = replace(design, seed=seed)
    if design.form == Form.weighted:
        return replace(design, floor=max(design.floor, share))
    small = [name for name, own in design.shares.items() if own < share]
    form = Form.stratified if design.form == Form.disputed and small else design.form
    shares, cuts = dict(design.shares), dict(design.cuts)
    return replace(
        design, form=form, shares=shares | dict.fromkeys(small, share), cuts=cuts | dict.fromkeys(small, cut)
    )


def cut_of(numbers: Sequence[float], size: int) -> float:
    """Return the cut that the `size` smallest of sorted numbers are below; 1 for all of them."""
    if not size:
        return 0.0
    return numbers[size] if size < len(numbers) else 1.0


def first_round(rounds: Iterable[Design], number: float, state: State) -> int | None:
    """Return the first of the rounds that draws a target in its present state; None if none does."""
    return next((design.round for design in rounds if number < design.draw(state).cut), None)
