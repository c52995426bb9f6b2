"""The page Discussions: a sentence, changed opinions with their targets, and fewer rounds."""

from core.formats import tiebreak
from storage.transfer import samples
from tests.pages.visits import page_text, prepare_study, visit

PAGE = "results/discussions"


def test_a_debate_has_changes_adoptions_and_ablations() -> None:
    prepare_study(list(tiebreak.read(samples.path("scaleeval"))))
    app = visit(PAGE)
    assert not app.exception
    assert "opinions changed" in page_text(app) and "adopts the opinion of" in page_text(app).replace("\\", "")
    changes, ablations = (table.value.to_dict("records") for table in app.dataframe[:2])
    assert [row["Opinions"] for row in app.dataframe[2].value.to_dict("records")] == ["first", "last"]
    assert {row["Judge"] for row in changes} == {"judge A", "judge B", "judge C"}
    assert ablations[0]["Judges"] == "all" and "without judge A" in {row["Judges"] for row in ablations}
    chosen = changes[2]
    app = visit(PAGE, change=chosen["Judge"])
    assert not app.exception
    assert f"Selected targets: {chosen['Changed'].split()[0]}" in {header.value for header in app.subheader}
    listed = app.dataframe[3].value.to_dict("records")
    assert listed and all("→" in row[chosen["Judge"]] for row in listed)
