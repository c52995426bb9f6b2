"""ChatEval's settings: who talks, who hears what and when, and how the answer is taken (arXiv:2308.07201)."""

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from core.frozen import Frozen
from core.items import Criterion
from core.labels import Kind, Scale
from core.protocols import unique_names
from core.protocols.ratings import numeric
from core.trace import Spec

Strategy = Literal["one by one", "simultaneous", "simultaneous with summary", "alone"]
Outcome = Literal["scores", "vote", "rating"]

ROLES = {
    "General Public": "You stand for the general public: no expert, but curious, and reading because you want to know "
    "how things are. Think critically and for yourself, and be the one who puts a first judgement on the table.",
    "Critic": "You look at the writing: does it flow, are the sentences clear, are the words well chosen? Question "
    "what the others judge, so that nothing is hasty, and where all seems level show another way to see it.",
    "News Author": "You write for a newspaper, and you check whether what is said agrees with what was asked for. "
    "Help the others to come to a sound judgement.",
    "Psychologist": "You study how people behave and think, and explain why they do. Ask what an answer does to the "
    "person who reads it. Help the others to come to a sound judgement.",
    "Scientist": "You do research: you know the scientific method, think critically and solve problems step by step. "
    "Ask what holds up. Help the others to come to a sound judgement.",
}
"""The paper's five roles (Appendix A) in our words: a set to start from."""


class Persona(Frozen):
    """One debater. The others know it by its name, which is its role and never its model."""

    name: str = Field(min_length=1)
    role: str = ""
    """Who it is, said to itself. Left out for one of the paper's five names: our words for that role."""
    spec: Spec

    @model_validator(mode="before")
    @classmethod
    def _known_role(cls, told: Any) -> Any:
        if isinstance(told, dict) and "role" not in told:
            return {**told, "role": ROLES.get(str(told.get("name")), "")}
        return told


class Summariser(Frozen):
    """The extra model that sums up what was said."""

    name: str = Field(default="summariser", min_length=1)
    spec: Spec


class Settings(Frozen):
    """A talk's configuration; every default is the paper's (Section 3.2)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    personas: tuple[Persona, ...] = Field(min_length=1, max_length=20)
    """Who talks: N personas, in the order in which they speak. The paper has two by default and finds that more help,
    as long as their roles differ (Sections 4.1 and 4.3); one model for all of them, or one each."""
    outcome: Outcome = "scores"
    """What is asked for in every turn. "scores": one from lowest to highest for each of two responses, averaged over
    the personas (Table 4). "vote": which of two is better, by majority. "rating": a score for one response on the
    criterion's own scale, averaged (Topical-Chat)."""
    strategy: Strategy = "one by one"
    """Who hears whom. "one by one": each hears all that was said before it (Algorithm 1). "simultaneous": all speak at
    once, and hear the turns before (Algorithm 2). "simultaneous with summary": as that, but they hear a summary by one
    more model (Algorithm 3). "alone": nobody hears anybody, and each is asked once: the paper's ensemble, and with one
    persona that has no role its single agent."""
    turns: int = Field(default=2, ge=1, le=20)
    """T: how often each persona speaks. The paper finds no gain in more than two or three (Section 4.3)."""
    both_orders: bool = True
    """Position calibration: the whole talk is held twice, with the responses in both orders, and the scores or votes of
    both count together. It doubles the calls; one response has no order."""
    criterion: Criterion | None = None
    """What is judged. None: helpfulness, relevance, accuracy and level of detail together, as in the paper."""
    lowest: int = Field(default=1, ge=0, le=100)
    """The worst score for each of two responses."""
    highest: int = Field(default=10, ge=1, le=100)
    """The best score for each of two responses."""
    hearing: Literal["everybody", "speakers before"] = "everybody"
    """Whom a persona hears one by one. "everybody": all that was said, by whomever, as the paper's text and examples
    have it. "speakers before": the letter of the box of Algorithm 1, where the first persona hears nobody, not even
    itself, and the others only themselves and those who speak before them."""
    summariser: Summariser | None = None
    """Who sums up. None: the first persona's model."""
    words: int = Field(default=120, ge=20, le=2000)
    """The limit on each contribution that the prompts name ("short and clear")."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        speakers = [persona.name for persona in self.personas]
        speakers += [self.summing.name] if self.strategy == "simultaneous with summary" else []
        unique_names.differ(speakers, "speakers")
        if self.lowest >= self.highest:
            raise ValueError("the best score has to be above the worst one")
        if self.outcome == "rating" and (self.criterion is None or not numeric(self.criterion.scale)):
            raise ValueError("a rating needs a criterion with a scale of numbers, such as 1, 2, 3")
        return self

    @property
    def kind(self) -> Kind:
        """What the opinions are about."""
        return "score" if self.outcome == "rating" else "preference"

    @property
    def scale(self) -> Scale:
        """The values that a rating may have."""
        found = self.criterion.scale if self.criterion else None
        return found or Scale(level="interval")

    @property
    def rounds(self) -> int:
        """Turns that are taken: whoever speaks alone has nothing to add to it."""
        return 1 if self.strategy == "alone" else self.turns

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The orders in which the responses are read."""
        if self.outcome == "rating":
            return ((),)
        return ((1, 2), (2, 1)) if self.both_orders else ((1, 2),)

    @property
    def summing(self) -> Summariser:
        """Who sums up."""
        return self.summariser or Summariser(spec=self.personas[0].spec)
