"""Defaults of calls, without imports, so commands can state them in their help."""

PARALLEL_CALLS = 16
"""Concurrent calls to one model. A provider that allows fewer delays them by Retry-After."""
