"""YAML as a person means it: `yes` and `no` are words, a date is text, a key stands once, and nothing is aliased."""

import re
from typing import Any

import yaml

from core.problems import FileRefused


class Plain(yaml.SafeLoader):
    """SafeLoader without the surprises of YAML 1.1."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Aliases let a small file become an endless one, and no mapping needs them."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="no aliases", problem_mark=self.get_mark())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """A key that stands twice would be forgotten silently."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} once, not twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


Plain.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in found if not tag.endswith((":bool", ":timestamp", ":int", ":float"))]
    for letter, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Plain.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), list("tf"))
Plain.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z"), list("-+0123456789"))
Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)


def fields_of(text: str) -> dict[Any, Any]:
    """The named fields of a YAML or JSON text; raises FileRefused with the line."""
    try:
        value = yaml.load(text, Plain)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise FileRefused(f"expected YAML: {error.problem}", line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FileRefused(f"expected YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(value, dict):
        raise FileRefused("expected named fields, such as `id: question_id`")
    return value
