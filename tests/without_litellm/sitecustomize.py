"""Makes litellm appear as not installed in a Python process with this folder in PYTHONPATH."""

import sys
from typing import Any, cast

cast(dict[str, Any], sys.modules)["litellm"] = None
