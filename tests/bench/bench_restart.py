"""Servers are restarted in turn while annotators label: python -m tests.bench.bench_restart [--annotators 10]

Two servers share a PostgreSQL database. Annotators label through the routes of the page; one that gets no answer sends
the same request to the other server, as a browser does behind a proxy. Each server is stopped by SIGTERM and started
again, one after the other. Exits with an error if an acknowledged label is not stored, or one is stored twice.
"""

import argparse
import http.client
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine, func, select
from sqlmodel import col

from storage.db.connections import reading
from storage.db.tables import AnnotatorRow, LabelRow
from storage.studies import studies
from tests.bench.annotators import Annotator, labelling
from tests.bench.bench_workbench import STUDY, plant
from tests.bench.databases import print_load, print_times, temporary_database
from tests.browser.conftest import Served, free_port, serve, stop_server

LABELS = 3_000
"""Labels that are stored before."""
SETTLED = 3.0
"""Seconds between two restarts."""
RETRY = 0.25
"""Seconds before a request without an answer is sent again."""


class Moving(Annotator):
    """An annotator who sends a request again, to another server, until it is answered."""

    def __init__(self, addresses: Sequence[str], name: str) -> None:
        self.addresses, self.repeated = addresses, 0
        super().__init__(addresses[hash(name) % len(addresses)], name)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        while True:
            try:
                return super().call(method, path, body)
            except (OSError, http.client.HTTPException, RuntimeError) as error:
                if isinstance(error, RuntimeError) and ": 5" not in str(error):
                    raise
                self.repeated += 1
                self.address = next(one for one in self.addresses if one != self.address)
                self.http = http.client.HTTPConnection(urlsplit(self.address).netloc)
                time.sleep(RETRY)


def stored_labels(engine: Engine) -> dict[str, tuple[int, int]]:
    """Return annotator -> (labels, labelled targets)."""
    with reading(engine) as session:
        study_id = studies.get(session, STUDY).id
        query = (
            select(col(AnnotatorRow.name), func.count(), func.count(col(LabelRow.target_id).distinct()))
            .join(LabelRow, col(LabelRow.annotator_id) == col(AnnotatorRow.id))
            .where(col(LabelRow.study_id) == study_id)
            .group_by(col(AnnotatorRow.name))
        )
        return {name: (labels, targets) for name, labels, targets in session.execute(query)}


def restart_in_turn(servers: list[Served], start: Any) -> None:
    """Stop each server and start it again, while the others serve."""
    for number, served in enumerate(servers):
        time.sleep(SETTLED)
        stop_server(served)
        servers[number] = start(urlsplit(served.address).port)
    time.sleep(SETTLED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=10)
    parser.add_argument("--pause", type=float, default=0.2, help="mean seconds between two labels of an annotator")
    options = parser.parse_args()
    with ExitStack() as stack:
        database = stack.enter_context(temporary_database(postgresql=True))
        plant(database.engine, LABELS)

        def start(port: int) -> Served:
            return serve(database.url, database.folder / f"server-{port}.log", port, TIEBREAK_OWN_WORKER="off")

        servers = [start(free_port()) for _ in range(2)]
        stack.callback(lambda: [*map(stop_server, servers)])
        addresses = [served.address for served in servers]
        people = [Moving(addresses, f"newcomer {number}") for number in range(options.annotators)]
        with labelling(people, options.pause):
            restart_in_turn(servers, start)
        stored = stored_labels(database.engine)
    found = {person.name: stored.get(person.name, (0, 0)) for person in people}
    lost = sum(len(person.times) - found[person.name][0] for person in people)
    doubled = sum(labels - targets for labels, targets in found.values())
    times = [seconds for person in people for seconds in person.times]
    print(
        f"{len(people)} annotators, 2 servers restarted in turn: {len(times)} labels acknowledged, {lost} lost, "
        f"{doubled} doubled, {sum(person.repeated for person in people)} requests repeated"
    )
    print_times("label", times)
    print_load()
    if lost or doubled:
        raise SystemExit("wrong")


if __name__ == "__main__":
    main()
