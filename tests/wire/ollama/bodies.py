"""Answers of Ollama as its documentation shows them."""

from typing import Any

from pydantic_core import to_json

PLAIN: dict[str, Any] = {
    "model": "llama3.2",
    "created_at": "2026-08-01T08:52:19.385406455Z",
    "message": {"role": "assistant", "content": "Hello!"},
    "done": True,
    "done_reason": "stop",
    "total_duration": 4883583458,
    "load_duration": 1334875,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 342546000,
    "eval_count": 282,
    "eval_duration": 4535599000,
}
CALL: dict[str, Any] = {"function": {"name": "add", "arguments": {"a": 1}}}


def answer(done_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return PLAIN | {"message": {"role": "assistant", "content": "", **message}, "done_reason": done_reason}


def chunk(**message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", **message}
    return {"model": "llama3.2", "created_at": "2026-08-01T08:52:19Z", "message": said, "done": False}


def lines(*chunks: Any) -> bytes:
    return b"".join(to_json(chunk) + b"\n" for chunk in chunks)


LAST = answer()
