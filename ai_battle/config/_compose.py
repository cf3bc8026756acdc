"""YAML text becomes a tree: no Python tags, no duplicate keys, bounded depth, and every value keeps its place."""

from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from ..core.errors import ConfigError
from ._nodes import DEEPEST, Node, Place
from ._scalars import Plain
from .problems import ConfigProblems, Located

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STANDARD = "tag:yaml.org,2002:"
HARMLESS = {STANDARD + name for name in ("str", "int", "float", "bool", "null", "map", "seq")}


def compose(text: str, name: str, kind: str = "discussion") -> tuple[Node, list[tuple[Place, str]]]:
    """The tree, and what is wrong with it that does not hinder reading on; raises `ConfigError` for what does."""
    composer = _Composer(yaml.parse(text, Loader=LOADER), name, kind)
    try:
        return composer.document(), composer.problems
    except yaml.YAMLError as error:
        raise ConfigProblems([_syntax(error, name)]) from None


def compose_value(text: str, label: str) -> Node:
    """A single value from the command line; every part of it has `label` as its place."""
    if not text.strip():
        return Node(None, label)
    composer = _Composer(yaml.parse(text, Loader=LOADER), label)
    try:
        node = composer.value()
    except UnicodeError:
        raise ConfigError(f"{label}: is not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{label}: {_said(error)}") from None
    if composer.problems:
        raise ConfigError(f"{label}: {composer.problems[0][1]}")
    return _relabelled(node, label)


def _relabelled(node: Node, label: str) -> Node:
    if isinstance(node.value, dict):
        children = {key: _relabelled(child, label) for key, child in node.value.items()}
        return Node(children, label, dict.fromkeys(children, label))
    value = [_relabelled(child, label) for child in node.value] if isinstance(node.value, list) else node.value
    return Node(value, label)


class _Composer:
    def __init__(self, events: Iterator[Any], name: str, kind: str = "discussion") -> None:
        self._events = (e for e in events if not isinstance(e, yaml.StreamStartEvent | yaml.DocumentEndEvent))
        self._name = name
        self._empty = f"is empty; a {kind} starts with the line '{kind}:'"
        self._no_mapping = f"must be a mapping that starts with the line '{kind}:'"
        self._anchors: dict[str, Node] = {}
        self.problems: list[tuple[Place, str]] = []

    def document(self) -> Node:
        root = self.value()
        if root.value == "":
            self._fail(root.place, self._empty)
        if not isinstance(root.value, dict):
            self._fail(root.place, self._no_mapping)
        return root

    def value(self) -> Node:
        if isinstance(next(self._events), yaml.StreamEndEvent):
            self._fail((1, 1), self._empty)
        root = self._node(next(self._events), 0)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            self._stop(after, "a second document starts here; keep one discussion in a file")
        return root

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if depth > DEEPEST:
            self._stop(event, f"nested more than {DEEPEST} levels deep")
        if event.tag and event.tag not in HARMLESS and event.tag != "!":
            tag = event.tag.replace(STANDARD, "!!")
            self._problem(event, f"the tag {tag!r} is not allowed; write plain text, numbers, lists and mappings")
        node = self._filled(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _filled(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] or ((event.tag or "!").startswith(STANDARD) and event.tag != STANDARD + "str")
            return Node(Plain(event.value) if plain else event.value, _place(event))
        if isinstance(event, yaml.SequenceStartEvent):
            return Node([self._node(e, depth + 1) for e in self._until(yaml.SequenceEndEvent)], _place(event))
        return self._mapping(event, depth)

    def _mapping(self, event: Any, depth: int) -> Node:
        children: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        merged: list[tuple[Any, Node]] = []
        for key in self._until(yaml.MappingEndEvent):
            name = self._key(key)
            child = self._node(next(self._events), depth + 1)
            if name == "<<" and key.implicit[0]:
                merged.append((key, child))
            elif name in children:
                first = f"line {keys[name][0]}" if isinstance(keys[name], tuple) else "above"
                self._problem(key, f"the key {name!r} is written twice, first in {first}; keep one")
            else:
                children[name], keys[name] = child, _place(key)
        for key, child in merged:
            self._merge(key, child, children, keys)
        return Node(children, _place(event), keys)

    def _merge(self, key: Any, merged: Node, children: dict[str, Node], keys: dict[str, Place]) -> None:
        """`<<: *anchor` brings the keys of another mapping that are not written here."""
        for source in merged.value if isinstance(merged.value, list) else [merged]:
            if not isinstance(source.value, dict):
                self._problem(key, "'<<' takes a mapping, or a list of mappings")
                continue
            for name, child in source.value.items():
                if name not in children:
                    children[name], keys[name] = child, source.keys[name]

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.AliasEvent):
            event_value = self._alias(event).value
            return str(event_value) if isinstance(event_value, str) else self._stop(event, "a key must be text")
        if not isinstance(event, yaml.ScalarEvent):
            self._stop(event, "a key must be text, not a list or a mapping; quote text that holds { or [")
        return str(event.value)

    def _alias(self, event: Any) -> Node:
        if event.anchor not in self._anchors:
            self._stop(
                event, f"*{event.anchor} needs an &{event.anchor} above it; put quotes around text that starts with *"
            )
        return self._anchors[event.anchor]

    def _until(self, end: type) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _problem(self, event: Any, message: str) -> None:
        self.problems.append((_place(event), message))

    def _stop(self, event: Any, message: str) -> NoReturn:
        self._fail(_place(event), message)

    def _fail(self, place: Place, message: str) -> NoReturn:
        line, column = place if isinstance(place, tuple) else (None, None)
        raise ConfigProblems([Located(self._name, line, column, None, message)])


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax(error: yaml.YAMLError, name: str) -> Located:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
    return Located(name, line, column, None, _said(error))


def _said(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    for part, words in SYNTAX:
        if part in problem:
            return words
    return f"this is not YAML: {problem}"


SYNTAX = (
    ("\\t", "a tab can't indent YAML; use spaces"),
    (
        "cannot start any token",
        "a tab, @, ` or % can't start a value; indent with spaces, and put quotes around the text",
    ),
    ("mapping values are not allowed", "a second ': ' on this line; put quotes around text that holds a colon"),
    ("could not find expected ':'", "a key without its colon, or text whose lines are indented less than its first"),
    (
        "did not find expected key",
        "this does not line up with the keys above, or a quote or bracket above is not closed",
    ),
    (
        "did not find expected ',' or",
        "a bracket is not closed, or text in brackets needs quotes (as '${NAME}' does there)",
    ),
    ("did not find expected '-' indicator", "this does not line up with the entries of the list above"),
    ("control characters are not allowed", "a control character, which YAML does not allow; remove it"),
    ("special characters are not allowed", "a control character, which YAML does not allow; remove it"),
    ("did not find expected node content", "a value is missing here, or a bracket above is not closed"),
    ("unexpected end of stream", "a quote that is opened here or above is never closed"),
)
