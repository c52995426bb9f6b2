"""MetaCritique's baselines: single ratings, pairwise comparison, refinement of the answer."""

from dataclasses import replace
from pathlib import Path

from core.protocols import Protocol
from core.protocols.critique_baselines.protocol import (
    PAIRWISE_NAME,
    REFINEMENT_NAME,
    SINGLE_NAME,
    PairwiseSettings,
    RefinementSettings,
    SingleSettings,
    pairwise_flow,
    refinement_flow,
    single_flow,
)

SINGLE_PROTOCOL = Protocol(
    name=SINGLE_NAME,
    title="Critique ratings",
    description="A judge rates each critique from 1 to 7: MetaCritique's baseline “Single”.",
    paper="Sun et al. (2024), arXiv:2401.04518, Table 16",
    settings=SingleSettings,
    flow=single_flow,
    judges="critique",
    reply_words=lambda settings: 120,
    folder=Path(__file__).parent,
    optional_blanks=("context", "reference"),
    required_blanks=("critique", "response"),
    prompt_folder="prompts/single",
    examples=("metacritique-single",),
    view="pages.watch.parts.critique_comparisons",
)

PAIRWISE_PROTOCOL = replace(
    SINGLE_PROTOCOL,
    name=PAIRWISE_NAME,
    title="Critique comparison",
    description="A judge decides which of two critiques is better, or neither: MetaCritique's baseline “Pairwise”.",
    paper="Sun et al. (2024), arXiv:2401.04518, Table 15",
    settings=PairwiseSettings,
    flow=pairwise_flow,
    reply_words=lambda settings: 150,
    required_blanks=("critique_a", "critique_b", "response"),
    prompt_folder="prompts/pairwise",
    examples=(),
)

REFINEMENT_PROTOCOL = replace(
    SINGLE_PROTOCOL,
    name=REFINEMENT_NAME,
    title="Critique refinement",
    description="The answer is refined with each of two critiques, and a judge compares the refined answers.",
    paper="Sun et al. (2024), arXiv:2401.04518, Section 4.6, Tables 17 and 18",
    settings=RefinementSettings,
    flow=refinement_flow,
    required_blanks=("answer_a", "answer_b", "critique", "response"),
    prompt_folder="prompts/refinement",
    examples=(),
)
