"""Imports litellm on first use: the import takes seconds, and most pages and commands do not need it."""

import logging
import os
from functools import cache
from types import ModuleType

from core.errors import PermanentFailure


@cache
def load_litellm() -> ModuleType:
    """Return litellm, configured not to log or to fetch anything; raises PermanentFailure if it is not installed."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import fetches a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise the import reads a .env file
    try:
        import litellm
    except ImportError as error:
        raise PermanentFailure(
            f"A model without an address is called by litellm, which cannot be imported ({error}): install the "
            "packages of requirements.txt, or give the model an address."
        ) from error

    litellm.suppress_debug_info = True
    for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # they may log keys and the texts of a study
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return litellm  # type: ignore[no-any-return]


def is_loaded() -> bool:
    """Return whether litellm has been imported by `load_litellm` in this process."""
    return load_litellm.cache_info().currsize > 0
