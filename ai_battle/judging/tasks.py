"""Whether a prompt asks for what its tools do: in a discussion many turns have nothing to do with any."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from ..core.exchange import ToolSpec
from ..signals.invention import takes_anything
from ..signals.languages import name_stems

MEANT = 2
"""Words that a prompt shares with the tools where it asks for one: fewer did none of 250 recorded tasks."""


def asks_for_tools(prompt: str, tools: Iterable[ToolSpec]) -> bool:
    return len(name_stems(prompt) & _about(tools_meant(prompt, tools))) >= MEANT


def tools_meant(prompt: str, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """The tools that a prompt may mean: of one that takes anything it has to say the name."""
    asked = name_stems(prompt)
    return [tool for tool in tools if not takes_anything(tool) or name_stems(tool.name) <= asked]


def property_texts(properties: Mapping[str, Any]) -> Iterator[str]:
    """What a schema says of its properties."""
    for name, schema in properties.items():
        yield name
        yield str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _about(tools: Iterable[ToolSpec]) -> frozenset[str]:
    texts = ((tool.name, tool.description, *property_texts(tool.schema.get("properties") or {})) for tool in tools)
    return name_stems(" ".join(chain.from_iterable(texts)))
