"""ChatEval's settings: the personas, their communication strategy, and how the verdict is formed (arXiv:2308.07201)."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, model_validator

from core.frozen import Frozen, accept_former_values
from core.items import Criterion
from core.labels import Kind, Scale
from core.protocols import Judge, WithCriteria, check_unique_names
from core.protocols.prompt_parts import is_numeric
from core.trace import Spec
from core.verdicts import DISPUTE_THRESHOLD

Strategy = Literal["one by one", "simultaneous", "simultaneous with summary", "independent"]
VisibleContributions = Literal["all", "earlier speakers"]
VerdictForm = Literal["scores", "vote", "rating", "step"]

# Role prompts for the paper's five personas (Appendix A), reworded. They are part of the prompts.
ROLES = {
    "General Public": "You represent the general public: you are no expert, but interested and informed. Think "
    "critically and for yourself, and be the first to state a judgement.",
    "Critic": "You check the writing: is it fluent, are the sentences clear, are the words well chosen? Question the "
    "judgements of the others, so that they are well considered, and offer another view where the quality seems equal.",
    "News Author": "You write for a newspaper, and check whether what is said is consistent with its source and with "
    "what was asked for. Help the others to reach a sound judgement.",
    "Psychologist": "You study how people think and behave, and can explain why. Consider how a text affects the "
    "person who reads it. Help the others to reach a sound judgement.",
    "Scientist": "You do research: you know the scientific method, think critically and solve problems step by step. "
    "Check which claims hold. Help the others to reach a sound judgement.",
}


# What the role prompts say of a discussion, which an ensemble whose personas are asked alone does not have.
_OF_DISCUSSION = (
    ", and be the first to state a judgement",
    " Question the judgements of the others, so that they are well considered, and offer another view where the "
    "quality seems equal.",
    " Help the others to reach a sound judgement.",
)


def role_alone(role: str) -> str:
    """Return a role prompt for a persona that is asked alone; one that is not in `ROLES` is unchanged."""
    if role in ROLES.values():
        for part in _OF_DISCUSSION:
            role = role.replace(part, "")
    return role


class Persona(Judge):
    """One debater. The other personas know its name, which is its role, and never its model."""

    role: str = ""
    """Its role prompt. Left out for one of the paper's five names: the role prompt of that name in `ROLES`."""

    @model_validator(mode="before")
    @classmethod
    def _add_known_role(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "role" not in fields:
            return {**fields, "role": ROLES.get(str(fields.get("name")), "")}
        return fields


class Summariser(Frozen):
    """The additional model that summarises the discussion (Algorithm 3)."""

    name: str = Field(default="summariser", min_length=1)
    spec: Spec


class Settings(WithCriteria):
    """A discussion's configuration; every default is the paper's (Section 3.2)."""

    personas: tuple[Persona, ...] = Field(min_length=1, max_length=20)
    """The N personas, in speaking order. The paper uses two by default and finds that more help as long as their roles
    differ (Sections 4.1 and 4.3). They may share one model or have one each."""
    outcome: VerdictForm = "scores"
    """What the personas state. "scores": a score from lowest to highest for each of two responses, averaged over the
    personas (Table 4). "vote": which of two responses is better, by majority. "rating": a score for one response on the
    criterion's own scale, averaged (Topical-Chat). "step": which step of one response's transcript went wrong first, 0
    for none, by majority; the criterion is then "first wrong step", or empty for the definition in the prompt."""
    strategy: Annotated[Strategy, accept_former_values({"alone": "independent"})] = "one by one"
    """The communication strategy. "one by one": each persona sees all earlier contributions (Algorithm 1).
    "simultaneous": all speak in parallel and see the earlier turns (Algorithm 2). "simultaneous with summary": the
    same, with a summary by an additional model instead of the contributions (Algorithm 3). "independent": each persona
    is asked once and sees no other: the paper's ensemble, and with one persona without a role its single-agent
    baseline."""
    turns: int = Field(default=2, ge=1, le=20)
    """T: how often each persona speaks. The paper finds no gain from more than two or three (Section 4.3)."""
    both_orders: bool = True
    """Position calibration: the discussion is run twice, once in each order of the responses, and the scores or votes
    of both count together. It doubles the calls; it has no effect on the rating of one response."""
    scored_turns: Literal["last", "every"] = "last"
    """The turns in which the personas state scores or votes. "last", as in the released code: the earlier turns are
    discussion alone. "every": each turn, which shows how the opinions change; only the last one counts."""
    criterion: Criterion | None = None
    """What is judged. Empty: helpfulness, relevance, accuracy and level of detail together, as in the paper."""
    criteria: tuple[Criterion, ...] = Field(default=(), exclude_if=lambda criteria: not criteria)
    """Further criteria that the same run judges, each in its own discussion; the verdict has an outcome for each."""
    lowest: int = Field(default=1, ge=0, le=100)
    """The worst score for each of two responses."""
    highest: int = Field(default=10, ge=1, le=100)
    """The best score for each of two responses."""
    # The key was `hearing` before, with other values; settings files and stored runs that have them remain valid.
    visible_contributions: Annotated[
        VisibleContributions, accept_former_values({"everybody": "all", "speakers before": "earlier speakers"})
    ] = Field(default="all", validation_alias=AliasChoices("visible_contributions", "hearing"))
    """Which contributions a persona sees one by one. "all": all earlier ones, as in the paper's text and examples.
    "earlier speakers": Algorithm 1 as printed, in which the first persona sees none, not even its own, and the
    others see only their own and those of the personas before them in speaking order."""
    summariser: Summariser | None = None
    """The model that summarises. Empty: the first persona's model."""
    words: int = Field(default=120, ge=20, le=2000)
    """Maximum number of words of each contribution, as stated in the prompts."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """A verdict whose contention is above this is disputed: people are asked, and the value remains that of the paper's
    rule. 0.5: scores that differ by more than half of the scale, or no majority. Personas that prefer opposite
    responses, and a preference that changes with the order of the responses, have a contention of 1. 1: a verdict with
    a value is never disputed."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        speakers = [persona.name for persona in self.personas]
        speakers += [self.effective_summariser.name] if self.strategy == "simultaneous with summary" else []
        check_unique_names(speakers, "speakers")
        if self.lowest >= self.highest:
            raise ValueError("the best score has to be above the worst one")
        if self.outcome == "step":
            from core.protocols.steps import step_problem  # a discussion of responses loads no transcripts

            if problem := step_problem(self.criterion, self.criteria):
                raise ValueError(problem)
        every = (self.criterion, *self.criteria)
        if self.outcome == "rating" and not all(one and is_numeric(one.scale) for one in every):
            raise ValueError("a rating needs a criterion with a scale of numbers, such as 1, 2, 3")
        return self

    @property
    def kind(self) -> Kind:
        """The kind of the opinions."""
        kinds: dict[VerdictForm, Kind] = {"rating": "score", "step": "answer"}
        return kinds.get(self.outcome, "preference")

    @property
    def criterion_name(self) -> str:
        """The name of the criterion; empty for the paper's four qualities together."""
        if self.outcome == "step":
            from core.transcripts import FIRST_WRONG_STEP

            return FIRST_WRONG_STEP
        return self.criterion.name if self.criterion else ""

    @property
    def scale(self) -> Scale:
        """The values that a rating may have."""
        scale = self.criterion.scale if self.criterion else None
        return scale or Scale(level="interval")

    @property
    def rounds(self) -> int:
        """The number of turns per persona; 1 if the personas are independent."""
        return 1 if self.strategy == "independent" else self.turns

    def is_scored(self, number: int) -> bool:
        """Return whether the personas state scores or votes in turn `number`, counted from 0."""
        return self.scored_turns == "every" or number == self.rounds - 1

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The orders in which the responses are read."""
        if self.outcome in ("rating", "step"):
            return ((),)
        return ((1, 2), (2, 1)) if self.both_orders else ((1, 2),)

    @property
    def effective_summariser(self) -> Summariser:
        """The summariser, by default with the first persona's model."""
        return self.summariser or Summariser(spec=self.personas[0].spec)
