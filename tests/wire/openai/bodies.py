"""Answers of servers that speak Chat Completions, as their documentation and their logs show them."""

from typing import Any

from pydantic_core import to_json

PLAIN: dict[str, Any] = {
    "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
    "object": "chat.completion",
    "created": 1741569952,
    "model": "gpt-4.1-2025-04-14",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 19,
        "completion_tokens": 10,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 3, "accepted_prediction_tokens": 0},
    },
    "service_tier": "default",
}
CALL = {"id": "call_a", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def answer(finish_reason: str | None = "stop", usage: dict[str, Any] | None = None, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": None, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def chunk(delta: dict[str, Any] | None = None, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {} if delta is None else delta, "logprobs": None, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def fragment(index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {"index": index, "id": call_id, "type": "function"}
    call = {key: value for key, value in given.items() if value is not None} | {"function": function}
    return chunk({"tool_calls": [call]})


def events(*chunks: Any, done: bool = True) -> bytes:
    sent = b"".join(b"data: " + to_json(chunk) + b"\n\n" for chunk in chunks)
    return sent + b"data: [DONE]\n\n" if done else sent


USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}}
