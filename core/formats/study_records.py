"""The records of a study itself, of its criteria, scales, designs, guidelines and marks; see `core.formats.records`.

They need neither traces nor AIUs, whose modules take a tenth of a second to import.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from core.designs import FLOOR, MAX_SEED, Design, Form, check
from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Criterion
from core.labels import Kind, Scale, Target, Value, is_match

ADJUDICATION_REASONS = ("Guidelines", "Factual error", "Overlooked detail", "Ambiguous item", "Discussion")


def later(default: Any, **limits: Any) -> Any:
    """Return a field that was added later: it is serialised only if it differs from the default."""
    return Field(default=default, exclude_if=lambda value: value == default, **limits)


class StudyRules(Frozen):
    """How labels are collected. The texts below the fields are also their help on the page of the study."""

    overlap: int = Field(default=3, ge=1, title="Labels per target")
    """The number of annotators who label each target."""
    reveal: bool = Field(True, title="Reveal judges after a blind label")
    """Annotators first label without seeing the judges, then see the trace and can change their label. Both labels are
    stored."""
    lease_minutes: int = Field(default=30, ge=1, title="Lease, minutes")
    """A target is reserved for an annotator for this long."""
    evidence: bool = later(True)
    """Annotators can select passages, which are stored with the label."""
    reason: Literal["optional", "required", "none"] = later("optional")
    """Whether a label has a reason."""
    order: Literal["shuffled", "fixed", "informative"] = later("shuffled", title="Order of a queue")
    """The order of a queue: another random one for each annotator, that of the items, or most informative first."""
    response_order: Literal["counterbalanced", "as_given"] = later("counterbalanced", title="Order of responses")
    """Of an item, and of critiques that are compared. Who sees one response first in every item may prefer it for its
    position. Labels have the item's own numbers in both cases, with the order in which they were given."""
    response_order_reason: str = later("", title="Reason for the item's order")
    """Required if the order is not counterbalanced."""
    annotators: tuple[str, ...] = later(())
    """Empty for all annotators."""
    groups: dict[str, tuple[str, ...]] = later({}, title="Annotators by scenario")
    """All annotators label the items of other scenarios."""
    adjudication_reasons: tuple[str, ...] = later(ADJUDICATION_REASONS, title="Reasons of an adjudication")
    """Adjudicators select one, and add their own words."""
    adjudicate_own: bool = later(False, title="Adjudicate own labels")
    """Otherwise adjudicators cannot decide on items that they have labelled."""
    own_statistics: bool = later(True, title="Annotators see their own statistics")
    """Their pace, agreement and changes."""
    markdown: bool = later(True, title="Texts are Markdown")
    """Questions and responses are formatted, with code and mathematics; V shows them as they were written, which is
    what judges receive. Otherwise they are always shown so."""
    image_hosts: tuple[str, ...] = later(())
    """This server fetches images of items from these hosts and shows them. Images of other hosts are not loaded."""
    families: dict[str, str] = later({}, title="Families of models")
    """For self-preference, by judge, model or system. The family of well-known models is read from their names."""
    slices: dict[str, tuple[tuple[str, str], ...]] = later({})
    """Name -> the conditions of a slice of the targets, such as ("scenario", "math"): it has those that meet all."""
    policies: tuple[dict[str, Any], ...] = later(())
    """The certificates of the policies whose verdicts stand without a person: `storage.reports.certificates`."""
    training_required: bool = later(True, title="Training has to be passed")
    """The queue opens after the training is passed; until then the training is repeated. Otherwise it is done once."""
    training_pass_mark: float = later(0.8, ge=0, le=1, title="Pass mark, share of the items")
    """The share of training items that have to be answered correctly."""
    training_number: int = later(0, ge=0, title="Items of one training")
    """The least number of items of one training. When it is repeated, it has those that the annotator was asked least
    often, so others as long as there are. 0 for all items."""
    tolerance: float = later(0, ge=0, title="Tolerance of scores")
    """The maximum distance of a correct score from the known answer."""
    weight_tolerance: float = later(5, ge=0, le=100, title="Tolerance of weights, percentage points")
    """The maximum distance of each aspect's weight from the known one."""
    check_share: float = later(0, ge=0, le=0.5, title="Hidden checks, share of a queue")
    """The share of adjudicated targets in each queue. Annotators cannot tell them from other targets. All annotators
    get them, regardless of the overlap; the results are on the page Annotators."""
    repeat_share: float = later(0, ge=0, le=0.2, title="Repeats, share of a queue")
    """The share of each queue of pairs, scores or answers that the annotator has labelled before, and cannot tell from
    others. The answers are stored apart from labels; the page Annotators has how many equal the first ones."""
    agreed_share: float = later(0.0, ge=0, le=1, title="Share of agreed pairs that people label")
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


class DesignRecord(Frozen):
    """A round of the design of a kind and criterion: which targets people label; see `core.designs`."""

    type: Literal["design"] = "design"
    kind: Kind
    criterion: str = ""
    round: int = Field(ge=1)
    form: Form
    by: Literal["", "contention", "scenario", "group"] = ""
    seed: int = Field(ge=-MAX_SEED, le=MAX_SEED)
    shares: dict[str, float] = Field(default_factory=dict)
    """Stratum -> the probability of its targets."""
    cuts: dict[str, float] = later({})
    """Stratum -> the number below which a target is drawn, where that is not its share."""
    floor: float = FLOOR
    created_at: datetime | None = None
    before: tuple[str, ...] = later(())
    """Keys (`item:part`) of the targets that this round is the first to draw, and that had a label before it."""
    between_runs: bool = later(False)
    """Whether targets on which two runs differ are disputed."""

    def design(self) -> Design:
        """Return the round; raises TiebreakError if it cannot be drawn."""
        fields = {name: getattr(self, name) for name in type(self).model_fields.keys() & Design.__match_args__}
        design = Design(**fields)
        check(design)
        return design


class MarkRecord(Frozen):
    """A skip, a flag or a note of an annotator about a target."""

    type: Literal["mark"] = "mark"
    target: Target
    annotator: str
    mark: Literal["skip", "flag", "note"]
    text: str = ""
    on: bool = True
    at: datetime | None = None
