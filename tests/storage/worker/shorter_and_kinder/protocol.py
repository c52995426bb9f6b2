"""Several criteria: one choice between two responses for each criterion, asked in parallel (an example, no paper)."""

from random import Random

from tests.storage.worker.shorter_and_kinder.settings import Settings
from tiebreak import (
    Ask,
    Choice,
    Criterion,
    Flow,
    Item,
    Opinion,
    Templates,
    TiebreakError,
    Turn,
    Verdict,
    combine_verdicts,
    render,
)

NAME = "shorter-and-kinder"


def flow(item: Item, settings: Settings, rng: Random, templates: Templates) -> Flow:
    """One ask and one verdict for each criterion."""
    if len(item.responses) != 2:
        raise TiebreakError(f"Item {item.id} has {len(item.responses)} responses; this protocol compares two.")
    turns = yield [ask_choice(item, settings, criterion, templates) for criterion in settings.criteria]
    return combine_verdicts({turn.criterion: conclude(turn) for turn in turns})


def ask_choice(item: Item, settings: Settings, criterion: Criterion, templates: Templates) -> Ask:
    first, second = (response.text for response in item.responses)
    return Ask(
        speaker=settings.judge.name,
        step="choice",
        round=0,
        spec=settings.judge.spec,
        prompt=render(templates, "choice", criterion=criterion.name, first=first, second=second),
        answer=Choice(neither=False),
        criterion=criterion.name,
    )


def conclude(turn: Turn) -> Verdict:
    opinion = Opinion(
        kind="preference",
        judge=turn.speaker,
        stage="verdict",
        value=turn.reading,
        criterion=turn.criterion,
        problem=turn.problem,
    )
    outcome = "no_verdict" if turn.reading is None else "agreed"
    reason = turn.problem or f"{turn.speaker} chose response {turn.reading}"
    return Verdict(outcome=outcome, value=turn.reading, reason=reason, opinions=(opinion,))
