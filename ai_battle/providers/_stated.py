"""What a model can't do, as its user states, is not asked of it."""

from collections.abc import Iterable
from dataclasses import replace

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import Image, Message, Part, Text, ToolResult

LEFT_OUT = frozenset({"images", "json_schema", "reasoning"})
UNSEEN = Text("(a picture, which you can't see)\n\n")


class Within(ModelClient):
    """`lacks` are of those that can be `LEFT_OUT`."""

    def __init__(self, client: ModelClient, lacks: frozenset[str]) -> None:
        self._client = client
        self._lacks = lacks

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        return await self._client.complete(self._asked(request), emit)

    async def aclose(self) -> None:
        await self._client.aclose()

    def _asked(self, request: ModelRequest) -> ModelRequest:
        if "json_schema" in self._lacks and request.output_schema is not None:
            request = replace(request, output_schema=None)
        if "reasoning" in self._lacks and "reasoning" in request.options:
            options = {name: value for name, value in request.options.items() if name != "reasoning"}
            request = replace(request, options=options)
        if "images" in self._lacks:
            request = replace(request, messages=tuple(map(_told, request.messages)))
        return request


def _told(message: Message) -> Message:
    """Where pictures are, a word on them; any other message as it is, with the bytes that it was sent as."""
    parts = tuple(_in_words(message.parts))
    return message if parts == message.parts else replace(message, parts=parts)


def _in_words(parts: Iterable[Part]) -> Iterable[Part]:
    for part in parts:
        match part:
            case Image():
                yield UNSEEN
            case ToolResult(parts=shown):
                yield replace(part, parts=tuple(UNSEEN if isinstance(each, Image) else each for each in shown))
            case _:
                yield part
