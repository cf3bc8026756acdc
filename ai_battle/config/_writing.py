"""A configuration as YAML again: resolved, but with `${NAME}` where a value came from the environment."""

from typing import Any

import yaml

from ._environment import Expansion
from ._nodes import Node
from ._scalars import Plain


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _plain(dumper: yaml.SafeDumper, text: Plain) -> yaml.Node:
    tag = dumper.resolve(yaml.ScalarNode, str(text), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(text))


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(Plain, _plain)
_Dumper.add_representer(str, _text)


def written_back(tree: Node, expansion: Expansion) -> str:
    return yaml.dump(_values(tree, expansion), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _values(node: Node, expansion: Expansion) -> Any:
    if isinstance(node.value, dict):
        return {key: _values(child, expansion) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_values(child, expansion) for child in node.value]
    if isinstance(node.value, str) and "${" in node.value:
        return type(node.value)(expansion.written_back(node.value))
    return node.value
