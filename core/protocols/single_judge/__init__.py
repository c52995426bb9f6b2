"""Single judges, the baseline of every method: one on a pair of responses, one that scores a response."""

from pathlib import Path

from core.protocols.protocol import Protocol
from core.protocols.single_judge.protocol import PAIR, SCORE, Pair, Score, longest, pair, score, words

PAIR_PROTOCOL = Protocol(
    name=PAIR,
    title="Single judge, pair",
    description="One judge decides which of two responses is better, or neither: the baseline of debates.",
    paper="Chern, Chern, Neubig, Liu (2024), arXiv:2401.16788, Section 4.2",
    settings=Pair,
    flow=pair,
    judges="pair",
    longest=longest,
    shortest=longest,
    reply_words=words,
    folder=Path(__file__).parent,
    prompt_folder="prompts/pair",
    examples=("single-judge",),
    view="pages.watch.parts.single_judge",
    form="pages.setup.parts.single_form:render_pair",
)

SCORE_PROTOCOL = Protocol(
    name=SCORE,
    title="Single judge, score",
    description="One judge scores one response, directly or after an analysis; n samples are averaged.",
    paper="Liu et al. (2023), arXiv:2303.16634; Chiang and Lee (2023), arXiv:2310.05657",
    settings=Score,
    flow=score,
    judges="score",
    longest=longest,
    shortest=longest,
    reply_words=words,
    folder=Path(__file__).parent,
    prompt_folder="prompts/score",
    examples=("single-score",),
    view="pages.watch.parts.single_judge",
    form="pages.setup.parts.single_form:render_score",
)
