"""The tools there are, by name."""

from collections.abc import Iterable, Iterator
from typing import Any

from ..core.errors import ConfigError
from ..core.exchange import ToolSpec
from .base import Tool, spec


class ToolRegistry:
    """Tools by name, in the order in which they were registered."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._specs: dict[str, ToolSpec] = {}
        for tool in tools:
            self.register_tool(tool)

    def register_tool(self, tool: Tool) -> None:
        """Raises `ConfigError` for a name that is taken or missing, and for parameters that are no JSON Schema."""
        if not isinstance(tool, Tool):
            raise ConfigError(f"{tool!r:.80} is no Tool; derive it from ai_battle.Tool or decorate it with @tool")
        described = spec(tool)
        there = self._tools.setdefault(described.name, tool)
        if there is not tool:
            kinds = f"{type(there).__qualname__} and {type(tool).__qualname__}"
            raise ConfigError(f"Two tools are named {described.name!r}: {kinds}; rename one of them.")
        self._specs[described.name] = described

    def unregister_tool(self, name: str) -> None:
        self._tools.pop(name, None)
        self._specs.pop(name, None)

    def get_tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def list_tools(self) -> dict[str, dict[str, Any]]:
        """Each tool's description and parameters, as the tool gives them."""
        return {
            name: {"description": tool.description, "parameters": tool.parameters} for name, tool in self._tools.items()
        }

    def spec(self, name: str) -> ToolSpec:
        """The tool as models see it, with one JSON Schema of all its arguments."""
        return self._specs[name]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._specs.values())

    @property
    def names(self) -> list[str]:
        return list(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
