"""Improving a judge: a split of the items, variants, their evaluation on development and held-out items, acceptance."""

from pathlib import Path
from typing import Annotated, Any

import typer

from commands import lazy_imports
from commands.output import Database, Json, Reading, Result, Source, Writing, as_table, format_table
from commands.runs import check_complete, confirm_plan, execute_experiment, stop_requests
from core.wording import format_count, format_estimate

with lazy_imports():
    from core import items
    from core.formats import text as text_files
    from core.improvement import changes as judge_changes
    from core.improvement import comparison, suggestion
    from storage.db import connections
    from storage.improvement import evaluations as judge_evaluations
    from storage.improvement import judges as current_judges
    from storage.improvement import splits, variants


RunName = Annotated[str, typer.Option("--run", help="The run of the judge to improve.")]
OfCriterion = Annotated[str | None, typer.Option("--criterion", help="Default: the first criterion of the run.")]
VariantName = Annotated[str, typer.Argument(help="The name of the variant.")]


def split(
    source: Source,
    session: Writing,
    share: Annotated[float, typer.Option(min=0.05, max=0.95, help="Share of held-out items.")] = 0.5,
    evaluations: Annotated[
        int, typer.Option(min=1, max=100, help="Planned evaluations on held-out items, for each criterion.")
    ] = 5,
    margin: Annotated[
        float, typer.Option(min=0, max=0.99, help="The lower bound of the difference has to be above it.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    extend: Annotated[bool, typer.Option("--extend", help="Add items with new gold to the split.")] = False,
) -> Result:
    """Split the items with gold into development and held-out items, and fix the rule of acceptance."""
    rule = comparison.AcceptanceRule(evaluations=evaluations, margin=margin)
    if extend:
        splits.extend(session, source.id)
    else:
        splits.create(session, source.id, share=share, seed=seed, rule=rule)
    made = splits.get(session, source.id)
    rows = [{"scenario": name or "–", **counts} for name, counts in made.items.items()]
    return as_table(rows, "No items.")


def status(source: Source, engine: Database) -> Result:
    """Print the variants with their results, and how often the held-out items were used."""
    with connections.reading(engine) as session:
        made = splits.get(session, source.id)
        known = variants.of_study(session, source.id)
    rows = [_status_row(judge_evaluations.evaluate(engine, source, variant.name)) for variant in known]
    used: dict[str, int] = {}
    for row in rows:
        used[row["criterion"]] = used.get(row["criterion"], 0) + (row["held-out"] != "")
    value = {
        "development": made.count("development"),
        "held_out": made.count("held-out"),
        "planned": made.rule.evaluations,
        "margin": made.rule.margin,
        "used": used,
        "variants": rows,
    }
    sentences = [
        f"{made.count('development'):,} development items, {made.count('held-out'):,} held-out items.",
        *(
            f"Held-out items used for {criterion}: {count} of {made.rule.evaluations} planned evaluations."
            for criterion, count in used.items()
        ),
    ]
    return value, "\n".join([*sentences, format_table(rows, "No variants.")])


def disagreements(
    source: Source,
    session: Reading,
    run: RunName,
    criterion: OfCriterion = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 20,
) -> Result:
    """Print the development items on which people decided otherwise than a judge."""
    found = splits.disagreement_cases(session, source.id, current_judges.of_run(session, source.id, run, criterion))
    rows = [
        {
            "item": items.target_name(case.target),
            "people": suggestion.value_text(case.target, case.gold),
            "judge": "no verdict" if case.verdict is None else suggestion.value_text(case.target, case.verdict),
            "source": case.source,
            "reason": case.reason,
        }
        for case in found[:limit]
    ]
    text = format_table(rows, "No disagreement on development items.")
    count = f"{len(rows)} of {format_count(len(found), 'disagreement')} on development items."
    return rows, f"{text}\n{count}" if rows else text


def suggest(
    source: Source,
    engine: Database,
    run: RunName,
    criterion: OfCriterion = None,
    model: Annotated[str | None, typer.Option(help="The model that proposes. Default: the first judge's.")] = None,
    cases: Annotated[int, typer.Option(min=1, help="Disagreements in the prompt.")] = 10,
    output: Annotated[Path | None, typer.Option(help="Write the changes to this file.")] = None,
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Only print the prompt.")] = False,
) -> Result:
    """Let a model propose changes of a criterion from the disagreements on development items; prints them as YAML."""
    request = variants.prepare_suggestions(engine, source, run, criterion, model, cases)
    if show_prompt:
        return {"prompt": request.ask.prompt}, request.ask.prompt
    changes = variants.request_changes(request)
    text = judge_changes.changes_yaml(changes)
    if output is not None:
        with text_files.open_output(output) as stream:
            stream.write(text)
        text = (
            f"Wrote {output}. Review it, then: cli.py improve propose NAME --file {output} --origin {request.model!r}"
        )
    return {"model": request.model, **changes.model_dump(mode="json", exclude_defaults=True)}, text


def propose(
    name: VariantName,
    source: Source,
    session: Writing,
    run: RunName,
    file: Annotated[Path, typer.Option("--file", help="The changes in YAML; docs/improving-judges.md describes them.")],
    criterion: OfCriterion = None,
    origin: Annotated[str | None, typer.Option(help="The model that proposed them. Default: a person.")] = None,
) -> Result:
    """Store a variant of the judge of a run."""
    changes = judge_changes.parse_changes(text_files.read_text(file))
    current = current_judges.of_run(session, source.id, run, criterion)
    by = variants.PERSON if origin is None else f"model: {origin}"
    stored = variants.add(session, source.id, name, current, changes, origin=by).name
    return {"variant": stored}, f"Stored the variant {stored}: {', '.join(changes.names)}."


def evaluate(
    name: VariantName,
    source: Source,
    engine: Database,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="On held-out items, once, instead of development items.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without a question.")] = False,
    as_json: Json = False,
) -> Result:
    """Run a variant and the judge without its changes, and print the paired difference."""
    with connections.reading(engine) as session:
        variant = variants.get(session, source.id, name)
    part = judge_changes.PARTS[held_out]
    planned = judge_evaluations.prepare(engine, source, variant, part)
    confirm_plan(engine, planned, yes=yes or as_json)
    with stop_requests() as requests:
        experiment = judge_evaluations.begin(engine, source, variant, part, planned)
        check_complete(execute_experiment(engine, experiment, requests, quiet=as_json), "evaluation")
    row = _status_row(judge_evaluations.evaluate(engine, source, name))
    return row, format_table([row], "")


def accept(name: VariantName, source: Source, engine: Database) -> Result:
    """Make a variant that the rule accepts the study's criterion and prompts, as a new version."""
    evaluation = judge_evaluations.evaluate(engine, source, name)
    version = connections.write(engine, lambda session: judge_evaluations.accept(session, source, evaluation))
    criterion = evaluation.variant.criterion
    sentence = f"The variant {name} is version {version} of {criterion}."
    return {"variant": name, "criterion": criterion, "version": version}, sentence


def history(
    source: Source,
    session: Writing,
    criterion: Annotated[str, typer.Option("--criterion", help="The name of the criterion.")],
    restore: Annotated[int | None, typer.Option(min=1, help="Make this version the newest one again.")] = None,
) -> Result:
    """Print the versions of a criterion, or restore one."""
    if restore is not None:
        current_judges.restore_version(session, source.id, criterion, restore)
    found = current_judges.versions_of_criterion(session, source.id, criterion)
    rows = [
        {
            "version": one.version,
            "definition": one.criterion.definition,
            "prompts": ", ".join(one.prompts),
            "note": one.note,
            "author": one.author,
            "at": f"{one.at:%Y-%m-%d %H:%M}",
        }
        for one in found
    ]
    return as_table(rows, "No variant of this criterion was accepted.")


def _status_row(evaluation: "judge_evaluations.Evaluation") -> dict[str, Any]:
    variant, use, decision = evaluation.variant, evaluation.use, evaluation.decision
    held_out = "" if use is None else "not complete" if use.result is None else _difference(use.result)
    accepted = evaluation.accepted_version
    return {
        "variant": variant.name,
        "criterion": variant.criterion,
        "changes": ", ".join(variant.changes.names),
        "origin": variant.origin,
        "development": "" if evaluation.development is None else _difference(evaluation.development),
        "held-out": held_out,
        "p corrected": None if decision is None else decision.p_corrected,
        "decision": f"accepted as version {accepted}" if accepted else decision.reason if decision else "",
    }


def _difference(result: "comparison.PairedResult") -> str:
    """Return the difference with its interval, n and both scores."""
    difference = format_estimate(result.difference, result.low, result.high, 3, sign=True)
    return f"{difference}, n {result.targets:,} ({result.current:.3f} to {result.variant:.3f})"


def guidelines(
    source: Source,
    engine: Database,
    criterion: Annotated[str, typer.Option(help="The criterion of the scores.")],
    model: Annotated[str, typer.Option(help="The model that drafts them.")],
    address: Annotated[str | None, typer.Option(help="The base URL of its server, if it is not a provider's.")] = None,
    key_variable: Annotated[str | None, typer.Option(help="The environment variable with its key.")] = None,
    examples: Annotated[int, typer.Option(min=2, max=20, help="Rated items in the prompt.")] = 6,
) -> Result:
    """Draft evaluation guidelines for ReFeR from items that people rated, none of them held out (auto prompt)."""
    from core.protocols.refer.auto_prompt import DRAFT_TOKENS
    from core.trace import Spec

    spec = Spec(model=model, address=address, key_variable=key_variable, max_tokens=DRAFT_TOKENS)
    draft, used = variants.draft_guidelines(engine, source, criterion, spec, examples)
    names = [one.item.id for one in used]
    value = {
        "criterion": criterion,
        "model": model,
        "guidelines": draft.text,
        "complete": draft.complete,
        "examples": names,
    }
    ending = "" if draft.complete else "\nThe draft was cut off."
    return value, f"{draft.text}\n\nReview it, and leave these examples out of comparisons: {', '.join(names)}.{ending}"
