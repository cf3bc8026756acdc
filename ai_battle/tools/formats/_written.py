"""An answer in which the calls stood in the text, as one with calls of its own."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...core.exchange import ModelRequest, ModelResponse, Stop
from ...core.messages import Part, Text, ToolCall
from ...wire.dialects.reading import Reading

UNREAD, BEHIND, PROPOSED = "unread_calls", "behind_calls", "proposed_calls"


def with_calls(
    response: ModelResponse, request: ModelRequest, text: str, calls: Iterable[ToolCall], **noted: object
) -> ModelResponse:
    """`text` is what it says besides its calls; what is `noted` of them goes to `extra`."""
    kept = tuple(part for part in response.message.parts if not isinstance(part, Text | ToolCall))
    said = (Text(text),) if text else ()
    identified = tuple(_identified(request, calls))
    parts: tuple[Part, ...] = (*kept, *said, *identified)
    stop: Stop = "tool_calls" if identified else "end" if response.stop == "tool_calls" else response.stop
    extra = {**response.extra, **{name: value for name, value in noted.items() if value}}
    return replace(response, message=replace(response.message, parts=parts), stop=stop, extra=extra)


def problems_in(reading: Reading) -> tuple[str, ...]:
    """What the model has to know of calls that can't be read."""
    return tuple(str(issue) for issue in reading.issues if issue.kind != "quoted")


def behind(reading: Reading, text: str) -> str:
    """What stands behind the first call in `text`, without the calls themselves."""
    ends = [span.end for span in reading.spans]
    starts = [span.start for span in reading.spans[1:]]
    return "\n".join(text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=False))


def _identified(request: ModelRequest, calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
    """Each under an id that is new in this conversation, and the same for the same conversation."""
    known = {call.id for message in request.messages for call in message.tool_calls}
    number = len(known)
    for call in calls:
        number += 1
        while f"call_{number}" in known:
            number += 1
        yield replace(call, id=f"call_{number}")
