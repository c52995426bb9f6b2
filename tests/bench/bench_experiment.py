"""ScaleEval's Table 5 as published, and ReFeR's Table 5, on the local server: python -m tests.bench.bench_experiment

The debates of four criteria on 20 items each, then 4 criteria x 6 formats x 3 judges, killed twice and continued: 1,440
calls, 80 of them paid by the debates, and none is paid twice but those in flight. Then a review with one area chair,
and a second experiment that varies only the chair: it asks no peer.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from core.formats.records import ItemRecord, LabelRecord, ScaleRecord
from core.items import Response
from core.labels import Label, Scale, Target
from storage.db.connections import connect
from storage.transfer import imports
from tests.conftest import make_item
from tests.databases import create_database
from tests.openai_server import Server, run_server
from tests.papers.killed import CELLS, IN_FLIGHT, execute_and_kill, prepare_study, print_table, run
from tests.papers.packs import write_variant

ITEMS = 20
TABLE_3 = [
    "helpfulness · brainstorming", "interpretability · coding", "reasoning · math", "creativity · writing",
]  # fmt: skip


def killed_table(folder: Path, server: Server) -> None:
    """Run the debates, then Table 5, killed twice; raises RuntimeError for a repeated call that was not in flight.

    One evaluator has a model of the panel, and the debates' first opinions have its prompts: their replies are reused.
    """
    url = prepare_study(folder, ITEMS)
    debates = write_variant(
        folder, "scaleeval/debates", server.address, keep={"criterion and scenario": TABLE_3}, limit=ITEMS
    )
    run(url, "experiment", str(debates), "--json")
    start = time.perf_counter()
    killed = execute_and_kill(folder, url, server, "scaleeval/table-5", limit=ITEMS)
    seconds, totals = time.perf_counter() - start, killed.progress["totals"]
    print(print_table(url, "scaleeval-table-5", "example_level_agreement"))
    print(
        f"{killed.progress['finished']} runs, {killed.different:,} different calls, {killed.repeated} repeated, "
        f"{totals['interrupted']} interrupted in flight, {totals['reused']} reused, {seconds:.1f} s"
    )
    if (
        killed.different != CELLS * ITEMS - len(TABLE_3) * ITEMS
        or killed.repeated > totals["interrupted"]
        or killed.repeated > IN_FLIGHT
    ):
        raise RuntimeError("a call was paid twice")


def another_chair(folder: Path, server: Server) -> None:
    """Run a review, then one in which only the chair differs; raises RuntimeError if a peer is asked again."""
    url = create_database(folder / "r.db")
    scale = Scale(level="ordinal", categories=(1, 2, 3))
    items = [make_item(f"turn {number}", responses=(Response(text=f"reply {number}"),)) for number in range(ITEMS)]
    labels = [
        Label(target=Target(item=item.id, kind="score", criterion="Engaging"), annotator="ann", value=1 + number % 3)
        for number, item in enumerate(items)
    ]
    records = [ScaleRecord(kind="score", criterion="Engaging", scale=scale)]
    imports.import_records(
        connect(url),
        "s",
        [*(ItemRecord(item=item) for item in items), *records, *(LabelRecord(label=x) for x in labels)],
    )
    for chair in range(2):
        before = len(server.log)
        keep = {"criterion": ["Engaging"], "chair.model": [f"judge-{3 + chair}-x"]}
        file = write_variant(folder, "refer/table-5", server.address, choices="x", keep=keep)
        file.write_text(file.read_text().replace("name: refer-table-5", f"name: chair {chair + 1}"))
        run(url, "experiment", str(file), "--json")
        asked = Counter("chair" if line["model"][6] in "34" else "peer" for line in server.log[before:])
        print(f"chair {chair + 1}: {asked['peer']} calls of peers, {asked['chair']} of the chair")
        if asked != ({"peer": 9 * ITEMS, "chair": 3 * ITEMS} if chair == 0 else {"chair": 3 * ITEMS}):
            raise RuntimeError(f"the calls were {asked}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, run_server(latency=0.02) as server:
        killed_table(Path(folder), server)
        another_chair(Path(folder), server)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
