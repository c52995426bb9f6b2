"""Runs: from a request with settings to their execution, here or in a worker of the app."""

from storage.worker.experiment_runs import Plan, base_of_run, estimate, execute_experiment, plan, start
from storage.worker.launch import (
    RunRequest,
    ceiling_warning,
    create_run,
    estimate_run,
    execute_here,
    find_run,
    receivers_sentence,
    request_from_file,
    resume_run,
)
from storage.worker.outages import StopRequests
from storage.worker.run_worker import RunWorker
from storage.worker.worker import execute_run, worker_name

__all__ = [
    "Plan",
    "RunRequest",
    "RunWorker",
    "StopRequests",
    "base_of_run",
    "ceiling_warning",
    "create_run",
    "estimate",
    "estimate_run",
    "execute_experiment",
    "execute_here",
    "execute_run",
    "find_run",
    "plan",
    "receivers_sentence",
    "request_from_file",
    "resume_run",
    "start",
    "worker_name",
]
