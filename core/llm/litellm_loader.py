"""Imports litellm on first use: the import takes seconds, and most pages and commands do not need it."""

import logging
import os
from functools import cache
from types import ModuleType


@cache
def load_litellm() -> ModuleType:
    """Return litellm, configured not to log or to fetch anything."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import fetches a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise the import reads a .env file
    import litellm

    litellm.suppress_debug_info = True
    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # they may log keys and the texts of a study
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return litellm  # type: ignore[no-any-return]


def is_loaded() -> bool:
    """Return whether litellm has been imported by `load_litellm` in this process."""
    return load_litellm.cache_info().currsize > 0
