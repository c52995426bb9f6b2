"""Single judges, the baseline of every method: one on a pair of responses, one that scores a response."""

from dataclasses import replace
from pathlib import Path

from core.protocols import Protocol, for_each_criterion
from core.protocols.single_judge.protocol import (
    PAIR_NAME,
    SCORE_NAME,
    pair_flow,
    reply_words,
    score_flow,
)
from core.protocols.single_judge.settings import PairSettings, ScoreSettings

PAIR_PROTOCOL = Protocol(
    name=PAIR_NAME,
    title="Single judge, pair",
    description="One judge decides which of two responses is better, or neither: the baseline of debates.",
    paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788, Section 4.2",
    settings=PairSettings,
    flow=for_each_criterion(pair_flow),
    judges="pair",
    reply_words=reply_words,
    folder=Path(__file__).parent,
    prompt_folder="prompts/pair",
    examples=("single-judge",),
    optional_blanks=("context", "reference"),
    required_blanks=("submission_1", "submission_2"),
    view="pages.watch.parts.single_judge",
    form="pages.setup.parts.default_form:PAIR.render",
)

SCORE_PROTOCOL = replace(
    PAIR_PROTOCOL,
    name=SCORE_NAME,
    title="Single judge, score",
    description="One judge scores one response, directly or after an analysis; n samples are averaged.",
    paper="Liu et al. (2023), arXiv:2303.16634; Chiang and Lee (2023), arXiv:2310.05657",
    settings=ScoreSettings,
    flow=for_each_criterion(score_flow),
    judges="score",
    prompt_folder="prompts/score",
    examples=("single-score",),
    sends_images=True,
    required_blanks=("response",),
    form="pages.setup.parts.default_form:SCORE.render",
)
