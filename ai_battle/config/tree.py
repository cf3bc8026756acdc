"""Parses YAML into a tree of bounded depth, without Python tags or duplicate keys. Each value has its place."""

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import yaml
from yaml.reader import Reader

from ..core.errors import ConfigError
from .problems import ConfigProblems, KeyPath, Located, dotted_path

Place = tuple[int, int] | str
"""Line and column from 1, or a name if there is no text: a command-line option, or "" for a dictionary."""

MAX_DEPTH = 64
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_HARMLESS = {_STANDARD + name for name in ("str", "int", "float", "bool", "null", "map", "seq")}

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | float | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan"),
}  # fmt: skip
_LONGEST_NUMBER = 400


class PlainScalar(str):
    """The text of an unquoted scalar. The schema decides its type: `no` is false for a flag and otherwise text."""

    __slots__ = ()


def is_number(text: str) -> bool:
    return bool(_FLOAT.fullmatch(text) or _INTEGER.fullmatch(text))


def resolve(text: str) -> str | int | float | bool | None:
    """Returns the YAML 1.2 value of an unquoted scalar: `no`, `on` and `12:30` are text, `1e3` is a number."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _LONGEST_NUMBER and _INTEGER.fullmatch(text):
        return int(text, 10) if text.lstrip("+-").isdigit() else int(text, 0)
    if len(text) <= _LONGEST_NUMBER and _FLOAT.fullmatch(text):
        return float(text)
    return str(text)


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place and the places of its keys. An anchor's node occurs in several places.

    `written` has the keys that the file spells otherwise than the schema.
    """

    value: Any
    place: Place = ""
    keys: Mapping[str, Place] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)

    def child(self, step: str | int) -> "Node | None":
        if isinstance(self.value, dict) and isinstance(step, str):
            return self.value.get(step)
        if isinstance(self.value, list) and isinstance(step, int) and 0 <= step < len(self.value):
            return self.value[step]  # type: ignore[no-any-return]
        return None

    def at(self, path: KeyPath) -> "Node | None":
        node: Node | None = self
        for step in path:
            node = node.child(step) if node else None
        return node

    def nearest(self, path: KeyPath) -> "Node":
        """Returns the value at `path`, or the last existing value on the way."""
        node = self
        for step in path:
            node = node.child(step) or node
        return node

    def with_child(self, step: str | int, child: "Node", place: Place = "") -> "Node":
        """Returns a copy with another child; `place` is for a new key."""
        if isinstance(step, int):
            return replace(self, value=[*self.value[:step], child, *self.value[step + 1 :]])
        return replace(self, value={**self.value, step: child}, keys={step: place, **self.keys})

    def without(self, step: str) -> "Node":
        return replace(self, value={key: child for key, child in self.value.items() if key != step})

    def rename(self, old: str, new: str) -> "Node":
        """Returns a copy with a key in the schema's spelling; its place stays, and messages name it as written."""
        renamed = self.without(old).with_child(new, self.value[old], self.keys[old])
        return replace(renamed, written={**self.written, new: old})


def place_of(root: Node, path: KeyPath, key: bool = False) -> Place:
    """Returns the place of `path` or of its last existing part: of the key if `key` is set or the rest is missing.

    Skips steps that exist only in the schema (`any`, if a list is short for it).
    """
    node, at_key, missing = root, root.place, False
    for step in path:
        child = node.child(step)
        missing = child is None
        if child is not None:
            at_key = node.keys.get(step, child.place) if isinstance(step, str) else child.place
            node = child
    return at_key if key or (missing and isinstance(node.value, dict)) else node.place


def written_path(root: Node, path: KeyPath) -> KeyPath:
    """Returns a path in the schema with its keys as the file spells them."""
    node: Node | None = root
    steps: list[str | int] = []
    for step in path:
        steps.append(node.written.get(step, step) if node and isinstance(step, str) else step)
        node = node.child(step) if node else None
    return tuple(steps)


def from_python(value: Any, path: KeyPath = ()) -> Node:
    """Returns the tree of a dictionary from a program."""
    if len(path) > MAX_DEPTH:
        raise ConfigError(f"{dotted_path(path[:4])}...: {TOO_DEEP}")
    match value:
        case Mapping():
            children = {_key_of(key, path): from_python(child, (*path, str(key))) for key, child in value.items()}
            return Node(children, "", dict.fromkeys(children, ""))
        case list() | tuple():
            return Node([from_python(child, (*path, index)) for index, child in enumerate(value)])
        case os.PathLike():
            return Node(os.fspath(value))
        case None | str() | int() | float():
            return Node(value)
    expected = "text, a number, true, false, a list or a mapping"
    raise ConfigError(f"{dotted_path(path)}: must be {expected}, not {type(value).__name__}")


def _key_of(key: Any, path: KeyPath) -> str:
    if isinstance(key, str | int | float):
        return str(key)
    raise ConfigError(f"{dotted_path(path) or 'configuration'}: keys must be text, not {type(key).__name__}")


def compose(text: str, name: str, kind: str = "discussion") -> tuple[Node, list[tuple[Place, str]]]:
    """Returns the tree and its recoverable problems. Raises `ConfigProblems` for others."""
    composer = _Composer(yaml.parse(text, Loader=_LOADER), name, kind)
    try:
        root = composer.root()
    except yaml.YAMLError as error:
        line, column = _place_of_error(error, text)
        advice = _indentation_advice(text, line, column) if SECOND_COLON in str(error) else _quote_advice(error, text)
        raise ConfigProblems([Located(name, line, column, None, advice or _syntax_advice(error))]) from None
    if not isinstance(root.value, dict):
        composer.stop(root.place, composer.empty if root.value == "" else composer.no_mapping)
    return root, composer.problems


def compose_value(text: str, label: str) -> Node:
    """Parses a value from the command line; all its parts have `label` as their place."""
    if not text.strip():
        return Node(None, label)
    composer = _Composer(yaml.parse(text, Loader=_LOADER), label)
    try:
        node = composer.root()
    except UnicodeError:
        raise ConfigError(f"{label}: is not UTF-8 text") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{label}: {_syntax_advice(error)}") from None
    if composer.problems:
        raise ConfigError(f"{label}: {composer.problems[0][1]}")
    return _with_place(node, label)


def _with_place(node: Node, label: str) -> Node:
    if isinstance(node.value, dict):
        children = {key: _with_place(child, label) for key, child in node.value.items()}
        return Node(children, label, dict.fromkeys(children, label))
    value = [_with_place(child, label) for child in node.value] if isinstance(node.value, list) else node.value
    return Node(value, label)


class _Composer:
    """Builds the tree from the parser's events.

    PyYAML's own composer recurses in C without a bound, so a file of brackets would end the process. It also refuses
    duplicate anchors and accepts duplicate keys.
    """

    def __init__(self, events: Iterator[Any], name: str, kind: str = "discussion") -> None:
        self._events = (e for e in events if not isinstance(e, yaml.StreamStartEvent | yaml.DocumentEndEvent))
        self._name = name
        self._kind = kind
        self.empty = f"is empty; a {kind} starts with the line '{kind}:'"
        self.no_mapping = f"must be a mapping that starts with the line '{kind}:'"
        self._anchors: dict[str, Node] = {}
        self.problems: list[tuple[Place, str]] = []

    def root(self) -> Node:
        if isinstance(next(self._events), yaml.StreamEndEvent):
            self.stop((1, 1), self.empty)
        root = self._node(next(self._events), 0)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            self.stop(_place(after), f"a second document starts here; keep one {self._kind} in a file")
        return root

    def stop(self, place: Place, message: str) -> NoReturn:
        line, column = place if isinstance(place, tuple) else (None, None)
        raise ConfigProblems([Located(self._name, line, column, None, message)])

    def _problem(self, event: Any, message: str) -> None:
        self.problems.append((_place(event), message))

    def _node(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if depth > MAX_DEPTH:
            self.stop(_place(event), TOO_DEEP)
        if event.tag and event.tag not in _HARMLESS and event.tag != "!":
            tag = event.tag.replace(_STANDARD, "!!")
            self._problem(event, f"the tag {tag!r} is not allowed; write plain text, numbers, lists and mappings")
        node = self._node_of_kind(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _node_of_kind(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0] or ((event.tag or "!").startswith(_STANDARD) and event.tag != _STANDARD + "str")
            return Node(PlainScalar(event.value) if plain else event.value, _place(event))
        if isinstance(event, yaml.SequenceStartEvent):
            return Node([self._node(e, depth + 1) for e in self._events_until(yaml.SequenceEndEvent)], _place(event))
        return self._mapping(event, depth)

    def _mapping(self, event: Any, depth: int) -> Node:
        children: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        merged: list[tuple[Any, Node]] = []
        for key in self._events_until(yaml.MappingEndEvent):
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
        """Adds the keys of `<<: *anchor` that are not written here."""
        for source in merged.value if isinstance(merged.value, list) else [merged]:
            if not isinstance(source.value, dict):
                self._problem(key, "'<<' takes a mapping, or a list of mappings")
                continue
            for name, child in source.value.items():
                if name not in children:
                    children[name], keys[name] = child, source.keys[name]

    def _key(self, event: Any) -> str:
        if isinstance(event, yaml.AliasEvent):
            text = self._alias(event).value
            return str(text) if isinstance(text, str) else self.stop(_place(event), "a key must be text")
        if not isinstance(event, yaml.ScalarEvent):
            message = "a key must be text, not a list or a mapping; quote text that holds { or ["
            self.stop(_place(event), message)
        return str(event.value)

    def _alias(self, event: Any) -> Node:
        name = event.anchor
        if name not in self._anchors:
            message = f"*{name} needs an &{name} above it; put quotes around text that starts with *"
            self.stop(_place(event), message)
        return self._anchors[name]

    def _events_until(self, end: type) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _place_of_error(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """Returns line and column from 1; for a character that YAML forbids, its first occurrence."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark:
        return mark.line + 1, mark.column + 1
    found = Reader.NON_PRINTABLE.search(text)
    before = text[: found.start() if found else 0]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _indentation_advice(text: str, line: int, column: int) -> str:
    """Explains a key that is indented too far, unless another colon in its line may be the problem."""
    if ": " in text.splitlines()[line - 1][: column - 1]:
        return ""
    return "this line is indented more than the key above, which already has its value; align the two"


def _quote_advice(error: yaml.YAMLError, text: str) -> str:
    """Explains a quotation that ends right before the error."""
    events: deque[Any] = deque(maxlen=1)
    with suppress(yaml.YAMLError):
        events.extend(yaml.parse(text, Loader=_LOADER))
    last = events.pop() if events else None
    mark = getattr(error, "problem_mark", None)
    style = getattr(last, "style", None)
    if style not in ("'", '"') or not last or not mark or last.end_mark.index != mark.index:
        return ""
    opened = last.start_mark.line
    if opened < mark.line:
        return f"the quote opened in line {opened + 1} is closed only here; its end is missing there"
    other = "double" if style == "'" else "single"
    return f"the quoted text ends here, but the line goes on; put text that contains {style} in {other} quotes"


def _syntax_advice(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    return next((advice for part, advice in _SYNTAX if part in problem), f"this is not YAML: {problem}")


SECOND_COLON = "mapping values are not allowed"
_CONTROL = "a control character, which YAML does not allow; remove it"
_SYNTAX = (
    ("exceeded maximum nesting depth", TOO_DEEP),  # libyaml 0.2.6 reads far ahead after opening brackets
    *dict.fromkeys(("\\t", "tab character"), "a tab can't indent YAML; use spaces").items(),
    (
        "cannot start any token",
        "a tab, @, ` or % can't start a value; indent with spaces, and put quotes around the text",
    ),
    (SECOND_COLON, "a second ': ' on this line; put quotes around text that holds a colon"),
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
    ("control characters are not allowed", _CONTROL),
    ("special characters are not allowed", _CONTROL),
    ("did not find expected node content", "a value is missing here, or a bracket above is not closed"),
    ("unexpected end of stream", "a quote that is opened here or above is never closed"),
)
