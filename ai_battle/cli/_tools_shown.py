"""Tools as a person reads them: how each is called, and what it does."""

from collections.abc import Iterable, Iterator

from ai_battle.core.exchange import ToolSpec
from ai_battle.core.texts import printable
from ai_battle.wire.dialects.schemas import signature


def described(tools: Iterable[ToolSpec]) -> Iterator[str]:
    """What models are told of each, without control characters of servers that it may come from."""
    return (printable(f"{signature(tool.name, tool.schema)}: {tool.description.strip()}") for tool in tools)
