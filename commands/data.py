"""Import of files, and backup of the database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from commands import lazy_imports
from commands.output import (
    Database,
    DatabaseUrl,
    Json,
    Reference,
    Result,
    Source,
    StudyName,
    as_table,
    connect,
    format_table,
    open_database,
    open_study,
    progress_bar,
    record_export,
    with_reading_lines,
)
from core.errors import FileFormatError, TiebreakError
from core.formats.registry import FORMAT_NAMES

if TYPE_CHECKING:
    from sqlalchemy import Engine

with lazy_imports():
    from core.formats import html_report, plain_yaml, validation_errors
    from core.formats import records as file_records
    from core.formats import registry as file_formats
    from core.formats import text as text_files
    from core.formats import tiebreak as study_files
    from core.formats.mapping import confirmation, guess, request, roles, scope, suggest
    from core.formats.mapping import fields as table_fields
    from core.formats.mapping import joins as table_joins
    from core.formats.mapping import mapping as mappings
    from core.formats.mapping import preview as previews
    from core.formats.mapping import rows as table_rows
    from core.formats.mapping import table as mapped_table
    from core.formats.published import prompts
    from core.formats.tools import label_studio as label_studio_tool
    from core.llm import router, secrets
    from storage.db import backup as backups
    from storage.db import connections
    from storage.db import restore as restoring
    from storage.reports import study_report
    from storage.runs import inputs as standing_inputs
    from storage.runs import runs
    from storage.studies import studies
    from storage.transfer import bundle as bundles
    from storage.transfer import exports, imports, instructions, participation
    from storage.transfer import gold as gold_export


TO_FILL_IN = "No field has a usual name of a prompt or a response: fill in `prompt`, `responses` or both."


Joined = Annotated[
    list[Path] | None,
    typer.Option(help="Another file of the folder, joined by the fields that pair up: see docs/mappings. Repeat it."),
]


Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="ROLE=FIELD: what a field is in place of what is suggested; ROLE is items (their list), prompt, context, "
        "reference, response, system, annotator, label, judge, criterion, transcript, step or none; response=A+B is "
        "one of two fields. Repeat it.",
    ),
]


NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line has values and no names: its columns are `column 1`, `column 2` and so on.",
        callback=lambda context, is_stated: (
            is_stated
            and context.call_on_close(partial(table_rows.stated_header.reset, table_rows.stated_header.set(False)))
        ),
    ),
]


Scales = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        help="FIELD=LOW-HIGH or FIELD=WORD,WORD: the scale of a field in place of what is suggested, the best last, "
        "as in 5-1 if 1 is the best. Repeat it.",
    ),
]


Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value",
        help="FIELD:TEXT=MEANING: what a text of a field means: 1 (the first response), 2, tie, none (no value), or a "
        "value of the scale. Repeat it.",
    ),
]


def import_file(
    path: Annotated[Path, typer.Argument(help="A file, or the folder of a published data set.")],
    study: StudyName,
    format: Annotated[
        str | None, typer.Option(help=f"One of {FORMAT_NAMES}; see docs/formats.md. Default: detected.")
    ] = None,
    map: Annotated[Path | None, typer.Option(help="The mapping of a table's fields: see docs/mappings.")] = None,
    join: Joined = None,
    role: Roles = None,
    scale: Scales = None,
    value: Values = None,
    no_header: NoHeader = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="The meanings of values that this command prints without it are right, and without --map the "
            "suggested mapping.",
        ),
    ] = False,
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> Result:
    """Import a file into a study. A second import adds nothing; an invalid file is refused as a whole."""
    stated = role or [], scale or [], value or []
    own = with_stated(mappings.load_mappings(map), stated) if map else []
    is_suggested = not own and (format or file_formats.detect_format(path)) == "table"
    if join or is_suggested:
        joined = [joined_mapping(path, join or [], mapping, stated) for mapping in own]
        joined = joined or [joined_mapping(path, join or [], None, stated)]
        path, own = joined[0][0], [mapping for _, mapping in joined]
    own = confirmed_mappings(path, own, confirm=confirm)
    left_labels = suggest.state_unused_labels(path, own)
    records = file_formats.read_levels(path, format, own)
    bar = progress_bar("Importing items, labels and traces", "records", quiet=as_json)
    with bar as show, text_files.recording_reads() as opened, scope.recording_omissions() as omissions:
        annotators: set[str] = set()
        read = with_reading_lines(records, path, quiet=as_json)
        noted = with_annotators(read, annotators) if own else read
        counts = imports.import_records(open_database(database, creates=True), study, noted, show, draws=True)
    print_warnings(annotators, left_labels)
    unread = file_formats.unread_files(path, opened) if path.is_dir() else []
    result = (
        {name: count for name, count in asdict(counts).items() if count or not name.startswith(imports.CHANGES)}
        | {"study": study, "left_out": asdict(omissions)}
        | ({"not_read": unread} if unread else {})
    )
    people = (
        [f"{len(annotators):,} annotators: {validation_errors.join_names(sorted(annotators))}"] if annotators else []
    )
    files = [f"not read: {validation_errors.join_names(unread)}"] if unread else []
    notes = [f"  {note}" for note in (*omissions.notes(), *people, *files)]
    return result, "\n".join([f"{study}: {counts.summary()}", *notes])


def print_warnings(annotators: set[str], left_labels: str) -> None:
    """Print what a person may not have meant: models as annotators, and fields that were not imported."""
    if warning := guess.warn_of_models(annotators):
        typer.echo(f"Warning: {warning}", err=True)
    if left_labels:
        typer.echo(left_labels, err=True)


def joined_mapping(
    path: Path, others: list[Path], mapping: "mappings.Mapping | None", stated: tuple[list[str], ...]
) -> tuple[Path, "mappings.Mapping"]:
    """Return the table among the files, and the mapping that joins the others to it; without one, a suggested mapping,
    which is not confirmed.

    Raises FileFormatError for a suggestion without a prompt and responses, after what the fields are.
    """
    table, joins = table_joins.find_joins([path, *others]) if others else (path, [])
    if mapping is not None and table == path:
        return path, mappings.build_mapping(mappings.draft_of(mapping) | {"join": joins})
    if mapping is not None:
        raise FileFormatError(
            f"the records of {path.name} are joined to the rows of {table.name}: name that file first"
        )
    suggested, is_complete = suggest.build_suggested(suggest_with_roles(table, None, joins, stated))
    if not is_complete:
        lines = mapped_table.roles(table, suggested)
        typer.echo("\n".join(["What the fields are:", *(f"  {own}" for own in lines)]), err=True)
        raise FileFormatError("no field is known as a prompt or a response: state it with `--role prompt=FIELD`")
    return table, suggested.model_copy(update={"confirmed": False})


def suggest_with_roles(
    path: Path, explode: str | None, joins: list[Any], stated: tuple[list[str], ...]
) -> dict[str, Any]:
    """Return the suggested mapping, with fields, scales and values that are what `--role`, `--scale`, `--value` say."""
    chosen, scales, values = stated
    fields: dict[str, list[str]] = {}
    for role, _, field in (text.partition("=") for text in chosen):
        fields.setdefault(role.strip(), []).append(field)
    return apply_stated(suggest.suggest_table(path, explode, joins, fields), scales, values)


def with_stated(found: "Sequence[mappings.Mapping]", stated: tuple[list[str], ...]) -> "list[mappings.Mapping]":
    """Return the mappings of a file with the scales and values that `--scale` and `--value` say; each of these has to
    fit one of them.

    Raises FileFormatError for `--role`.
    """
    chosen, scales, values = stated
    if chosen:
        raise FileFormatError("`--role` changes a suggestion: beside --map, the mapping says what the fields are")
    drafts = [mappings.draft_of(mapping) for mapping in found]
    for own in (*(([text], []) for text in scales), *(([], [text]) for text in values)):
        errors: list[FileFormatError] = []
        for number, draft in enumerate(drafts):
            try:
                drafts[number] = apply_stated(draft, *own)
            except FileFormatError as error:
                errors.append(error)
        if len(errors) == len(drafts):
            raise errors[0]
    return [*map(mappings.build_mapping, drafts)]


def apply_stated(draft: dict[str, Any], scales: list[str], values: list[str]) -> dict[str, Any]:
    """Return a draft with what `--scale` and `--value` say."""
    draft = roles.apply_scales(draft, {field: ends for field, _, ends in (text.rpartition("=") for text in scales)})
    return roles.apply_values(draft, {place: own for place, _, own in (text.rpartition("=") for text in values)})


def confirmed_mappings(path: Path, found: "Sequence[mappings.Mapping]", *, confirm: bool) -> "list[mappings.Mapping]":
    """Print what the values of each mapping mean, and return the mappings with what `--confirm` states.

    Raises the first error after all are printed: otherwise `--confirm` would state what nobody has seen.
    """
    confirmed, errors = [], []
    for number, mapping in enumerate(found, 1):
        if len(found) > 1:
            typer.echo(f"Mapping {number} of {len(found)}:", err=True)
        try:
            confirmed.append(confirmed_mapping(path, mapping, confirm=confirm))
        except FileFormatError as error:
            errors.append(error)
    if errors:
        if sentence := suggest.state_unused_labels(path, found):
            typer.echo(sentence, err=True)
        raise errors[0]
    return confirmed


def confirmed_mapping(path: Path, mapping: "mappings.Mapping", *, confirm: bool) -> "mappings.Mapping":
    """Print what the values of a table mean, and return the mapping with what `--confirm` states.

    Raises FileFormatError for what a person still has to state, after its counts and examples.
    """
    for line in stated_lines(path, mapping):
        typer.echo(line, err=True)
    if not mapping.confirmed:
        typer.echo(
            "\n".join(["To confirm: what the fields are.", *(f"  {own}" for own in mapped_table.roles(path, mapping))]),
            err=True,
        )
    found = mapped_table.questions(path, mapping)
    still_open = print_questions(found, confirm=confirm)
    if not (mapping.confirmed or confirm):
        print_outcome(path, mapping)
        raise FileFormatError(confirmation.GUESSED)
    is_suggested = not mapping.confirmed and not any(block.proposed for block in mapping.labels)
    mapping = mapping.model_copy(update={"confirmed": True})
    if still_open:
        print_outcome(path, mapping)
        raise confirmation.refusal(still_open)
    for question in found:
        mapping = confirmation.answer(mapping, question, question.literal_values() or {})
    if is_suggested and (further := mapped_table.read_outcome(path, mapping).further):
        raise FileFormatError(further)
    return mapping


def print_outcome(path: Path, mapping: "mappings.Mapping") -> None:
    """Print what would be imported if everything is as the mapping says, or why nothing would."""
    try:
        lines = mapped_table.read_outcome(path, mapping).lines()
    except FileFormatError as error:
        hint = "; --value FIELD:TEXT=MEANING states what a text means, none if it is no value" if error.field else ""
        lines = [f"nothing: {error}{hint}"]
    typer.echo("\n".join(["It would import:", *(f"  {line}" for line in lines)]), err=True)


def print_questions(questions: "list[confirmation.Question]", *, confirm: bool) -> "list[confirmation.Question]":
    """Print what `--confirm` states, with and without it; return the questions that stay open."""
    still_open = [question for question in questions if not confirm or question.literal_values() is None]
    for question in questions:
        if question in still_open:
            typer.echo("\n".join([f"To confirm: {question.sentence()}", *question.lines()]), err=True)
        if question.literal_values() is not None:
            names = validation_errors.join_names(question.fields)
            typer.echo(f"  --confirm states of {names}: {question.reading()}.", err=True)
    return still_open


def stated_lines(path: Path, mapping: "mappings.Mapping") -> list[str]:
    """Return what the values of a table mean, and the rows that are left out; none if a row cannot be read."""
    try:
        stated, notes = mapped_table.statements(path, mapping)
    except FileFormatError:  # the import reports it
        return []
    lines = [line for own in stated for line in (own.title(), *(f"  {line}" for line in own.lines()))]
    return [*lines, *notes]


def with_annotators(records: "file_records.Records", annotators: set[str]) -> "file_records.Records":
    """Yield the records, and add the annotators of their labels to `annotators`."""
    for record in records:
        if isinstance(record, file_records.LabelRecord):
            annotators.add(record.label.annotator)
        yield record


def suggest_mapping(
    path: Annotated[Path, typer.Argument(help="A table: CSV, TSV, JSON, JSON lines or Parquet.")],
    explode: Annotated[
        str | None, typer.Option(help="The list whose elements are the items. Default: guessed.")
    ] = None,
    join: Joined = None,
    role: Roles = None,
    scale: Scales = None,
    value: Values = None,
    no_header: NoHeader = False,
    model: Annotated[str | None, typer.Option(help="A model that proposes the mapping, instead of rules.")] = None,
    address: Annotated[str | None, typer.Option(help="The base URL of its server, if it is not a provider's.")] = None,
    key_variable: Annotated[str | None, typer.Option(help="The environment variable with its key.")] = None,
    about: Annotated[
        Path | None, typer.Option(help="The documentation of the data set, for the model: a text file.")
    ] = None,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print what the model would be asked, for any other model.")
    ] = False,
) -> str:
    """Print a mapping that is guessed from the names and values of a table's fields, for `import --map`.

    A mapping without a prompt and responses is printed as far as it is known, with what has to be filled in. With
    `--model`, the names and values of fields and the first records are sent to the model.
    """
    if model or prompt:
        text = request.mapping_prompt([path, *(join or [])], text_files.read_text(about) if about else "")
        if prompt or model is None:
            return text
        from core.trace import Spec

        spec = Spec(model=model, address=address, key_variable=key_variable, max_tokens=request.MAX_TOKENS)
        secrets.check_key(spec)
        found = router.call(partial(request.propose, paths=[path, *(join or [])], prompt=text, spec=spec))
        note = f"Proposed by {model}: check every field (docs/mappings)."
        return "\n---\n".join(commented_mapping(path, mapping, True, [note]) for mapping in found)
    table, joins = table_joins.find_joins([path, *join]) if join else (path, [])
    notes = [] if table == path else [f"The table is {table.name}: import it with this mapping."]
    preview = previews.preview_table(table, suggest.ROWS, explode, join=joins)
    draft = suggest_with_roles(table, explode, joins, (role or [], scale or [], value or []))
    notes += [previews.MANY_FIELDS] if preview.has_more else []
    notes.append("Guessed: check every field (docs/mappings) before you import.")
    return commented_mapping(table, *suggest.build_suggested(draft), notes)


def commented_mapping(path: Path, mapping: "mappings.Mapping", is_complete: bool, notes: list[str]) -> str:
    """Return a mapping in YAML, after comments on what it leaves out, what the values mean, and what is to confirm."""
    unused = previews.unused_fields(path, mapping)
    if unused:
        notes += ["Not used:", *(f"  {table_fields.spell_path(field)}" for field in unused)]
    if sentence := suggest.state_unused_labels(path, [mapping]):
        notes.append(sentence)
    with suppress(FileFormatError):  # an error of a row, which the import reports
        if not mapping.confirmed:
            notes += [
                "To confirm: what the fields are; set `confirmed: true`.",
                *(f"  {own}" for own in mapped_table.roles(path, mapping)),
            ]
        notes += stated_lines(path, mapping)
        for question in mapped_table.questions(path, mapping):
            notes += [f"To confirm: {question.sentence()}", *question.lines()]
    if warning := guess.warn_of_models(suggest.suggested_annotators(path, mapping)):
        notes.append(f"Warning: {warning} `where` and `where_not` select rows.")
    fields = mappings.draft_of(mapping)
    if is_complete:
        return "\n".join([*(f"# {note}" for note in notes), plain_yaml.dump_fields(fields).rstrip("\n")])
    typer.echo(f"The mapping is incomplete. {TO_FILL_IN}", err=True)
    known = plain_yaml.dump_fields({name: value for name, value in fields.items() if name != "prompt"}).rstrip("\n")
    to_fill_in = "# prompt: FIELD\n# responses:\n#   - text: FIELD"
    return "\n".join([*(f"# {note}" for note in [*notes, TO_FILL_IN]), known, to_fill_in])


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, or a folder: then the name of the file contains the time.")],
    keep: Annotated[
        int | None, typer.Option(min=1, help="With a folder: only this many of its copies remain, the newest.")
    ] = None,
    database: DatabaseUrl = None,
) -> Result:
    """Copy the database, which can be in use, to a SQLite file or an archive for pg_restore."""
    engine = connect(database)
    if connections.is_empty(engine):
        raise TiebreakError("There is nothing to back up: the database has no tables.")
    if file.is_dir():
        file = backups.back_up_to_folder(engine, file, keep)
    elif keep is not None:
        raise TiebreakError(f"--keep needs a folder, and {file} is none.")
    else:
        backups.back_up(engine, file)
    return {"written": [str(file)]}, f"Wrote {file}"


def restore(
    file: Annotated[Path, typer.Argument(help="A copy that the command backup has written.")],
    database: DatabaseUrl = None,
) -> Result:
    """Replace the database by a copy. Stop the server first. What it contains is copied before."""
    previous = restoring.restore(connect(database, creates=True), file)
    text = f"Restored {file}." + (f" The former content is in {previous}." if previous else "")
    return {"restored": str(file), "previous": str(previous) if previous else None}, text


def copy_database(
    file: Annotated[Path, typer.Argument(help="The file of a SQLite database, or a copy of one.")],
    database: DatabaseUrl = None,
    as_json: Json = False,
) -> Result:
    """Copy everything from a SQLite database into an empty PostgreSQL database. Stop the server first."""
    with progress_bar("Copying the database", "rows", quiet=as_json) as show:
        counts = restoring.copy_sqlite(file, connect(database, creates=True), show)
    rows = [asdict(count) for count in counts if count.source or count.target]
    total = sum(count.target for count in counts)
    return rows, f"{format_table(rows, '')}\nCopied {total:,} rows of {len(counts)} tables; all counts are equal."


# Export of gold labels, studies, replies and instruction-tuning data.


def check_outputs(written: list[str], *, pseudonyms: bool) -> None:
    """Raise TiebreakError if an export names no file, or asks for `pseudonyms` in a whole study."""
    if not written:
        raise TiebreakError(
            "Name an output file: --gold, --turns FILE.csv, --everything, --instructions FILE.jsonl, "
            "--label-studio, --argilla, --inspect or --phoenix FILE.json."
        )
    if pseudonyms:
        raise TiebreakError("--everything writes annotators' names, which restore a study: omit --pseudonyms.")


def export(
    source: Source,
    engine: Database,
    gold: Annotated[Path | None, typer.Option(help="Write the gold labels to this CSV file: see docs/gold.md.")] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(help="A run whose agreed verdicts are gold for unlabelled targets; repeat it for several runs."),
    ] = None,
    judge_columns: Annotated[
        bool, typer.Option("--judge-columns", help="Add columns with the judges' verdicts and opinions to the gold.")
    ] = False,
    with_policy: Annotated[
        bool,
        typer.Option("--with-policy", help="Add verdicts that stand by a policy to the gold: docs/policy.md."),
    ] = False,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Write pseudonyms instead of annotators' names; not with --everything.")
    ] = False,
    everything: Annotated[Path | None, typer.Option(help="Write the whole study to this JSON lines file.")] = None,
    instructions: Annotated[
        Path | None, typer.Option(help="Write the area chairs' analyses as instruction-tuning JSON lines.")
    ] = None,
    turns: Annotated[
        Path | None, typer.Option(help="Write every reply with its reading to this CSV file, or .jsonl file.")
    ] = None,
    label_studio: Annotated[
        Path | None,
        typer.Option(help="Write tasks of Label Studio, with a labeling configuration in .xml."),
    ] = None,
    argilla: Annotated[Path | None, typer.Option(help="Write the study as records of Argilla.")] = None,
    inspect: Annotated[Path | None, typer.Option(help="Write the study as a log of Inspect AI.")] = None,
    phoenix: Annotated[
        Path | None, typer.Option(help="Write labels and verdicts as annotations of Phoenix's spans and traces.")
    ] = None,
    every_sample: Annotated[
        bool, typer.Option("--every-sample", help="Write all of a chair's samples, not only the representative one.")
    ] = False,
    run: Annotated[str | None, typer.Option(help="With --instructions: of this run alone.")] = None,
    part: Annotated[
        Literal["development", "held-out"] | None, typer.Option(help="With --instructions: of this part of the split.")
    ] = None,
) -> Result:
    """Export gold labels, a whole study, or its judges' replies. Area chairs' analyses are for instruction tuning."""
    tools = {"label-studio": label_studio, "argilla": argilla, "inspect": inspect, "phoenix": phoenix}
    others = {format: path for format, path in tools.items() if path is not None}
    written = [str(path) for path in (gold, everything, instructions, turns, *others.values()) if path is not None]
    check_outputs(written, pseudonyms=pseudonyms and everything is not None)
    if instructions is not None:  # first, because it raises for a study without area chairs
        write_instructions(engine, source, instructions, every=every_sample, run=run, part=part)
    if gold is not None:
        options = gold_export.GoldOptions(tuple(judges or ()), judge_columns, pseudonyms)
        write_gold(engine, source, gold, options, with_policy)
    if everything is not None:
        write_study(engine, source, everything)
    if turns is not None:
        write_turns(engine, source, turns, pseudonyms=pseudonyms)
    for format, path in others.items():
        write_other_format(engine, source, path, format, pseudonyms=pseudonyms)
    record_export(engine, source.id, written)
    return {"study": source.name, "written": written}, "Wrote " + " and ".join(written)


def write_gold(
    engine: "Engine", study: "studies.Study", path: Path, options: "gold_export.GoldOptions", with_policy: bool
) -> None:
    """Write the gold labels as CSV, and print how many of them are not people's."""
    with text_files.open_output(path) as stream:
        sources = gold_export.write(engine, study, stream, options, with_policy=with_policy)
    if sources["policy"]:
        typer.echo(f"{sources['policy']:,} of {sources.total():,} values stand by a policy, not by people.", err=True)
    if sources["judges"]:
        names = ", ".join(repr(name) for name in options.judges)
        typer.echo(
            f"{sources['judges']:,} of {sources.total():,} values are verdicts of {names}: do not evaluate these runs, "
            "or other runs of their judges, with this file.",
            err=True,
        )


def write_study(engine: "Engine", study: "studies.Study", path: Path) -> None:
    """Write the whole study as JSON lines, and print a note on each protocol that is not installed."""
    with connections.reading(engine) as session:
        for note in runs.uninstalled_protocol_notes(session, study.id):
            typer.echo(f"{note} It is exported as it is stored.", err=True)
    with text_files.open_output(path) as stream:
        study_files.write(exports.export_records(engine, study), stream)


def write_instructions(engine: "Engine", study: "studies.Study", path: Path, **chosen: Any) -> None:
    """Write the area chairs' analyses as JSON lines."""
    examples = instructions.instruction_examples(engine, study, **chosen)
    first = next(examples, None)  # raises TiebreakError if there are none, before a file is created
    with text_files.open_output(path) as stream:
        instructions.write_jsonl([first, *examples] if first is not None else [], stream)


def write_turns(engine: "Engine", study: "studies.Study", path: Path, *, pseudonyms: bool) -> None:
    """Write every turn of a study: JSON lines if the file name ends in .jsonl or .ndjson, otherwise CSV."""
    rows = exports.turn_rows(engine, study)
    if pseudonyms:
        rows = participation.rename_readers(rows, study_pseudonyms(engine, study))
    write = exports.write_turns_jsonl if path.suffix in (".jsonl", ".ndjson") else exports.write_turns_csv
    with text_files.open_output(path) as stream:
        write(rows, stream)


def write_other_format(engine: "Engine", study: "studies.Study", path: Path, format: str, *, pseudonyms: bool) -> None:
    """Write a study in the format of another tool, and for Label Studio a labeling configuration."""

    def records() -> "Iterator[file_records.Record]":
        exported = exports.export_records(engine, study)
        return participation.rename_records(exported, study_pseudonyms(engine, study)) if pseudonyms else exported

    with text_files.open_output(path) as stream:
        left_out = file_formats.write_records(records(), format, stream)
    if format == "label-studio":
        with text_files.open_output(path.with_suffix(".xml")) as stream:
            stream.write(label_studio_tool.labeling_config(records()))
    if left_out:
        echo = (
            f"{left_out:,} labels and verdicts have no form in this tool and are left out; docs/formats.md says which."
        )
        typer.echo(echo, err=True)


def study_pseudonyms(engine: "Engine", study: "studies.Study") -> Callable[[str], str]:
    """Return the function from an annotator's name to the pseudonym in every export of the study."""
    with connections.reading(engine) as session:
        return participation.pseudonyms(session, study.id)


# Files of a study for a publication: the bundle of its data, and a report.


def bundle(
    path: Annotated[Path, typer.Argument(help="A new folder, or a file whose name ends in .zip.")],
    source: Source,
    engine: Database,
) -> Result:
    """Write the data and the results of a study as tables. docs/publication.md describes the files."""
    manifest = bundles.write_bundle(engine, source, path)
    record_export(engine, source.id, [str(path)])
    names = ", ".join(manifest["files"])
    return manifest, f"Wrote {path}: {names}, manifest.json"


def report(
    path: Annotated[Path, typer.Argument(help="The HTML file.")],
    source: Source,
    engine: Database,
    reference: Reference = None,
) -> Result:
    """Write a report of a study as one HTML file. It has tables and captions, and needs no network."""
    sections = study_report.sections(engine, source, reference=reference)
    with text_files.open_output(path) as stream:
        html_report.write_report(source.name, sections, stream)
    record_export(engine, source.id, [str(path)])
    return {"written": str(path)}, f"Wrote {path}"


# The inputs of runs: AIUs that earlier runs extracted, references and aspects.


def adopt(
    source: Source,
    engine: Database,
    by: Annotated[str, typer.Option(help="Name of the person who adopts; stored with each edit.")],
    run: Annotated[
        str | None, typer.Option(help="Only what this run generated. Default: the newest with AIUs.")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace current AIUs by those of --run; you confirm which ones are the same."),
    ] = False,
    as_json: Json = False,
) -> Result:
    """Make the AIUs, critiques and reference answers that runs generated the items' own, where items lack them."""
    if replace and (run is None or as_json):
        raise TiebreakError("--replace needs --run, and asks questions: it cannot be combined with --json.")
    if run is None or not replace:
        with connections.writing(engine) as session:
            count = standing_inputs.adopt_all(session, source.id, by, run)
        return {"study": source.name, "items": count}, f"Items that adopted AIUs: {count:,}."
    with connections.reading(engine) as session:
        found = standing_inputs.reextractions(session, source.id, run)
    confirmed = {(reextraction.item, reextraction.critique): confirm_matches(reextraction) for reextraction in found}
    with connections.writing(engine) as session:
        count = standing_inputs.replace_aius(session, source.id, by, run, confirmed)
    kept = sum(map(len, confirmed.values()))
    text = f"Critiques with replaced AIUs: {count:,}. AIUs that stay the same, with their labels: {kept:,}."
    return {"study": source.name, "critiques": count}, text


def confirm_matches(reextraction: "standing_inputs.Reextraction") -> dict[str, str]:
    """Ask about each pair of AIUs that may be the same; return new id -> old id of the confirmed ones."""
    same: dict[str, str] = {}
    typer.echo(
        f"{reextraction.item}, critique {reextraction.critique}: {len(reextraction.matches())} of "
        f"{len(reextraction.new)} new AIUs resemble earlier ones."
    )
    for match in reextraction.matches():
        typer.echo(f"  earlier: {match.old.text}\n  new:     {match.new.text}")
        if typer.confirm(f"  The same statement ({match.similarity:.0%} alike)?", default=False):
            same[match.new.id] = match.old.id
    return same


def inputs(
    source: Source,
    engine: Database,
    file: Annotated[
        Path | None,
        typer.Option(help="CSV, JSON or JSON lines with `item` and `reference`, `aspects` (one a line) or both."),
    ] = None,
    adopt_aspects: Annotated[
        str | None, typer.Option(help="A run whose proposed aspects items without aspects take.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Name of the person who changes inputs; stored with each edit.")
    ] = None,
) -> Result:
    """List the reference and the aspects by which new runs judge each item, or change them for many items."""
    if file is None and adopt_aspects is None:
        with connections.reading(engine) as session:
            rows = [asdict(row) for row in standing_inputs.standing(session, source.id)]
        return as_table(rows, "The study has no items.")
    if by is None:
        raise TiebreakError("Name the person who changes inputs: --by NAME.")
    wanted = imports.read_inputs(file) if file else {}
    with connections.writing(engine) as session:
        count = standing_inputs.save(session, source.id, by, wanted)
        if adopt_aspects is not None:
            count += standing_inputs.adopt_aspects(session, source.id, by, adopt_aspects)
    return {"study": source.name, "items": count}, f"Items with changed inputs: {count:,}."


def import_prompts(
    protocol: Annotated[str, typer.Argument(help="The protocol, such as scaleeval.")],
    folder: Annotated[Path, typer.Argument(help="A clone of the authors' repository.", exists=True, file_okay=False)],
    study: Annotated[str | None, typer.Option(help="The study whose prompts of the protocol they replace.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write a settings file with them.")] = None,
    database: DatabaseUrl = None,
) -> Result:
    """Read prompts, roles, criteria and examples from the authors' repository, into a study or a settings file."""
    from core.protocols import registry
    from core.protocols.settings_file import parse_run_fields

    if study is None and output is None:
        raise TiebreakError("Name where the prompts go: --study NAME, --output FILE.yaml, or both.")
    found, installed = prompts.read_prompts(protocol, folder), registry.get(protocol)
    installed.check_prompts(found.prompts)
    if study is not None:
        engine, source = open_study(database, study)
        imports.save_prompts(engine, source.id, protocol, found)
    if output is not None:
        fields = {**found.settings, "prompts": dict(found.prompts)}
        parse_run_fields(fields, installed, found.criteria)
        sources = "".join(f"# {path} sha256:{digest}\n" for path, digest in sorted(found.files.items()))
        output.write_text(sources + plain_yaml.dump_fields(fields), encoding="utf-8")
    rows = [{"file": path, "sha256": digest} for path, digest in sorted(found.files.items())]
    value = {"protocol": protocol, "prompts": sorted(found.prompts), "files": rows}
    criteria = ", ".join(one.name for one in found.criteria)
    text = f"Prompts of {protocol}: {', '.join(found.prompts)}.{f' Criteria: {criteria}.' if criteria else ''}"
    return value, f"{text}\n{format_table(rows, '')}"
