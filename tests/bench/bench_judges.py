"""Processor time and memory of the figures of judges: python -m tests.bench.bench_judges sqlite:///large.db

Plants a study of `--items` items (`large_study`) if the database is empty. Run it once for each size: memory that was
used for one size is not given back for another.
"""

import argparse
import resource
import time
from collections.abc import Callable
from typing import TypeVar

from storage.db import connections
from storage.reports import alignment, judge_ranking
from storage.studies import studies
from tests.bench import large_study

Result = TypeVar("Result")


def timed(compute: Callable[[], Result]) -> tuple[Result, float]:
    """Return a result, and the processor seconds that it took."""
    start = time.process_time()
    result = compute()
    return result, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--items", type=int, default=10_000)
    options = parser.parse_args()
    engine = connections.connect(options.database)
    if connections.is_empty(engine):
        large_study.plant(engine, options.items)
    with connections.reading(engine) as session:
        study = studies.get(session, large_study.STUDY)
        opinions, loading = timed(lambda: alignment.load_judge_opinions(session, study))
    data, reading = timed(lambda: alignment.load_data(engine, study, None, opinions))
    datasets, aligning = timed(lambda: data.categorical_datasets)
    key = judge_ranking.rankable(data)[0]
    query = judge_ranking.RankingQuery(*key)
    seen, unseen = (judge_ranking.RankingQuery(*key, scenario=f"scenario {number}") for number in (7, 3))
    judge_ranking.report(data, seen)  # loads modules
    _, ranking = timed(lambda: (judge_ranking.report(data, query), judge_ranking.compare(data, query)))
    _, scenario = timed(lambda: judge_ranking.report(data, unseen))
    first, second, *_ = sorted(datasets[0].judges)
    _, click = timed(lambda: judge_ranking.differing_targets(data, query, first, second, None))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print("| items | load opinions | labels, alignment | ranking, differences | scenario | list | peak MB |")
    print(
        f"| {len(datasets[0].gold):,} | {loading:.2f} | {reading + aligning:.2f} | {ranking:.2f} | {scenario:.2f} "
        f"| {click:.2f} | {peak:.0f} |"
    )


if __name__ == "__main__":
    main()
