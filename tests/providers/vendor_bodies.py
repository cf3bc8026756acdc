"""How a row of the tables of vendors' faults is written: what a server sends, and what has to come of it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ai_battle.core.errors import ProviderError
from ai_battle.testing import Fault, reply
from ai_battle.testing.answers import HttpAnswer, reply_answer
from ai_battle.testing.faults import Scene

from .fault_scenes import WHOLE
from .fault_table import Again, Row

ENDS = f"end: {WHOLE}"
ALL = ("openai", "anthropic", "ollama", "gemini")
EVENTS = ("openai", "anthropic", "gemini")
OPENAI, ANTHROPIC, OLLAMA, GEMINI = (("openai",), ("anthropic",), ("ollama",), ("gemini",))
Answer = Callable[[Scene], HttpAnswer]

NEVER: Again = "never"
ONCE: Again = "once"
PASSES: Again = "three times"


@dataclass(frozen=True)
class VendorFault:
    """`says` must all stand in the message, `gives` is an answer in short; `streamed` None means in both ways."""

    fault: Fault
    row: Row
    says: tuple[str, ...] = ()
    gives: str = ""
    streamed: bool | None = None


def fails(
    name: str,
    wires: tuple[str, ...],
    answer: Answer,
    again: Again,
    error: type[ProviderError],
    *says: str,
    streamed: bool | None = None,
) -> VendorFault:
    return VendorFault(Fault(name, "", answer, wires), Row(again, error), says, streamed=streamed)


def gives(
    name: str, wires: tuple[str, ...], answer: Answer, short: str = ENDS, *, streamed: bool | None = None
) -> VendorFault:
    return VendorFault(Fault(name, "", answer, wires), Row(NEVER), gives=short, streamed=streamed)


def http(status: int, body: Any = b"", **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "text/html" if data.startswith(b"<") else "application/json" if data[:1] in b"{[" else "text/plain"
    named = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return lambda scene: HttpAnswer((data,), status, named, len(data))


def sound(scene: Scene) -> HttpAnswer:
    return reply_answer(scene.api, scene.question, reply(WHOLE))


def altered_answer(change: Callable[[bytes], bytes], **headers: str) -> Answer:
    """A sound answer with other bytes, or under other headers."""

    def answer(scene: Scene) -> HttpAnswer:
        whole = sound(scene)
        named = {**whole.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return replace(whole, steps=(change(whole.data),), headers=named, length=None)

    return answer


def chat(message: Any, reason: Any = "stop", **more: Any) -> Answer:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    return http(200, {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage} | more)


def sse(*events: Any, named: bool = False) -> Answer:
    """Events that are bytes are sent as they are, all others as JSON."""

    def encode_event(each: Any) -> bytes:
        if isinstance(each, bytes):
            return each
        name = b"event: %b\n" % each["type"].encode() if named else b""
        return name + b"data: %b\n\n" % json.dumps(each).encode()

    return lambda scene: HttpAnswer((b"".join(map(encode_event, events)),), 200, {"Content-Type": "text/event-stream"})


def chunk(delta: Any, reason: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]} | more


def lines(*objects: Any) -> Answer:
    data = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in objects)
    return lambda scene: HttpAnswer((data,), 200, {"Content-Type": "application/x-ndjson"})


def claude(content: Any, stop: Any = "end_turn", **more: Any) -> Answer:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    usage = {"input_tokens": 9, "output_tokens": 4}
    return http(200, {**head, "content": content, "stop_reason": stop, "usage": usage} | more)


def claude_stream(*blocks: Any, stop: Any = "end_turn") -> Answer:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": None}
    start = {"type": "message_start", "message": {**message, "usage": {"input_tokens": 9, "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}}
    return sse(start, *blocks, end, {"type": "message_stop"}, named=True)


def block(index: int, opened: Any, *deltas: Any) -> Iterator[dict[str, Any]]:
    yield {"type": "content_block_start", "index": index, "content_block": opened}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def google(parts: Any, finish: Any = "STOP", **more: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}} | more


def both(body: Any) -> Answer:
    """The one body of Google's, as a stream of one event where one is asked for."""
    return lambda scene: (sse(body) if scene.question.stream else http(200, body))(scene)


def line(message: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "2026-11-06T21:20:00Z", "message": message, "done": False} | more


def openai_error(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def claude_error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google_error(code: int, status: str, message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, **more}}


PAGE = b"<html><head><title>%s</title></head><body><center><h1>%s</h1></center><hr><center>nginx</center></body></html>"
PLACE = "base_url"
SAID = {"content": WHOLE}
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
TEXT = {"type": "text", "text": WHOLE}
USE = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}
OPEN = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
DONE = b"data: [DONE]\n\n"
SUMMED = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}
OUT_OF_CREDIT = ("credit",)
SHORTER = ("Shorten",)
KEY = ("Is the api_key of",)
