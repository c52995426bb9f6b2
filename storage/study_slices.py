"""The slices of a study's targets that are saved under a name."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from core.annotator_names import normalize_name
from core.errors import TiebreakError
from core.formats.study_records import StudyRules
from storage import studies
from storage.tables import StudyRow

MAX_SLICES = 50


def save(session: Session, study_id: int, name: str, conditions: Sequence[tuple[str, str]]) -> str:
    """Save the targets that meet all conditions under a name, in place of an earlier slice of it; return the name."""
    name = normalize_name(name)
    if not conditions:
        raise TiebreakError("A slice needs a condition.")
    slices = {**_rules(session, study_id).slices, name: tuple(dict.fromkeys(conditions))}
    if len(slices) > MAX_SLICES:
        raise TiebreakError(f"A study has at most {MAX_SLICES} slices.")
    _store(session, study_id, slices)
    return name


def delete(session: Session, study_id: int, name: str) -> None:
    """Delete a slice; raises TiebreakError if there is none."""
    slices = dict(_rules(session, study_id).slices)
    if slices.pop(name, None) is None:
        raise TiebreakError(f"There is no slice {name!r}.")
    _store(session, study_id, slices)


def _rules(session: Session, study_id: int) -> StudyRules:
    studies.lock(session, study_id)
    return StudyRules.model_validate(session.get_one(StudyRow, study_id).rules)


def _store(session: Session, study_id: int, slices: dict[str, tuple[tuple[str, str], ...]]) -> None:
    rules = _rules(session, study_id).model_copy(update={"slices": slices})
    session.get_one(StudyRow, study_id).rules = rules.model_dump()
