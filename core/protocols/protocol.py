"""What a protocol package declares: one frozen `Protocol` value with everything that varies between methods."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from core.frozen import Frozen
from core.items import Criterion, Item
from core.labels import Kind, Scale, Value
from core.templates import Templates, load_templates, replace_templates
from core.trace import Ask, Flow

Judges = Literal["pair", "score", "critique", "answer"]
"""What a verdict is about: which of two responses is better, a score of one response, a critique, an answer."""
Artifact = Literal["", "aius", "aspects", "peer reviews"]
"""What a trace holds besides opinions, for the pages that read it."""

Scales = Mapping[tuple[Kind, str], Scale]
"""(kind, criterion name) -> the values that people may give as well."""


def criteria_of(settings: Any) -> Sequence[Criterion]:
    """The settings' field `criterion`, or their list `criteria`; empty where they have neither."""
    criteria = getattr(settings, "criteria", None)
    if criteria is None:
        criterion = getattr(settings, "criterion", None)
        criteria = () if criterion is None else (criterion,)
    return tuple(criterion for criterion in criteria if isinstance(criterion, Criterion))


def scales_of(settings: Any) -> Scales:
    """A score scale for each criterion that has one."""
    return {("score", criterion.name): criterion.scale for criterion in criteria_of(settings) if criterion.scale}


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A published method, described."""

    name: str
    title: str
    description: str
    """One sentence."""
    paper: str
    settings: type[Frozen]
    """The class of its settings; its fields carry their own help texts."""
    flow: Callable[[Item, Any, Random, Templates], Flow]
    judges: Judges
    longest: Callable[[Any, Ask], Value]
    """(settings, ask) -> the reading that keeps the flow going longest: the upper end of an estimate."""
    shortest: Callable[[Any, Ask], Value]
    """(settings, ask) -> the reading that ends the flow soonest."""
    reply_words: Callable[[Any], int]
    """settings -> approximate number of words in a reply."""
    folder: Path
    """The package's folder."""
    prompt_folder: str = "prompts"
    """Its prompt templates, relative to `folder`."""
    examples: tuple[str, ...] = ()
    """Names of the settings files in `folder/examples`, without `.yaml`."""
    sample: bool = False
    """Whether `folder/sample.jsonl` is a sample study."""
    criteria: Callable[[Any], Sequence[Criterion]] = criteria_of
    """settings -> the criteria that it judges."""
    scales: Callable[[Any], Scales] = scales_of
    """settings -> the scales of its scores or answers, which people can label too."""
    sends_images: bool = False
    """Whether an item's images are sent to its models."""
    artifact: Artifact = ""
    view: str = "pages.watch.parts.debate"
    """The module whose `render(trace, item, events, settings, live)` draws a trace."""
    form: str = "pages.setup.parts.default_form:render"
    """The function, as `module:name`, that asks for the settings: `render(form) -> draft`."""

    @property
    def prompts(self) -> Templates:
        """Its own prompt templates."""
        return load_templates(self.folder / self.prompt_folder)

    def prompts_with(self, replacements: Mapping[str, str]) -> dict[str, str]:
        """Its prompt templates with a study's own texts in place; raises Problem for an unknown name."""
        return replace_templates(self.name, self.prompts, replacements)

    def example(self, name: str) -> Path:
        """The settings file of that name."""
        return self.folder / "examples" / f"{name}.yaml"


def trace_random(seed: int, item: Item) -> Random:
    """The source of random choices of one trace: the same run and item always give the same choices."""
    return Random(f"{seed}:{item.id}")
