"""Figures of labels that a design drew are of all targets, or name the strata that they are of."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from core.designs import Design, Form, disputes_only
from core.formats.records import ItemRecord, LabelRecord, RunRecord, TraceRecord
from core.items import Item, Response
from core.labels import Label, Opinion, Target
from core.trace import TurnCompleted, Verdict, VerdictReached
from storage.db.connections import reading, writing
from storage.db.tables import ItemRow
from storage.labelling import offers, queue
from storage.labelling.queue import Queue
from storage.labels import designs
from storage.reports import agreement, alignment, judge_biases, judge_errors, judge_ranking, label_designs, systems
from storage.reports.chosen_labels import OF_DISPUTED
from storage.reports.judge_biases import PersonChoice
from storage.reports.judge_ranking import Selection
from storage.studies.studies import Study
from storage.transfer import imports
from tests.conftest import make_label
from tests.sessions import read, write
from tests.storage.reports.disputed_study import PlannedPair, planned_pairs, records
from tests.storage.reports.test_alignment import find_row, import_study
from tests.storage.shared import a_turn

ALL_OF_A = 0.592
HALF_OF_THE_AGREED = Design(
    Form.stratified, 7, {"disputed": 1.0, "agreed": 0.5, "unjudged": 0.0}, "contention"
)  # fmt: skip


def nobody(pairs: Sequence[PlannedPair]) -> Sequence[PlannedPair]:
    return []


def designed_study(engine: Engine, design: Design, labelled: object = None, name: str = "s") -> Study:
    """Return the study with a design, and labels of the drawn pairs, or of those with these numbers, by two people."""
    study = import_study(engine, records(nobody), name)
    write(engine, designs.set_design, study.id, "helpfulness", design)
    chosen = drawn(engine, study) if labelled is None else labelled
    import_labels(engine, study, chosen)  # type: ignore[arg-type]
    return study


@pytest.fixture(scope="module")
def half(module_engine: Engine) -> Study:
    """The study with half of the agreed pairs, for tests that only read it."""
    return designed_study(module_engine, HALF_OF_THE_AGREED)


def drawn(engine: Engine, study: Study) -> dict[str, bool]:
    frame = read(engine, designs.frame, study.id)
    assert frame is not None
    return {
        item: stratum == "disputed"
        for item, stratum, is_drawn in zip(frame.item, frame.stratum, frame.drawn, strict=True)
        if is_drawn
    }


def import_labels(engine: Engine, study: Study, items: Mapping[str, bool]) -> None:
    pairs = {pair.key: pair for pair in planned_pairs()}
    labels = []
    for number, key in enumerate(sorted(items)):
        value = pairs[key].value
        wrong = {number % 11: 3 - value, number % 17: value}
        labels += [make_label(wrong.get(0, value) if name == "ann" else value, name, key) for name in ("ann", "ben")]
    imports.import_records(engine, study.name, labels)


def win_rate(engine: Engine, study: Study, judge: str | None = "panel") -> systems.SystemRow:
    return next(row for row in systems.report(engine, study, judge=judge, resamples=50).rows if row.system == "A")


def test_the_win_rate_of_a_stratified_draw_is_of_all_pairs(module_engine: Engine, half: Study) -> None:
    for judge in ("panel", ""):
        row = win_rate(module_engine, half, judge)
        assert row.population == "all targets"
        assert row.value is not None and row.low is not None and row.high is not None
        assert row.low < ALL_OF_A < row.high and row.value == pytest.approx(ALL_OF_A, abs=0.03)
    assert win_rate(module_engine, half).people == pytest.approx(ALL_OF_A, abs=0.03)


def test_judges_and_agreement_are_of_all_targets(module_engine: Engine, half: Study) -> None:
    whole = designed_study(module_engine, Design(Form.everything), name="whole")
    statistics = ("accuracy_gold", "cohen_kappa_gold", "human_ceiling", "judge_less_ceiling")
    rows = {study.id: alignment.rows(module_engine, study, resamples=50) for study in (whole, half)}
    for name in statistics:
        expected, found = (find_row(rows[study.id], "j0", name) for study in (whole, half))
        assert found.population == "all targets"
        assert found.value == pytest.approx(expected.value, abs=0.03), name
    both = [judge_ranking.of_study(module_engine, study, Selection(), resamples=50) for study in (whole, half)]
    expected, found = ({one.judge: one.accuracy.value for one in report.ranking.judges} for report in both)
    assert found == pytest.approx(expected, abs=0.03)
    percents = [
        next(row for row in agreement.rows(module_engine, study, "all", resamples=50) if row.statistic == "percent")
        for study in (whole, half)
    ]
    assert percents[1].value == pytest.approx(percents[0].value, abs=0.02)
    assert OF_DISPUTED not in percents[1].reason


def test_targets_with_one_label_do_not_change_what_those_with_two_stand_for(engine: Engine) -> None:
    """Of the disputed targets with two labels half are agreed on, of the others all; most disputed ones have one."""
    study = designed_study(engine, HALF_OF_THE_AGREED, {})
    chosen = drawn(engine, study)
    disputed = sorted(key for key, is_disputed in chosen.items() if is_disputed)
    second = {key: 1 + number % 2 for number, key in enumerate(disputed[:40])}
    second |= {key: 1 for key, is_disputed in chosen.items() if not is_disputed}
    imports.import_records(engine, study.name, [make_label(value, "ben", key) for key, value in second.items()])
    imports.import_records(engine, study.name, [make_label(1, "ann", key) for key in chosen])
    percent = next(row for row in agreement.rows(engine, study, "all", resamples=50) if row.statistic == "percent")
    share = sum(pair.disputed for pair in planned_pairs()) / len(planned_pairs())
    assert percent.items == len(second)
    assert percent.value == pytest.approx(share * 0.5 + (1 - share))
    assert f"40 of {len(disputed)} disputed" in percent.reason


def test_a_design_of_disputes_alone_is_of_disputed_targets(engine: Engine) -> None:
    study = designed_study(engine, disputes_only())
    row = win_rate(engine, study)
    assert (row.value, row.population) == (None, "disputed targets")
    percent = next(row for row in agreement.rows(engine, study, "all", resamples=50) if row.statistic == "percent")
    assert percent.reason.startswith(OF_DISPUTED)


def test_labels_of_pairs_that_were_not_drawn_are_left_out_and_counted(engine: Engine) -> None:
    study = designed_study(engine, HALF_OF_THE_AGREED)
    before, known = win_rate(engine, study), drawn(engine, study)
    others = {pair.key: False for pair in planned_pairs() if pair.key not in known}
    import_labels(engine, study, others)
    after = win_rate(engine, study)
    assert (after.people_labelled, after.value) == (before.people_labelled, pytest.approx(before.value))
    data = alignment.load_data(engine, study)
    assert f"Labels of {len(others)} targets are left out: these were not drawn" in " ".join(data.choices.notes)


def test_drawn_strata_without_a_label_yet_are_not_counted_as_known(engine: Engine) -> None:
    study = designed_study(engine, HALF_OF_THE_AGREED, labelled={})
    import_labels(engine, study, {key: True for key, disputed in drawn(engine, study).items() if disputed})
    assert win_rate(engine, study).population == "disputed targets"


def test_more_pairs_are_drawn_beside_the_labelled_ones(engine: Engine) -> None:
    study = designed_study(engine, HALF_OF_THE_AGREED)
    with writing(engine) as session:
        before = {one.name: one for one in designs.counts(session, study.id, "helpfulness")}
        offers.draw_more(session, study, "helpfulness", {"disputed": 3, "agreed": 10})
        after = {one.name: one for one in designs.counts(session, study.id, "helpfulness")}
    assert after["agreed"].drawn == before["agreed"].labelled + 10
    assert (after["agreed"].missing, after["disputed"].drawn) == (10, before["disputed"].targets)


def test_labels_from_before_a_round_are_no_random_part_of_what_it_draws(engine: Engine) -> None:
    less, more = (replace(HALF_OF_THE_AGREED, shares={**HALF_OF_THE_AGREED.shares, "agreed": x}) for x in (0.3, 0.9))
    study = designed_study(engine, less)
    first, known = win_rate(engine, study, ""), drawn(engine, study)
    others = [pair for pair in planned_pairs() if not pair.disputed and pair.key not in known]
    import_labels(engine, study, {pair.key: False for pair in others if pair.better == "A"})
    further = write(engine, designs.set_design, study.id, "helpfulness", more)
    chosen = {pair.key for pair in others if pair.better == "A"}
    assert {key.partition(":")[0] for key in further.before} < chosen
    unchanged = win_rate(engine, study, "")
    assert (unchanged.value, unchanged.people_labelled) == (pytest.approx(first.value), first.people_labelled)
    waiting = [pair.key for pair in others if pair.better == "B"]
    import_labels(engine, study, dict.fromkeys(waiting[: len(waiting) // 2], False))
    row = win_rate(engine, study, "")
    assert row.population == "all targets" and row.people_labelled > first.people_labelled + 50
    assert row.value == pytest.approx(ALL_OF_A, abs=0.02)


@pytest.mark.parametrize("number", [1, 9])
def test_a_few_labels_of_a_stratum_make_no_figure_of_all_targets(engine: Engine, number: int) -> None:
    study = designed_study(engine, HALF_OF_THE_AGREED, labelled={})
    known = drawn(engine, study)
    agreed = [key for key, disputed in known.items() if not disputed][:number]
    import_labels(engine, study, {key: True for key, disputed in known.items() if disputed or key in agreed})
    assert win_rate(engine, study).population == "disputed targets"
    assert {
        row.population for row in alignment.rows(engine, study, resamples=10) if row.statistic == "accuracy_gold"
    } == {"disputed targets"}


@pytest.mark.parametrize(
    "design", [Design(Form.everything), Design(Form.random, 3, {"": 0.9}), Design(Form.weighted, 3, {"": 1.0})]
)
def test_disputes_that_were_labelled_first_are_no_random_part_of_drawn_pairs(engine: Engine, design: Design) -> None:
    study = designed_study(engine, design, labelled={})
    disputed = {pair.key for pair in planned_pairs() if pair.disputed}
    import_labels(engine, study, {key: True for key in drawn(engine, study) if key in disputed})
    row = win_rate(engine, study)
    assert (row.value, row.population) == (None, "disputed targets")


def scored_study(engine: Engine) -> tuple[Study, dict[str, int]]:
    """Return a study of 300 responses of A and B with scores of a panel, and the score that people would give each.

    30 % are disputed, and are worse.
    """
    rng, scores, found = random.Random(2), {}, []
    settings = {"criterion": {"name": "clarity", "scale": {"level": "interval", "low": 1, "high": 5}}}
    found.append(RunRecord(name="panel", protocol="refer", criterion="clarity", settings=settings))
    for number in range(300):
        disputed, key = rng.random() < 0.3, f"i{number}"
        scores[key] = rng.randrange(1, 4) if disputed else rng.randrange(3, 6)
        item = Item(id=key, prompt="?", responses=(Response(text="!", system="AB"[number % 2]),))
        values = [scores[key], 1, 5] if disputed else [scores[key]] * 3
        given = [*((f"j{place}", "last", value) for place, value in enumerate(values)), ("panel", "verdict", values[0])]
        opinions = [
            Opinion(kind="score", criterion="clarity", judge=judge, value=value, stage=stage)
            for judge, stage, value in given
        ]
        verdict = Verdict(outcome="disputed" if disputed else "agreed", value=values[0], opinions=tuple(opinions))
        events = (TurnCompleted(ask=0, turn=a_turn().turn), VerdictReached(verdict=verdict))
        found += [ItemRecord(item=item), TraceRecord(run="panel", item=key, events=events)]
    return import_study(engine, found), scores


def label_scores(engine: Engine, study: Study, scores: Mapping[str, int]) -> None:
    targets = [Target(item=key, kind="score", criterion="clarity") for key in scores]
    labels = [Label(target=one, annotator=name, value=scores[one.item]) for one in targets for name in ("ann", "ben")]
    imports.import_records(engine, study.name, [LabelRecord(label=one) for one in labels])


def correlations(engine: Engine, study: Study) -> list[float | None]:
    rows = alignment.rows(engine, study, resamples=20)
    return [
        row.value for row in rows if row.judge == "j1" and row.statistic in ("pearson", "spearman", "kendall_tau_b")
    ]


def score_queue(engine: Engine, study: Study) -> set[str]:
    with reading(engine) as session:
        query = queue.target_query(ItemRow.key, queue=Queue(study.id, "score", "clarity", every=True), with_items=True)
        return set(session.scalars(query))


def test_scores_are_drawn_by_a_design_and_their_figures_are_of_all(engine: Engine) -> None:
    study, scores = scored_study(engine)
    assert score_queue(engine, study) == set(scores)
    write(engine, offers.change_design, study, "clarity", sizes={"agreed": 60}, kind="score")
    asked = drawn(engine, study)
    assert score_queue(engine, study) == set(asked)
    assert sum(not disputed for disputed in asked.values()) == 60
    label_scores(engine, study, {key: scores[key] for key in asked})
    report = systems.report(engine, study, kind="score", judge="", resamples=20)
    for system, own in (("A", 0), ("B", 1)):
        truth = np.mean([scores[f"i{number}"] for number in range(own, 300, 2)])
        row = next(row for row in report.rows if row.system == system)
        assert row.population == "all targets" and row.low is not None and row.high is not None
        assert row.low < truth < row.high and row.value == pytest.approx(truth, abs=0.25)
    found = read(engine, label_designs.find, study.id, "clarity", "score")
    assert found is not None
    part = correlations(engine, study)
    label_scores(engine, study, {key: score for key, score in scores.items() if key not in asked})
    write(engine, offers.change_design, study, "clarity", sizes={"agreed": 300}, kind="score")
    assert part == pytest.approx(correlations(engine, study), abs=0.02)
    assert "60 of " in label_designs.describe(found) and "mean score of all scores" in label_designs.consequence(found)


def test_figures_that_count_each_label_once_are_of_labelled_targets(module_engine: Engine, half: Study) -> None:
    data = alignment.load_data(module_engine, half)
    query = judge_ranking.of_data(data, Selection(), resamples=10).query
    found = judge_errors.report(data, query, resamples=20)
    assert {row["population"] for row in judge_errors.table(found)} == {"labelled targets"}
    assert "These figures are of labelled targets, which were drawn with different" in found[0].sentence
    assert {row.population for row in alignment.rows(module_engine, half, resamples=10)} == {"all targets"}
    people = [PersonChoice("helpfulness", "", str(number), 1 + number % 2, 1 + number % 3 % 2) for number in range(90)]
    biases = {row.judge: row.population for row in judge_biases.report(data, query, [], people)}
    assert biases == {"people": "labelled targets"}
