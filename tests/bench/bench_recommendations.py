"""Judges that repeat an annotator, recommendations by the number of targets, and causes under unequal annotators.

python -m tests.bench.bench_recommendations [--studies 100] [dependence mixed causes]
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from core.statistics.data.dataset import Dataset
from core.statistics.data.ratings import Ratings
from core.statistics.measures.annotator_dependence import State, find_dependence
from core.statistics.measures.causes import CAUSES, causes_of_votes, count_votes
from core.statistics.reports.judges import JudgeEvaluation, rank_judges
from tests.bench.studies import dataset_of

NOISE = (0.06, 0.12, 0.22)
FIVE = (0.05, 0.1, 0.12, 0.2, 0.25)
SCORES = (0.2, 0.3, 0.45)
HARD = 0.3
"""The share of difficult targets, on which errors are 2.6 times as frequent as on average, at most .5."""
COPIED = 0.97
Array = np.ndarray


def errors(mean: float, hard: Array) -> Array:
    """Return each target's probability of an error, with this mean."""
    on_hard = min(2.6 * mean, 0.5)
    return np.where(hard, on_hard, (mean - HARD * on_hard) / (1 - HARD))


def answer(truth: Array, error: Array | float, rng: np.random.Generator, categories: int = 2) -> Array:
    """Return the truth, or with probability `error` a neighbouring category."""
    step = rng.choice([-1, 1], truth.size)
    other = np.where((truth + step < 0) | (truth + step >= categories), truth - step, truth + step)
    return np.where(rng.random(truth.size) < error, other, truth)


def as_ratings(codes: Array, categories: int = 2) -> Ratings:
    names = tuple(f"annotator {number + 1}" for number in range(codes.shape[1]))
    return Ratings(names, np.where(codes < 0, np.nan, codes), tuple(range(categories)))


def dependence_of(
    seed: int,
    noise: Sequence[float],
    *,
    copied: int | None = None,
    accuracy: float = 0.0,
    items: int = 260,
    overlap: int = 0,
    categories: int = 2,
    difficult: bool = True,
) -> list[tuple[str, State]]:
    """Return what is found in one study, whose judge repeats the annotator in place `copied`, or has an accuracy."""
    rng = np.random.default_rng(seed)
    truth, hard = rng.integers(0, categories, items), rng.random(items) < (HARD if difficult else 0)

    def answers(error: float) -> Array:
        return answer(truth, errors(error, hard) if difficult else error, rng, categories)

    codes = np.stack([answers(error) for error in noise], axis=1)
    verdicts = answers(1 - accuracy) if copied is None else copy(codes[:, copied], categories, rng)
    if overlap:
        codes[rng.random(codes.shape).argsort(axis=1).argsort(axis=1) >= overlap] = -1
    found = find_dependence(as_ratings(codes, categories), {"judge": verdicts.astype(np.int16)})
    return [(one.annotator, one.state) for one in found.get("judge", ())]


def copy(labels: Array, categories: int, rng: np.random.Generator) -> Array:
    """Return labels of which a share of `1 - COPIED` is another category."""
    other = (labels + rng.integers(1, categories, labels.size)) % categories
    return np.where(rng.random(labels.size) < COPIED, labels, other)


def report_dependence(studies: int) -> None:
    """Print how often copies are found, and independent judges taken for copies."""
    designs = (
        ("3 annotators", NOISE, {}),
        ("3 annotators, 100 targets", NOISE, {"items": 100}),
        ("3 annotators, 1,000 targets", NOISE, {"items": 1000}),
        ("2 annotators", NOISE[:2], {}),
        ("5 annotators", FIVE, {}),
        ("5 annotators, 3 on each target", FIVE, {"overlap": 3}),
        ("3 annotators, scores 1 to 5", SCORES, {"categories": 5}),
        ("3 annotators, 3, 25 and 25 % noise", (0.03, 0.25, 0.25), {}),
    )
    for title, noise, given in designs:
        for place in range(len(noise)):
            found = [dependence_of(seed, noise, copied=place, difficult=False, **given) for seed in range(studies)]
            name = f"annotator {place + 1}"
            counts = [sum((name, state) in one for one in found) / studies for state in State]
            print(
                f"{title}: copy of {name} ({noise[place]:.0%} noise): repeats {counts[0]:.1%}, unclear {counts[1]:.1%}"
            )
        for difficult in (False, True):
            flags = {State.repeats: 0, State.unclear: 0}
            for accuracy in (0.6, 0.7, 0.8, 0.9, 0.95):
                for seed in range(studies):
                    one = dependence_of(seed, noise, accuracy=accuracy, difficult=difficult, **given)
                    for state in {state for _, state in one}:
                        flags[state] += 1
            shares = ", ".join(f"{state} {count / (5 * studies):.1%}" for state, count in flags.items())
            print(
                f"{title}: independent judges of .6 to .95, difficulty {'in common' if difficult else 'none'}: {shares}"
            )


def mixed_study(seed: int, items: int = 260) -> Dataset:
    """Return three annotators with 6, 12 and 22 % noise, and judges of eight kinds."""
    rng = np.random.default_rng(seed)
    truth, first = rng.integers(0, 2, items), rng.integers(1, 3, items)
    people = {f"annotator {n}": answer(truth, e, rng) + 1 for n, e in enumerate(NOISE, start=1)}
    silent = rng.random(items) < 0.4
    judges = {
        "excellent": answer(truth, 0.01, rng) + 1.0,
        "good": answer(truth, 0.05, rng) + 1.0,
        "mediocre": answer(truth, 0.3, rng) + 1.0,
        "copy of the best": answer(people["annotator 1"] - 1, 0.03, rng) + 1.0,
        "copy of the noisiest": answer(people["annotator 3"] - 1, 0.03, rng) + 1.0,
        "coin": rng.integers(1, 3, items).astype(float),
        "constant": np.ones(items),
        "silent": np.where(silent, np.nan, answer(truth, 0.02, rng) + 1.0),
        "biased": np.where(rng.random(items) < 0.25, first, answer(truth, 0.02, rng) + 1.0),
    }
    return dataset_of(people, judges, shown_first=first)


RECOMMENDED = ("use", "use with review")


def is_ordered(judges: Sequence[JudgeEvaluation]) -> bool:
    """Return whether the judges of a mixed study are in the order of their accuracies, copies apart."""
    place = {one.judge: -(one.accuracy.value or 0.0) for one in judges}
    kinds = ("excellent", "good", "biased", "mediocre", "coin")
    return [*sorted(kinds, key=place.__getitem__)] == [*kinds] and place["good"] < place["copy of the noisiest"]


def report_mixed(studies: int) -> None:
    """Print the recommendations in studies with judges of many kinds, and whether their order is right."""
    for items in (35, 50, 100, 260):
        counts: dict[str, Counter[str]] = {}
        flags: Counter[str] = Counter()
        ordered = used = 0
        for seed in range(studies):
            judges = rank_judges(mixed_study(seed, items), resamples=400).judges
            ordered += is_ordered(judges)
            used += all(one.judge in ("excellent", "good") for one in judges if one.decision in RECOMMENDED)
            for one in judges:
                counts.setdefault(one.judge, Counter())[one.decision] += 1
                flags[one.judge] += any(found.state is State.repeats for found in one.dependence)
        print(f"{items} targets: order as planted in {ordered} of {studies}, only good ones recommended in {used}")
        for judge, decisions in counts.items():
            print(f"  {judge}: {dict(sorted(decisions.items()))}, called a copy in {flags[judge]}")


def report_causes(studies: int) -> None:
    """Print how often the intervals of causes hold the true shares."""
    designs = product((NOISE, (0.05, 0.15, 0.35), (0.13, 0.13, 0.13), FIVE), (100, 300), (False, True), (0.05, 0.2))
    for noise, items, divided, error in designs:
        held = [one for seed in range(studies) if (one := covered(seed, noise, error, divided=divided, items=items))]
        means = np.mean(held, axis=0) if held else ()
        shares = ", ".join(f"{cause} {share:.1%}" for cause, share in zip(CAUSES, means, strict=False))
        kind = "divided people" if divided else "clear targets"
        print(f"{noise}, {items} {kind}, judge {error:.0%} wrong, {len(held)} studies: {shares}", flush=True)


def covered(seed: int, noise: Sequence[float], error: float, *, divided: bool, items: int) -> tuple[bool, ...]:
    """Return whether each interval holds the true share; of divided people, pi is from Beta(.4, .4), with noise."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.4, 0.4, items) if divided else rng.integers(0, 2, items).astype(float)
    chances = [(1 - 2 * e) * share + e for e in noise]
    mean = np.mean(chances, axis=0)
    codes = np.stack([rng.random(items) < chance for chance in chances], axis=1).astype(int)
    clear = (mean < 1 / 3) | (mean > 2 / 3)
    verdicts = answer((mean > 0.5).astype(int), np.where(clear, error, 0.5), rng).astype(np.int16)
    found = causes_of_votes(count_votes(as_ratings(codes, 2)), verdicts, resamples=200)
    if not found.shares:
        return ()
    chosen = np.where(verdicts == 1, mean, 1 - mean)[found.disagreeing]
    true = np.bincount(np.digitize(chosen, (1 / 3, 2 / 3)), minlength=3) / found.disagreements
    return tuple(bool(one.low <= value <= one.high) for one, value in zip(found.shares, true, strict=True))


REPORTS = {
    "dependence": report_dependence,
    "mixed": report_mixed,
    "causes": report_causes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", default=list(REPORTS), choices=[*REPORTS, []])
    parser.add_argument("--studies", type=int, default=100)
    options = parser.parse_args()
    for name in options.reports:
        REPORTS[name](options.studies)


if __name__ == "__main__":
    main()
