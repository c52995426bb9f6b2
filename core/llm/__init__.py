"""Calls to language models: providers through litellm, the local model, and their limits, costs, errors and images."""

# Concurrent calls to one model. A provider that allows fewer delays them by Retry-After.
PARALLEL_CALLS = 16
