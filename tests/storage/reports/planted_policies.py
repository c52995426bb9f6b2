"""Records of a study whose judge states a confidence, with people's labels of a random part."""

import numpy as np

from core.formats.records import ItemRecord, LabelRecord, Record, RunRecord, TraceRecord
from core.labels import Label, Opinion, Target
from core.trace import Verdict, VerdictReached
from tests.conftest import make_item

CRITERION = "helpfulness"
JUDGE = "careful"


def run(name: str = JUDGE, model: str = "m", prompt: str = "") -> RunRecord:
    """Return the run of a judge."""
    settings = {"judge": {"name": name, "spec": {"model": model}}}
    return RunRecord(
        name=name, protocol="single-judge", criterion=CRITERION, settings=settings,
        prompts={"judge": prompt} if prompt else {},
    )  # fmt: skip


def label(item: str, value: int, annotator: str = "annotator 1") -> LabelRecord:
    """Return a label of a pair."""
    target = Target(item=item, kind="preference", criterion=CRITERION)
    return LabelRecord(label=Label(target=target, annotator=annotator, value=value, seconds=36.0))


def trace(item: str, value: int | None, confidence: float | None, judge: str = JUDGE, **fields: object) -> TraceRecord:
    """Return the verdict of a judge with the confidence that it states."""
    opinion = Opinion(
        kind="preference", judge=judge, stage="verdict", value=value, criterion=CRITERION, confidence=confidence,
        problem="" if value else "?",
    )  # fmt: skip
    verdict = Verdict(outcome="agreed" if value else "no_verdict", value=value, opinions=(opinion,), **fields)
    return TraceRecord(run=judge, item=item, events=(VerdictReached(verdict=verdict),))


def records(items: int = 500, labels: int = 240, error: float = 0.4, seed: int = 0, overlap: int = 1) -> list[Record]:
    """Return pairs of which the judge gets the share `error` of its least sure verdicts wrong, and of the surest none.

    Annotators label `labels` random ones, without an error.
    """
    rng = np.random.default_rng(seed)
    confidence, truth = rng.random(items), rng.integers(1, 3, items)
    wrong = rng.random(items) < error * (1 - confidence) ** 2
    verdicts = np.where(wrong, 3 - truth, truth)
    labelled = rng.permutation(items) < labels
    found: list[Record] = [run()]
    for number in range(items):
        item = f"item {number}"
        found.append(ItemRecord(item=make_item(f"item {number}")))
        found.append(trace(item, int(verdicts[number]), round(float(confidence[number]), 4)))
        if labelled[number]:
            found += [label(item, int(truth[number]), f"annotator {one + 1}") for one in range(overlap)]
    return found
