"""The queue of critiques as one annotator sees it: training first, then what is assigned, with hidden checks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from sqlalchemy.orm import Session

from storage.labelling import assignment, checks, critique_queue, training
from storage.labelling.queue import TargetState
from storage.labelling.tabs import Tab, is_in_tab
from storage.labelling.work import Work


class CritiqueView:
    """The queue of critiques, whose AIUs change when they are edited: it is evaluated whole, from the edits."""

    def __init__(self, session: Session, work: Work, *, again: bool = True) -> None:
        self.session, self.work = session, work
        plan = training.load(session, work)
        self.training = plan.again() if plan is not None and again else plan
        items = [] if self.training is None else training.item_states(session, work, self.training)
        visible = [] if items and work.study.rules.training_required else self._visible()
        chosen, ordinary = self._divided(visible)
        ordered = assignment.order_ids(session, work, {state.id: state.position for state in ordinary})
        mixed = checks.mix(work, ordered, [state.id for state in chosen])
        self._states = {state.id: state for state in (*items, *chosen, *ordinary)}
        self.order: Sequence[int] = [*(state.id for state in items), *mixed]

    def _visible(self) -> list[TargetState]:
        """Return the critiques that the annotator gets or has labelled, without training items."""
        rules = self.work.study.rules
        found = critique_queue.critique_states(self.session, self.work.queue, self.work.annotator_id, rules.overlap)
        trained = self.training.tasks if self.training is not None else ()
        return [
            state
            for state in found
            if state.id not in trained
            and (state.labelled or assignment.is_assigned(rules, self.work.annotator, state.scenario))
        ]

    def _divided(self, visible: Sequence[TargetState]) -> tuple[list[TargetState], list[TargetState]]:
        """Return the hidden checks of the annotator and the other critiques.

        A check is a critique with a decision on each of its AIUs, none of them by the annotator.
        """
        decided = checks.decided_targets(self.session, self.work) if checks.has_checks(self.work) else {}
        complete = {state.id: _adjudicated_by_annotator(state, decided) for state in visible}
        if all(own is not None for own in complete.values()):
            return [], list(visible)
        ordinary = [state for state in visible if complete[state.id] is None or (complete[state.id] and state.labelled)]
        possible = [state for state in visible if complete[state.id] is False]
        available = sum(complete[state.id] is None and (state.labelled or not state.full) for state in ordinary)
        return checks.select_checks(self.work, available, possible), ordinary

    @cached_property
    def drafts(self) -> Collection[int]:
        """See `View`."""
        begun = [state for state in self._states.values() if state.labels and not state.labelled]
        return dict.fromkeys(state.id for state in sorted(begun, key=lambda state: state.newest))

    def tab(self, tab: Tab) -> Iterator[int]:
        """See `View`."""
        return (task_id for task_id in self.order if is_in_tab(self._states[task_id], tab, self.drafts))

    def count(self, tab: Tab) -> int:
        """See `View`."""
        return sum(is_in_tab(state, tab, self.drafts) for state in self._states.values())

    def labels(self) -> tuple[int, int]:
        """See `View`."""
        states = self._states.values()
        return sum(state.labels for state in states), sum(state.available for state in states)

    def states(self, task_ids: Sequence[int]) -> dict[int, TargetState]:
        """See `View`."""
        return {task_id: self._states[task_id] for task_id in task_ids if task_id in self._states}


def _adjudicated_by_annotator(state: TargetState, decided: Mapping[int, bool]) -> bool | None:
    """Return whether the annotator decided on an AIU of a critique; None if an AIU has no decision."""
    if not state.parts or not all(aiu_id in decided for aiu_id in state.parts):
        return None
    return any(decided[aiu_id] for aiu_id in state.parts)
