"""A study as pandas frames and Plotly figures, for the public Python API."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from core.errors import TiebreakError, check_literal
from core.frozen import Frozen
from core.items import Item

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from sqlalchemy import Engine

    from core.statistics.data.dataset import Dataset
    from core.statistics.reports.judges import Abstentions
    from storage.reports.run_comparison import ComparedRuns
    from storage.studies.studies import Study as StoredStudy


By = Literal["all", "scenario", "criterion", "raters"]
AlignmentBy = Literal["all", "scenario", "criterion"]
Annotators = Literal["fixed", "sample"]
FigureName = Literal["judges", "agreement"]


class Study:
    """One study, read from the database at each call: frames have the data stored at that moment."""

    def __init__(self, engine: "Engine", stored: "StoredStudy") -> None:
        self._engine, self._stored = engine, stored

    @property
    def name(self) -> str:
        return self._stored.name

    def items(self) -> "pd.DataFrame":
        """One row per item: item, prompt, context, reference, scenario, group, responses, systems."""
        import pandas as pd

        from storage.db.connections import reading
        from storage.studies import items

        with reading(self._engine) as session:
            rows = [_item_row(item) for item in items.of_study(session, self._stored.id)]
        return pd.DataFrame(rows, columns=list(_ITEM_COLUMNS))

    def labels(self) -> "pd.DataFrame":
        """One row per label that counts: item, scenario, group, kind, criterion, part, rater, value."""
        from storage.db.connections import reading
        from storage.labels import labels, targets

        with reading(self._engine) as session:
            return targets.with_stored_criteria(labels.frame(session, self._stored.id))

    def gold(self) -> "pd.DataFrame":
        """One row per target: item, kind, criterion, part, value, source, rule, distribution, annotators."""
        import pandas as pd

        from storage.db.connections import reading
        from storage.labels import labels

        with reading(self._engine) as session:
            rows = [_gold_row(gold) for gold in labels.gold_labels(session, self._stored.id)]
        return pd.DataFrame(rows)

    def opinions(self) -> "pd.DataFrame":
        """One row per opinion of a judge: trace, run, item, ..., rater, stage, value (None: unreadable)."""
        from storage.db.connections import reading
        from storage.labels import targets
        from storage.reports import opinions

        with reading(self._engine) as session:
            return targets.with_stored_criteria(opinions.opinion_frame(session, self._stored.id))

    def agreement(self, by: By = "all", *, annotators: Annotators = "fixed") -> "pd.DataFrame":
        """One row per statistic: inter-annotator agreement, then agreement among judges, with 95 % intervals.

        Intervals are for these annotators ("fixed") or, with five or more, for others like them too ("sample").
        """
        from storage.reports import agreement

        check_literal("by", by, By)
        check_literal("annotators", annotators, Annotators)
        return _frame(agreement.rows(self._engine, self._stored, by, annotators=annotators))

    def alignment(self, by: AlignmentBy = "all", reference: str | None = None) -> "pd.DataFrame":
        """One row per judge and statistic: alignment with a reference, with 95 % intervals.

        `reference` is "gold", "majority", "mean", "annotator:NAME" or "debate:RUN".
        """
        from storage.reports import alignment

        check_literal("by", by, AlignmentBy)
        return _frame(alignment.rows(self._engine, self._stored, by, reference=reference))

    def judges(
        self,
        reference: str | None = None,
        *,
        kind: str | None = None,
        criterion: str | None = None,
        scenario: str | None = None,
        abstentions: "Abstentions" = "error",
        **rule: float,
    ) -> "pd.DataFrame":
        """One row per judge, on the same targets, with a decision; then the human ceiling and the baselines.

        A missing verdict is an "error", "excluded" or a "tie". `rule` has parameters of the decision: `min_coverage`,
        `min_winning_rate`, `margin`, `epsilon`. The frame's `attrs["not_compared"]` has the judges that are not
        compared, each with the reason. Raises TiebreakError if no judge can be ranked.
        """
        import pandas as pd

        from core.statistics.reports.judges import Rule
        from storage.reports import judge_ranking

        _check_abstentions(abstentions)
        _check_numbers(rule)
        selection = judge_ranking.Selection(kind, criterion, scenario, abstentions, Rule(**rule))
        ranked = judge_ranking.of_study(self._engine, self._stored, selection, reference=reference)
        frame = pd.DataFrame(judge_ranking.table(ranked))
        frame.attrs["not_compared"] = dict(ranked.not_compared)
        return frame

    def discussions(self, reference: str | None = None) -> "pd.DataFrame":
        """One row per judge, source and ablation: opinion changes in debates, adopted opinions, and fewer rounds."""
        import pandas as pd

        from storage.reports import discussions

        return pd.DataFrame(discussions.table(discussions.of_study(self._engine, self._stored, reference)))

    def systems(self, judge: str | None = None, reference: str | None = None) -> "pd.DataFrame":
        """One row per system: win rate or mean score by people's labels and a judge's verdicts together.

        `judge`: by default the one with most verdicts, of equals the first by name; "" for people's labels alone.
        """
        import pandas as pd

        from storage.reports import systems

        report = systems.report(self._engine, self._stored, judge=judge, reference=reference)
        return pd.DataFrame(systems.table(report))

    def comparisons(
        self,
        reference: str | None = None,
        *,
        kind: str | None = None,
        criterion: str | None = None,
        scenario: str | None = None,
        abstentions: "Abstentions" = "error",
    ) -> "pd.DataFrame":
        """One row per two judges: the difference in accuracy on the same targets, its interval and corrected p.

        The frame's `attrs["not_compared"]` has the judges that are not compared, each with the reason.
        """
        from storage.reports import judge_ranking

        _check_abstentions(abstentions)
        selection = judge_ranking.Selection(kind, criterion, scenario, abstentions)
        found, left_out = judge_ranking.comparisons_of_study(self._engine, self._stored, selection, reference=reference)
        frame = _frame(list(found))
        frame.attrs["not_compared"] = dict(left_out)
        return frame

    def plan(
        self,
        reference: str | None = None,
        *,
        kind: str | None = None,
        criterion: str | None = None,
        scenario: str | None = None,
        abstentions: "Abstentions" = "error",
    ) -> "pd.DataFrame":
        """One row per two judges: whether they are separated, and how many more labels would separate them."""
        import pandas as pd

        from storage.reports import judge_ranking, label_plans

        _check_abstentions(abstentions)
        selection = judge_ranking.Selection(kind, criterion, scenario, abstentions)
        found = label_plans.of_study(self._engine, self._stored, selection, reference=reference)
        frame = pd.DataFrame(label_plans.table(found.plans))
        frame.attrs["not_compared"] = dict(found.not_compared)
        return frame

    def causes(
        self, *, kind: str | None = None, criterion: str | None = None, scenario: str | None = None
    ) -> "pd.DataFrame":
        """One row per judge: shares of judge error, ambiguity and human noise in its disagreements with people."""
        import pandas as pd

        from storage.reports import judge_errors, judge_ranking

        selection = judge_ranking.Selection(kind, criterion, scenario)
        return pd.DataFrame(judge_errors.table(judge_errors.of_study(self._engine, self._stored, selection)))

    def slices(
        self, *, kind: str | None = None, criterion: str | None = None, scenario: str | None = None
    ) -> "pd.DataFrame":
        """One row per judge and slice of the targets: how much more often the judge differs from people there."""
        import pandas as pd

        from storage.reports import discordance, judge_ranking

        selection = judge_ranking.Selection(kind, criterion, scenario)
        return pd.DataFrame(discordance.table(discordance.of_study(self._engine, self._stored, selection)))

    def biases(
        self, reference: str | None = None, *, criterion: str | None = None, scenario: str | None = None
    ) -> "pd.DataFrame":
        """One row per judge and bias: its effect, interval and corrected p; the judge `people` is all annotators."""
        import pandas as pd

        from storage.reports import judge_biases

        rows = judge_biases.of_study(
            self._engine, self._stored, criterion=criterion, scenario=scenario, reference=reference
        )
        return pd.DataFrame(judge_biases.table(rows))

    def figure(self, name: FigureName, reference: str | None = None) -> "go.Figure":
        """A Plotly figure with 95 % intervals: the accuracy of each judge, or the agreement of the raters.

        Raises TiebreakError if there is nothing to draw.
        """
        from core.formats.interval_figure import interval_figure
        from storage.reports import agreement, judge_ranking, study_report

        check_literal("name", name, FigureName)
        if name == "judges":
            selection = judge_ranking.Selection()
            ranked = judge_ranking.of_study(self._engine, self._stored, selection, reference=reference)
            points, lines = study_report.judge_points(ranked.ranking)
            return interval_figure(points, f"Judges of {self.name}", "Accuracy and 95 % interval", lines)
        statistic, points = study_report.agreement_points(
            self._engine, self._stored, agreement.rows(self._engine, self._stored, "all")
        )
        if not points:
            raise TiebreakError("Agreement needs labels by at least two annotators.")
        return interval_figure(points, f"Agreement in {self.name}", f"{statistic} and 95 % interval")

    def compare_runs(
        self,
        *runs: str,
        kind: str | None = None,
        criterion: str | None = None,
        scenario: str | None = None,
        reference: str | None = None,
    ) -> "RunComparison":
        """Compare two or more runs, given by name, on a kind and criterion; by default those with most targets.

        Raises TiebreakError for a run that the study does not have, or without verdicts to compare.
        """
        from storage.reports import run_comparison

        compared = run_comparison.load(self._engine, self._stored, runs, reference)
        return RunComparison(compared, compared.dataset(kind, criterion, scenario))

    def disagreements(self, run: str, criterion: str | None = None) -> "pd.DataFrame":
        """One row per development item on which people decided otherwise than the judge of a run.

        Raises TiebreakError without a split of the items; see docs/improving-judges.md.
        """
        import pandas as pd

        from storage.db.connections import reading
        from storage.improvement import judges, splits

        with reading(self._engine) as session:
            current = judges.of_run(session, self._stored.id, run, criterion)
            found = splits.disagreement_cases(session, self._stored.id, current)
        columns = ("item", "part", "people", "judge", "source", "reason", "distance", "trace")
        rows = [(c.item.id, c.target.part, c.gold, c.verdict, c.source, c.reason, c.distance, c.trace) for c in found]
        return pd.DataFrame(rows, columns=list(columns))

    def variants(self) -> "pd.DataFrame":
        """One row per variant and part of the split: scores of both judges, difference, interval, decision."""
        import pandas as pd

        from storage.improvement import evaluations

        return pd.DataFrame(evaluations.table(self._engine, self._stored))


class RunComparison:
    """Runs compared with each other on the same targets."""

    def __init__(self, compared: "ComparedRuns", dataset: "Dataset") -> None:
        self._compared, self._dataset = compared, dataset
        self._figures = compared.compare(dataset)

    @property
    def settings(self) -> "pd.DataFrame":
        """One row per setting or template that differs: setting, then a column for each run."""
        import pandas as pd

        names = [run.name for run in self._compared.runs]
        rows: list[tuple[str | None, ...]] = [(one.path, *one.values) for one in self._compared.settings]
        rows += [(one.path, *one.texts) for one in self._compared.texts]
        return pd.DataFrame(rows, columns=["setting", *names])

    @property
    def runs(self) -> "pd.DataFrame":
        """One row per run: statistics with 95 % intervals and n, calls, tokens, seconds and dollars."""
        import pandas as pd

        from storage.reports import run_comparison

        return pd.DataFrame(run_comparison.run_rows(self._compared, self._figures))

    @property
    def pairs(self) -> "pd.DataFrame":
        """One row per pair of runs: changed verdicts, agreement, and the second minus the first with its p-value."""
        import pandas as pd

        from storage.reports import run_comparison

        return pd.DataFrame(run_comparison.pair_rows(self._figures))

    def changed(self) -> "pd.DataFrame":
        """One row per pair of runs and target with another verdict: first_run, second_run, item, ..., first, second."""
        import pandas as pd

        from storage.reports import changed_verdicts

        return pd.DataFrame(
            {"first_run": pair.first, "second_run": pair.second, **row}
            for pair in self._figures.pairs
            for row in changed_verdicts.changed_rows(self._dataset, pair)
        )


def _check_abstentions(abstentions: str) -> None:
    from core.statistics.reports.judges import Abstentions

    check_literal("abstentions", abstentions, Abstentions)


def _check_numbers(rule: Mapping[str, object]) -> None:
    for name, value in rule.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TiebreakError(f"`{name}` is a number, not {value!r}.")


_ITEM_COLUMNS = ("item", "prompt", "context", "reference", "scenario", "group", "responses", "systems")


def _item_row(item: Item) -> Mapping[str, Any]:
    return {
        "item": item.id,
        "prompt": item.prompt,
        "context": item.context,
        "reference": item.reference,
        "scenario": item.scenario,
        "group": item.group,
        "responses": tuple(response.text for response in item.responses),
        "systems": tuple(response.system for response in item.responses),
    }


def _gold_row(gold: Any) -> Mapping[str, Any]:
    fields: dict[str, Any] = dict(gold) if isinstance(gold, Frozen) else asdict(gold)
    target = fields.pop("target")
    target = dict(target) if isinstance(target, Frozen) else target
    return {**target, **fields}


def _frame(rows: list[Any]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([asdict(row) for row in rows])
