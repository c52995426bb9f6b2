"""The certificate of a policy: what its promise is about, and whether it still holds.

The promise is about one judge, prompt, settings, criterion and population. A certificate states a hash of each; if one
of them is another now, the certificate is expired: labels of before say nothing about what is there now.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from core.errors import TiebreakError
from core.formats.html_report import Section
from core.formats.study_records import StudyRules
from core.labels import Target, Value
from core.provenance import versions
from core.statistics.data.dataset import Dataset
from core.statistics.measures.policies import at_thresholds
from core.statistics.measures.risk import ThresholdRisk
from core.wording import list_names, stored_criterion
from storage.db import audit, connections
from storage.db.tables import CriterionVersionRow, LabelRow, StudyRow, TargetRow
from storage.labels import targets
from storage.reports import policy, references
from storage.reports.alignment import AlignmentData, load_data
from storage.reports.policy import PolicyQuery, PolicyReport, State
from storage.runs import runs
from storage.studies import studies
from storage.studies.studies import Study

if TYPE_CHECKING:
    from core.statistics.data.arrays import Ints

FORMAT = "tiebreak policy certificate 1"
Certificate = Mapping[str, Any]
# What makes a certificate expire, by the field of the certificate.
INVALIDATED_BY = ("another model, prompt or settings of a judge", "another text of the criterion", "other targets")
# The fields of a judge of which another value makes a certificate expire.
OF_JUDGE = ("models", "prompts_hash", "settings_hash")
# What is stated as `policy.table` has it.
OF_RESULT = ("design", "n", "effective_n", "accepted", "to_people", "coverage", "risk_upper", "verification")
NOTICE = (
    "The promise holds for targets drawn like those that were labelled. It was declared before labels were looked at."
)


class Standing(StrEnum):
    """Whether a certificate still holds."""

    holds = "holds"
    expired = "expired"
    broken = "broken"
    """Nothing has changed but the labels, with which a bound is above the promised risk now."""
    altered = "altered"
    """The file does not state what it was written with."""


@dataclass(frozen=True)
class Check:
    """A certificate compared with its study."""

    standing: Standing
    changed: tuple[str, ...]
    """What is another now."""
    risk_upper: float | None
    """The largest bound at its thresholds with the labels of now; None if it is expired."""
    labelled: int

    @property
    def sentence(self) -> str:
        """The result in words."""
        match self.standing:
            case Standing.expired:
                return f"Expired: {', '.join(self.changed)} changed since."
            case Standing.altered:
                return "Altered: the file was changed after it was written, so it promises nothing."
            case Standing.broken:
                return f"Broken: with {self.labelled:,} labels the bound of the risk is {self.risk_upper:.3f} now."
        return f"Holds: with {self.labelled:,} labels the bound of the risk is {self.risk_upper:.3f}."


def make(session: Session, study: Study, data: AlignmentData, report: PolicyReport) -> dict[str, Any] | None:
    """Return the certificate of a policy; None if it accepts no verdict. The same study gives the same one."""
    if report.state is not State.accept:
        return None
    query, dataset, result = report.query, policy.dataset_of(data, report), policy.table(report)
    first, last = _label_dates(session, study.id, dataset)
    stated = {
        "format": FORMAT,
        "study": study.name,
        "kind": query.kind,
        "criterion": _criterion(session, study.id, stored_criterion(query.criterion or "")),
        "promise": {"risk": query.risk, "confidence": query.confidence, "looks": query.looks},
        "judges": [
            _judge(session, study.id, data, stage["judge"])
            | {name: stage[name] for name in ("signal", "threshold")}
            | {name: _rounded(stage[name]) for name in ("n", "errors", "risk_upper")}
            for stage in result["stages"]
        ],
        "population": _population(dataset, report.places),
        **{name: _rounded(result[name]) for name in OF_RESULT},
        "labels": {"first": first, "last": last},
        "seed": policy.SEED,
        "versions": versions(),
        "invalidated_by": list(INVALIDATED_BY),
    }
    return stated | {"checksum": _digest(stated)}


def _rounded(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _judge(session: Session, study_id: int, data: AlignmentData, judge: str) -> dict[str, Any]:
    """Return what the promise about a judge is about: a run that repeats another one changes nothing.

    A file with verdicts may state no model, which an import names like the judge, no prompts and no settings: the
    certificate lists what is `unknown`, of which another value cannot make it expire.
    """
    own = data.opinions[(data.opinions["judge"] == judge).to_numpy(bool)]
    used = [run for run in runs.of_study(session, study_id) if run.id in set(own["run"].tolist())]
    models = {model for run in used for model in references.settings_models(run.settings)}
    is_imported = bool(used) and all(run.source == "imported" for run in used)
    has_prompts = all(run.prompts for run in used)
    named = set(own["rater"].astype(str)) if is_imported and not has_prompts else set()
    places = zip(own["item"].astype(str), own["part"].astype(str), own["stage"].astype(str), own["value"], strict=True)
    known = {"model": models - named, "prompts": has_prompts, "settings": not is_imported or has_prompts}
    return {
        "judge": judge,
        "runs": sorted({run.name for run in used}),
        "source": "imported" if is_imported else "run here",
        "unknown": [name for name, value in known.items() if not value],
        "models": sorted(models),
        "prompts_hash": _digest(sorted({_digest([run.protocol, run.prompts]) for run in used})),
        "settings_hash": _digest(sorted({_digest([run.protocol, run.settings]) for run in used})),
        "verdicts_hash": _digest(sorted([*place, str(value)] for *place, value in places)),
    }


def _criterion(session: Session, study_id: int, name: str) -> dict[str, Any]:
    version = select(func.max(col(CriterionVersionRow.version))).where(
        col(CriterionVersionRow.study_id) == study_id, col(CriterionVersionRow.criterion) == name
    )
    body = next((one for one in studies.criteria(session, study_id) if one.name == name), None)
    guidelines = studies.current_guidelines(session, study_id)
    return {
        "name": name,
        "version": session.scalars(version).one() or 1,
        "guidelines": guidelines.version,
        "hash": _digest([None if body is None else body.model_dump(mode="json"), guidelines.text]),
    }


def _population(dataset: Dataset, places: "Ints") -> dict[str, Any]:
    keys = sorted(zip(dataset.item[places].tolist(), dataset.part[places].tolist(), strict=True))
    return {"targets": len(keys), "hash": _digest(keys)}


def _label_dates(session: Session, study_id: int, dataset: Dataset) -> tuple[str | None, str | None]:
    """Return when the first and the last label were given; None if it is not known."""
    at = col(LabelRow.at)
    query = (
        select(func.min(at), func.max(at))
        .join(TargetRow, col(TargetRow.id) == col(LabelRow.target_id))
        .where(
            col(LabelRow.study_id) == study_id, col(TargetRow.kind) == dataset.kind,
            col(TargetRow.criterion) == stored_criterion(dataset.criterion),
        )
    )  # fmt: skip
    dates = session.execute(query).one()
    first, last = (None if date is None else date.isoformat(timespec="seconds") for date in dates)
    return first, last


# A certificate against the study of now.


def parse(text: str) -> Certificate:
    """Return the certificate in a file, which may be the whole output of the command `policy`."""
    try:
        value = json.loads(text)
        found: dict[str, Any] = value.get("certificate", value)
        assert found["format"] == FORMAT
        _query(found)
        _ = found["study"], found["criterion"]["hash"], found["population"]["hash"]
        _ = [one[name] for one in found["judges"] for name in (*OF_JUDGE, "threshold")]
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
        raise TiebreakError("This is no certificate of a policy, as `cli.py judges policy --json` prints it.") from None
    return found


def _query(certificate: Certificate) -> PolicyQuery:
    promise = certificate["promise"]
    return PolicyQuery(
        tuple(str(judge["judge"]) for judge in certificate["judges"]), str(certificate["kind"]),
        str(certificate["criterion"]["name"]), None, float(promise["risk"]), float(promise["confidence"]),
        int(promise["looks"]),
    )  # fmt: skip


def verify(engine: Engine, study: Study, certificate: Certificate) -> Check:
    """Compute a certificate again from its study."""
    data = load_data(engine, study, policy.REFERENCE)
    with connections.reading(engine) as session:
        return check(session, study, data, certificate)


def check(session: Session, study: Study, data: AlignmentData, certificate: Certificate) -> Check:
    """Compute a certificate again from loaded data."""
    query = _query(certificate)
    try:
        _, dataset = policy.resolve(data, query)
    except TiebreakError:
        return Check(Standing.expired, ("the judge or the criterion",), None, 0)
    places = policy.population_of(dataset, query)
    changed = _changes(session, study, data, dataset, places, certificate)
    try:
        risks, _, labels = _applied(session, study, data, dataset, query, certificate)
    except TiebreakError:
        changed = [*changed, "the signal"]
    if changed:
        return Check(Standing.expired, tuple(changed), None, 0)
    stated = {name: value for name, value in certificate.items() if name != "checksum"}
    if certificate.get("checksum") != _digest(stated):
        return Check(Standing.altered, (), None, 0)
    upper = max((risk.upper for risk in risks if risk is not None), default=0.0)
    labelled, is_known = int(labels.used.sum()), labels.reason is policy.Reason.nothing
    standing = Standing.holds if upper <= query.risk and is_known else Standing.broken
    return Check(standing, (), upper, labelled)


def _applied(
    session: Session, study: Study, data: AlignmentData, dataset: Dataset, query: PolicyQuery, certificate: Certificate
) -> "tuple[list[ThresholdRisk | None], Ints, policy.Labels]":
    """Return the risk at each threshold of a certificate, the pile of each target, and the labels of now."""
    names, thresholds = ([judge[field] for judge in certificate["judges"]] for field in ("signal", "threshold"))
    verdicts, labels = policy.verdicts_of(session, study, data, dataset, query, list(map(str, names)))
    level = (1 - query.confidence) / query.looks
    return *at_thresholds(verdicts, thresholds, labels.probabilities, labels.numbers, level), labels


def _changes(
    session: Session, study: Study, data: AlignmentData, dataset: Dataset, places: "Ints", certificate: Certificate
) -> list[str]:
    """Return what is another now."""
    names = {"models": "model", "prompts_hash": "prompt", "settings_hash": "settings"}
    changed, other_verdicts = [], []
    for stated in certificate["judges"]:
        now = _judge(session, study.id, data, stated["judge"])
        changed += [f"the {names[name]} of {stated['judge']}" for name in OF_JUDGE if stated[name] != now[name]]
        if stated.get("verdicts_hash", now["verdicts_hash"]) != now["verdicts_hash"]:  # absent in earlier certificates
            other_verdicts.append(f"the verdicts of {stated['judge']}")
    criterion = _criterion(session, study.id, str(certificate["criterion"]["name"]))
    if any(certificate["criterion"].get(name) != criterion[name] for name in ("version", "hash")):
        changed.append("the criterion or the guidelines")
    if certificate["population"]["hash"] != _population(dataset, places)["hash"]:
        changed.append("the population")
    return changed or other_verdicts


# Verdicts that stand: gold of the source "policy".


def save(session: Session, study_id: int, certificate: Certificate) -> None:
    """Store the certificate of a kind and criterion in the study, in place of an earlier one: its verdicts stand."""
    _store(session, study_id, certificate["kind"], certificate["criterion"]["name"], certificate)
    change = (
        f"policy accepted: {certificate['accepted']:,} verdicts stand at a risk of {certificate['promise']['risk']}"
    )
    audit.record_change(session, study_id, change)


def withdraw(session: Session, study_id: int, kind: str, criterion: str) -> None:
    """Remove the certificate of a kind and criterion from the study."""
    _store(session, study_id, kind, criterion, None)
    audit.record_change(session, study_id, "policy withdrawn")


def _store(session: Session, study_id: int, kind: str, criterion: str, certificate: Certificate | None) -> None:
    studies.lock(session, study_id)
    row = session.get_one(StudyRow, study_id)
    rules = StudyRules.model_validate(row.rules)
    others = [one for one in rules.policies if (one["kind"], one["criterion"]["name"]) != (kind, criterion)]
    kept = [*others, *([] if certificate is None else [dict(certificate)])]
    row.rules = rules.model_copy(update={"policies": tuple(kept)}).model_dump()


# Verdict and policy in words.
StandingValue = tuple[Value, str]


def standing_values(engine: Engine, study: Study) -> dict[Target, StandingValue]:
    """Return target -> verdict, and the policy in words, of the verdicts that stand, labelled or not.

    Raises TiebreakError if a policy of the study does not hold any more.
    """
    if not study.rules.policies:
        raise TiebreakError(f"No policy stands in {study.name!r}: accept one on the page Policy.")
    data = load_data(engine, study, policy.REFERENCE)
    found: dict[Target, StandingValue] = {}
    with connections.reading(engine) as session:
        for certificate in study.rules.policies:
            checked = check(session, study, data, certificate)
            if checked.standing is not Standing.holds:
                raise TiebreakError(f"A policy of {study.name!r} does not stand. {checked.sentence}")
            found |= _accepted(session, study, data, certificate)
    return found


def _accepted(
    session: Session, study: Study, data: AlignmentData, certificate: Certificate
) -> dict[Target, StandingValue]:
    query, dataset = policy.resolve(data, _query(certificate))
    _, pile, _ = _applied(session, study, data, dataset, query, certificate)
    places = policy.population_of(dataset, query)
    promise = f"risk {policy.percent(query.risk)}, confidence {policy.percent(query.confidence)}"
    accepted: dict[Target, StandingValue] = {}
    for number, judge in enumerate(certificate["judges"]):
        words = (
            "" if judge["threshold"] is None else f"{judge['judge']}, {judge['signal']} from {judge['threshold']:.4g}"
        )
        codes = dataset.judges[query.judges[number]].values
        for place in places[pile == number].tolist():
            item, part = str(dataset.item[place]), str(dataset.part[place])
            target = targets.from_columns(item, dataset.kind, stored_criterion(dataset.criterion), part)
            accepted[target] = dataset.scale.categories[int(codes[place])], f"{words}; {promise}"
    return accepted


# The certificate on one page.


def page(certificate: Certificate) -> list[Section]:
    """Return the sections of the certificate as a page; see `core.formats.html_report`."""
    promise, criterion = certificate["promise"], certificate["criterion"]
    judges = [
        {
            "judge": one["judge"],
            "models": "not known" if "model" in one.get("unknown", ()) else ", ".join(map(str, one["models"])),
            "signal": one["signal"],
            "accepted from": one["threshold"], "n": one["n"], "errors": one["errors"], "bound": one["risk_upper"],
            "prompts": one["prompts_hash"], "settings": one["settings_hash"],
        }
        for one in certificate["judges"]
    ]  # fmt: skip
    labels, population = certificate["labels"], certificate["population"]
    facts = {
        "Kind and criterion": f"{certificate['kind']}, {criterion['name'] or 'no criterion'}, version "
        f"{criterion['version']} ({criterion['hash']})",
        "Population": f"{population['targets']:,} targets ({population['hash']})",
        "Design": certificate["design"],
        "Labels": f"{certificate['n']:,}, effective {certificate['effective_n']:,.0f}; first {labels['first'] or '–'}, "
        f"last {labels['last'] or '–'}",
        "Seed": certificate["seed"],
        "Versions": ", ".join(f"{name} {number}" for name, number in certificate["versions"].items()),
        "Expires with": "; ".join(certificate["invalidated_by"]),
    }
    summary = (
        f"{certificate['accepted']:,} verdicts stand without a person, {certificate['to_people']:,} targets go to "
        f"people. At most {policy.percent(promise['risk'])} of the former differ from people's decisions, with "
        f"{policy.percent(promise['confidence'])} confidence over {promise['looks']} planned "
        f"look{'s' * (promise['looks'] != 1)} (bound {certificate['risk_upper']:.3f})."
    )
    unknown = [
        f"{one['judge']} was imported with the run {list_names(one['runs'])}. Its verdicts are known, but not its "
        f"{list_names(one['unknown'])}: if they change, this certificate does not expire."
        for one in certificate["judges"]
        if one.get("unknown")
    ]
    rows = [{"what": name, "value": str(value)} for name, value in facts.items()]
    return [
        Section("Promise", (summary, NOTICE, *unknown)),
        Section(
            "Judges, in their order", rows=judges, table_caption="Verdicts at or above the threshold are accepted."
        ),
        Section("What it is about", rows=rows),
    ]
