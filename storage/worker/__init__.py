"""Runs: from a request with settings to their execution, here or in a worker of the app."""

from storage.worker._launch import RunRequest as RunRequest
from storage.worker._launch import ceiling_warning as ceiling_warning
from storage.worker._launch import create_run as create_run
from storage.worker._launch import estimate_run as estimate_run
from storage.worker._launch import execute_here as execute_here
from storage.worker._launch import find_run as find_run
from storage.worker._launch import receivers_sentence as receivers_sentence
from storage.worker._launch import request_from_file as request_from_file
from storage.worker._launch import resume_run as resume_run
from storage.worker._outages import StopRequests as StopRequests
from storage.worker._trace_execution import worker_name as worker_name
from storage.worker._worker import RunWorker as RunWorker
from storage.worker._worker import execute_run as execute_run
from storage.worker.experiment_runs import Plan as Plan
from storage.worker.experiment_runs import base_of_run as base_of_run
from storage.worker.experiment_runs import estimate as estimate
from storage.worker.experiment_runs import execute_experiment as execute_experiment
from storage.worker.experiment_runs import failed_part as failed_part
from storage.worker.experiment_runs import influence_definition as influence_definition
from storage.worker.experiment_runs import plan as plan
from storage.worker.experiment_runs import start as start
