"""HTTP answers as lists of steps that are played to a client: bytes, pauses, and broken connections."""

import asyncio
import contextlib
import math
import socket
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from aiohttp import web

from ..core.exchange import Usage
from .apis import FakeApi, Json, Question, Reply, dumps

STALL = math.inf
_LINGER_ZERO = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s makes a close send RST instead of FIN


class Break(Enum):
    """How a connection is broken: by RST or FIN."""

    RESET = auto()
    CLOSE = auto()


Step = bytes | float | Break


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer in steps. The headers go out with the first bytes, even if these are empty.

    `length` None means chunked. `usage` is that of all `size` bytes: a client that gets a part is billed for it.
    """

    steps: Iterable[Step]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    usage: Usage | None = None
    size: int = 0

    @property
    def data(self) -> bytes:
        return b"".join(step for step in self.steps if isinstance(step, bytes))

    def bill(self, sent: int) -> Usage | None:
        """Returns what a provider charges for the sent bytes: all of the input, and that share of the output."""
        if self.usage is None or not sent:
            return None
        share = min(1.0, sent / self.size) if self.size else 1.0
        return replace(self.usage, output_tokens=round(self.usage.output_tokens * share))


def json_answer(body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    data = dumps(body)
    return HttpAnswer((data,), status, {"Content-Type": "application/json", **(headers or {})}, len(data))


def reply_answer(api: FakeApi, question: Question, reply: Reply) -> HttpAnswer:
    """Returns the correct answer, in one write unless the reply asks for pauses."""
    answer = _plain_answer(api, question, reply)
    return replace(answer, usage=reply.bill, size=len(answer.data))


def _plain_answer(api: FakeApi, question: Question, reply: Reply) -> HttpAnswer:
    if not question.stream:
        answer = json_answer(api.whole(reply, question))
        return HttpAnswer((reply.delay, *answer.steps), 200, answer.headers, answer.length)
    events = api.stream(reply, question).all
    if not reply.pace:
        return stream_answer(api, (reply.delay, b"".join(events)))
    return stream_answer(api, (reply.delay, *(step for event in events for step in (event, reply.pace))))


def stream_answer(api: FakeApi, steps: Iterable[Step]) -> HttpAnswer:
    return HttpAnswer(steps, 200, {"Content-Type": api.stream_type, "Cache-Control": "no-cache"})


async def play(answer: HttpAnswer, request: web.BaseRequest, request_id: str, sent: list[int]) -> web.StreamResponse:
    """Plays an answer. Adds the number of bytes of each step to `sent`."""
    response = web.StreamResponse(status=answer.status, headers={"x-request-id": request_id, **answer.headers})
    if answer.length is None:
        response.enable_chunked_encoding()
    else:
        response.content_length = answer.length
    for step in answer.steps:
        if isinstance(step, Break):
            _break(request, step)
            break
        await _play_step(step, request, response)
        if isinstance(step, bytes):
            sent.append(len(step))
    return response


async def _play_step(step: bytes | float, request: web.BaseRequest, response: web.StreamResponse) -> None:
    if isinstance(step, bytes):
        if not response.prepared:
            await response.prepare(request)
        await response.write(step)
    elif step == STALL:
        await asyncio.Event().wait()
    elif step:
        await asyncio.sleep(step)


def _break(request: web.BaseRequest, how: Break) -> None:
    """Ends the connection. Later writes go nowhere."""
    if (transport := request.transport) is None:
        return
    if how is Break.CLOSE:
        transport.close()
        return
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
    transport.abort()
