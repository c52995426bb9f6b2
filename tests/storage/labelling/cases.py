"""The cases of adjudication of the study "s", as the page lists them."""

from sqlalchemy.orm import Session

from storage.labelling import adjudication
from storage.labelling.adjudication import Case
from storage.studies import studies


def listed_cases(session: Session, adjudicator: str) -> list[Case]:
    """Return all cases with their values, in their order."""
    study = studies.get(session, "s")
    order = adjudication.order_cases(session, study, adjudication.judge_values(session, study.id))
    cases = adjudication.read(session, study, adjudicator, order.ids.tolist())
    assert [case.state for case in cases] == [adjudication.STATES[state] for state in order.states]
    return cases
