"""A protocol's settings as a person writes them: YAML or JSON, checked, with one sentence where something is wrong.

Two short forms are understood beside the full one. A criterion may be named, where the study has one of that name; and
what concerns a judge's model may stand beside its name: `{name: ann, model: gpt-5.4-mini, temperature: 0.7}`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from core.frozen import Frozen
from core.items import Criterion
from core.llm.secrets import troubles
from core.problems import FileRefused
from core.protocols.protocol import Protocol
from core.trace import Spec


def load(path: Path, wanted: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """The settings in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise FileRefused(f"{path} cannot be read as a text file.") from None
    return parse(text, wanted, criteria)


def parse(text: str, wanted: Protocol, criteria: Sequence[Criterion]) -> Frozen:
    """The settings in a YAML or JSON text; a key written into them is refused, for settings are stored and shown."""
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FileRefused("this is not YAML.", line=mark.line + 1 if mark else None) from None
    if not isinstance(told, Mapping):
        raise FileRefused("the settings should be a list of names and values, such as `rounds: 3`.")
    settings = checked(_spelled_out(told, criteria), wanted)
    for place, reason in troubles(settings):
        raise FileRefused(reason, field=place)
    return settings


def checked(told: Mapping[str, Any], wanted: Protocol) -> Frozen:
    """The settings as a value; raises one sentence about the first field that is wrong."""
    try:
        return wanted.settings.model_validate(dict(told))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the settings"
        reason = first["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        raise FileRefused(f"{reason[0].lower()}{reason[1:]}.".replace("..", "."), field=place) from None


def _spelled_out(told: Mapping[str, Any], criteria: Sequence[Criterion]) -> dict[str, Any]:
    full = dict(told)
    if isinstance(full.get("criterion"), str):
        full["criterion"] = _named(full["criterion"], criteria)
    if isinstance(full.get("aspects"), list):
        full["aspects"] = [_named(one, criteria) if isinstance(one, str) else one for one in full["aspects"]]
    for several in ("judges", "peers", "personas"):
        if isinstance(full.get(several), list):
            full[several] = [_judge(judge) for judge in full[several]]
    for one in ("chair", "judge", "summariser", "writer"):
        if one in full:
            full[one] = _judge(full[one])
    return full


def _named(name: str, criteria: Sequence[Criterion]) -> dict[str, Any]:
    for criterion in criteria:
        if criterion.name == name:
            return criterion.model_dump(mode="json")
    return Criterion(name=name).model_dump(mode="json")


def _judge(judge: Any) -> Any:
    if not isinstance(judge, Mapping) or "spec" in judge:
        return judge
    fields = set(Spec.model_fields)
    return {
        **{key: value for key, value in judge.items() if key not in fields},
        "spec": {key: value for key, value in judge.items() if key in fields},
    }
