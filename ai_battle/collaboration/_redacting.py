"""A model that never sees what a hook takes out of the texts on their way to it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ..core.texts import each_text

LEFT_OUT = Text("[a picture or document was left out]")


class Redacting(ModelClient):
    """`client`, with `redact` gone over each text of a request: system, messages, tool calls and their results.

    Pictures and documents can't be redacted and are left out. Put directly around the model, below its tools, it
    also sees to what tools return. A hook that raises keeps the request from being sent.
    """

    def __init__(self, client: ModelClient, redact: Callable[[str], str]) -> None:
        self.client = client
        self.redact = redact

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        return self.client.offered

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        with foreign_code("The redaction failed, so nothing was sent", ConfigError):
            clean = self._cleaned(request)
        return await self.client.complete(clean, emit)

    async def aclose(self) -> None:
        await self.client.aclose()

    def _cleaned(self, request: ModelRequest) -> ModelRequest:
        messages = tuple(self._message(message) for message in request.messages)
        return replace(request, messages=messages, system=self.redact(request.system) if request.system else "")

    def _message(self, message: Message) -> Message:
        return replace(message, parts=tuple(self._part(part) for part in message.parts), extra={})

    def _part(self, part: Part) -> Part:
        match part:
            case Text(text):
                return Text(self.redact(text))
            case Thinking(text):
                return Thinking(self.redact(text))
            case ToolCall():
                return self._call(part)
            case ToolResult():
                parts = tuple(self._seen(inner) for inner in part.parts)
                return replace(part, call=self._call(part.call), parts=parts, extra={})
            case Image() | Document():
                return LEFT_OUT

    def _seen(self, part: Text | Image | Document) -> Text:
        return Text(self.redact(part.text)) if isinstance(part, Text) else LEFT_OUT

    def _call(self, call: ToolCall) -> ToolCall:
        arguments: dict[str, Any] = each_text(dict(call.arguments), self.redact)
        return replace(call, arguments=arguments, malformed=self.redact(call.malformed) if call.malformed else "")
