"""MetaCritique's settings: the judges, the writer of missing inputs, and the paper's variants (arXiv:2401.04518)."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from core import protocols
from core.critiques import critique_id_from_author
from core.frozen import Frozen
from core.trace import Spec
from core.verdicts import DISPUTE_THRESHOLD

WritingStep = Literal["reference_answer", "reference_critique", "hypothesis_critique", "extract"]


class CritiqueJudge(protocols.Judge):
    """A judge of AIUs."""

    recall: Spec | None = None
    """Another model for the recall task, as in the paper's Meta-Open. Empty: the same model."""


class Settings(Frozen):
    """How critiques are evaluated; every default is the paper's."""

    judges: Annotated[tuple[CritiqueJudge, ...], protocols.UNIQUE_JUDGES] = Field(min_length=1)
    """The judges of which AIUs are factual and which are covered. The paper has one, GPT-4. Several work independently,
    and if they differ, an annotator decides."""
    writer: CritiqueJudge | None = None
    """The model that writes the texts that an item lacks: the reference answer, the reference critique, the AIUs.
    Empty: the first judge. The paper advises the best available model, whichever model judges."""
    answer_writer: protocols.Judge | None = None
    """Another model for the reference answer. Empty: the writer."""
    critique_writer: protocols.Judge | None = None
    """Another model for the reference critique. Empty: the writer."""
    extractor: protocols.Judge | None = None
    """Another model for the AIUs. Empty: the writer."""
    critics: tuple[protocols.Judge, ...] = ()
    """Models that write a critique of the answer (Table 8), which is evaluated together with the critiques of the item.
    The author of the critique is the name of the model here; an item that has a critique of this author gets no second
    one. Empty: only the item's critiques are evaluated."""
    extraction: Literal["critique alone", "with question and answer"] = "critique alone"
    """The input of the model that splits a critique into AIUs. The paper uses the critique alone (Table 9); with the
    question and the answer the model can resolve references."""
    dispute_threshold: float = Field(default=DISPUTE_THRESHOLD, ge=0, le=1)
    """The contention of the judges on any AIU above which the verdict is disputed: two judges that differ have 1, two
    against one 0.5; 0 disputes every difference."""
    tasks: Literal["both", "precision", "recall"] = "both"
    """The tasks to run. F1 needs both. Recall says little for creative tasks, in which critiques differ because good
    answers do (Section 8)."""
    answer: Literal["first", "in the same step"] = "first"
    """How the judge of precision gets the correct answer. "first": the item's reference answer, otherwise one that is
    written before. "in the same step": it works the answer out while it judges (the paper's "GPT-4 w/o ans", 3 to 6
    points worse)."""
    words: int = Field(default=120, ge=20, le=2000)
    """Maximum number of words of each rationale, as stated in the prompts."""

    edited_aius: bool | None = None
    """Whether the run judges the current AIUs, critiques and references: with annotators' edits before its start. New
    runs do, unless this is false; runs of earlier versions judged items as they were imported."""

    @field_validator("critics")
    @classmethod
    def _critics_differ(cls, critics: tuple[protocols.Judge, ...]) -> tuple[protocols.Judge, ...]:
        protocols.check_unique_names((critique_id_from_author(critic.name) for critic in critics), "critics")
        return critics

    @property
    def effective_writer(self) -> CritiqueJudge:
        """The writer, by default the first judge."""
        return self.writer or self.judges[0]

    def writer_of(self, step: WritingStep) -> protocols.Judge:
        """Return the model that writes the reference answer, the reference critique, or the AIUs; no critic."""
        own = {
            "reference_answer": self.answer_writer,
            "reference_critique": self.critique_writer,
            "extract": self.extractor,
        }
        return own[step] or self.effective_writer
