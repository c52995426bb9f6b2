"""YAML without the surprises of version 1.1: `yes` and `no` are text, dates are text, keys are unique, no aliases."""

import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from core.errors import FileFormatError

TAGS = "tag:yaml.org,2002:"
# Line ends of Unicode that YAML folds.
LINE_ENDS = frozenset("\x85\u2028\u2029")
# Levels of nesting: a mapping has about six.
MAX_DEPTH = 50
# Characters: YAML needs about a thousand times as much memory.
MAX_LENGTH = 2**20
FENCES = ("```", "~~~")


class PlainLoader(yaml.SafeLoader):
    """SafeLoader restricted to the syntax of mappings and settings files."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Reject aliases, with which a small file can expand to an enormous one, tags, and deep nesting."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="no aliases", problem_mark=self.get_mark())
        if getattr(event, "tag", None) not in (None, "!"):
            raise yaml.MarkedYAMLError(
                problem=f"no tags such as {event.tag.removeprefix(TAGS)[:40]!r}", problem_mark=event.start_mark
            )
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"at most {MAX_DEPTH} levels", problem_mark=self.get_mark())
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Reject a repeated key: the first value would be lost silently."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} once, not twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


# Booleans, dates and numbers of YAML 1.1 are replaced by those of JSON: "no", "on", 12:30 and 0o7 are text here.
PlainLoader.yaml_implicit_resolvers = {
    letter: [(tag, regexp) for tag, regexp in pairs if not tag.endswith((":bool", ":timestamp", ":int", ":float"))]
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), list("tf"))
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z"), list("-+0123456789")
)
PlainLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)


class PlainDumper(yaml.SafeDumper):
    """SafeDumper that escapes rare line ends, which would be read back as blanks, and writes equal values each time."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: the loader has no aliases."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if LINE_ENDS.isdisjoint(text) else '"'
    return dumper.represent_scalar(f"{TAGS}str", text, style=style)


PlainDumper.add_multi_representer(str, _represent_text)
PlainDumper.add_representer(str, _represent_text)


def unfenced(text: str) -> str:
    """Return the longest block of code in the reply of a model, or the text itself without one."""
    blocks: list[list[str]] = []
    own: list[str] | None = None
    for line in text.splitlines():
        if line.lstrip().startswith(FENCES):
            own = [] if own is None else None
            blocks += [own] if own is not None else []
        elif own is not None:
            own.append(line)
    return max(("\n".join(lines) for lines in blocks), key=len, default=text)


def parse_fields(text: str) -> dict[Any, Any]:
    """Return the named fields of a YAML or JSON text; raises FileFormatError with the line."""
    if len(text) > MAX_LENGTH:
        raise FileFormatError(f"expected at most {MAX_LENGTH // 2**20} MB of YAML")
    try:
        value = yaml.load(text, PlainLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FileFormatError(f"expected YAML: {error.problem}", line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FileFormatError(f"expected YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(value, dict):
        raise FileFormatError("expected named fields, such as `id: question_id`")
    return value


def line_of(text: str, place: str) -> int | None:
    """Return the line of a place such as `labels.0.scale` in a YAML text, or of the innermost part of it that is there.

    Steps that the text does not have name the kind of a block. In a list with `criteria`, which stand for several
    blocks, the numbers are not those of the text.
    """
    node, line = yaml.compose(text, PlainLoader), None
    for step in place.split("."):
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
            if any(map(_has_criteria, node.value)):
                break
            found = (node.value[int(step)],) * 2
        if found is not None:
            line, node = found[0].start_mark.line + 1, found[1]
    return line


def _has_criteria(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and any(key.value == "criteria" for key, _ in node.value)


def dump_fields(fields: Mapping[str, Any]) -> str:
    """Return named fields as YAML in their order."""
    return yaml.dump(dict(fields), Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=100)


def dump_text(text: str) -> str:
    """Return a text as YAML on one line: as it is, or quoted where a list in brackets or a mapping needs it."""
    text = str(text)  # YAML has no subclasses of texts
    if not text.isprintable():
        return yaml.safe_dump(text, default_style='"', width=math.inf).removesuffix("\n")
    listed = yaml.safe_dump([text], default_flow_style=True, allow_unicode=True, width=math.inf)
    return listed.removeprefix("[").removesuffix("]\n")
