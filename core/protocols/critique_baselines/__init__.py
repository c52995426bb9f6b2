"""MetaCritique's baselines: single ratings, pairwise comparison, refinement of the answer."""

from pathlib import Path

from core.protocols.critique_baselines.protocol import (
    PAIRWISE,
    REFINEMENT,
    SINGLE,
    Pairwise,
    Refinement,
    Single,
    longest,
    pairwise,
    refinement,
    single,
)
from core.protocols.protocol import Protocol

SINGLE_PROTOCOL = Protocol(
    name=SINGLE,
    title="Critique ratings",
    description="A judge rates each critique from 1 to 7: MetaCritique's baseline “Single”.",
    paper="Sun et al. (2024), arXiv:2401.04518, Table 16",
    settings=Single,
    flow=single,
    judges="critique",
    longest=longest,
    shortest=longest,
    reply_words=lambda settings: 120,
    folder=Path(__file__).parent,
    prompt_folder="prompts/single",
    examples=("metacritique-single",),
    view="pages.watch.parts.critique_comparisons",
)

PAIRWISE_PROTOCOL = Protocol(
    name=PAIRWISE,
    title="Critique comparison",
    description="A judge decides which of two critiques is better, or neither: MetaCritique's baseline “Pairwise”.",
    paper="Sun et al. (2024), arXiv:2401.04518, Table 15",
    settings=Pairwise,
    flow=pairwise,
    judges="critique",
    longest=longest,
    shortest=longest,
    reply_words=lambda settings: 150,
    folder=Path(__file__).parent,
    prompt_folder="prompts/pairwise",
    view="pages.watch.parts.critique_comparisons",
)

REFINEMENT_PROTOCOL = Protocol(
    name=REFINEMENT,
    title="Critique refinement",
    description="The answer is refined with each of two critiques, and a judge compares the refined answers.",
    paper="Sun et al. (2024), arXiv:2401.04518, Section 4.6, Tables 17 and 18",
    settings=Refinement,
    flow=refinement,
    judges="critique",
    longest=longest,
    shortest=longest,
    reply_words=lambda settings: 120,
    folder=Path(__file__).parent,
    prompt_folder="prompts/refinement",
    view="pages.watch.parts.critique_comparisons",
)
