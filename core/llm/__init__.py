"""Calls to language models: providers through litellm, the local model, and their limits, costs, errors and images."""
