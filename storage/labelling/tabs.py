"""The lists of a queue, and what a queue is for one annotator."""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal, Protocol, get_args

from storage.labelling.queue import TargetState
from storage.labelling.training import Training

Tab = Literal["todo", "drafts", "done", "skipped", "flagged"]
TABS: tuple[Tab, ...] = get_args(Tab)


class View(Protocol):
    """A queue as one annotator sees it."""

    @property
    def training(self) -> Training | None:
        """The training of the queue, if it has one."""

    @property
    def order(self) -> Sequence[int]:
        """The tasks that the annotator gets or has labelled, in the annotator's order."""

    @property
    def drafts(self) -> Collection[int]:
        """The tasks that were begun and not finished, the oldest first."""

    def tab(self, tab: Tab) -> Iterator[int]:
        """Yield the tasks of a list in the annotator's order."""

    def count(self, tab: Tab) -> int:
        """Return the number of tasks in a list."""

    def labels(self) -> tuple[int, int]:
        """Return how many required targets the annotator has labelled, and has labelled or can label."""

    def states(self, task_ids: Sequence[int]) -> dict[int, TargetState]:
        """Return the states of tasks of the queue."""


def is_in_tab(state: TargetState, tab: Tab, drafts: Collection[int]) -> bool:
    """Return whether a task is in a list of its queue; `drafts` are the tasks that were begun."""
    match tab:
        case "drafts":
            return state.id in drafts
        case "done":
            return state.labelled
        case "skipped":
            return state.skipped and not state.labelled
        case "flagged":
            return state.flagged
    return not (state.labelled or state.skipped or state.full)
