"""A protocol as another package provides it: one judge compares two responses on several criteria in one run."""

from pathlib import Path

from tests.storage.worker.shorter_and_kinder.protocol import NAME, flow
from tests.storage.worker.shorter_and_kinder.settings import Settings
from tiebreak import Protocol

PROTOCOL = Protocol(
    name=NAME,
    title="Several criteria",
    description="One judge compares two responses on each of several criteria.",
    paper="An example without a paper",
    settings=Settings,
    flow=flow,
    judges="pair",
    reply_words=lambda settings: 1,
    folder=Path(__file__).parent,
    examples=("shorter-and-kinder",),
)
