"""The command `cli.py studies design`."""

import json
import shutil

import pytest

from storage.db.connections import connect
from tests.commands import run_command
from tests.databases import create_database
from tests.storage.test_designs import add_run, add_study, label

ALL = ("--study", "s", "--criterion", "helpfulness")


@pytest.fixture(scope="module")
def planted_file(tmp_path_factory):
    """The file of a database with a study of 40 judged pairs, 10 of them disputed."""
    path = tmp_path_factory.mktemp("planted") / "cli.db"
    engine = connect(create_database(path))
    add_run(engine, add_study(engine))
    engine.dispose()
    return path


@pytest.fixture
def run(planted_file, tmp_path):
    """Return a function that runs a command on a copy of the study."""
    url = f"sqlite:///{shutil.copy(planted_file, tmp_path)}"
    engine = connect(url)

    def invoke(*words):
        result = run_command(["studies", *words, *ALL, "--database", url, "--json"])
        return json.loads(result.stdout) if result.exit_code == 0 else result.stderr

    invoke.engine = engine
    return invoke


def test_the_design_is_printed_with_its_strata(run):
    found = run("design")
    assert list(found) == [
        *("criterion", "kind", "form", "by", "round", "seed", "strata", "chosen", "half_width", "consequence"),
    ]
    assert (found["form"], found["by"], found["round"]) == ("stratified", "contention", 1)
    disputed, agreed = found["strata"]
    expected = {"stratum": "disputed", "share": 1.0, "targets": 10, "drawn": 10, "labelled": 0, "missing": 10}
    assert disputed == expected and agreed["share"] == 0.25


@pytest.mark.parametrize(
    ("words", "form", "drawn"),
    [
        (("--agreed", "12"), "stratified", {"disputed": 10, "agreed": 12}),
        (("--size", "25"), "stratified", {"disputed": 10, "agreed": 15}),
        (("--size", "25", "--allocation", "neyman"), "stratified", {"disputed": 10, "agreed": 15}),
        (("--form", "disputed"), "disputed", {"disputed": 10, "agreed": 0}),
        (("--share", "agreed=1"), "stratified", {"disputed": 10, "agreed": 30}),
        (("--form", "everything"), "everything", {"": 40}),
        (("--by", "scenario", "--share", "1"), "stratified", {"math": 40}),
        (("--form", "random", "--size", "15", "--share", "0"), "random", {"": 15}),
    ],
)
def test_options_change_the_design(run, words, form, drawn):
    found = run("design", *words)
    assert (found["form"], {one["stratum"]: one["drawn"] for one in found["strata"]}) == (form, drawn)
    assert run("design") == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--share", "agreed=x"), "A share is STRATUM=NUMBER, such as agreed=0.2, and not 'agreed=x'."),
        (("--by", "colour"), "A stratified design needs what it is stratified by: contention, scenario, group."),
        (("--size", "5"), "10 pairs are drawn with the share 1, so 5 in all are too few."),
        (("--form", "disputed"), "The share of agreed targets is 0.25 and labels exist, so it cannot shrink to 0"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(run, words, message):
    label(run.engine, 1, "item 0")
    assert message in " ".join(run("design", *words).split())


def test_an_offer_keeps_the_design(run):
    assert run("offer", "--pairs", "20")["total"] == 40
    agreed = run("design")["strata"][1]
    assert agreed["share"] == 0.5
    assert run("offer") == {"added": 30 - agreed["drawn"], "drawn": 40, "total": 40}


def test_imported_verdicts_get_the_default_design_unless_there_are_labels(tmp_path):
    lines = ["id,question,a,b,j1,j2,ann", *(f"{n},q{n},a{n},b{n},1,{1 + (n < 20)}," for n in range(60))]
    labelled = [*lines[:-1], lines[-1] + "1"]
    judges = "{kind: preference, criterion: helpfulness, columns: {j1: one, j2: two}, run: panel, stage: last}"
    labels = "{layout: wide, kind: preference, criterion: helpfulness, annotators: {ann: ann}}"
    fields = "id: id\nprompt: question\nresponses: [{text: a}, {text: b}]\n"
    strata = []
    for name, rows in (("verdicts", lines), ("labels", labelled)):
        table, mapping = tmp_path / f"{name}.csv", tmp_path / f"{name}.yaml"
        table.write_text("\n".join(rows), "utf-8")
        mapping.write_text(f"{fields}judges: [{judges}]\nlabels: [{labels}]\n", "utf-8")
        place = ["--database", f"sqlite:///{tmp_path}/t.db"]
        words = ["data", "import", str(table), "--study", name, "--map", str(mapping), "--confirm", *place]
        result = run_command(words)
        assert result.exit_code == 0, result.stderr
        words = ["studies", "design", "--study", name, "--criterion", "helpfulness", *place, "--json"]
        found = json.loads(run_command(words).stdout)
        strata.append({one["stratum"]: (one["targets"], one["share"]) for one in found.get("strata", ())})
    assert strata == [{"disputed": (20, 1.0), "agreed": (40, 0.1)}, {}]
