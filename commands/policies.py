"""Which verdicts may stand without a person, and whether a certificate of that still holds."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from commands.lazy import lazy_imports
from commands.output import Checked, CriterionName, Database, Kind, Source, find_study, format_table
from core.errors import TiebreakError

with lazy_imports():
    from core.formats import html_report
    from core.formats import text as text_files
    from storage.db import connections
    from storage.reports import alignment as alignment_report
    from storage.reports import certificates
    from storage.reports import policy as policies


JUDGE_HELP = "The judge; repeat the option for a cascade, cheapest first. Default: the one with most verdicts."
SIGNAL_HELP = (
    "The measure of confidence: simulated, stated, token, repeats, panel, contention, orders, rounds or none. Default: "
    "the first of these that the verdicts have."
)
REFUSED_CODE = 3
LOOKS_HELP = "How often you will look at the result while labels arrive; declare it before the first look."


def policy(
    source: Source,
    engine: Database,
    judge: Annotated[list[str] | None, typer.Option(help=JUDGE_HELP)] = None,
    signal: Annotated[str | None, typer.Option(help=SIGNAL_HELP)] = None,
    kind: Kind = None,
    criterion: CriterionName = None,
    risk: Annotated[
        float, typer.Option(help="The largest share of accepted verdicts that may differ from people.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="The probability with which the promise is kept.")] = 0.95,
    looks: Annotated[int, typer.Option(min=1, help=LOOKS_HELP)] = 1,
    certificate: Annotated[
        Path | None, typer.Option(help="Write the certificate to this JSON file, and beside it as a page (.html).")
    ] = None,
) -> Checked:
    """Print which verdicts of a judge may stand without a person, at a risk with a guarantee.

    The exit code is 0 if some may, 3 if none may or there are not enough labels, and 2 for an error.
    """
    query = policies.PolicyQuery(tuple(judge or ()), kind, criterion, signal, risk, confidence, looks)
    data = alignment_report.load_data(engine, source, policies.REFERENCE)
    with connections.reading(engine) as session:
        report = policies.report(session, source, data, query)
        found = certificates.make(session, source, data, report)
    if certificate is not None and found is not None:
        write_certificate(found, certificate)
    sentences = [
        policies.describe(report),
        policies.describe_basis(report),
        policies.describe_verification(report),
        policies.describe_ceiling(report),
        format_table(policies.curve_rows(report), "No verdict has a confidence."),
        format_table(policies.calibration_rows(report.parts), ""),
    ]
    code = 0 if report.state is policies.State.accept else REFUSED_CODE
    return policies.table(report) | {"certificate": found}, "\n".join(filter(None, sentences)), code


def write_certificate(found: "certificates.Certificate", path: Path) -> None:
    """Write a certificate as JSON, and as a page with the same name."""
    with text_files.open_output(path) as stream:
        stream.write(json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    with text_files.open_output(path.with_suffix(".html")) as stream:
        html_report.write_report(f"Policy of {found['study']}", certificates.page(found), stream)


def policy_verify(
    engine: Database,
    certificate: Annotated[Path, typer.Argument(help="The certificate, or the output of the command policy.")],
    study: Annotated[str | None, typer.Option(help="The study. Default: the one that the certificate names.")] = None,
) -> Checked:
    """Compute a certificate again from its study, and print whether it still holds.

    The exit code is 0 if it holds, 3 if it is expired, broken or altered, and 2 for an error.
    """
    try:
        text = certificate.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise TiebreakError(f"{certificate} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    found = certificates.parse(text)
    checked = certificates.verify(engine, find_study(engine, study or str(found["study"])), found)
    value: dict[str, Any] = {
        "standing": str(checked.standing),
        "holds": checked.standing is certificates.Standing.holds,
        "changed": list(checked.changed),
        "risk_upper": checked.risk_upper,
        "n": checked.labelled,
    }
    return value, checked.sentence, 0 if value["holds"] else REFUSED_CODE
