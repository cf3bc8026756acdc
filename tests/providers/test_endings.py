"""Servers that say their last word and then do not end: the answer is whole, and nobody waits for more of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product, starmap

import pytest

from ai_battle.core.events import EventLog
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers import openai

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SAID = b'data: {"choices": [{"index": 0, "delta": {"content": "Forty-two."}}]}\n\n'
FINISHED = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
BILL = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}\n\n'


class Lingering:
    """Answers, and sends `after` with pauses once the answer is finished; never `[DONE]`."""

    def __init__(self, *after: bytes, pause: float = 0.05, reset: bool = False) -> None:
        self.after = after
        self.pause = pause
        self.reset = reset

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD + _chunk(SAID) + _chunk(FINISHED))
            for piece in self.after:
                await asyncio.sleep(self.pause)
                writer.write(_chunk(piece))
            await asyncio.sleep(0.05)
            if not self.reset:
                await asyncio.sleep(30)
        finally:
            writer.transport.abort()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


SCENES = {
    "silence": (Lingering(), 0),
    "the bill": (Lingering(BILL), 4),
    "pings": (Lingering(*[b": ping\n\n"] * 100), 0),
    "a reset": (Lingering(reset=True), 0),
    "the bill and a reset": (Lingering(BILL, reset=True), 4),
}


@asynccontextmanager
async def serving(scene: Lingering) -> AsyncIterator[str]:
    tasks: set[asyncio.Task[None]] = set()

    def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(scene.answer(reader, writer)))

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def ask(name: str, transport: str) -> tuple[str, str, str, int]:
    scene, _ = SCENES[name]
    async with serving(scene) as url:
        client = openai.create("m", "vllm", base_url=url, transport=transport)
        response = await client.complete(ModelRequest((user("Hello?"),)), log := EventLog())
    return response.text, log.text, response.stop, response.usage.output_tokens


async def test_a_finished_answer_is_whole_soon_after() -> None:
    ways = list(product(SCENES, ("aiohttp", "sdk")))
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*starmap(ask, ways))

    assert dict(zip(ways, answers, strict=True)) == {
        (name, transport): ("Forty-two.", "Forty-two.", "end", SCENES[name][1]) for name, transport in ways
    }


async def test_after_the_bill_nothing_is_awaited_but_the_end_for_a_moment() -> None:
    """Half a second rather than the two for which a bill is awaited."""
    async with asyncio.timeout(1.9):
        assert (await ask("the bill", "aiohttp"))[0] == "Forty-two."


class InOnePiece(Lingering):
    """Does not stream, and does not say what it sends."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n\xef\xbb\xbf" + WHOLE[:40])
        await asyncio.sleep(0.02)
        writer.write(WHOLE[40:])
        writer.close()


WHOLE = (
    b'{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Forty-two."}}]}'
)


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_an_answer_in_one_piece_needs_no_content_type(transport: str) -> None:
    """And a mark of its byte order is no part of it."""
    async with serving(InOnePiece()) as url:
        client = openai.create("m", "vllm", base_url=url, transport=transport)
        response = await client.complete(ModelRequest((user("Hello?"),)), log := EventLog())

    assert response.text == log.text == "Forty-two."
