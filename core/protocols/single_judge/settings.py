"""Settings of the single judges: one on a pair of responses, one that scores a response."""

from typing import Literal, Self

from pydantic import Field, model_validator

from core.frozen import Frozen
from core.items import Criterion, CriterionFormat
from core.labels import Scale
from core.protocols import Judge, WithCriteria
from core.protocols.prompt_parts import is_numeric
from core.verdicts import DISPUTE_THRESHOLD


class Example(Frozen):
    """What a person decided on an item, as a judge is shown it."""

    item: str
    text: str


class PairSettings(WithCriteria):
    """One judge on two responses; every default is ScaleEval's evaluator."""

    judge: Judge
    """The only judge."""
    criterion: Criterion
    """What "better" means, as in ScaleEval: a definition, or a rubric of levels."""
    criteria: tuple[Criterion, ...] = ()
    """Further criteria that the same run judges, each with asks of its own; the verdict has an outcome for each."""
    format: CriterionFormat = "general"
    """How the criterion is written; all but "general" are perturbations (ScaleEval, Table 7)."""
    reasons: bool = True
    """Chain of thought: the judge gives reasons before it chooses. Off: the digit alone."""
    both_orders: bool = False
    """Ask twice, once in each order of the responses. Off: once, in an order drawn for each item."""
    differing: Literal["a person decides", "neither", "JudgeBench"] = Field(
        "a person decides", title="If the orders differ"
    )
    """The verdict if the two orders give different choices. "a person decides": no verdict, and the trace is
    disputed. "neither": a tie, as for MT-Bench (Zheng et al. 2023). "JudgeBench": the choice if the other order gave a
    tie, otherwise as "a person decides" (Tan et al. 2024). Each only if both replies were readable."""
    shuffle_responses: bool = True
    """Randomise for each item which response is read first; no effect if both orders are asked."""
    words: int = Field(default=150, ge=20, le=2000)
    """Maximum number of words of the reasons, as stated in the prompt."""
    simulated_annotators: int = Field(default=0, ge=0, le=20, exclude_if=lambda number: not number)
    """Simulated Annotators (Jung, Brahman & Choi 2024, arXiv:2407.18370): the judge answers so many times, each with
    examples of another annotator's labels on development items. The verdict is the most frequent answer, and its
    confidence the share of the answers that give it. The paper has 5. 0: it answers once, without examples."""
    examples_each: int = Field(default=5, ge=1, le=20, exclude_if=lambda number: number == 5)
    """The examples of each simulated annotator."""
    annotator_examples: tuple[tuple[Example, ...], ...] = Field(default=(), exclude_if=lambda examples: not examples)
    """One set for each simulated annotator. Every new run draws its own: nothing that is entered here is used."""

    @model_validator(mode="after")
    def _asks_simulated_annotators_once(self) -> Self:
        if self.simulated_annotators and (self.both_orders or self.criteria):
            raise ValueError("simulated annotators are asked in one order of the responses, and on one criterion")
        return self

    def examples_for(self, item: str) -> list[list[str]]:
        """Return the examples of each simulated annotator for judging an item, of which none is on that item."""
        others = [[one.text for one in own if one.item != item] for own in self.annotator_examples]
        return [own[: self.examples_each] for own in others] or [[]] * max(self.simulated_annotators, 1)


class ScoreSettings(WithCriteria):
    """One judge on one response."""

    judge: Judge
    """The only judge."""
    criterion: Criterion
    """The criterion of the score, with its scale."""
    criteria: tuple[Criterion, ...] = ()
    """Further criteria that the same run judges, each with asks of its own; the verdict has an outcome for each."""
    way: Literal["analyse, then rate", "score only"] = Field("analyse, then rate", title="Form of the reply")
    """Form of the reply: "analyse, then rate" is Analyze-Rate's, "score only" is G-Eval's."""
    samples: int = Field(default=1, ge=1, le=200)
    """Ratings that are averaged: both papers draw 20 at temperature 1. The mean of samples estimates G-Eval's sum
    weighted by the probabilities of the scores."""
    weighting: Literal["samples", "probabilities", "probabilities, else samples"] = "samples"
    """How the score is computed. "samples": the mean of the ratings. "probabilities": one call, and the mean of the
    scale's levels weighted by their probabilities (G-Eval, eq. 1); no verdict if the provider returns no log
    probabilities. "probabilities, else samples": the mean of the samples in that case."""
    top_logprobs: int = Field(default=20, ge=2, le=20)
    """Alternatives of a token that are requested with "probabilities"; some servers return 5 at most."""
    task: str = ""
    """The task in a few sentences. Empty: a general text."""
    steps: str = ""
    """Evaluation steps, one per line. In G-Eval a model writes them once from task and criterion; paste them here.
    Empty: general steps."""
    words: int = Field(default=120, ge=20, le=2000)
    """Maximum number of words of the analysis, as stated in the prompt."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """A verdict is disputed if its samples span more than this share of the scale; its value stays the mean."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        every = (self.criterion, *self.criteria)
        if unscaled := next((one for one in every if not is_numeric(one.scale)), None):
            raise ValueError(f"criterion {unscaled.name!r} needs a scale of numbers, such as 1, 2, 3")
        if self.weighting != "samples" and not all(one.scale and one.scale.categories for one in every):
            raise ValueError("probabilities need a scale with levels, such as 1, 2, 3")
        if self.weighting == "probabilities" and self.samples > 1:
            raise ValueError(
                "one call returns all probabilities: use samples: 1, or the weighting with samples otherwise"
            )
        if self.weighting == "probabilities, else samples" and self.samples == 1:
            raise ValueError("enter the number of samples to draw if there are no probabilities")
        if self.samples > 1 and self.judge.spec.temperature == 0:
            raise ValueError(
                "a judge at temperature 0 gives the same reply every time; use temperature 1, or samples: 1"
            )
        return self

    @property
    def scale(self) -> Scale:
        """The values that may be given."""
        return self.criterion.scale or Scale(level="interval")
