"""The records of the study itself and of its criteria, scales, guidelines and marks; see `core.formats.records`.

They need neither traces nor AIUs, whose modules take a tenth of a second to import.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Criterion
from core.labels import Kind, Scale, Target, Value, is_match

ADJUDICATION_REASONS = ("Guidelines", "Factual error", "Overlooked detail", "Ambiguous item", "Discussion")


def later(default: Any, **limits: Any) -> Any:
    """Return a field that was added later: it is serialised only if it differs from the default."""
    return Field(default=default, exclude_if=lambda value: value == default, **limits)


class StudyRules(Frozen):
    """How labels are collected."""

    overlap: int = Field(default=3, ge=1)
    """Labels per target."""
    reveal: bool = True
    """Whether the judges' trace is shown after a blind label."""
    lease_minutes: int = Field(default=30, ge=1)
    evidence: bool = later(True)
    """Whether annotators can select passages for a label."""
    reason: Literal["optional", "required", "none"] = later("optional")
    """Whether a label has a reason."""
    order: Literal["shuffled", "fixed", "informative"] = later("shuffled")
    """The order of a queue: another random one for each annotator, that of the items, or most informative first."""
    response_order: Literal["counterbalanced", "as_given"] = later("counterbalanced")
    """The order in which annotators see the responses of an item, and critiques that are compared: another one for each
    annotator and target (`storage.labelling.blocks`), or that of the item for all, which needs a reason."""
    response_order_reason: str = later("")
    """Why the responses are shown as the item has them."""
    annotators: tuple[str, ...] = later(())
    """The annotators who label; empty for all."""
    groups: dict[str, tuple[str, ...]] = later({})
    """Scenario -> the annotators who label its items; all annotators for a scenario that is not listed."""
    adjudication_reasons: tuple[str, ...] = later(ADJUDICATION_REASONS)
    """The reasons that an adjudicator can select."""
    adjudicate_own: bool = later(False)
    """Whether adjudicators can decide on targets that they have labelled."""
    own_statistics: bool = later(True)
    """Whether annotators see their own pace, agreement and anchoring."""
    markdown: bool = later(False)
    """Whether questions and responses are Markdown. Others are shown exactly as they are, as judges receive them."""
    image_hosts: tuple[str, ...] = later(())
    """Hosts whose images the server fetches and shows; no image of another host is loaded."""
    families: dict[str, str] = later({})
    """Model, judge or system -> its family, for names from which `core.families` cannot read it."""
    slices: dict[str, tuple[tuple[str, str], ...]] = later({})
    """Name -> the conditions of a slice of the targets, such as ("scenario", "math"): it has those that meet all."""
    policies: tuple[dict[str, Any], ...] = later(())
    """The certificates of the policies whose verdicts stand without a person: `storage.reports.certificates`."""
    training_required: bool = later(True)
    """Whether an annotator who has not passed the training gets training items only."""
    training_pass_mark: float = later(0.8, ge=0, le=1)
    """The share of answers that have to be right in the training."""
    tolerance: float = later(0, ge=0)
    """How far a number may be from the known answer and count as right, in the training and in hidden checks."""
    weight_tolerance: float = later(5, ge=0, le=100)
    """How many percentage points each aspect's weight may be from the known one."""
    check_share: float = later(0, ge=0, le=0.5)
    """The share of a queue that are hidden checks: targets with an adjudicated value."""
    agreed_share: float = later(0.0, ge=0, le=1)
    """The share of the pairs on which judges agree that people label too, in the design of the study's first verdicts;
    0.1 in a new study."""

    @field_validator("image_hosts")
    @classmethod
    def _host_names(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        from core.remote_images import normalize_host  # imports the clients of models, and few studies have hosts

        try:
            return tuple(dict.fromkeys(map(normalize_host, hosts)))
        except TiebreakError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _has_reason_for_order(self) -> Self:
        if self.response_order == "as_given" and not self.response_order_reason.strip():
            raise ValueError("responses in the item's order need a reason: response_order_reason")
        return self

    def is_correct(self, value: Value, known: Value) -> bool:
        """Return whether a value equals a known one within the tolerance of its type."""
        return is_match(value, known, self.weight_tolerance if isinstance(known, Mapping) else self.tolerance)


class StudyRecord(Frozen):
    """The study itself; a file with items only may omit it."""

    type: Literal["study"] = "study"
    description: str = ""
    guidelines: str = ""
    rules: StudyRules = StudyRules()
    prompts: dict[str, str] = Field(default_factory=dict)
    """The study's own templates, "protocol/template" -> text, which replace the built-in ones."""
    sample: bool = False
    """Whether this is a built-in sample, written for the tour rather than collected."""


class GuidelinesRecord(Frozen):
    """One version of the study's guidelines, which labels refer to."""

    type: Literal["guidelines"] = "guidelines"
    version: int = Field(ge=1)
    text: str
    at: datetime | None = None


class CriterionRecord(Frozen):
    """A criterion."""

    type: Literal["criterion"] = "criterion"
    criterion: Criterion


class ScaleRecord(Frozen):
    """The declared scale of the targets of one kind and criterion."""

    type: Literal["scale"] = "scale"
    kind: Kind
    criterion: str = ""
    scale: Scale


class MarkRecord(Frozen):
    """A skip, a flag or a note of an annotator about a target."""

    type: Literal["mark"] = "mark"
    target: Target
    annotator: str
    mark: Literal["skip", "flag", "note"]
    text: str = ""
    on: bool = True
    at: datetime | None = None
