"""Measures writing streams for clients and reading their long requests, against one dict and `json`."""

import gc
import json
import time
from collections.abc import Callable
from typing import Any

from ai_battle.core.events import TextDelta
from ai_battle.core.messages import Text
from ai_battle.wire import anthropic, responses
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import decode_body

from ..wire.telling import answer

CHUNKS = 20_000
REQUESTS = 40
WIRES: tuple[Any, ...] = (anthropic, openai, responses)
WORDS = [TextDelta(f"wörd {number} \n") for number in range(97)]


def stream_writer(wire: Any, chunks: int = CHUNKS) -> Callable[[], float]:
    """Returns a function that measures the CPU of writing a stream of `chunks` chunks."""

    def write() -> None:
        writer = wire.StreamWriter("m")
        writer.begin()
        for number in range(chunks):
            writer.feed(WORDS[number % 97])
        writer.finish(answer(Text("".join(WORDS[number % 97].text for number in range(chunks)))))

    return lambda: _cpu(write)


def dump_stream(chunks: int = CHUNKS) -> float:
    """Returns the CPU of the same with a dict and `json.dumps` for each chunk."""

    def write() -> None:
        for number in range(chunks):
            delta = {"type": "text_delta", "text": WORDS[number % 97].text}
            body = {"type": "content_block_delta", "index": 0, "delta": delta}
            b"event: content_block_delta\ndata: %s\n\n" % json.dumps(body).encode()

    return _cpu(write)


def translate_requests() -> float:
    """Returns the CPU of turning requests of 110 kB with 24 tools into requests for an OpenAI upstream."""

    def translate() -> None:
        for _ in range(REQUESTS):
            openai.encode_request(anthropic.decode_request(decode_body(REQUEST)), "m", stream=True)

    return _cpu(translate)


def parse_requests() -> float:
    """Returns the CPU of parsing and writing the same bytes with `json`."""

    def parse() -> None:
        for _ in range(REQUESTS):
            json.dumps(json.loads(REQUEST)).encode()

    return _cpu(parse)


def _cpu(work: Callable[[], None]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def _request() -> bytes:
    fields = {f"field_{number}": {"type": "string", "description": "What it is. " * 7} for number in range(20)}
    schema = {"type": "object", "properties": fields, "required": ["field_0"]}
    tool = {"description": "What it does. " * 60, "input_schema": schema}
    call = {"type": "tool_use", "name": "tool_1", "input": {"field_0": "x" * 100}}
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Mend it. " * 50}]}]
    for number in range(15):
        id_ = f"toolu_{number}"
        result = {"type": "tool_result", "tool_use_id": id_, "content": [{"type": "text", "text": "line\n" * 100}]}
        messages += [{"role": "assistant", "content": [{"id": id_, **call}]}, {"role": "user", "content": [result]}]
    body = {
        "model": "claude-x",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be careful. " * 400, "cache_control": {"type": "ephemeral"}}] * 3,
        "tools": [{"name": f"tool_{number}", **tool} for number in range(24)],
        "messages": messages,
    }
    return json.dumps(body).encode()


REQUEST = _request()
