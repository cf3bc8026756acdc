"""The objects of an answer: the response, its items, its usage."""

import time
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from ...core.exchange import ModelRequest, ModelResponse, Usage
from .._blocks import Block
from .._extra import own
from .._json import read_arguments
from ..openai.parts import is_refusal
from ..openai.response import stop_of
from .items import SIGNED
from .tools import WIRE, Told

STATUS = {"length": "incomplete", "content_filter": "incomplete"}
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
PREFIXES = {"text": "msg", "thinking": "rs", "call": "fc"}
REPEATED: Mapping[str, Any] = {
    "instructions": None, "max_output_tokens": None, "metadata": {}, "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None}, "service_tier": "default", "temperature": None,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": None, "truncation": "disabled",
    "prompt_cache_key": None, "safety_identifier": None, "user": None, "previous_response_id": None, "store": True,
}  # fmt: skip


def new_response(model: str, request: ModelRequest | None) -> dict[str, Any]:
    """A response in which nothing has been said; it repeats what the client has asked for."""
    asked = own(WIRE, request.extra) if request else {}
    repeated = {name: usual if asked.get(name) is None else asked[name] for name, usual in REPEATED.items()}
    return {
        "id": f"resp_{token_hex(16)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "usage": None,
        **repeated,
    }


def ended(response: ModelResponse, output: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields in which a response that has ended differs from a new one."""
    reason = REASONS.get(stop_of(response))
    return {
        "status": status_of(response),
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output,
        "usage": encode_usage(response.usage),
    }


def status_of(response: ModelResponse) -> str:
    return STATUS.get(stop_of(response), "completed")


def item_of(block: Block, id_: str, status: str, told: Told | None) -> dict[str, Any]:
    """The item that a block is when it ends."""
    match block.kind:
        case "call":
            return _call(block, id_, status, told)
        case "thinking":
            is_silent = block.signature and not block.fragments
            summary = [] if is_silent else [{"type": "summary_text", "text": block.text}]
            signed = {"encrypted_content": SIGNED + block.signature} if block.signature else {}
            return {"id": id_, "type": "reasoning", "summary": summary, **signed}
    return {"id": id_, "type": "message", "status": status, "role": "assistant", "content": [_content(block)]}


def started(item: Mapping[str, Any]) -> dict[str, Any]:
    """The same item before anything is said in it."""
    nothing = {"summary": [], "content": [], "arguments": "", "input": ""}
    new = {name: nothing.get(name, value) for name, value in item.items() if name != "encrypted_content"}
    return new | ({"status": "in_progress"} if "status" in item else {})


def says_no(block: Block) -> bool:
    return block.part is not None and is_refusal(block.part)


def _content(block: Block) -> dict[str, Any]:
    if says_no(block):
        return {"type": "refusal", "refusal": block.text}
    return {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}


def _text_for_custom(block: Block) -> str:
    """The text that a custom tool takes, out of the arguments of the function that stands for it."""
    arguments, malformed = read_arguments(block.text)
    given = arguments.get("input")
    return given if isinstance(given, str) else malformed or block.text


def encode_usage(usage: Usage) -> dict[str, Any]:
    into = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": into,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _call(block: Block, id_: str, status: str, told: Told | None) -> dict[str, Any]:
    known = told or Told(block.name)
    space = {"namespace": known.namespace} if known.namespace else {}
    head = {"id": id_, "status": status, "call_id": block.id, "name": known.name, **space}
    if known.is_custom:
        return {"type": "custom_tool_call", **head, "input": _text_for_custom(block)}
    return {"type": "function_call", **head, "arguments": block.text}
