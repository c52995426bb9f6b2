"""ScaleEval's settings: the judges, the criterion, the rounds and the stopping rule (arXiv:2401.16788)."""

from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from core.frozen import accept_former_values
from core.items import Criterion, CriterionFormat
from core.protocols import UNIQUE_JUDGES, Judge, WithCriteria

About = Literal["preference", "step"]
Stopping = Literal["unanimity", "majority", "stability"]
Unread = Literal["no verdict", "left out"]
ReplyOrder = Literal["simultaneous", "sequential"]


class Settings(WithCriteria):
    """A debate's configuration; every default is the paper's."""

    judges: Annotated[tuple[Judge, ...], UNIQUE_JUDGES] = Field(min_length=2)
    """The m judges of the debate, each with a unique name. The paper uses three different models."""
    criterion: Criterion
    """What "better" means. The paper gives a rubric of five levels, "Level name - description"."""
    criteria: tuple[Criterion, ...] = Field(default=(), exclude_if=lambda criteria: not criteria)
    """Further criteria that the same run judges, each in its own debate, as in the paper. The verdict has an outcome
    for each."""
    format: CriterionFormat = "general"
    """How the criterion is written in the prompts (Table 7). All but "general" are perturbations that measure how much
    a judge relies on the criterion: "shortened" drops the names of the levels, "gibberish" replaces letters by symbols,
    "shuffled" mixes the words, "flipped" reverses each word, "masked" replaces letters by "_"."""
    outcome: About = Field(default="preference", exclude_if=lambda outcome: outcome == "preference")
    """What the judges decide. "preference", as in the paper: which of two responses is better. "step": which step of
    one response's transcript went wrong first, 0 for none; the only criterion is then "first wrong step"."""
    rounds: int = Field(default=3, ge=1, le=20)
    """D, counted as in the paper: the first opinions are round 0, so D = 3 means first opinions and at most two rounds
    of discussion, and D = 1 means no discussion."""
    stopping: Stopping = "unanimity"
    """When the debate ends with a verdict. "unanimity", as in the paper: all judges choose the same. "majority": more
    than half of the readable opinions are the same, and at least two. "stability": no judge's opinion has changed for
    as many rounds as `stable_rounds` states (after arXiv:2510.12697), and a majority is the verdict."""
    stable_rounds: int = Field(default=2, ge=1, le=20, exclude_if=lambda rounds: rounds == 2)
    """With "stability": so many rounds in a row have the same opinions as the round before them."""
    unread: Unread = Field(default="no verdict", exclude_if=lambda unread: unread == "no verdict")
    """With "unanimity", a judge whose last reply is unreadable. "no verdict": there is no unanimity without it. "left
    out": the others decide if they are at least two."""
    stop_early: bool = Field(default=True, exclude_if=lambda stops: stops)
    """End the debate once the stopping rule is satisfied, as in the paper. If not, all D rounds are run, and the rule
    decides about the last opinions."""
    shared_rounds: Literal["previous", "all"] = Field(default="previous", exclude_if=lambda which: which == "previous")
    """The earlier rounds whose replies a judge sees. "previous", as in the paper: the round before. "all": every round
    from the first opinions on."""
    # The key was `speaking` before, with other values; settings files and stored runs that have them remain valid.
    reply_order: Annotated[ReplyOrder, accept_former_values({"at once": "simultaneous", "in turn": "sequential"})] = (
        Field(default="simultaneous", validation_alias=AliasChoices("reply_order", "speaking"))
    )
    """Which replies a judge sees in a discussion round. "simultaneous": those of the previous round (Eq. 6).
    "sequential": also those of the judges before it in the same round, as in the released code; slower, since the calls
    cannot run in parallel."""
    both_orders: bool = False
    """Position calibration: one debate in each order of the responses, at twice the calls. Agreed if both debates end
    with the same choice and no judge changes its choice with the order; such a change has a contention of 1."""
    shuffle_responses: bool = True
    """Randomise for each item which response the judges read first, against position bias (Section 7); no effect with
    both orders."""
    shuffle_speakers: bool = True
    """Randomise for each item the order in which the judges are numbered and speak (Section 7)."""
    words: int = Field(default=150, ge=20, le=2000)
    """Maximum number of words of each explanation, as stated in the prompts."""

    @model_validator(mode="after")
    def _has_the_criterion_of_steps(self) -> Self:
        if self.outcome == "step":
            from core.protocols.steps import step_problem  # a debate about responses loads no transcripts

            if self.both_orders or (problem := step_problem(self.criterion, self.criteria)):
                raise ValueError("a debate about steps has one order" if self.both_orders else problem)
        return self
