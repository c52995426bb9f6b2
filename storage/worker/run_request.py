"""A run that is to be created: its study, protocol, settings and items."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.frozen import Frozen
from core.items import Item
from core.llm.defaults import PARALLEL_CALLS
from core.pairs import Pairs
from core.protocols import Protocol
from core.protocols.flows import trace_parts
from core.templates import replace_templates
from core.trace import Spec
from storage.item_selection import ItemSelection
from storage.studies import Study


@dataclass(frozen=True)
class RunRequest:
    """A run to be created."""

    study: Study
    protocol: Protocol
    settings: Frozen
    name: str
    seed: int = 0
    parallel: int = PARALLEL_CALLS
    ceiling: float | None = None
    selection: ItemSelection = field(default_factory=ItemSelection)
    repeat: int = 1
    """Runs with other numbers have independent replies."""
    fresh: bool = False
    """Whether every call is made anew, also if another run has made it."""
    extractor: Spec | None = None
    """The model that is asked which value an unreadable reply states; None for none."""
    pairs: Pairs | None = None
    """Which pairs of an item's responses are compared; see `core.protocols.flows.trace_parts` for None."""
    own_prompts: Mapping[str, str] = field(default_factory=dict)
    """Template name -> text that this run uses instead of the study's."""

    @property
    def prompts(self) -> dict[str, str]:
        """The text of every template of the protocol, with the study's own and then the run's own in place."""
        templates = self.study.templates(self.protocol.name)
        return replace_templates(self.protocol.name, templates, self.own_prompts)

    @property
    def criterion(self) -> str:
        """The name of the criterion; empty if the protocol judges none or several."""
        criteria = self.protocol.criteria(self.settings)
        return criteria[0].name if len(criteria) == 1 else ""

    def parts(self, item: Item) -> list[str]:
        """Return the part of each trace of an item."""
        return trace_parts(self.protocol, self.settings, item, self.pairs)
