"""Settings of stored runs and older files, with the former names of keys and values."""

from typing import Any

import pytest

from core.frozen import Frozen
from tests.core.protocols import debates, discussions

CHATEVAL = discussions.make_settings(visible_contributions="earlier speakers")
SCALEEVAL = debates.make_settings(reply_order="sequential")


@pytest.mark.parametrize(
    ("settings", "name", "former_name", "former_value"),
    [
        (CHATEVAL, "visible_contributions", "hearing", "speakers before"),
        (discussions.make_settings(), "visible_contributions", "hearing", "everybody"),
        (discussions.make_settings(strategy="independent"), "strategy", "strategy", "alone"),
        (SCALEEVAL, "reply_order", "speaking", "in turn"),
        (debates.make_settings(), "reply_order", "speaking", "at once"),
    ],
)
def test_former_names_and_values_are_accepted(settings: Frozen, name: str, former_name: str, former_value: str) -> None:
    stored: dict[str, Any] = settings.model_dump(mode="json")
    del stored[name]
    assert type(settings).model_validate({**stored, former_name: former_value}) == settings
