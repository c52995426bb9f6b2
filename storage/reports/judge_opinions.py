"""The opinions of all judges of a study with their names and what is known of the responses, without labels.

They change only with runs. The result pages load them once and combine them with the labels, which change all the time.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy.orm import Session

from storage import items, runs
from storage.reports import references, response_features
from storage.reports.frame_keys import row_keys
from storage.reports.judge_families import judge_model
from storage.reports.opinions import RaterPanel, categorical_opinions, frame_panel
from storage.studies import Study

if TYPE_CHECKING:
    import pandas as pd

STAGE_RANK = {"verdict": 0, "last": 1, "first": 2}
FIRST_OPINION = ", first opinion"
TARGET = ["item", "kind", "criterion", "part"]


@dataclass(frozen=True)
class StudyOpinions:
    """The opinions of the judges of a study; shared by pages and threads, so do not modify."""

    values: "pd.DataFrame"
    """One row for each judge and target, with names as categories; see `alignment.AlignmentData.opinions`."""
    scale_panel: RaterPanel
    """A value of each type for each kind and criterion, from which `opinions.find_scales` finds scales."""
    systems: Mapping[str, tuple[str, tuple[str | None, ...]]]
    """Item -> its scenario, and the system of each of its responses."""
    left_out: str = ""
    """The debate whose opinions are left out: the name of a run or an experiment."""
    disputed: frozenset[int] = frozenset()
    """See `references.disputed_targets`."""
    debates: tuple[str, ...] = ()
    """See `references.debate_runs`."""


def load(session: Session, study: Study, left_out: str = "") -> StudyOpinions:
    """Return the opinions of a study, without those of the debate called `left_out`."""
    opinions = categorical_opinions(session, study.id)
    scale_panel = frame_panel(_examples(opinions))
    if left_out:
        opinions = opinions[~opinions["run"].isin(references.debate_run_ids(session, study.id, left_out))]
    outlines = items.outlines(session, study.id)
    opinions = response_features.add(session, study, _with_judge_names(session, study.id, opinions), outlines)
    systems = {key: (item.scenario or "", item.systems) for key, item in outlines.items()}
    disputed = references.disputed_targets(session, study.id)
    debates = tuple(references.debate_runs(session, study.id))
    return StudyOpinions(opinions, scale_panel, systems, left_out, disputed, debates)


def _examples(opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return the first opinion of each kind, criterion and type of value, without missing values."""
    decided = opinions[opinions["value"].notna()]
    types = decided["value"].map(type)
    return decided[~decided[["kind", "criterion"]].assign(type=types).duplicated()]


def _with_judge_names(session: Session, study_id: int, opinions: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row for each judge and target; a verdict replaces a last opinion of the same judge."""
    import pandas as pd

    if opinions.empty:
        return opinions.assign(judge=opinions["rater"], rank=opinions["stage"])
    rank = opinions["stage"].map(STAGE_RANK).astype("int8")
    opinions = opinions.assign(rank=rank, target=row_keys(opinions, TARGET))
    is_first = (opinions["stage"] == "first").astype(int)
    judge_keys = row_keys(opinions.assign(first=is_first), ["run", "rater", "first"])
    ranked = pd.DataFrame({"judge": judge_keys, "target": opinions["target"]}, index=opinions.index)
    order = np.argsort(opinions["rank"].to_numpy(), kind="stable")
    repeated = ranked.iloc[order].duplicated().reindex(opinions.index).to_numpy(bool)
    if repeated.any():
        opinions, judge_keys = opinions[~repeated], judge_keys[~repeated]
    separate = _raters_by_run(session, study_id, opinions)
    run_names = {run.id: run.name for run in runs.of_study(session, study_id)}
    codes, first_rows = np.unique(judge_keys, return_index=True)
    names = [
        f"{rater}{FIRST_OPINION if stage == 'first' else ''}{f' · {run_names[run]}' if rater in separate else ''}"
        for rater, run, stage in opinions.iloc[first_rows][["rater", "run", "stage"]].itertuples(index=False)
    ]
    judges = pd.Series(names, dtype="str").astype("category").take(np.searchsorted(codes, judge_keys))
    return opinions.assign(judge=judges.array).drop(columns="target")


def _raters_by_run(session: Session, study_id: int, opinions: "pd.DataFrame") -> set[str]:
    """Return the raters that are a separate judge in each run: with other models, or on the same targets again."""
    once = opinions.drop_duplicates(["rater", "run", "target"])
    repeated = set(once["rater"][once.duplicated(["rater", "target"])])
    models: dict[str, set[str]] = defaultdict(set)
    settings = {run.id: run.settings for run in runs.of_study(session, study_id)}
    for rater, run in opinions[["rater", "run"]].drop_duplicates().itertuples(index=False):
        models[rater].add(judge_model(settings.get(run), rater))
    return repeated | {rater for rater, used in models.items() if len(used) > 1}
