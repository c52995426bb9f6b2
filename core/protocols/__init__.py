"""The interface of protocols: a frozen `Protocol` value with everything that varies between methods, and its judges.

Each published method and each baseline has its own package here; `core.protocols.registry` lists them.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from core.errors import TiebreakError
from core.frozen import Frozen
from core.items import Criterion, Item, Pairs, pair_item
from core.labels import Kind, Scale
from core.templates import Templates, blanks, check_template, is_raw, load_templates, replace_templates
from core.trace import Ask, Flow, Spec, Turn, Verdict
from core.verdicts import combine_verdicts

# The subject of a verdict: which of two responses is better, a score of one response, a critique, an answer.
Subject = Literal["pair", "score", "critique", "answer"]
# The content of a trace in addition to opinions, for the pages that read it.
Artifact = Literal["", "aius", "aspects", "peer reviews"]

# How many responses of an item a trace compares: none, exactly two, or two and more.
Comparison = Literal["", "two", "several"]

Result = TypeVar("Result")
# A part of a flow, such as a discussion in one order of the responses.
PartialFlow = Generator[Sequence[Ask], list[Turn], None]
FlowFunction = Callable[[Item, Any, Random, Templates], Flow]

# (kind, criterion name) -> the scale on which annotators can label the same target.
Scales = Mapping[tuple[Kind, str], Scale]


class Judge(Frozen):
    """A named model that takes part in a protocol."""

    name: str = Field(min_length=1)
    spec: Spec


def check_unique_names(names: Iterable[str], role: str) -> None:
    """Raise ValueError if a name occurs twice: turns are attributed by name. `role` is a plural such as "judges"."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {role} are called {name!r}; give each a unique name")
        seen.add(name)


def _with_unique_names(judges: Any) -> Any:
    check_unique_names((judge.name for judge in judges), "judges")
    return judges


# The annotation of a field of judges with unique names.
UNIQUE_JUDGES = AfterValidator(_with_unique_names)


def criteria_of(settings: Any) -> Sequence[Criterion]:
    """Return the settings' `criterion`, then their `criteria`; empty if they have neither."""
    criteria = (getattr(settings, "criterion", None), *(getattr(settings, "criteria", None) or ()))
    return tuple(criterion for criterion in criteria if isinstance(criterion, Criterion))


def scales_of(settings: Any) -> Scales:
    """Return a score scale for each criterion that declares one, or the scale of the steps that a debate is about."""
    if getattr(settings, "outcome", "") == "step":
        from core.protocols.steps import STEP_SCALES  # a debate about responses loads no transcripts

        return STEP_SCALES
    return {("score", criterion.name): criterion.scale for criterion in criteria_of(settings) if criterion.scale}


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The registry entry of a protocol."""

    name: str
    title: str
    description: str
    """One sentence."""
    paper: str
    settings: type[Frozen]
    """The class of its settings; the docstrings of the fields are the help texts on the screens."""
    flow: FlowFunction
    """(item, settings, rng, templates) -> the generator of one trace; every random choice comes from `rng`."""
    judges: Subject
    comparison: Callable[[Any], Comparison] | None = None
    """settings -> how many responses a trace compares; None: exactly two if `judges` is "pair", otherwise none."""
    reply_words: Callable[[Any], int]
    """settings -> approximate number of words in a reply, for estimates of tokens and cost."""
    folder: Path
    """The package's folder."""
    prompt_folder: str = "prompts"
    """The folder of its prompt templates, relative to `folder`."""
    examples: tuple[str, ...] = ()
    """Names of the settings files in `folder/examples`, without `.yaml`."""
    sample: bool = False
    """Whether `folder/sample.jsonl` is a sample study."""
    criteria: Callable[[Any], Sequence[Criterion]] = criteria_of
    """settings -> the criteria that it judges."""
    scales: Callable[[Any], Scales] = scales_of
    """settings -> the scales of its scores or answers, which annotators can label too."""
    sends_images: bool = False
    """Whether an item's images are sent to its models."""
    optional_blanks: tuple[str, ...] = ()
    """Blanks that a study's own templates may use in addition to those of the protocol's."""
    required_blanks: tuple[str, ...] = ()
    """Blanks of judged texts: if a template of the protocol has one of them, a text that replaces it has to."""
    raw_prompts: Mapping[str, str] = field(default_factory=dict)
    """Raw templates that a study may have in addition, such as how a reply of another judge is quoted: the name of the
    template -> its blanks, with spaces."""
    artifact: Artifact = ""
    history: Callable[[Any, Turn, Sequence[Turn]], Sequence[Turn]] | None = None
    """(settings, turn, the turns before it in its order of the responses) -> those that its speaker had read. None if
    judges read no replies of others, or if it is not known."""
    view: str = "pages.watch.parts.debate"
    """The module whose `render(trace, item, events, settings, live)` draws a trace."""
    form: str = "pages.setup.parts.default_form:render"
    """The function, as `module:name`, that asks for the settings: `render(form) -> draft`."""

    def compares(self, settings: Any) -> Comparison:
        """Return how many responses of an item a trace compares."""
        if self.comparison is not None:
            return self.comparison(settings)
        return "two" if self.judges == "pair" else ""

    @property
    def prompts(self) -> Templates:
        """Its prompt templates by name."""
        return load_templates(self.folder / self.prompt_folder)

    def prompts_with(self, replacements: Mapping[str, str]) -> dict[str, str]:
        """Return its prompt templates with a study's own texts in place; raises TiebreakError for an unknown name."""
        return replace_templates(self.name, self.prompts, replacements, self.raw_prompts)

    def blanks_of(self, name: str) -> frozenset[str]:
        """Return the blanks that a text may use that replaces the template `name`."""
        if name in self.raw_prompts:
            return frozenset(self.raw_prompts[name].split())
        own = blanks(self.prompts[name])
        return own | frozenset(self.optional_blanks if "question" in own else ())

    def check_prompts(self, replacements: Mapping[str, str]) -> None:
        """Raise TiebreakError for a text without a template to replace, a blank without a value, or no judged text."""
        self.prompts_with(replacements)
        for name, text in replacements.items():
            required = self.blanks_of(name).intersection(self.required_blanks, blanks(self.prompts.get(name, "")))
            check_template(name, text, self.blanks_of(name), required)
            if name in self.raw_prompts and not is_raw(replacements, name):
                raise TiebreakError(f'The prompt "{name}" has to be raw: begin it with a line such as "raw: text".')

    def is_current(self, templates: Templates) -> bool:
        """Return whether a run's templates are of this version: an earlier one had names that are no longer used."""
        return not templates.keys() - self.prompts.keys() - self.raw_prompts.keys()

    def example_path(self, name: str) -> Path:
        """Return the path of the settings example called `name`."""
        return self.folder / "examples" / f"{name}.yaml"


def run_in_parallel(
    flows: Sequence[Generator[Sequence[Ask], list[Turn], Result]],
) -> Generator[Sequence[Ask], list[Turn], tuple[list[Turn], list[Result]]]:
    """Run flows, or parts of one, that do not depend on each other.

    Returns all turns in the order of the asks, and what each flow returned.
    """
    turns: list[Turn] = []
    results: dict[int, Result] = {}

    def advance(place: int, answered: list[Turn] | None) -> Sequence[Ask] | None:
        try:
            return next(flows[place]) if answered is None else flows[place].send(answered)
        except StopIteration as end:
            results[place] = end.value
            return None

    rounds = {place: asks for place in range(len(flows)) if (asks := advance(place, None)) is not None}
    while rounds:
        answered = yield [ask for asks in rounds.values() for ask in asks]
        turns += answered
        rest = iter(answered)
        own = {place: [next(rest) for _ in asks] for place, asks in rounds.items()}
        rounds = {place: asks for place, of_flow in own.items() if (asks := advance(place, of_flow)) is not None}
    return turns, [results[place] for place in range(len(flows))]


def trace_rng(seed: int, item: Item, part: str = "") -> Random:
    """Return the random generator of one trace: the same run seed, item and part always give the same choices."""
    return Random(f"{seed}:{item.id}:{part}" if part else f"{seed}:{item.id}")


# The flows of a run: one for each item, or one for each pair of an item's responses.


def trace_parts(protocol: Protocol, settings: Any, item: Item, pairs: Pairs | None = None) -> list[str]:
    """Return the part of each trace of an item in a run: "" for one trace on the item, or the pairs of its responses.

    Without `pairs`, a protocol that compares exactly two responses is run on all pairs, and one that compares several
    on all of them at once. Raises TiebreakError for `pairs` if nothing is compared.
    """
    comparison = protocol.compares(settings)
    if pairs is not None and not comparison:
        raise TiebreakError(f"{protocol.title} compares no responses with these settings, so it has no pairs.")
    if pairs is None and comparison != "two":
        return [""]
    return (pairs or Pairs()).parts(item)


def start_flow(
    protocol: Protocol, item: Item, settings: Any, *, seed: int, templates: Templates, part: str = ""
) -> Flow:
    """Return the flow of one trace. If `part` is a pair, it is on those two responses of the item alone.

    What it concludes about the pair is then stored under that part.
    """
    flow = protocol.flow(pair_item(item, part), settings, trace_rng(seed, item, part), templates)
    return _with_part(flow, part) if part else flow


def _with_part(flow: Flow, part: str) -> Flow:
    verdict: Verdict = yield from flow
    opinions = tuple(
        opinion.model_copy(update={"part": part}) if opinion.kind == "preference" and not opinion.part else opinion
        for opinion in verdict.opinions
    )
    return verdict.model_copy(update={"opinions": opinions})


# One trace on several criteria: the flow of a single criterion, run for each of them in parallel. Each criterion has
# its own asks, which are those of a run with this criterion alone and the same seed: replies that such a run has stored
# are reused.


class WithCriteria(Frozen):
    """Settings with a `criterion` and further `criteria`, which differ."""

    @model_validator(mode="after")
    def _has_distinct_criteria(self) -> Self:
        fields: Any = self
        names = [one.name for one in (fields.criterion, *fields.criteria) if one is not None]
        if fields.criteria and (len(names) == len(fields.criteria) or not names[0]):
            raise ValueError("further criteria need a first one: set criterion")
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the criterion {repeated!r} occurs twice")
        return self


def for_each_criterion(flow: FlowFunction) -> FlowFunction:
    """Return a flow that judges `settings.criterion` and every one of `settings.criteria`."""

    def run(item: Item, settings: Any, rng: Random, templates: Templates) -> Flow:
        if not settings.criteria:
            return (yield from flow(item, settings, rng, templates))
        flows = {}
        for criterion in (settings.criterion, *settings.criteria):
            own, copy = settings_of_criterion(settings, criterion.name), Random()
            copy.setstate(rng.getstate())
            flows[criterion.name] = _about(criterion.name, flow(item, own, copy, templates))
        _, verdicts = yield from run_in_parallel(list(flows.values()))
        return combine_verdicts(dict(zip(flows, verdicts, strict=True)))

    return run


def settings_of_criterion(settings: Any, name: str) -> Any:
    """Return the settings of a run with this criterion alone; unchanged without further criteria."""
    if not getattr(settings, "criteria", ()):
        return settings
    criterion = next((one for one in (settings.criterion, *settings.criteria) if one.name == name), settings.criterion)
    return settings.model_copy(update={"criterion": criterion, "criteria": ()})


def _about(criterion: str, flow: Flow) -> Flow:
    """Run a flow whose asks have the name of their criterion.

    An ask that the flow yields several times remains one object: it requests several samples.
    """
    turns: list[Turn] | None = None
    while True:
        try:
            asks = next(flow) if turns is None else flow.send(turns)
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
        named = {id(ask): replace(ask, criterion=criterion) for ask in asks}
        turns = yield [named[id(ask)] for ask in asks]
