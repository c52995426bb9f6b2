"""A study as pandas frames and Plotly figures, for the public Python API, which imports this module on first use."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import pandas as pd
from sqlalchemy import Engine

from core.errors import TiebreakError, check_literal
from core.formats.charts import IntervalChart, Mark, interval_figure
from core.items import Item
from core.labels import Gold
from core.statistics.data.dataset import Dataset
from core.statistics.reports.judges import Abstentions, Rule
from storage.db.connections import reading
from storage.improvement import evaluations, judges, splits
from storage.labels import labels, targets
from storage.reports import (
    agreement,
    alignment,
    discordance,
    discussions,
    judge_biases,
    judge_errors,
    judge_ranking,
    label_plans,
    opinions,
    policy,
    run_comparison,
    study_report,
    systems,
)
from storage.studies import items
from storage.studies.studies import Study as StoredStudy

if TYPE_CHECKING:
    import plotly.graph_objects as go

By = Literal["all", "scenario", "criterion", "raters"]
AlignmentBy = Literal["all", "scenario", "criterion"]
Annotators = Literal["fixed", "sample"]
FigureName = Literal["judges", "agreement"]


class Chosen(TypedDict, total=False):
    """The targets of a report: without a kind, criterion or scenario those with the most targets, or all."""

    kind: str | None
    criterion: str | None
    scenario: str | None


class ChosenVerdicts(Chosen, total=False):
    """The same, and what a missing verdict is: an "error", "excluded" or a "tie"."""

    abstentions: Abstentions


class Study:
    """One study, read from the database at each call: frames have the data stored at that moment."""

    def __init__(self, engine: Engine, stored: StoredStudy) -> None:
        self._engine, self._stored = engine, stored

    @property
    def name(self) -> str:
        return self._stored.name

    def items(self) -> pd.DataFrame:
        """One row per item: item, prompt, context, reference, scenario, group, responses, systems."""
        with reading(self._engine) as session:
            rows = [_item_row(item) for item in items.of_study(session, self._stored.id)]
        return pd.DataFrame(rows, columns=list(_ITEM_COLUMNS))

    def labels(self) -> pd.DataFrame:
        """One row per label that counts: item, scenario, group, kind, criterion, part, rater, value."""
        with reading(self._engine) as session:
            return targets.with_stored_criteria(labels.frame(session, self._stored.id))

    def gold(self) -> pd.DataFrame:
        """One row per target: item, kind, criterion, part, value, source, rule, distribution, annotators."""
        with reading(self._engine) as session:
            return pd.DataFrame([_gold_row(gold) for gold in labels.gold_labels(session, self._stored.id)])

    def opinions(self) -> pd.DataFrame:
        """One row per opinion of a judge: trace, run, item, ..., rater, stage, value (None: unreadable)."""
        with reading(self._engine) as session:
            return targets.with_stored_criteria(opinions.opinion_frame(session, self._stored.id))

    def agreement(self, by: By = "all", *, annotators: Annotators = "fixed") -> pd.DataFrame:
        """One row per statistic: inter-annotator agreement, then agreement among judges, with 95 % intervals.

        Intervals are for these annotators ("fixed") or, with five or more, for others like them too ("sample").
        """
        check_literal("by", by, By)
        check_literal("annotators", annotators, Annotators)
        return _frame(agreement.rows(self._engine, self._stored, by, annotators=annotators))

    def alignment(self, by: AlignmentBy = "all", reference: str | None = None) -> pd.DataFrame:
        """One row per judge and statistic: alignment with a reference, with 95 % intervals.

        `reference` is "gold", "majority", "mean", "annotator:NAME" or "debate:RUN".
        """
        check_literal("by", by, AlignmentBy)
        return _frame(alignment.rows(self._engine, self._stored, by, reference=reference))

    def judges(
        self,
        reference: str | None = None,
        *,
        kind: str | None = None,
        criterion: str | None = None,
        scenario: str | None = None,
        abstentions: Abstentions = "error",
        **rule: float,
    ) -> pd.DataFrame:
        """One row per judge, on the same targets, with a decision; then the human ceiling and the baselines.

        A missing verdict is an "error", "excluded" or a "tie". `rule` has parameters of the decision: `min_coverage`,
        `min_winning_rate`, `margin`, `epsilon`. The frame's `attrs["not_compared"]` has the judges that are not
        compared, each with the reason. Raises TiebreakError if no judge can be ranked.
        """
        check_literal("abstentions", abstentions, Abstentions)
        for name, value in rule.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TiebreakError(f"`{name}` is a number, not {value!r}.")
        selection = judge_ranking.Selection(kind, criterion, scenario, abstentions, Rule(**rule))
        ranked = judge_ranking.of_study(self._engine, self._stored, selection, reference=reference)
        return _frame(judge_ranking.table(ranked), not_compared=dict(ranked.not_compared))

    def discussions(self, reference: str | None = None) -> pd.DataFrame:
        """One row per judge, source and ablation: opinion changes in debates, adopted opinions, and fewer rounds."""
        return _frame(discussions.table(discussions.of_study(self._engine, self._stored, reference)))

    def systems(self, judge: str | None = None, reference: str | None = None) -> pd.DataFrame:
        """One row per system: win rate or mean score by people's labels and a judge's verdicts together.

        `judge`: by default the one with most verdicts, of equals the first by name; "" for people's labels alone.
        """
        return _frame(systems.table(systems.report(self._engine, self._stored, judge=judge, reference=reference)))

    def policy(
        self,
        *judges: str,
        signal: str | None = None,
        kind: str | None = None,
        criterion: str | None = None,
        risk: float = policy.RISK,
        confidence: float = policy.CONFIDENCE,
        looks: int = 1,
    ) -> pd.DataFrame:
        """One row per judge and threshold: verdicts at or above it, their observed risk and its upper bound.

        `attrs["policy"]` has the answer: its state, the threshold, and how many verdicts stand. Several judges are a
        cascade. Without any it is the judge with most verdicts.
        """
        query = policy.PolicyQuery(judges, kind, criterion, signal, risk, confidence, looks)
        found = policy.of_study(self._engine, self._stored, query)
        return _frame(policy.curve_rows(found), policy=policy.table(found))

    def comparisons(self, reference: str | None = None, **chosen: Unpack[ChosenVerdicts]) -> pd.DataFrame:
        """One row per two judges: the difference in accuracy on the same targets, its interval and corrected p.

        The frame's `attrs["not_compared"]` has the judges that are not compared, each with the reason.
        """
        found, left_out = judge_ranking.comparisons_of_study(
            self._engine, self._stored, _selection(**chosen), reference=reference
        )
        return _frame(found, not_compared=dict(left_out))

    def plan(self, reference: str | None = None, **chosen: Unpack[ChosenVerdicts]) -> pd.DataFrame:
        """One row per two judges: whether they are separated, and how many more labels would separate them."""
        plans, left_out = label_plans.of_study(self._engine, self._stored, _selection(**chosen), reference=reference)
        return _frame(label_plans.table(plans), not_compared=dict(left_out))

    def causes(self, **chosen: Unpack[Chosen]) -> pd.DataFrame:
        """One row per judge: shares of judge error, ambiguity and human noise in its disagreements with people."""
        return _frame(judge_errors.table(judge_errors.of_study(self._engine, self._stored, _selection(**chosen))))

    def slices(self, **chosen: Unpack[Chosen]) -> pd.DataFrame:
        """One row per judge and slice of the targets: how much more often the judge differs from people there."""
        return _frame(discordance.table(discordance.of_study(self._engine, self._stored, _selection(**chosen))))

    def biases(
        self, reference: str | None = None, *, criterion: str | None = None, scenario: str | None = None
    ) -> pd.DataFrame:
        """One row per judge and bias: its effect, interval and corrected p; the judge `people` is all annotators."""
        selection = _selection(criterion=criterion, scenario=scenario)
        rows = judge_biases.of_study(self._engine, self._stored, selection, reference=reference)
        return _frame(judge_biases.table(rows))

    def figure(self, name: FigureName, reference: str | None = None) -> "go.Figure":
        """A Plotly figure with 95 % intervals: the accuracy of each judge, or the agreement of the raters.

        Raises TiebreakError if there is nothing to draw.
        """
        check_literal("name", name, FigureName)
        if name == "judges":
            ranked = judge_ranking.of_study(self._engine, self._stored, judge_ranking.Selection(), reference=reference)
            marks, lines = study_report.judge_points(ranked.ranking)
            return self._figure(f"Judges of {self.name}", "Accuracy", marks, lines)
        found = agreement.rows(self._engine, self._stored, "all")
        statistic, rows = study_report.agreement_values(self._engine, self._stored, found)
        if not rows:
            raise TiebreakError("Agreement needs labels by at least two annotators.")
        return self._figure(f"Agreement in {self.name}", statistic, study_report.agreement_marks(rows))

    def _figure(
        self, title: str, value: str, marks: Sequence[Mark], lines: Sequence[tuple[str, float]] = ()
    ) -> "go.Figure":
        chart = IntervalChart("figure", title, f"{value} and 95 % interval", [("", "circle")], marks, lines=lines)
        # The theme of the app has no part in a figure outside of it.
        return interval_figure(chart).update_layout(
            template="plotly_white", paper_bgcolor="white", plot_bgcolor="white"
        )

    def compare_runs(self, *runs: str, reference: str | None = None, **chosen: Unpack[Chosen]) -> "RunComparison":
        """Compare two or more runs, given by name, on a kind and criterion; by default those with most targets.

        Raises TiebreakError for a run that the study does not have, or without verdicts to compare.
        """
        compared = run_comparison.load(self._engine, self._stored, runs, reference)
        return RunComparison(compared, compared.dataset(**chosen))

    def disagreements(self, run: str, criterion: str | None = None) -> pd.DataFrame:
        """One row per development item on which people decided otherwise than the judge of a run.

        Raises TiebreakError without a split of the items; see docs/improving-judges.md.
        """
        with reading(self._engine) as session:
            current = judges.of_run(session, self._stored.id, run, criterion)
            found = splits.disagreement_cases(session, self._stored.id, current)
        columns = ("item", "part", "people", "judge", "source", "reason", "distance", "trace")
        rows = [(c.item.id, c.target.part, c.gold, c.verdict, c.source, c.reason, c.distance, c.trace) for c in found]
        return pd.DataFrame(rows, columns=list(columns))

    def variants(self) -> pd.DataFrame:
        """One row per variant and part of the split: scores of both judges, difference, interval, decision."""
        return _frame(evaluations.table(self._engine, self._stored))


class RunComparison:
    """Runs compared with each other on the same targets."""

    def __init__(self, compared: run_comparison.ComparedRuns, dataset: Dataset) -> None:
        self._compared, self._dataset = compared, dataset
        self._figures = compared.compare(dataset)

    @property
    def settings(self) -> pd.DataFrame:
        """One row per setting or template that differs: setting, then a column for each run."""
        names = [run.name for run in self._compared.runs]
        rows = [(one.path, *one.values) for one in self._compared.differences]
        return pd.DataFrame(rows, columns=["setting", *names])

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run: statistics with 95 % intervals and n, calls, tokens, seconds and dollars."""
        return _frame(run_comparison.run_rows(self._compared, self._figures))

    @property
    def pairs(self) -> pd.DataFrame:
        """One row per pair of runs: changed verdicts, agreement, and the second minus the first with its p-value."""
        return _frame(run_comparison.pair_rows(self._figures))

    def changed(self) -> pd.DataFrame:
        """One row per pair of runs and target with another verdict: first_run, second_run, item, ..., first, second."""
        return pd.DataFrame(
            {"first_run": pair.first, "second_run": pair.second, **row}
            for pair in self._figures.pairs
            for row in run_comparison.changed_rows(self._dataset, pair)
        )


def _selection(**chosen: Unpack[ChosenVerdicts]) -> judge_ranking.Selection:
    check_literal("abstentions", chosen.get("abstentions", "error"), Abstentions)
    return judge_ranking.Selection(**chosen)


_ITEM_COLUMNS = ("item", "prompt", "context", "reference", "scenario", "group", "responses", "systems")


def _item_row(item: Item) -> dict[str, Any]:
    row = {"item": item.id, **{name: getattr(item, name) for name in _ITEM_COLUMNS[1:6]}}
    texts, systems = (tuple(getattr(own, name) for own in item.responses) for name in ("text", "system"))
    return row | {"responses": texts, "systems": systems}


def _gold_row(gold: Gold) -> dict[str, Any]:
    fields = dict(gold)
    return {**dict(fields.pop("target")), **fields}


def _frame(rows: Sequence[Any], **attributes: Any) -> pd.DataFrame:
    """Return rows, which are dataclasses or named columns, as a frame with attributes."""
    frame = pd.DataFrame([row if isinstance(row, dict) else asdict(row) for row in rows])
    frame.attrs |= attributes
    return frame
