"""The command line: one JSON value or text, exit code 0, or 2 with one sentence."""

import contextlib
import csv
import gzip
import json
import re
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

import cli
from commands import output
from commands import runs as run_commands
from core.formats.records import CriterionRecord, ItemRecord, Record, RunRecord
from core.formats.tools.argilla import user_id
from core.items import Criterion
from core.labels import Opinion
from core.trace import Verdict, VerdictReached
from storage.db.connections import connect, newest_revision, writing
from storage.runs import claims, runs
from storage.studies import studies
from storage.transfer import samples
from storage.worker import _launch
from tests.commands import run_command
from tests.conftest import make_item
from tests.core.formats.published.test_prompts import SCALEEVAL, clone
from tests.databases import create_database
from tests.openai_server import run_server
from tests.paths import ROOT
from tests.storage.shared import a_trace, a_turn, import_study

pytestmark = pytest.mark.slow  # whole commands and runs


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command on the test's database."""
    url = create_database(tmp_path / "cli.db")
    return lambda *words: run_command([*words, "--database", url])


@pytest.fixture
def store(tmp_path):
    """`store(records)` imports records as the study "s" into the test's database."""
    return lambda records: import_study(output.open_database(f"sqlite:///{tmp_path}/cli.db", creates=True), records)


@pytest.fixture(scope="module")
def sample_database(tmp_path_factory):
    """The file of a database with the study "tour", which each test copies."""
    path = tmp_path_factory.mktemp("sample") / "cli.db"
    words = ["data", "import", str(samples.path()), "--study", "tour", "--database", f"sqlite:///{path}"]
    assert run_command(words).exit_code == 0
    connect(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture
def run_with_sample(run, sample_database, tmp_path):
    shutil.copy(sample_database, tmp_path)
    return run


def test_a_run_that_is_executed_is_listed_as_running(run_with_sample, tmp_path):
    with writing(connect(f"sqlite:///{tmp_path}/cli.db")) as session:
        study = studies.get(session, "tour")
        fields = {"protocol": "scaleeval", "criterion": "helpfulness", "settings": {}, "prompts": {}}
        executed = runs.create(session, study.id, "executed", **fields)
        runs.create(session, study.id, "waiting", **fields)
        claims.claim_run(session, executed, "a worker")
    rows = json.loads(run_with_sample("runs", "list", "--study", "tour", "--json").stdout)
    states = {row["run"]: row["state"] for row in rows}
    assert (states["executed"], states["waiting"]) == ("running", "requested")


def test_an_import_reports_counts_and_a_second_one_adds_nothing(run):
    first = run("data", "import", str(samples.path()), "--study", "tour", "--json")
    assert json.loads(first.stdout)["items"] == 32
    again = run("data", "import", str(samples.path()), "--study", "tour")
    assert again.exit_code == 0
    assert "nothing new" in again.stdout


def test_a_suggested_mapping_is_printed_and_imports_its_table(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,prompt,response_a,response_b,label\n1,Say hello.,Hello!,Hi.,A\n")
    refused = run("data", "import", str(tmp_path / "t.csv"), "--study", "s")
    assert "  prompt: prompt, such as 'Say hello.'" in refused.stderr and "or add --confirm" in refused.stderr
    (tmp_path / "m.yaml").write_text(run_command(["data", "mapping", str(tmp_path / "t.csv")]).stdout)
    done = run("data", "import", str(tmp_path / "t.csv"), "--study", "s", "--map", str(tmp_path / "m.yaml"), "--json")
    assert json.loads(done.stdout)["items"] == 1


def test_a_person_states_that_the_first_line_is_no_header(run, tmp_path):
    (tmp_path / "t.csv").write_text("7,good\n8,bad\n")
    arguments = ["data", "import", str(tmp_path / "t.csv"), "--study", "s", "--role", "label=column 2"]
    named = run("data", "import", str(tmp_path / "t.csv"), "--study", "s", "--role", "prompt=7")
    assert "the first line names the columns: 7; `--no-header` if these are values" in named.stderr
    done = run(*arguments, "--role", "prompt=column 1", "--no-header", "--confirm", "--json")
    assert (json.loads(done.stdout)["items"], json.loads(done.stdout)["rulings"]) == (2, 2)


def test_a_partial_mapping_is_printed_with_what_has_to_be_filled_in(run, tmp_path):
    table, mapping = tmp_path / "t.csv", tmp_path / "m.yaml"
    table.write_text("id;frage;antwort_a;antwort_b;rater_1;rater_2\n7;Was?;Das.;Dies.;A;B\n")
    printed = run_command(["data", "mapping", str(table)])
    assert printed.exit_code == 0
    assert "fill in `prompt`, `responses` or both" in printed.stderr
    assert "\n# Not used:\n#   frage\n#   antwort_a\n#   antwort_b\n" in printed.stdout
    assert "\nid: id\n" in printed.stdout
    mapping.write_text(printed.stdout)
    refused = run("data", "import", str(table), "--study", "s", "--map", str(mapping))
    assert "an item needs a `prompt` or `responses`" in refused.stderr
    filled = printed.stdout.replace("# prompt: FIELD", "prompt: frage").replace("# responses:", "responses:")
    mapping.write_text(filled.replace("#   - text: FIELD", "  - text: antwort_a\n  - text: antwort_b"))
    done = run("data", "import", str(table), "--study", "s", "--map", str(mapping), "--json")
    assert json.loads(done.stdout)["items"] == 1


def test_the_fields_and_rows_that_a_mapping_leaves_out_are_printed(run, tmp_path):
    table, mapping = tmp_path / "t.csv", tmp_path / "m.yaml"
    table.write_text("id,prompt,answer,turn,xyz\n1,Say hello.,Hello!,1,\n2,Say bye.,Bye!,2,\n")
    assert "\n# Not used:\n#   turn\n#   xyz\n" in run_command(["data", "mapping", str(table)]).stdout
    mapping.write_text("id: id\nprompt: prompt\nresponses: [{text: answer}]\nwhere: {turn: 1}\n")
    done = run("data", "import", str(table), "--study", "s", "--map", str(mapping))
    assert "\n  1 of 2 rows left out by `where` or `where_not`\n" in done.stdout


def test_the_mappings_of_several_levels_are_imported_together(run, tmp_path):
    table, mapping = tmp_path / "t.jsonl", tmp_path / "m.yaml"
    turns = [{"text": "Hello.", "good": 2}, {"text": "Bye.", "good": 1}]
    table.write_text(json.dumps({"id": "d", "turns": turns, "overall": 3}) + "\n")
    block = "gold: [{kind: score, criterion: c, value: %s, scale: {level: ordinal, categories: [1, 2, 3]}}]\n"
    whole = "id: id\nresponses: [{text: turns.0.text}]\n" + block % "overall"
    mapping.write_text(
        f"---\n{whole}---\nid: '{{id}}-{{element}}'\nexplode: turns\nresponses: [{{text: text}}]\n{block % 'good'}"
    )
    arguments = ("data", "import", str(table), "--study", "s", "--map", str(mapping))
    text = mapping.read_text()
    mapping.write_text(text.replace("value:", "confirmed: false, value:"))
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "Mapping 1 of 2:" in refused.stderr and "the scale of overall" in refused.stderr
    assert "Mapping 2 of 2:" in refused.stderr and "the scale of good" in refused.stderr, "what --confirm would state"
    mapping.write_text(text)
    assert "expected a field" in run(*arguments, "--scale", "other=1-5").stderr
    done = run(*arguments, "--scale", "overall=1-3", "--json")
    assert (json.loads(done.stdout)["items"], json.loads(done.stdout)["rulings"]) == (3, 3)


def test_values_without_a_stated_meaning_are_printed_and_refused_until_the_mapping_states_them(run, tmp_path):
    table, mapping = tmp_path / "t.csv", tmp_path / "m.yaml"
    rows = [f"{number},Q?,x,y,{number % 3}" for number in range(9)]
    table.write_text("\n".join(["id,prompt,response 1,response 2,label", *rows]))
    suggested = run_command(["data", "mapping", str(table)]).stdout
    assert "# To confirm: the file does not state what '0', '1', '2' of label mean" in suggested
    mapping.write_text(suggested)
    refused = run("data", "import", str(table), "--study", "s", "--map", str(mapping))
    assert refused.exit_code != 0 and "  '0': 3 times, for example 0 (Q?); 3 (Q?)\n" in refused.stderr
    assert "'0', '1', '2' of label mean: add each to `values` (gold, block 1)" in refused.stderr.splitlines()[-1]
    options = ("data", "import", str(table), "--map", str(mapping), "--json")
    stated = ("--value", "label:0=1", "--value", "label:1=2", "--value", "label:2=tie")
    assert "beside --map" in run(*options, "--study", "s", *stated, "--role", "prompt=prompt").stderr
    done = run(*options, "--study", "s", *stated, "--confirm")
    assert json.loads(done.stdout)["rulings"] == 9
    mapping.write_text(suggested.replace("  confirmed: false\n", "  values: {0: 1, 1: 2, 2: 0}\n"))
    done = run(*options, "--study", "other")
    assert json.loads(done.stdout)["rulings"] == 9


@pytest.mark.parametrize(("labels", "code"), [("12", 0), ("01", 2)])
def test_confirm_states_the_printed_reading_but_not_what_a_0_means(run, tmp_path, labels, code):
    table, mapping = tmp_path / "t.csv", tmp_path / "m.yaml"
    rows = [f"{number},Q?,x,y,{labels[number % 2]}" for number in range(4)]
    table.write_text("\n".join(["id,prompt,response 1,response 2,label", *rows]))
    item = "id: id\nprompt: prompt\nresponses: [{text: response 1}, {text: response 2}]\n"
    suggested = f"{item}gold:\n- kind: preference\n  value: label\n  confirmed: false\n"
    mapping.write_text(suggested)
    arguments = ("data", "import", str(table), "--study", "s", "--map", str(mapping))
    refused = run(*arguments)
    assert refused.exit_code == 2 and f"  '{labels[0]}' -> not confirmed: 2 times\n" in refused.stderr
    guessed = run("data", "import", str(table), "--study", "s", "--role", "label=label")
    assert guessed.exit_code == 2 and ("states of label: '1' is response 1" in guessed.stderr) == (code == 0)
    confirmed = run(*arguments, "--confirm", "--json")
    assert confirmed.exit_code == code
    if code == 0:
        assert json.loads(confirmed.stdout)["rulings"] == 4
    mapping.write_text(suggested.replace("  confirmed: false\n", f"  values: {{{labels[0]}: 1, {labels[1]}: 2}}\n"))
    explicit = run(*arguments)
    assert explicit.exit_code == 0 and f"  '{labels[0]}' -> response 1: 2 times\n" in explicit.stderr


def test_annotators_with_names_of_models_are_reported_by_mapping_and_import(run, tmp_path):
    rows = [f"1,Say hello.,Hello!,Hi.,{rater},A" for rater in ("ann", "ben", "cem", "gpt4_pair")]
    table, mapping = tmp_path / "t.csv", tmp_path / "m.yaml"
    table.write_text("\n".join(["id,prompt,response_a,response_b,judge,winner", *rows]))
    suggested = run_command(["data", "mapping", str(table)]).stdout
    assert "# Warning: 1 of the annotators have names of models: 'gpt4_pair'" in suggested
    mapping.write_text(suggested)
    done = run("data", "import", str(table), "--study", "s", "--map", str(mapping), "--json")
    assert json.loads(done.stdout)["labels"] == 4 and "Warning: 1 of the annotators have names of models" in done.stderr
    mapping.write_text(suggested + "where_not: {judge: gpt4_pair}\n")
    done = run("data", "import", str(table), "--study", "people", "--map", str(mapping), "--json")
    assert json.loads(done.stdout)["labels"] == 3 and "Warning" not in done.stderr


def test_alignment_names_its_reference_and_refuses_an_empty_one(run_with_sample):
    words = ("judges", "alignment", "--study", "tour", "--reference")
    assert run_with_sample(*words, "majority").stdout.startswith("Reference majority")
    refused = run_with_sample(*words, "")
    assert refused.exit_code == 2 and refused.stderr.startswith("There is no reference ''")


def test_inputs_are_listed_and_changed_by_a_file(run, store, tmp_path):
    store([ItemRecord(item=make_item(name)) for name in "12"])
    (tmp_path / "inputs.csv").write_text('item,aspects,reference\n1,"clarity\ntone: Is it polite?",\n')
    assert "--by NAME" in run("data", "inputs", "--study", "s", "--file", str(tmp_path / "inputs.csv")).stderr
    changed = run("data", "inputs", "--study", "s", "--file", str(tmp_path / "inputs.csv"), "--by", "eve", "--json")
    assert json.loads(changed.stdout)["items"] == 1
    first, second = json.loads(run("data", "inputs", "--study", "s", "--json").stdout)
    assert (first["aspects"], first["aspects_by"]) == (["clarity", "tone: Is it polite?"], "eve")
    assert (first["reference"], second["aspects"]) == (None, [])
    (tmp_path / "inputs.csv").write_text("item,aspects\n1,a;b\n,c\n")
    refused = run("data", "inputs", "--study", "s", "--file", str(tmp_path / "inputs.csv"), "--by", "eve")
    assert "line 3, field 'item': expected a name or a number, and it is empty" in refused.stderr


def test_released_prompts_are_stored_with_a_study_and_in_a_settings_file(run_with_sample, tmp_path):
    folder, output = clone(tmp_path / "clone", SCALEEVAL), tmp_path / "released.yaml"
    imported = run_with_sample(
        "prompts", "import", "scaleeval", str(folder), "--study", "tour", "--output", str(output)
    )
    assert imported.exit_code == 0 and "Criteria: clarity." in imported.stdout
    assert "# scaleeval/config.yaml sha256:" in output.read_text()
    words = ("runs", "start", "--study", "tour", "--settings", str(output), "--limit", "1", "--dry-run", "--json")
    assert run_with_sample(*words).exit_code == 0
    with writing(connect(f"sqlite:///{tmp_path}/cli.db")) as session:
        study = studies.get(session, "tour")
        assert study.templates("scaleeval")["quote"].startswith("raw: text # scaleeval/prompt_input.py ")
        assert any("general" in criterion.formats for criterion in studies.criteria(session, study.id))
    nowhere = run_with_sample("prompts", "import", "scaleeval", str(folder))
    assert nowhere.exit_code == 2 and "--study NAME, --output FILE.yaml" in nowhere.stderr


def test_an_invalid_file_is_one_sentence_and_adds_nothing(run, tmp_path):
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text(samples.path().read_text(encoding="utf-8").splitlines()[0] + '\n{"type": "item"}\n')
    refused = run("data", "import", str(wrong), "--study", "tour", "--format", "tiebreak")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert "line 2" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert "There is no study" in run("people", "agreement", "--study", "tour").stderr


def test_agreement_gives_the_documented_fields_in_parts_and_as_a_table(run_with_sample):
    rows = json.loads(run_with_sample("people", "agreement", "--study", "tour", "--json").stdout)
    fields = ["kind", "criterion", "group", "statistic", "value", "low", "high", "items", "raters", "pairs", "reason"]
    fields.append("effective")
    assert rows and all(list(row) == fields for row in rows)
    names = {row["statistic"] for row in rows}
    assert {"percent", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1"} <= names
    for by in ("scenario", "criterion", "raters"):
        assert json.loads(run_with_sample("people", "agreement", "--study", "tour", "--by", by, "--json").stdout)
    result = run_with_sample("people", "agreement", "--study", "tour")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:4] == ["kind", "criterion", "group", "statistic"]


def test_annotators_are_listed_with_their_labels_and_checks(run_with_sample):
    rows = json.loads(run_with_sample("people", "annotators", "--study", "tour", "--json").stdout)
    assert rows and all(row["labels"] > 0 for row in rows)
    assert {"annotator", "gold", "gold_n", "training", "first_attempt_n", "checks", "checks_low", "checks_n"} <= set(
        rows[0]
    )


def test_gold_has_judges_only_where_their_run_is_named(run_with_sample, tmp_path):
    path = tmp_path / "gold.csv"
    result = run_with_sample("data", "export", "--study", "tour", "--gold", str(path), "--judges", "no such run")
    assert result.exit_code == 2 and "no run 'no such run' in this study; there are " in result.stderr
    assert not path.exists() and not list(tmp_path.glob(".*.part"))
    names = result.stderr.partition("there are ")[2].strip().rstrip(".").split(", ")
    options = [option for name in names for option in ("--judges", name)]
    result = run_with_sample(
        "export", "--study", "tour", "--gold", str(path), *options, "--judge-columns", "--pseudonyms"
    )
    assert result.exit_code == 0
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    by_judges = [row for row in rows if row["source"] == "judges"]
    assert by_judges and all(row["reason"].startswith("no label; the verdict of ") for row in by_judges)
    assert f"{len(by_judges)} of {len(rows)} values are verdicts of {names[0]!r}" in result.stderr
    assert {f"verdict: {name}" for name in names} < set(rows[0])
    assert not any(re.search(r"annotator \d\b", row["annotator_names"]) for row in rows)


def test_pseudonyms_replace_names_in_every_format_that_supports_them(run_with_sample, tmp_path):
    path = tmp_path / "gold.csv"
    run_with_sample("data", "export", "--study", "tour", "--gold", str(path))
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    names = {name for row in rows for name in [*row["annotator_names"].split(";"), row["adjudicator"]] if name}
    formats = ("label-studio", "argilla", "inspect", "phoenix")
    outputs = [word for format in formats for word in (f"--{format}", str(tmp_path / f"{format}.json"))]
    assert run_with_sample("data", "export", "--study", "tour", *outputs, "--pseudonyms").exit_code == 0
    texts = [(tmp_path / f"{format}.json").read_text(encoding="utf-8") for format in formats]
    assert len(names) > 2 and not [name for name in names for text in texts if f'"{name}"' in text]
    assert "annotator " in texts[0] and user_id(min(names)) not in texts[1]
    refused = run_with_sample(
        "data", "export", "--study", "tour", "--everything", str(tmp_path / "all.jsonl"), "--pseudonyms"
    )
    assert refused.exit_code == 2 and "omit --pseudonyms" in refused.stderr
    assert not (tmp_path / "all.jsonl").exists()


def test_a_dry_run_prints_the_estimate(run_with_sample):
    words = ["--settings", "core/protocols/scaleeval/examples/scaleeval.yaml", "--limit", "10", "--dry-run", "--json"]
    estimate = json.loads(run_with_sample("runs", "start", "--study", "tour", *words).stdout)
    assert (estimate["items"], estimate["calls_at_least"], estimate["calls_at_most"]) == (10, 30, 90)
    assert estimate["dollars"] is None  # one judge has no known price


@pytest.mark.parametrize(
    "spec",
    [
        "model: gpt, key_variable: sk-abcdefghijklmnopqrstuvwx",
        "model: sk-abcdefghijklmnopqrstuvwx",
        "model: gpt, address: 'http://me:abcdefghijklmnopqrstuvwx@127.0.0.1:1/v1'",
    ],
)
def test_a_key_in_a_settings_file_is_refused_before_anything_is_stored(run_with_sample, tmp_path, spec):
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"judges: [{{name: a, {spec}}}, {{name: b, model: local}}]\ncriterion: helpfulness\n")
    refused = run_with_sample("runs", "start", "--study", "tour", "--settings", str(settings), "--limit", "1")
    assert refused.exit_code == 2
    assert "judges.0.spec" in refused.stderr
    assert "Keys are never typed here" in refused.stderr
    assert "abcdefghijklmnopqrstuvwx" not in refused.stderr
    run_with_sample("data", "export", "--study", "tour", "--everything", str(tmp_path / "all.jsonl"))
    assert "abcdefghijklmnopqrstuvwx" not in (tmp_path / "all.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["runs", "start", "--settings"], "Option '--settings' requires an argument."),
        (["runs", "start", "--colour"], "No such option: --colour."),
        (["people", "agreement"], "Missing option '--study'."),
        (["people", "agreement", "--study", "tour", "--by", "colour"], "'colour' is not one of 'all', 'scenario'"),
        (["runs", "start", "--study", "tour", "--limit", "0"], "greater than or equal to 1."),
        (
            ["runs", "start", "--study", "tour", "--resume", "r", "--limit", "3", "--dry-run"],
            "Leave out --limit, --dry-run;",
        ),
        (["data", "import"], "Missing argument 'path'."),
        (["colour"], "No such command 'colour'."),
    ],
)
def test_a_usage_error_is_one_sentence(words, sentence):
    refused = run_command(words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert sentence in refused.stderr
    assert refused.stderr.count("\n") == 1 and refused.stderr.endswith(".\n")


def test_without_a_command_the_help_is_printed():
    result = run_command([])
    assert result.exit_code == 0
    assert all(noun in result.stdout for noun in cli.NOUNS)


@pytest.mark.parametrize("old_name", cli.OLD_NAMES)
def test_an_old_name_is_the_same_command_with_a_notice(old_name):
    noun, name = cli.OLD_NAMES[old_name]
    old, new = (run_command([*words, "--help"]) for words in (old_name.split(), [noun, name]))
    assert (old.exit_code, old.stdout) == (new.exit_code, new.stdout) and new.exit_code == 0
    assert old.stderr == f"`cli.py {old_name}` is now `cli.py {noun} {name}`.\n"


def test_old_names_are_those_of_the_flat_commands():
    """What scripts may call since 0.1.0; the nouns `judges`, `weights`, `systems` and `critiques` were commands too."""
    flat = (
        "import mapping run worker experiment agreement tags alignment compare compare-runs biases formats slices "
        "rationales causes plan discussions laboratory table search unread reread offer adopt inputs export bundle "
        "report backup restore copy-database members audit summaries annotators"
    )
    short = {"policy", "policy verify"}  # never a flat command, but called so
    assert {*flat.split(), "annotators erase"} | short == set(cli.OLD_NAMES)


@pytest.mark.parametrize(("noun", "default"), [("judges", "rank"), ("weights", "distances")])
def test_a_noun_without_a_command_is_its_default(noun, default, tmp_path):
    options = ["--study", "s", "--json", "--database", f"sqlite:///{tmp_path}/none.db"]
    for words in ([], options, ["--colour"]):
        bare, named = (run_command([*name, *words]) for name in ([noun], [noun, default]))
        assert (bare.exit_code, bare.stdout, bare.stderr) == (named.exit_code, named.stdout, named.stderr)
    assert default in run_command([noun, "--help"]).stdout


def test_an_interrupted_command_states_whether_it_has_stored_changes(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(output, "open_database", interrupt)
        patched.setattr(output, "_changed", set())
        result = run("people", "agreement", "--study", "tour")
    assert result.exit_code == 2 and "The database was not changed." in result.stderr
    monkeypatch.setattr(output, "print_result", interrupt)
    monkeypatch.setattr(output, "_changed", set())
    changed = run("data", "import", str(samples.path()), "--study", "another")
    assert changed.exit_code == 2 and "The database has changes that it had stored before" in changed.stderr


def test_a_run_whose_name_is_used_states_its_other_name(run_with_sample, monkeypatch, tmp_path):
    monkeypatch.setattr(run_commands, "execute", lambda engine, run_id, *_, **__: _launch.progress(engine, run_id))
    settings = tmp_path / "settings.yaml"
    settings.write_text("judges: [{name: a, model: local}, {name: b, model: local}]\ncriterion: helpfulness\n")
    words = ["runs", "start", "--study", "tour", "--settings", str(settings), "--limit", "1", "--name", "r4"]
    first, second = (run_with_sample(*words).stderr for _ in range(2))
    assert "is called" not in first
    assert "The study has a run 'r4': this one is called 'r4 2'.\n" in second


def test_an_import_states_what_it_reads(capsys, monkeypatch):
    path, records = Path("study.jsonl"), range(300)
    assert list(output.with_reading_lines(records, path, quiet=False)) == list(records)
    assert capsys.readouterr().err == ""  # it took less than LINE_SECONDS
    monkeypatch.setattr(output, "LINE_SECONDS", 0.0)
    assert list(output.with_reading_lines(records, path, quiet=True)) == list(records)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(output.with_reading_lines(records, path, quiet=False)) == list(records)
    lines = ["Reading study.jsonl", *(f"Reading study.jsonl: {count} records" for count in (100, 200, 300))]
    assert capsys.readouterr().err.splitlines() == lines


def test_a_backup_can_be_opened_as_a_database(run_with_sample, tmp_path):
    copy = tmp_path / "copy.db"
    result = run_with_sample("server", "backup", str(copy), "--json")
    assert json.loads(result.stdout) == {"written": [str(copy)]}
    words = ["people", "agreement", "--study", "tour", "--json"]
    in_copy = run_command([*words, "--database", f"sqlite:///{copy}"])
    assert json.loads(in_copy.stdout) == json.loads(run_with_sample(*words).stdout)
    refused = run_with_sample("server", "backup", str(copy))
    assert refused.exit_code == 2 and "already exists" in refused.stderr


def test_an_empty_database_is_not_backed_up(run, tmp_path):
    (tmp_path / "cli.db").write_bytes(b"")
    refused = run("server", "backup", str(tmp_path / "copy.db"))
    assert refused.exit_code == 2 and "no tables" in refused.stderr
    assert not (tmp_path / "copy.db").exists()


WITHOUT_A_DATABASE = [
    ["judges", "--study", "s"],
    ["judges", "alignment", "--study", "s"],
    ["people", "agreement", "--study", "s", "--json"],
    ["data", "export", "--study", "s", "--gold", "gold.csv"],
    ["runs", "start", "--study", "s"],
    ["studies", "list"],
    ["studies", "rename", "s", "t"],
    ["improve", "disagreements", "--study", "s", "--run", "r"],
    ["server", "summaries"],
    ["server", "backup", "copy.db"],
]


def test_a_mistyped_database_is_not_created_and_one_in_memory_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in WITHOUT_A_DATABASE:
        refused = run_command([*words, "--database", "sqlite:///folder/mistyped.db"])
        assert (refused.exit_code, refused.stdout) == (2, ""), words
        assert refused.stderr.startswith("There is no database file 'folder/mistyped.db': check --database")
        assert len(refused.stderr.splitlines()) == 1 and list(tmp_path.iterdir()) == []
    refused = run_command(["judges", "--study", "s", "--database", "sqlite://"])
    assert refused.exit_code == 2 and "no study" in refused.stderr


def test_a_migration_is_stated_with_its_copy(run, tmp_path):
    dump = gzip.decompress((ROOT / "tests/fixtures/version_0_1/database.sql.gz").read_bytes()).decode()
    (tmp_path / "cli.db").unlink()
    with contextlib.closing(sqlite3.connect(tmp_path / "cli.db")) as connection:
        connection.executescript(dump)
    first, second = run("studies", "list", "--json"), run("studies", "list", "--json")
    copy = tmp_path / f"cli.before-{newest_revision()}.db"
    assert first.stderr == (
        f"The database was migrated to revision {newest_revision()} of its tables. Its copy from before is {copy}.\n"
    )
    assert copy.exists() and second.stderr == "" and json.loads(first.stdout) == json.loads(second.stdout)


def test_a_study_is_exported_where_a_protocol_is_not_installed(run, store, tmp_path):
    store([ItemRecord(item=make_item()), RunRecord(name="elsewhere", protocol="their-method")])
    exported = run("data", "export", "--study", "s", "--everything", str(tmp_path / "out.jsonl"))
    assert exported.exit_code == 0
    assert "The protocol 'their-method' of run 'elsewhere' is not installed here." in exported.stderr
    assert '"protocol":"their-method"' in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_progress_without_a_terminal_is_a_line(run):
    imported = run("data", "import", str(samples.path()), "--study", "tour")
    (line,) = imported.stderr.splitlines()
    assert re.fullmatch(r"Importing items, labels and traces: (\d+) of \1 records", line)
    assert run("data", "import", str(samples.path()), "--study", "tour", "--json").stderr == ""


def unreadable_study() -> list[Record]:
    """Return a study with one reply that an earlier version could not read."""
    settings = {"judge": {"name": "=judge", "spec": {"model": "m"}}, "criterion": {"name": "helpfulness"}}
    settings["shuffle_responses"] = False
    reply = "\x1b[31mClear.\nFinal answer: 2"
    turn = a_turn(speaker="=judge", step="choice", reply=reply, reading=None, problem='no number in "Clear."')
    opinion = Opinion(kind="preference", judge="=judge", stage="verdict", value=None, criterion="helpfulness")
    verdict = VerdictReached(verdict=Verdict(outcome="no_verdict", opinions=(opinion,)))
    run = RunRecord(name="pairs", protocol="single-judge", criterion="helpfulness", settings=settings)
    criterion = CriterionRecord(criterion=Criterion(name="helpfulness"))
    return [criterion, ItemRecord(item=make_item("one")), run, a_trace("one", turn, verdict, run="pairs")]


@pytest.fixture
def run_with_unreadable(run, store):
    """Return a function that runs a command on a study with one reply that an earlier version could not read."""
    store(unreadable_study())
    return run


def test_unreadable_replies_are_listed_with_their_counts_and_texts(run_with_unreadable):
    found = json.loads(run_with_unreadable("runs", "unread", "--study", "s", "--json").stdout)
    assert found["counts"] == [{"judge": "=judge", "step": "choice", "reason": "no number in …", "replies": 1, "of": 1}]
    assert found["replies"][0]["reply"].endswith("Final answer: 2")
    text = run_with_unreadable("runs", "unread", "--study", "s").stdout
    assert "Final answer: 2" in text
    assert "\x1b" not in text, "a reply cannot control the terminal"
    other = json.loads(run_with_unreadable("runs", "unread", "--study", "s", "--judge", "other", "--json").stdout)
    assert other == {"counts": [], "replies": []}


def test_rereading_stores_nothing_until_it_is_applied_and_turns_are_exported_with_their_readings(
    run_with_unreadable, tmp_path
):
    listed = json.loads(run_with_unreadable("runs", "reread", "--study", "s", "--json").stdout)
    (change,) = listed["changes"]
    assert (change["old"], change["new"], change["rule"]) == (None, 2, "labelled")
    assert change["outcome"] == "no_verdict → agreed"
    assert "add --apply" in run_with_unreadable("runs", "reread", "--study", "s").stdout
    assert json.loads(run_with_unreadable("runs", "unread", "--study", "s", "--json").stdout)["counts"]
    applied = run_with_unreadable("runs", "reread", "--study", "s", "--apply")
    assert applied.exit_code == 0 and "Stored: 1 readings" in applied.stdout
    assert json.loads(run_with_unreadable("runs", "unread", "--study", "s", "--json").stdout)["counts"] == []
    assert "No reading changes" in run_with_unreadable("runs", "reread", "--study", "s").stdout
    table, lines = tmp_path / "turns.csv", tmp_path / "turns.jsonl"
    for file in (table, lines):
        assert run_with_unreadable("data", "export", "--study", "s", "--turns", str(file)).exit_code == 0
    with table.open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["reading"], row["reading_rule"], row["read_by"], row["format"]) == ("2", "labelled", "", "text")
    assert row["speaker"] == "'=judge", "a spreadsheet would execute a formula"
    turn = json.loads(lines.read_text())
    start, end = turn["reading_span"]
    assert turn["reply"][start:end] == "Final answer: 2"
    assert turn["speaker"] == "=judge"


def test_an_error_of_the_database_is_one_sentence(run_with_sample, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "cli.db")) as connection:
        connection.execute("DROP TABLE label")
    refused = run_with_sample("people", "agreement", "--study", "tour")
    assert refused.exit_code == 2
    assert refused.stderr == "The database reported an error: no such table: label.\n"
    (tmp_path / "cli.db").write_text("This is a text. " * 100)
    refused = run_with_sample("people", "agreement", "--study", "tour")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "Traceback" not in refused.output


def test_causes_slices_biases_and_plans_have_counts_reasons_and_a_corrected_p(run_with_sample):
    rows = json.loads(run_with_sample("judges", "causes", "--study", "tour", "--json").stdout)
    assert rows and all(row["reason"] or row["judge_error"] is not None for row in rows)
    assert rows[0]["judge"] in run_with_sample("judges", "causes", "--study", "tour").stdout
    rows = json.loads(run_with_sample("judges", "slices", "--study", "tour", "--json").stdout)
    assert all(row["p_corrected"] >= row["p"] and row["differing"] <= row["targets"] for row in rows)
    rows = json.loads(
        run_with_sample("judges", "biases", "--study", "tour", "--reference", "majority", "--json").stdout
    )
    assert {"position", "length"} <= {row["bias"] for row in rows}
    assert all(row["p"] is None or row["p_corrected"] >= row["p"] for row in rows)
    rows = json.loads(run_with_sample("people", "plan", "--study", "tour", "--reference", "majority", "--json").stdout)
    judges = {name for row in rows for name in (row["judge"], row["other_judge"])}
    assert len(rows) == len(judges) * (len(judges) - 1) // 2
    assert all(row["more_targets"] is not None or row["reason"] for row in rows)


WRONG_RULES = [("--margin", "nan"), ("--margin", "-1"), ("--epsilon", "5"), ("--min-coverage", "7")]
WRONG_RULES += [("--min-winning-rate", "inf")]


def test_a_rule_of_judges_outside_its_range_is_refused(run_with_sample):
    for option, value in WRONG_RULES:
        result = run_with_sample("judges", "--study", "tour", option, value)
        assert (result.exit_code, result.stdout) == (2, ""), option
        assert result.stderr.startswith(f"Invalid value for '{option}': ") and f", not {value}." in result.stderr


def test_an_unknown_scenario_or_criterion_of_results_is_refused(run_with_sample):
    """Each report is tested with both in tests/storage/reports/test_reserved_names.py."""
    for command, noun in (
        ("judges", "scenario"),
        ("judges compare", "criterion"),
        ("judges causes", "scenario"),
        ("judges slices", "criterion"),
        ("judges biases", "scenario"),
        ("people plan", "scenario"),
    ):
        result = run_with_sample(*command.split(), "--study", "tour", f"--{noun}", "nonsense")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), command
        assert result.stderr.startswith(f"There is no {noun} called 'nonsense' here; there are: ")


def test_a_scenario_that_is_called_all_is_written_in_quotes(run_with_sample):
    result = run_with_sample("judges", "--study", "tour", "--scenario", "all scenarios")
    assert result.exit_code == 2 and "is written in quotes: '\"all scenarios\"'." in result.stderr
    result = run_with_sample("judges", "--study", "tour", "--scenario", '"all"')
    assert result.exit_code == 2 and "There is no scenario called '\"all\"' here" in result.stderr
    assert output.parse_scenario('"all"') == "all" and output.parse_scenario("(no scenario)") == ""
    assert "'\"all\"' is one" in " ".join(run_with_sample("judges", "rank", "--help").stdout.split())


def test_judges_are_ranked_with_a_recommendation_and_compared(run_with_sample):
    text = run_with_sample("judges", "--study", "tour", "--reference", "majority")
    assert text.exit_code == 0, text.stderr
    _, reference, rule, header = text.stdout.splitlines()[:4]
    assert reference.startswith("Reference majority") and rule.startswith("Use: coverage at least 0.95, winning rate")
    assert header.split()[:4] == ["judge", "rank", "decision", "accuracy"]
    rows = json.loads(run_with_sample("judges", "--study", "tour", "--reference", "majority", "--json").stdout)
    assert {"dollars_per_1000", "seconds_per_1000", "efficient"} <= rows[0].keys()
    assert {row["decision"] for row in rows} >= {"ceiling", "baseline"}
    judges = [row for row in rows if row["coverage"] is not None]
    assert len({row["targets"] for row in judges}) == 1
    pairs = json.loads(
        run_with_sample("judges", "compare", "--study", "tour", "--reference", "majority", "--json").stdout
    )
    assert len(pairs) == len(judges) * (len(judges) - 1) // 2


def test_aius_are_adopted_and_replaced_after_questions(run_with_sample):
    result = run_with_sample("data", "adopt", "--study", "tour", "--by", "eve", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout) == {"study": "tour", "items": 0}
    result = run_with_sample("data", "adopt", "--study", "tour", "--by", "eve", "--replace")
    assert result.exit_code == 2 and "--replace needs --run" in result.stderr


def test_deleted_studies_are_listed_with_the_command_that_restores_them(run, tmp_path):
    file = tmp_path / "study.jsonl"
    file.write_bytes(samples.path().read_bytes())
    for name in ("stays", "my study"):
        assert run("data", "import", str(file), "--study", name, "--format", "tiebreak").exit_code == 0
    deleted = run("studies", "delete", "my study")
    assert deleted.stdout.endswith("studies restore 'my study'\n")
    listed = run("studies", "list")
    assert (listed.exit_code, listed.stdout.count("stays"), listed.stdout.count("deleted, until")) == (0, 1, 1)
    assert [row["study"] for row in json.loads(run("studies", "list", "--json").stdout)] == ["stays", "my study"]


def test_summaries_are_checked_and_rebuilt(run_with_sample, tmp_path):
    assert "All summaries agree" in run_with_sample("server", "summaries", "--check").stdout
    with contextlib.closing(sqlite3.connect(tmp_path / "cli.db")) as connection, connection:
        changed = connection.execute("UPDATE target SET counted = counted + 1").rowcount
    checked = run_with_sample("server", "summaries", "--study", "tour", "--check", "--json")
    assert (checked.exit_code, len(json.loads(checked.stdout))) == (2, changed)
    assert f"The summaries of {changed} targets differ" in checked.stderr
    assert f"and {changed - 20} more" in run_with_sample("server", "summaries").stdout
    with contextlib.closing(sqlite3.connect(tmp_path / "cli.db")) as connection, connection:
        runs = connection.execute("UPDATE run SET call_totals = '{\"calls\": 88}'").rowcount
    checked = run_with_sample("server", "summaries", "--check")
    assert (checked.exit_code, runs > 0) == (2, True)
    assert "{'calls': 88" in checked.stdout
    assert f"The summaries of {runs} calls of runs differ" in checked.stderr
    assert run_with_sample("server", "summaries").exit_code == 0
    assert "All summaries agree" in run_with_sample("server", "summaries", "--check").stdout


def test_a_model_behind_a_server_proposes_a_mapping(tmp_path):
    table, about = tmp_path / "t.csv", tmp_path / "about.md"
    table.write_text("n,words,said,verdict\n1,Why?,So.,2\n2,How?,Thus.,1\n")
    about.write_text("2 is the best.")
    proposed = (
        "```\nid: n\nprompt: words\nresponses: [{text: said}]\ngold:\n"
        "  - {kind: score, value: verdict, scale: {level: ordinal, categories: [1, 2]}}\n```"
    )
    words = ["data", "mapping", str(table), "--about", str(about)]
    with run_server() as server:
        server.text = lambda model, prompt: proposed
        printed = run_command([*words, "--model", "openai/m", "--address", server.address])
        assert len(server.log) == 2
        sent = [message["content"] for message in server.bodies[0]["messages"]]
    assert sent == [run_command([*words, "--prompt"]).stdout.rstrip("\n")]
    assert "# Proposed by openai/m" in printed.stdout and "confirmed: false" in printed.stdout, printed.output
    (tmp_path / "m.yaml").write_text(printed.stdout)
    refused = run_command([*words, "--model", "sk-abcdefghijklmnopqrstuvwxyz0123456789"])
    assert refused.exit_code == 2 and "looks like a key" in refused.stderr
    url = f"sqlite:///{tmp_path}/cli.db"
    words = ["data", "import", str(table), "--study", "s", "--map", str(tmp_path / "m.yaml"), "--database", url]
    assert run_command(words).exit_code == 2
    assert run_command([*words, "--confirm"]).exit_code == 0
