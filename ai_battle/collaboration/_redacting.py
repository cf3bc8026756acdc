"""A model that never sees what a hook takes out of the texts on their way to it."""

from collections.abc import Callable
from dataclasses import replace

from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse, ToolSpec
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolResult
from ..core.redaction import STRUCTURE
from ..core.texts import each_text

LEFT_OUT = Text("[a picture or document was left out]")
KEPT = STRUCTURE | {"name", "id", "speaker"}
"""What must be the same in a call and its result, or tells who speaks."""


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
        plain = tuple(Message(each.role, tuple(map(_plain, each.parts)), each.speaker) for each in request.messages)
        messages = each_text(plain, self.redact, but=KEPT)
        return replace(request, messages=messages, system=self.redact(request.system) if request.system else "")


def _plain(part: Part) -> Part:
    """The part with nothing in it but texts; a signature would no longer fit, and what is extra nobody knows."""
    match part:
        case Thinking(text):
            return Thinking(text)
        case ToolResult():
            return replace(part, parts=tuple(map(_text, part.parts)), extra={})
        case Text() | Image() | Document():
            return _text(part)
    return part


def _text(part: Text | Image | Document) -> Text:
    return Text(part.text) if isinstance(part, Text) else LEFT_OUT
