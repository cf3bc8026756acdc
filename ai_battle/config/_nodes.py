"""The tree of a configuration before it is checked: values, and the place where each was written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import ConfigError
from .problems import Path, dotted

Place = tuple[int, int] | str
"""Line and column from 1, or the name of what is no text: an option of the command line, "" for a dictionary."""

DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place, and the places of a mapping's keys. With anchors one node stands in many places."""

    value: Any
    place: Place = ""
    keys: Mapping[str, Place] = field(default_factory=dict)

    def child(self, step: str | int) -> "Node | None":
        if isinstance(self.value, dict) and isinstance(step, str):
            return self.value.get(step)
        if isinstance(self.value, list) and isinstance(step, int) and 0 <= step < len(self.value):
            return self.value[step]  # type: ignore[no-any-return]
        return None

    def at(self, path: Path) -> "Node | None":
        node: Node | None = self
        for step in path:
            node = node.child(step) if node else None
        return node

    def nearest(self, path: Path) -> "Node":
        """The value at `path`, or the one on the way to it where the path ends."""
        node = self
        for step in path:
            node = node.child(step) or node
        return node

    def with_child(self, step: str | int, child: "Node", place: Place = "") -> "Node":
        """The same with another child; a new key gets `place`."""
        if isinstance(step, int):
            return Node([*self.value[:step], child, *self.value[step + 1 :]], self.place, self.keys)
        return Node({**self.value, step: child}, self.place, {step: place, **self.keys})

    def without(self, step: str) -> "Node":
        return Node({key: child for key, child in self.value.items() if key != step}, self.place, self.keys)


def place_of(root: Node, path: Path, key: bool = False) -> Place:
    """Where `path` stands, or as much of it as there is; its last key if `key` says so, or if the rest is missing.

    Steps that only the schema has (`any` where a list is short for it) are passed over.
    """
    node, at_key, missing = root, root.place, False
    for step in path:
        child = node.child(step)
        missing = child is None
        if child is not None:
            at_key = node.keys.get(step, child.place) if isinstance(step, str) else child.place
            node = child
    return at_key if key or (missing and isinstance(node.value, dict)) else node.place


def from_python(value: Any, path: Path = ()) -> Node:
    """The tree of a dictionary that a program passes."""
    if len(path) > DEEPEST:
        raise ConfigError(f"{dotted(path[:4])}...: nested more than {DEEPEST} levels deep")
    match value:
        case Mapping():
            return _from_mapping(value, path)
        case list() | tuple():
            return Node([from_python(child, (*path, index)) for index, child in enumerate(value)])
        case os.PathLike():
            return Node(os.fspath(value))
        case None | str() | int() | float():
            return Node(value)
    expected = "text, a number, true, false, a list or a mapping"
    raise ConfigError(f"{dotted(path)}: must be {expected}, not {type(value).__name__}")


def _from_mapping(value: Mapping[Any, Any], path: Path) -> Node:
    names = {key: _key(key, path) for key in value}
    children = {name: from_python(value[key], (*path, name)) for key, name in names.items()}
    return Node(children, "", dict.fromkeys(children, ""))


def _key(key: Any, path: Path) -> str:
    if isinstance(key, str | int | float):
        return str(key)
    raise ConfigError(f"{dotted(path) or 'configuration'}: keys must be text, not {type(key).__name__}")
