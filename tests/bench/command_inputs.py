"""Files for the commands of `performance_table`, and the plain import that it compares with."""

import csv
import json
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from core.formats.mapping.mapping import JudgeBlock, Mapping, ResponseFields, WideLabels, dump_mapping
from core.labels import Scale, Value
from core.statistics.reports.agreement import agreement_rows

ANNOTATORS = ("ann", "bob", "cyd")
LIKERT = {("likert", ""): Scale(level="ordinal", categories=(1, 2, 3, 4, 5))}
WORDS = ["an", "answer", "of", "ordinary", "length", "says", "what", "it", "says", "and", "then", "why", "it", "is"]


PAIRS = Mapping(
    id="id",
    prompt="question",
    responses=(ResponseFields(text="left"), ResponseFields(text="right")),
    scenario="topic",
)
VALUES: dict[str, Value] = {"0": 0, "1": 1, "2": 2}
LABELS = WideLabels(
    layout="wide",
    kind="preference",
    criterion="helpfulness",
    annotators={name: name for name in ANNOTATORS},
    values=VALUES,
)
VERDICTS = JudgeBlock(
    kind="preference",
    criterion="helpfulness",
    columns={name: f"judge {name}" for name in ANNOTATORS},
    values=VALUES,
)


def debate_settings(path: Path, address: str) -> Path:
    """Write settings of three judges that never agree over three rounds."""
    judges = [{"name": f"judge {n}", "model": f"judge-{n}", "address": address} for n in range(3)]
    path.write_text(yaml.safe_dump({"judges": judges, "rounds": 3, "criterion": {"name": "helpfulness"}}))
    return path


def judge_settings(path: Path, address: str) -> Path:
    """Write settings of one judge."""
    path.write_text(yaml.safe_dump({"judges": [{"name": "judge", "model": "judge-1", "address": address}]}))
    return path


def write_critiques(path: Path, items: int) -> Path:
    """Write items with one critique of 7 AIUs, a reference critique of 8, and no reference answer: 16 calls each."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            critiques = [
                {
                    "id": role,
                    "author": role,
                    "role": role,
                    "text": "The answer is wrong. " * 10,
                    "aius": [
                        {"id": f"{role}{n}", "text": f"Unit {n} of {number} is about the sky."} for n in range(size)
                    ],
                }
                for role, size in (("hypothesis", 7), ("reference", 8))
            ]
            responses = [{"text": "Because of the sea. " * 20}]
            item = {"id": f"item {number}", "prompt": f"{number}: why is the sky blue?", "responses": responses}
            file.write(json.dumps({"type": "item", "item": item | {"critiques": critiques}}) + "\n")
    return path


def write_table(folder: Path, items: int, *, verdicts: bool = False) -> tuple[Path, Path]:
    """Write a table of pairs with three labels each, and its mapping, in which they can be verdicts of judges."""
    path, mapping = folder / f"{items}.csv", folder / f"{items}.yaml"
    values = {"judges": (VERDICTS,)} if verdicts else {"labels": (LABELS,)}
    mapping.write_text(dump_mapping(PAIRS.model_copy(update=values)))
    rng = random.Random(7)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "left", "right", "topic", *ANNOTATORS])
        for number in range(items):
            left, right = (" ".join(rng.choices(WORDS, k=30)) for _ in range(2))
            given = [rng.choice((0, 1, 2)) for _ in ANNOTATORS]
            writer.writerow([f"pair-{number}", f"Question {number}: why?", left, right, f"topic {number % 8}", *given])
    return path, mapping


def plain_import(path: Path) -> None:
    """Insert the same rows with the standard library, without any check, identifier or index."""
    with tempfile.TemporaryDirectory() as folder, path.open(encoding="utf-8", newline="") as file:
        connection = sqlite3.connect(Path(folder) / "plain.db")
        connection.execute("CREATE TABLE item (body TEXT)")
        connection.execute("CREATE TABLE label (item TEXT, annotator TEXT, value INTEGER)")
        for row in csv.DictReader(file):
            connection.execute("INSERT INTO item VALUES (?)", (json.dumps(row),))
            labels = [(row["id"], name, int(row[name])) for name in ANNOTATORS]
            connection.executemany("INSERT INTO label VALUES (?, ?, ?)", labels)
        connection.commit()
        connection.close()


def crowd(items: int, raters: int) -> pd.DataFrame:
    """Return labels from 1 to 5 that agree in part, in long form."""
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, (items, 1))
    values = np.where(rng.random((items, raters)) < 0.6, truth, rng.integers(1, 6, (items, raters)))
    return pd.DataFrame(
        {
            "item": np.repeat([f"item {number}" for number in range(items)], raters),
            "scenario": "",
            "kind": "likert",
            "criterion": "",
            "part": None,
            "rater": np.tile([f"annotator {number}" for number in range(raters)], items),
            "value": values.ravel().astype(object),
        }
    )


if __name__ == "__main__" and "crowd" in sys.argv:
    agreement_rows(crowd(350, 123), by="all", scales=LIKERT)
