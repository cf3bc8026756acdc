"""An answer in which the calls stood in the text, as one with calls of its own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...core.exchange import ModelRequest, ModelResponse
from ...core.messages import Part, Text, ToolCall

UNREAD = "unread_calls"


def with_calls(
    response: ModelResponse, request: ModelRequest, text: str, calls: Iterable[ToolCall], unread: Iterable[str] = ()
) -> ModelResponse:
    """`text` is what it says besides its calls; `unread` is what the model has to know of calls that can't be read."""
    kept = tuple(part for part in response.message.parts if not isinstance(part, Text | ToolCall))
    said = (Text(text),) if text else ()
    identified = tuple(_identified(request, calls))
    parts: tuple[Part, ...] = (*kept, *said, *identified)
    extra = {**response.extra, UNREAD: problems} if (problems := tuple(unread)) else response.extra
    stop = "tool_calls" if identified else "end" if response.stop == "tool_calls" else response.stop
    return replace(response, message=replace(response.message, parts=parts), stop=stop, extra=extra)


def _identified(request: ModelRequest, calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
    """Each under an id that is new in this conversation, and the same for the same conversation."""
    known = {call.id for message in request.messages for call in message.tool_calls}
    number = len(known)
    for call in calls:
        number += 1
        while f"call_{number}" in known:
            number += 1
        yield replace(call, id=f"call_{number}")
