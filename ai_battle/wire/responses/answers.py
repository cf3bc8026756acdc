"""Encodes answers of the Responses API: the response, its items and its stream."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ...core.exchange import ModelRequest, ModelResponse, Usage
from ...core.messages import Part
from ..blocks import AnswerBlock, BlockWriter, Failure
from ..bodies import dumps, own, read_arguments
from ..openai.answers import REFUSES, is_refusal
from ..openai.served import ERROR_KINDS, stop_of
from .items import SIGNED, WIRE, ClientTool, client_tools

STATUS = {"length": "incomplete", "content_filter": "incomplete"}
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
PREFIXES = {"text": "msg", "thinking": "rs", "call": "fc", "whole": "st"}
REPEATED: Mapping[str, Any] = {
    "instructions": None, "max_output_tokens": None, "metadata": {}, "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None}, "service_tier": "default", "temperature": None,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": None, "truncation": "disabled",
    "prompt_cache_key": None, "safety_identifier": None, "user": None, "previous_response_id": None, "store": True,
}  # fmt: skip
ERROR_CODES = {429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded"}


@dataclass(frozen=True, slots=True)
class _Growth:
    """The events with which an item's only part and the field `grows` are streamed."""

    events: str
    grows: str
    part: str = ""
    place: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


_TEXT = _Growth("output_text", "text", "content_part", {"content_index": 0}, {"logprobs": []})
_REFUSAL = _Growth("refusal", "refusal", "content_part", {"content_index": 0})
_SUMMARY = _Growth("reasoning_summary_text", "text", "reasoning_summary_part", {"summary_index": 0})
_CALL = _Growth("function_call_arguments", "arguments")
_CUSTOM = _Growth("custom_tool_call_input", "input")
_NO_GROWTH = _Growth("", "")


class ResponsesWriter(BlockWriter):
    """Writes the stream of one answer to `request`. Each block is an item of the response.

    This API always reports the usage. After a good end, `answer` is the whole response. The text for a custom tool is
    part of a call's JSON arguments, so it is written once these are complete.
    """

    refusing = REFUSES.extra

    def __init__(
        self, model: str, *, usage: bool = True, input_tokens: int = 0, request: ModelRequest | None = None
    ) -> None:
        super().__init__(model, usage=usage, input_tokens=input_tokens)
        self._response = new_response(model, request)
        self._tools = client_tools(request)
        self._output: list[dict[str, Any]] = []
        self._status = "completed"
        self._number = 0
        self._growth = _NO_GROWTH
        self._place: dict[str, Any] = {}
        self._before = b""

    def begin(self) -> bytes:
        return self._state("response.created", {}) + self._state("response.in_progress", {})

    def finish(self, response: ModelResponse) -> bytes:
        self._status = STATUS.get(stop_of(response), "completed")
        rest = self.finish_blocks(response.message)
        reason = REASONS.get(stop_of(response))
        end = {
            "status": self._status,
            "incomplete_details": {"reason": reason} if reason else None,
            "output": self._output,
            "usage": encode_usage(response.usage),
        }
        self.answer = self._response | end
        return rest + self._state(f"response.{self._status}", end)

    def whole(self, response: ModelResponse) -> bytes:
        self.finish(response)
        return dumps(self.answer)

    def fail(self, failed: Failure) -> bytes:
        """Ends a failed response. Its output omits unfinished items, since clients act on every item in it."""
        usual = "invalid_prompt" if failed.status < 500 else "server_error"
        code = ERROR_KINDS.get(failed.kind) or ERROR_CODES.get(failed.status, usual)
        fields = {"status": "failed", "error": {"code": code, "message": failed.message}, "output": self._output}
        return self._state("response.failed", fields)

    def ping(self) -> bytes:
        """Repeats `response.in_progress`, since this API has no ping."""
        return self._state("response.in_progress", {})

    def is_whole(self, part: Part) -> bool:
        return "item" in own(WIRE, part.extra)

    def _state(self, name: str, fields: dict[str, Any]) -> bytes:
        return self._event(name, {"response": self._response | fields})

    def _event(self, name: str, fields: Mapping[str, Any]) -> bytes:
        body = {"type": name, **fields, "sequence_number": self._next_number()}
        return b"event: %s\ndata: %s\n\n" % (name.encode(), dumps(body))

    def _next_number(self) -> int:
        number = self._number
        self._number = number + 1
        return number

    def _open_block(self, block: AnswerBlock) -> bytes:
        item = self._item(block)
        growth = self._growth = self._growth_of(block)
        self._place = {"item_id": item["id"], "output_index": block.index, **growth.place}
        self._before = _delta(growth, {**self._place, **growth.more})
        fields = {"output_index": block.index, "item": _without_content(item)}
        added = self._event("response.output_item.added", fields)
        return added + (self._part("added", {**_part_of(item), growth.grows: ""}) if growth.part else b"")

    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes:
        if self._growth is _CUSTOM:
            return b""
        return b"".join((self._before, dumps(fragment), b',"sequence_number":%d}\n\n' % self._next_number()))

    def _close_block(self, block: AnswerBlock) -> bytes:
        item = self._item(block)
        self._output.append(item)
        closing = self._end_content(item) if self._growth is not _NO_GROWTH else b""
        return closing + self._event("response.output_item.done", {"output_index": block.index, "item": item})

    def _end_content(self, item: dict[str, Any]) -> bytes:
        """Returns the events that end the item's only part or its arguments."""
        growth, part = self._growth, _part_of(item)
        name, text = f"response.{growth.events}", part[growth.grows]
        whole = self._event(f"{name}.delta", {**self._place, "delta": text}) if growth is _CUSTOM else b""
        done = self._event(f"{name}.done", {**self._place, growth.grows: text, **growth.more})
        return whole + done + (self._part("done", part) if growth.part else b"")

    def _part(self, what: str, part: Mapping[str, Any]) -> bytes:
        return self._event(f"response.{self._growth.part}.{what}", {**self._place, "part": part})

    def _growth_of(self, block: AnswerBlock) -> _Growth:
        if block.kind == "call":
            tool = self._tools.get(block.name)
            return _CUSTOM if tool and tool.is_custom else _CALL
        if block.kind == "whole" or _is_silent(block):
            return _NO_GROWTH
        if block.kind == "thinking":
            return _SUMMARY
        return _REFUSAL if _is_refused(block) else _TEXT

    def _item(self, block: AnswerBlock) -> dict[str, Any]:
        id_ = f"{PREFIXES[block.kind]}_{self._response['id'].partition('_')[2]}{block.index:x}"
        return _item_of(block, id_, self._status, self._tools.get(block.name))


def _part_of(item: dict[str, Any]) -> dict[str, Any]:
    """Returns the object that the deltas extend: the item's only part, or the item itself."""
    parts = item.get("content") or item.get("summary")
    part: dict[str, Any] = parts[0] if parts else item
    return part


def _delta(growth: _Growth, place: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a delta event up to its text."""
    name = f"response.{growth.events}.delta"
    return b'event: %s\ndata: %s,"delta":' % (name.encode(), dumps({"type": name, **place})[:-1])


def new_response(model: str, request: ModelRequest | None) -> dict[str, Any]:
    """Returns an empty response, which repeats fields of the client's request."""
    fields = own(WIRE, request.extra) if request else {}
    repeated = {name: usual if fields.get(name) is None else fields[name] for name, usual in REPEATED.items()}
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


def _item_of(block: AnswerBlock, id_: str, status: str, tool: ClientTool | None) -> dict[str, Any]:
    """Returns the finished item of a block."""
    match block.kind:
        case "call":
            return _call(block, id_, status, tool)
        case "whole":
            return {"id": id_, **(own(WIRE, block.part.extra)["item"] if block.part else {})}
        case "thinking":
            summary = [] if _is_silent(block) else [{"type": "summary_text", "text": block.text}]
            signed = {"encrypted_content": SIGNED + block.signature} if block.signature else {}
            return {"id": id_, "type": "reasoning", "summary": summary, **signed}
    return {"id": id_, "type": "message", "status": status, "role": "assistant", "content": [_content(block)]}


def _without_content(item: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the item as it starts, without content."""
    nothing = {"summary": [], "content": [], "arguments": "", "input": "", "advice": ""}
    new = {name: nothing.get(name, value) for name, value in item.items() if name != "encrypted_content"}
    return new | ({"status": "in_progress"} if "status" in item else {})


def _is_silent(block: AnswerBlock) -> bool:
    """Returns whether a thinking block holds only its signature."""
    return block.kind == "thinking" and bool(block.signature) and not block.fragments


def _is_refused(block: AnswerBlock) -> bool:
    return block.part is not None and is_refusal(block.part)


def _content(block: AnswerBlock) -> dict[str, Any]:
    if _is_refused(block):
        return {"type": "refusal", "refusal": block.text}
    return {"type": "output_text", "text": block.text, "annotations": [], "logprobs": []}


def _text_for_custom(block: AnswerBlock) -> str:
    """Returns a custom tool's input, which the upstream sends as the argument `input` of a function."""
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


def _call(block: AnswerBlock, id_: str, status: str, tool: ClientTool | None) -> dict[str, Any]:
    known = tool or ClientTool(block.name)
    space = {"namespace": known.namespace} if known.namespace else {}
    head = {"id": id_, "status": status, "call_id": block.id, "name": known.name, **space}
    if known.is_custom:
        return {"type": "custom_tool_call", **head, "input": _text_for_custom(block)}
    return {"type": "function_call", **head, "arguments": block.text}
