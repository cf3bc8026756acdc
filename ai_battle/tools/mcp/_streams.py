"""What goes between us and a server: requests that wait for an answer get one, also where the answer can't be read."""

import asyncio
from collections.abc import Iterator
from typing import Any

from pydantic_core import ValidationError

from ...core.plugins import optional

TOOLS_CHANGED = "notifications/tools/list_changed"
LONGEST_REASON = 300
NO_REQUEST = ""


class Unreadable(ValueError):
    """A line that is no message; `answers` is the request that it is meant for, where that can be read."""

    def __init__(self, reason: str, answers: int | str | None = None) -> None:
        super().__init__(reason)
        self.answers = answers


class Traffic:
    """Requests on their way, by number; what the server said on the way of its tools.

    `ended` is set at the end of what the server says.
    """

    def __init__(self, ended: asyncio.Event) -> None:
        self.ended = ended
        self.waiting: dict[int | str, str] = {}
        self.tools_changed = False
        self.left_out: list[str] = []
        """Why tools of the list are no tools."""


class Outbound:
    """The stream of what is said to the server."""

    def __init__(self, stream: Any, traffic: Traffic) -> None:
        self._stream = stream
        self._traffic = traffic

    async def __aenter__(self) -> "Outbound":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)

    async def send(self, item: Any) -> None:
        if (number := getattr(item.message, "id", None)) is not None and hasattr(item.message, "method"):
            self._traffic.waiting[number] = item.message.method
        await self._stream.send(item)


class Inbound:
    """The stream of what the server says, as the SDK can read it."""

    def __init__(self, stream: Any, traffic: Traffic) -> None:
        self._stream = stream
        self._traffic = traffic
        self._types = optional("mcp.types", "mcp")
        self._message = optional("mcp.shared.message", "mcp").SessionMessage
        self._failed: list[Any] = []

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def __aenter__(self) -> "Inbound":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._traffic.ended.set()
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> "Inbound":
        return self

    async def __anext__(self) -> Any:
        while not self._failed:
            item = await self._stream.__anext__()
            if not isinstance(item, Exception):
                return self._seen(item)
            self._failed += self._failures(item)
        return self._failed.pop(0)

    def _failures(self, error: Exception) -> Iterator[Any]:
        """An answer that can't be read is one that says so: nobody waits for it until the time is up."""
        number = getattr(error, "answers", None)
        if number is not None and number not in self._traffic.waiting:
            return
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        told = self._types.ErrorData(code=self._types.PARSE_ERROR, message=f"its answer can't be read: {reason}")
        for each in (number,) if number is not None else tuple(self._traffic.waiting):
            del self._traffic.waiting[each]
            yield self._message(self._types.JSONRPCError(jsonrpc="2.0", id=each, error=told))

    def _seen(self, item: Any) -> Any:
        message = item.message
        if getattr(message, "method", "") == TOOLS_CHANGED:
            self._traffic.tools_changed = True
        elif self._traffic.waiting.pop(getattr(message, "id", NO_REQUEST), "") == "tools/list":
            self._leave_out(getattr(message, "result", {}))
        return item

    def _leave_out(self, listed: dict[str, Any]) -> None:
        """What is no tool costs itself and not the whole list."""
        if isinstance(tools := listed.get("tools"), list):
            listed["tools"] = [tool for tool in map(_mended, tools) if self._is_tool(tool)]

    def _is_tool(self, tool: Any) -> bool:
        if reason := self._fault(tool):
            name = tool.get("name") if isinstance(tool, dict) else tool
            self._traffic.left_out.append(f"{name!r:.80}: {reason}")
        return not reason

    def _fault(self, tool: Any) -> str:
        try:
            self._types.Tool.model_validate(tool, by_name=False)
        except ValidationError as error:
            first = error.errors()[0]
            return f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
        kind = tool["inputSchema"]["type"]
        return "" if kind == "object" else f"inputSchema.type must be 'object', not {kind!r:.40}"


def _mended(tool: Any) -> Any:
    """The tool with what the SDK insists on and can be said without its server."""
    if not isinstance(tool, dict) or not isinstance(schema := tool.get("inputSchema"), dict):
        return tool
    promised = tool.get("outputSchema")
    is_kept = isinstance(promised, dict) and promised.get("type") == "object"
    rest = {key: value for key, value in tool.items() if key != "outputSchema" or is_kept}
    return {**rest, "inputSchema": {"type": "object", **schema}}
