"""The offered tools, and which of them a model means by a name."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ai_battle.core.exchange import ToolSpec

Offer = ToolSpec | Mapping[str, Any] | str

_PREFIX = re.compile(r"(?:functions?|tools?|default_api|api|namespace)[.:/]")
_SUFFIX = re.compile(r"(?::\d+|\(\)|\.call)$")
_FOLDED = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")
_WELL_FORMED = re.compile(r"[A-Za-z_][\w.\-/:]{0,127}\Z")
_NOTHING: Mapping[str, Any] = {}


class Offered:
    """The tools that may be called; none at all means that any well-formed name will do, in an explicit dialect."""

    __slots__ = ("_folded", "_schemas", "_writing", "open")

    def __init__(self, tools: Iterable[Offer] = ()) -> None:
        tools = tuple(tools)
        self._writing = frozenset(_named(tool)[0] for tool in tools if _writes(tool))
        self._schemas = dict(map(_named, tools))
        self._folded: dict[str, str] | None = None
        self.open = not self._schemas

    def resolve(self, name: str) -> str | None:
        """The tool that is meant: exact, then without prefix and suffix, then with other separators or letter case."""
        if name in self._schemas:
            return name
        plain = _SUFFIX.sub("", name.strip().strip("\"'`*").replace("\\_", "_"))
        if self.open:
            plain = _PREFIX.sub("", plain, count=1)
            return plain if _WELL_FORMED.match(plain) else None
        if plain in self._schemas:
            return plain
        return self._similar(plain)

    def _similar(self, name: str) -> str | None:
        shorter = _PREFIX.sub("", name, count=1)
        if shorter in self._schemas:
            return shorter
        if self._folded is None:
            self._folded = _unambiguous(self._schemas)
        return self._folded.get(_fold(shorter)) or self._folded.get(_fold(name)) or None

    def known(self, name: str) -> str | None:
        """As `resolve`, but never any name: for notations that mean a call only where they name a tool."""
        return None if self.open else self.resolve(name)

    def writes(self, name: str) -> bool:
        """Whether the tool says that it may change something."""
        return name in self._writing

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schemas)

    def schema(self, name: str) -> Mapping[str, Any]:
        """The JSON Schema of the tool's arguments."""
        return self._schemas.get(name, _NOTHING)

    def properties(self, name: str) -> Mapping[str, Any]:
        found = self.schema(name).get("properties")
        return found if isinstance(found, Mapping) else _NOTHING

    def required(self, name: str) -> tuple[str, ...]:
        found = self.schema(name).get("required")
        return tuple(found) if isinstance(found, list | tuple) else ()


def _named(tool: Offer) -> tuple[str, Mapping[str, Any]]:
    match tool:
        case str():
            return tool, _NOTHING
        case ToolSpec():
            return tool.name, tool.schema
    schema = tool.get("parameters") or tool.get("schema") or tool.get("input_schema")
    return str(tool.get("name", "")), schema if isinstance(schema, dict | Mapping) else _NOTHING


def _writes(tool: Offer) -> bool:
    if isinstance(tool, ToolSpec):
        return tool.writes
    return isinstance(tool, Mapping) and bool(tool.get("writes"))


@lru_cache(maxsize=1_000)
def _fold(name: str) -> str:
    return _FOLDED.sub("_", name).strip("_").lower()


def _unambiguous(names: Iterable[str]) -> dict[str, str]:
    """By folded name; where two tools fold to the same name, neither is meant."""
    folded: dict[str, str] = {}
    for name in names:
        key = _fold(name)
        folded[key] = "" if key in folded else name
    return folded
