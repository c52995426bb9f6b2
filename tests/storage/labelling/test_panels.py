"""Values of the answer panels: what is stored, and what is refused."""

import math

import pytest

from core.formats import tiebreak
from storage.transfer import imports, samples
from tests.storage.labelling.workbench import Client, stored


@pytest.fixture
def zoe(engine):
    imports.import_records(engine, "s", tiebreak.read(samples.path("dna_eval")))
    return Client(engine, annotator="zoe", queue="weights")


def test_weights_are_stored_in_the_order_of_the_aspects(zoe, engine):
    task = zoe.tasks()[0]
    names = [aspect["name"] for aspect in task["targets"][0]["aspects"]]
    result = zoe.label(task, {name: 100 / len(names) for name in reversed(names)})
    assert (result["status"], list(stored(engine)[-1].value)) == ("accepted", names)


@pytest.mark.slow
@pytest.mark.parametrize("last", [-50, 20, math.nan, math.inf, True, "25", None, "absent"])
def test_weights_that_are_not_percentages_of_all_aspects_are_refused(zoe, engine, last):
    task = zoe.tasks()[0]
    before = len(stored(engine))
    *names, final = [aspect["name"] for aspect in task["targets"][0]["aspects"]]
    weights = {name: 75 / len(names) for name in names} | ({} if last == "absent" else {final: last})
    result = zoe.label(task, weights)
    assert (result["status"], len(stored(engine))) == ("rejected", before)
