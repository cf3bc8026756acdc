"""A configuration as YAML again: resolved, but with `${NAME}` where a value came from the environment."""

from pathlib import Path as FilePath
from typing import Any

import yaml

from ._environment import Expansion
from ._nodes import Node
from ._scalars import Plain, resolve
from ._secrets import in_url, is_secret, variable_for
from .problems import Path

OTHER_BREAKS = frozenset("\r\x85\u2028\u2029")
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _plain(dumper: yaml.SafeDumper, text: Plain) -> yaml.Node:
    tag = dumper.resolve(yaml.ScalarNode, str(text), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(text))


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    """Quotes keep text what it is: numbers, references to numbers, and line breaks that YAML would change."""
    if "${" in text or OTHER_BREAKS & set(text) or not isinstance(resolve(text), str):
        return '"'
    return "|" if "\n" in text else None


_Dumper.add_representer(Plain, _plain)
_Dumper.add_representer(str, _text)


def written_back(tree: Node, expansion: Expansion, base: FilePath) -> str:
    """The text says itself where its relative paths start, so that it may be stored elsewhere."""
    whole = {**_values(tree, expansion), "base_directory": str(base)}
    return yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _values(node: Node, expansion: Expansion, path: Path = ()) -> Any:
    match node.value:
        case dict():
            return {key: _values(child, expansion, (*path, key)) for key, child in node.value.items()}
        case list():
            return [_values(child, expansion, (*path, index)) for index, child in enumerate(node.value)]
        case str() if node.value and is_secret(path) and "${" not in node.value:
            return f"${{{variable_for(path)}}}"
        case str():
            return _without_passwords(node.value, expansion)
    return node.value


def _without_passwords(written: str, expansion: Expansion) -> str:
    """With the names of variables also where a password stands in an address itself."""
    text = expansion.written_back(written) if "${" in written else written
    if passwords := in_url(text):
        for name, value in expansion.taken.items():
            text = text.replace(f":{value}@", f":${{{name}}}@") if value in passwords else text
    return text if text is written else type(written)(text)
