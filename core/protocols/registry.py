"""The installed protocols: those below, and those that other packages provide.

A package provides a protocol with an entry point in the group `tiebreak.protocols` whose value is a `Protocol`. A
protocol is imported when it is first looked up.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pkgutil import resolve_name

from core.errors import TiebreakError
from core.protocols import Artifact, Protocol

logger = logging.getLogger("tiebreak")

GROUP = "tiebreak.protocols"
# Protocol name -> the location of its `Protocol`, as `module:attribute`: importing one protocol imports no other.
BUILT_IN = {
    "scaleeval": "core.protocols.scaleeval:PROTOCOL",
    "chateval": "core.protocols.chateval:PROTOCOL",
    "refer": "core.protocols.refer:PROTOCOL",
    "dna_eval": "core.protocols.dna_eval:PROTOCOL",
    "dna_baselines": "core.protocols.dna_baselines:PROTOCOL",
    "metacritique": "core.protocols.metacritique:PROTOCOL",
    "metacritique-single": "core.protocols.critique_baselines:SINGLE_PROTOCOL",
    "metacritique-pairwise": "core.protocols.critique_baselines:PAIRWISE_PROTOCOL",
    "metacritique-refinement": "core.protocols.critique_baselines:REFINEMENT_PROTOCOL",
    "critique-correction": "core.protocols.critique_baselines.correction:PROTOCOL",
    "single-judge": "core.protocols.single_judge:PAIR_PROTOCOL",
    "single-step": "core.protocols.single_judge.steps:PROTOCOL",
    "single-score": "core.protocols.single_judge:SCORE_PROTOCOL",
}


class Registry(Mapping[str, Protocol]):
    """Protocols by name. Listing the names imports no protocol."""

    def __getitem__(self, name: str) -> Protocol:
        protocol = _load(_locations()[name])
        if protocol.name != name:
            raise TiebreakError(
                f"The entry point {name!r} provides the protocol {protocol.name!r}; the names must be equal."
            )
        return protocol

    def __contains__(self, name: object) -> bool:
        # Mapping's own check looks the value up, which would import the protocol.
        return name in _locations()

    def __iter__(self) -> Iterator[str]:
        return iter(_locations())

    def __len__(self) -> int:
        return len(_locations())


PROTOCOLS = Registry()


def get(name: str) -> Protocol:
    """Return the protocol called `name`; raises TiebreakError if it is not installed."""
    if name not in PROTOCOLS:
        raise TiebreakError(
            f"The protocol {name!r} is not installed here. Installed protocols: {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[name]


def with_artifact(artifact: Artifact) -> list[str]:
    """Return the names of the protocols whose traces hold `artifact`."""
    return [name for name, protocol in usable().items() if protocol.artifact == artifact]


def usable() -> dict[str, Protocol]:
    """Return the protocols that can be loaded. The others are logged: one broken package does not stop the rest."""
    protocols = {}
    for name in PROTOCOLS:
        try:
            protocols[name] = PROTOCOLS[name]
        except TiebreakError as error:
            logger.warning("%s", error)
    return protocols


def _locations() -> dict[str, str]:
    """Return name -> location of every protocol; raises TiebreakError if two have the same name."""
    locations = dict(BUILT_IN)
    for entry in _entry_points():
        if entry.name in locations:
            raise TiebreakError(f"Two protocols are called {entry.name!r}: {locations[entry.name]} and {entry.value}.")
        locations[entry.name] = entry.value
    return locations


@cache  # reads the metadata of every installed distribution, several milliseconds
def _entry_points() -> tuple[metadata.EntryPoint, ...]:
    return tuple(metadata.entry_points(group=GROUP))


@cache
def _load(location: str) -> Protocol:
    """Import the protocol at a location; raises TiebreakError if it cannot be imported, or is not a `Protocol`."""
    try:
        loaded = resolve_name(location)
    except Exception as error:  # an external package can raise any exception on import
        raise TiebreakError(f"The protocol at {location} cannot be loaded: {type(error).__name__}: {error}.") from error
    if not isinstance(loaded, Protocol):
        raise TiebreakError(f"{location} is not a Protocol.")
    return loaded
