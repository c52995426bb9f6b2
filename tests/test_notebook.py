"""The notebook of the documentation, executed on a sample study."""

import pytest

from core.formats import tiebreak as tiebreak_format
from storage.db.connections import connect, database_url, upgrade
from storage.transfer import imports, samples
from tests.paths import ROOT

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: the notebook is not executed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: the notebook is not executed")


@pytest.mark.slow
def test_the_notebook_has_frames_and_figures() -> None:
    import nbformat

    engine = connect(database_url())
    upgrade(engine)
    imports.import_records(engine, "Sample: ScaleEval", tiebreak_format.read(samples.path()))
    notebook = nbformat.read(ROOT / "docs" / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(ROOT / "docs")}}).execute()
    results = {
        cell["id"]: output["data"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type in ("execute_result", "display_data")
    }
    assert "judge B" in results["judges"]["text/plain"] and "0.958" in results["judges"]["text/plain"]
    assert "helpfulness" in results["agreement"]["text/plain"]
    figure = results["judges-figure"]["application/vnd.plotly.v1+json"]
    assert len(figure["data"][0]["customdata"]) == 4
    assert any(name.startswith("judge B · n") for name in figure["layout"]["yaxis"]["ticktext"])
    texts = [annotation["text"] for annotation in figure["layout"]["annotations"]]
    assert any("human ceiling" in text for text in texts), texts
    assert "application/vnd.plotly.v1+json" in results["agreement-figure"]
