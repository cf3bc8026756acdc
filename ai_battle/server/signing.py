"""Signatures of calls: Gemini wants them back with each call, and no other API has a field for them."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.messages import Message, Part, ToolCall

PROVIDER = "gemini"
LONGEST = 32_768
"""Characters of a signature; a longer one is not kept."""


@dataclass(slots=True)
class Signatures:
    """Those of the `size` latest calls, by the id that clients get. One that is lost costs the model its train of
    thought and nothing else: the API then gets the mark that it documents for calls of other models.
    """

    size: int = 1_000
    _kept: OrderedDict[str, Mapping[str, Any]] = field(default_factory=OrderedDict, repr=False)

    def keep(self, response: ModelResponse) -> None:
        for call in response.tool_calls:
            if PROVIDER in call.extra and len(str(call.extra[PROVIDER])) <= LONGEST:
                self._kept[call.id] = {PROVIDER: call.extra[PROVIDER]}
                self._kept.move_to_end(call.id)
        while len(self._kept) > self.size:
            self._kept.popitem(last=False)

    def restored(self, request: ModelRequest) -> ModelRequest:
        """The request with the signatures of those of its calls that are known and have none."""
        if not self._kept or not any(self._lacks(part) for message in request.messages for part in message.parts):
            return request
        return replace(request, messages=tuple(map(self._message, request.messages)))

    def _message(self, message: Message) -> Message:
        if not any(map(self._lacks, message.parts)):
            return message
        return replace(message, parts=tuple(map(self._part, message.parts)))

    def _part(self, part: Part) -> Part:
        if isinstance(part, ToolCall) and self._lacks(part):
            return replace(part, extra={**part.extra, **self._kept[part.id]})
        return part

    def _lacks(self, part: Part) -> bool:
        return isinstance(part, ToolCall) and part.id in self._kept and PROVIDER not in part.extra


class Signed(ModelClient):
    """The calls of `client` come back to it as it has signed them, whatever API its answers go out by."""

    def __init__(self, client: ModelClient, signatures: Signatures) -> None:
        self.client = client
        self.signatures = signatures

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        response = await self.client.complete(self.signatures.restored(request), emit)
        self.signatures.keep(response)
        return response

    async def aclose(self) -> None:
        await self.client.aclose()
