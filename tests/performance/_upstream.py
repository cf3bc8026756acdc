"""A fake provider with next to no cost: the model `words-20` answers twenty words.

A streamed answer has a word in each chunk. They are written as fast as possible, or, by `slow-20`, a moment apart, as
models produce them.
"""

import asyncio
import json
import re
from typing import Any

WORDS = re.compile(rb'"model": ?"[^"]*(words|slow)-(\d+)"')
STREAMED = re.compile(rb'"stream": ?true')
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
BETWEEN_WORDS = 0.002
FRAME = {"id": "chatcmpl-1", "created": 1, "model": "words"}
USAGE = {"prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 40}


def _word(number: int) -> str:
    return f"word{number + 100} "


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = b"data: " + _json({**FRAME, "object": "chat.completion.chunk", "choices": [choice], **more}) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENTS = [_chunk({"content": _word(number)}) for number in range(900)]
LAST = _chunk({}, "stop") + _chunk({}, choices=[], usage=USAGE) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def _whole(words: int) -> bytes:
    message = {"role": "assistant", "content": "".join(map(_word, range(words)))}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = _json({**FRAME, "object": "chat.completion", "choices": [choice], "usage": USAGE})
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)


class Upstream(asyncio.Protocol):
    def __init__(self) -> None:
        self._read = bytearray()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, body = bytes(self._read).partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if end and len(body) >= int(length[1] if length else 0):
            self._read.clear()
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        found = WORDS.search(body)
        kind, words = (found[1], int(found[2])) if found else (b"words", 1)
        if STREAMED.search(body):
            self._transport.write(HEAD + _chunk({"role": "assistant", "content": ""}))
            self._write_words(0, words, BETWEEN_WORDS if kind == b"slow" else 0.0)
        else:
            self._transport.write(_whole(words))

    def _write_words(self, number: int, words: int, pause: float) -> None:
        if self._transport.is_closing():
            return
        self._transport.write(LAST if number == words else EVENTS[number % len(EVENTS)])
        if number < words and pause:
            self._loop.call_later(pause, self._write_words, number + 1, words, pause)
        elif number < words:
            self._loop.call_soon(self._write_words, number + 1, words, pause)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
