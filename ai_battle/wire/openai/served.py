"""The server's side of OpenAI's Chat Completions: decodes requests, and encodes answers, whole and streamed."""

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from secrets import token_hex
from typing import Any, TypeAlias

from ...core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec, Usage
from ...core.messages import Message, Role, Text, ToolCall, ToolResult
from ..blocks import AnswerBlock, BlockWriter, Failure
from ..bodies import Content, DecodeCache, dumps, field_or, join_separated, without_nulls
from ..checks import (
    ObjectShape,
    Shape,
    ShapeError,
    TaggedShape,
    address,
    check,
    check_choice,
    flag,
    list_of,
    number,
    object_,
    one_of,
    positive,
    rejection,
    text,
    text_or,
    tool_schema,
    word_or,
)
from ..checks import base64 as base64_text
from ..errors import readable_request
from ..requests import MessageCache, checkable
from . import WIRE, Quirks, answer_format, assistant_body, encode_request, schema_in
from .answers import MESSAGE_FIELDS, REFUSES, decode_content, decode_parts, is_refusal, own, unknown_fields

__all__ = [
    "WIRE", "StreamWriter", "add_messages", "decode_head", "decode_request", "encode_error", "encode_request",
    "encode_response", "options_in", "unread_fields",
]  # fmt: skip

ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_URL = ObjectShape({"url!": address})
AUDIO = {"input_audio!": {"data!": base64_text, "format!": text}}
_PART = TaggedShape(
    "type",
    {
        "text": {"text!": text},
        "refusal": {"refusal!": text},
        "image_url": {"image_url!": lambda url: (address if isinstance(url, str) else _URL)(url)},
        "input_audio": AUDIO,
        "file": {"file!": {"file_data": address, "filename": text, "file_id": text}},
    },
)
# Some clients put bare strings among the parts.
CONTENT = text_or([lambda part: None if isinstance(part, str) else _PART(part)], "a list of parts")
CUSTOM = rejection("has the type custom, which this server does not support: offer a function that takes a text")
_FUNCTION = {"name!": text, "arguments": text_or(object_, "an object")}
_CALL = TaggedShape("type", {"function": {"id": text, "function!": _FUNCTION}, "custom": CUSTOM}, otherwise="function")
_TEXT_MESSAGE = {"content!": CONTENT, "name": text}
_ANSWER_FIELDS = dict.fromkeys(("name", "reasoning_content", "reasoning", "refusal"), text)
_MESSAGE = TaggedShape(
    "role",
    {
        "system": _TEXT_MESSAGE,
        "developer": _TEXT_MESSAGE,
        "user": _TEXT_MESSAGE,
        "assistant": {**_ANSWER_FIELDS, "content": CONTENT, "tool_calls": [_CALL]},
        "tool": {"content": CONTENT, "tool_call_id!": text},
        "function": {"content": CONTENT, "name": text},
    },
    strict_kinds=True,
)
SAMPLING: Mapping[str, Shape] = {
    **dict.fromkeys(("temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty"), number),
    "seed": number,
    "stop": text_or([text], "a list of texts"),
    "parallel_tool_calls": flag,
}
Tools: TypeAlias = tuple[tuple[ToolSpec, ...], list[Any]]
RENAMED = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "reasoning_effort": "reasoning"}
KNOWN_FIELDS = (
    frozenset(SAMPLING) | RENAMED.keys() | {"model", "messages", "tools", "tool_choice", "stream", "stream_options"}
)
_DESCRIBED = ObjectShape({"name!": text, "description": text, "parameters": tool_schema})
_TOOLS = list_of(TaggedShape("type", {"function": {"function!": _DESCRIBED}, "custom": CUSTOM}, otherwise="function"))
_BY_NAME = {"function!": {"name!": text}}
_ALLOWED = {"mode": one_of("auto", "required"), "tools!": [TaggedShape("type", {"function": _BY_NAME})]}
_CHOICE = TaggedShape("type", {"function": _BY_NAME, "allowed_tools": {"allowed_tools!": _ALLOWED}})


def _check_deprecated(value: object) -> None:
    if value not in ([], "auto", "none"):
        raise ShapeError("is deprecated and not supported: use tools and tool_choice")


def _require_one(value: object) -> None:
    if value != 1:
        raise ShapeError("must be 1: this server gives one answer")


_REQUEST = ObjectShape(
    {
        **dict.fromkeys(("max_tokens", "max_completion_tokens"), positive),
        **SAMPLING,
        **dict.fromkeys(("model", "reasoning_effort"), text),
        **dict.fromkeys(("functions", "function_call"), _check_deprecated),
        "messages!": list_of(at_least=1),
        "tool_choice": word_or(("auto", "none", "required"), _CHOICE),
        "n": _require_one,
        "stream": flag,
        "stream_options": {"include_usage": flag},
        "response_format": TaggedShape("type", {"json_schema": {"json_schema": {"schema": tool_schema}}}),
        "logit_bias": object_,
    }
)
READ = KNOWN_FIELDS | _REQUEST.names - {"logit_bias"}
"""The fields that a request for a model of another API can be made of."""

REASONS = {"end": "stop", "stop_sequence": "stop", "pause": "stop", "refusal": "stop"}
OWN_FIELDS = frozenset(("id", "created", "choice"))  # fields of an answer that are not copied from the upstream's
ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 402: "insufficient_quota"}
ERROR_KINDS = {
    "context": "context_length_exceeded", "budget": "insufficient_quota", "address": "unknown_url",
    "previous_response": "previous_response_not_found", "response": "response_not_found",
}  # fmt: skip
ERROR_TYPES = {
    401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
STREAM_END = b"data: [DONE]\n\n"
CHUNK_ENDS = b'},"finish_reason":null}]}\n\n'
CALL_ENDS = b"}}]" + CHUNK_ENDS


def unread_fields(body: Mapping[str, Any]) -> list[str]:
    """Returns the fields that a request for a model of another API can't be made of."""
    return [*_REQUEST.unread(body, READ)]


def options_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a body without decoding its messages and tools. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    return _decode_options(body)


def _decode_options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: body[name] for name in SAMPLING if body.get(name) is not None}
    return options | {name: body[field] for field, name in RENAMED.items() if body.get(field) is not None}


def decode_request(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a client's request. A leading system message becomes the system prompt.

    Raises `ConfigError` naming the place of an invalid value. Keeps tool results without a call, which
    `paired_messages` repairs.
    """
    return add_messages(decode_head(body), body)


def decode_head(body: Mapping[str, Any]) -> ModelRequest:
    """Decodes a request except its messages. Raises `ConfigError`."""
    check(checkable(body), _REQUEST)
    with READABLE:
        tools, served = TOOLS.decode(body.get("tools"), _decode_tools)
        choice, form = body.get("tool_choice"), body.get("response_format")
        schema = schema_in(form)
        is_plain = schema is not None and form == answer_format(schema)
        known = KNOWN_FIELDS | {"response_format"} if is_plain else KNOWN_FIELDS
        return ModelRequest(
            (),
            "",
            _allowed_tools(tools, choice),
            _decode_choice(choice, tools),
            schema,
            _decode_options(body),
            extra=unknown_fields({**body, "tools": served}, known - {"tools"}),
        )


def add_messages(head: ModelRequest, body: Mapping[str, Any], *, paired: bool = False) -> ModelRequest:
    """Returns the request with the messages of its body. Raises `ConfigError`."""
    with READABLE:
        messages = MESSAGES.decode(body["messages"], paired=paired)
        if messages[0].role == "system" and not messages[0].speaker:
            system = join_separated(part.text for part in messages[0].parts if isinstance(part, Text))
            return head.with_messages(messages[1:], system)
        return head.with_messages(messages)


def _allowed_tools(tools: tuple[ToolSpec, ...], choice: Any) -> tuple[ToolSpec, ...]:
    """Returns the tools that the model may call: all, or those that `allowed_tools` lists."""
    match choice:
        case {"type": "allowed_tools", "allowed_tools": {"tools": list(allowed)}}:
            names = [each["function"]["name"] for each in allowed if each["type"] == "function"]
            return tuple(tool for tool in tools if tool.name in names)
    return tools


def _decode_tools(tools: Any) -> Tools:
    """Returns the functions, and for `extra` the tools of types that only this API has, which the upstream runs."""
    tools = [] if tools is None else tools
    check(tools, _TOOLS, "tools")
    served = [tool for tool in tools if tool.get("type", "function") != "function"]
    return tuple(_decode_tool(tool["function"]) for tool in tools if tool not in served), served


def _decode_tool(function: Mapping[str, Any]) -> ToolSpec:
    schema = without_nulls(function.get("parameters")) or {"type": "object", "properties": {}}
    extra = unknown_fields(function, _DESCRIBED.names)
    return ToolSpec(function["name"], function.get("description") or "", schema, extra=extra)


def _decode_choice(choice: Any, tools: Iterable[ToolSpec]) -> str:
    """Raises `ConfigError` if the chosen function is not among the tools."""
    match choice:
        case {"type": "function", "function": {"name": str(name)}}:
            check_choice(name, [tool.name for tool in tools], "tool_choice.function.name")
            return name
        case {"allowed_tools": {"mode": str(mode)}}:
            return mode
        case str(mode):
            return mode
        case _:
            return "auto"


def _decode_result(body: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> ToolResult:
    identity = field_or(body, "tool_call_id", "")
    call = calls.get(identity) or ToolCall(field_or(body, "name", ""), id=identity)
    shown = tuple(part for part in decode_content(body.get("content")) if isinstance(part, Content))
    return ToolResult(call, shown, extra=unknown_fields(body, MESSAGE_FIELDS))


def _decode_message(body: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> Iterable[Message]:
    role = body["role"]
    if role in ("tool", "function"):
        return (Message("tool", (_decode_result(body, calls),)),)
    extra = unknown_fields(body, MESSAGE_FIELDS)
    return (Message(ROLES[role], tuple(decode_parts(body)), field_or(body, "name", ""), extra=extra),)


MESSAGES = MessageCache(_MESSAGE, _decode_message, joins=True)
TOOLS: DecodeCache[Tools] = DecodeCache()
READABLE = readable_request("Chat Completions")


def encode_response(response: ModelResponse, model: str) -> bytes:
    message = response.message
    refuses = stop_of(response) == "refusal"
    body = assistant_body(message, Quirks(reasoning="reasoning_content"))
    body["content"] = None if body["content"] is None or refuses else message.text
    for call, encoded in zip(message.tool_calls, body.get("tool_calls", ()), strict=True):
        encoded["function"]["arguments"] = call.malformed or encoded["function"]["arguments"]
    extra = own(response.extra)
    choice = {"index": 0, "message": {**body, "refusal": None}, "finish_reason": reason_of(response), "logprobs": None}
    if refuses:
        choice["message"] = {**body, "refusal": message.text}
    head = {"id": f"chatcmpl-{token_hex(16)}", "object": "chat.completion", "created": int(time.time()), "model": model}
    choices = [{**choice, **extra.get("choice", {})}]
    more = {name: value for name, value in extra.items() if name not in OWN_FIELDS}
    return dumps({**head, "choices": choices, "usage": encode_usage(response.usage), **more})


def reason_of(response: ModelResponse) -> str:
    stop = stop_of(response)
    reason = REASONS.get(stop, stop)
    return "tool_calls" if reason == "stop" and response.tool_calls else reason


def stop_of(response: ModelResponse) -> Stop:
    """Returns the stop, as "content_filter" for a refusal from an API that has no separate refusal text."""
    if response.stop == "refusal" and not any(map(is_refusal, response.message.parts)):
        return "content_filter"
    return response.stop


def encode_usage(usage: Usage) -> dict[str, Any]:
    into = {"cached_tokens": usage.cache_read_tokens}
    if usage.cache_write_tokens:
        into["cache_write_tokens"] = usage.cache_write_tokens
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": into,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """Encodes an error; `kind` is a `Failure.kind`. Ignores `request_id`, which this API puts only into a header."""
    what = ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = ERROR_KINDS.get(kind) or ERROR_CODES.get(status)
    return dumps({"error": {"message": message, "type": what, "param": None, "code": code}})


class ChatWriter(BlockWriter):
    """Writes the stream of one answer."""

    interleaves, refusing = True, REFUSES.extra

    @cached_property
    def _head(self) -> dict[str, Any]:
        """The fields that all chunks share."""
        head = {"object": "chat.completion.chunk", "created": int(time.time()), "model": self._model}
        return {"id": f"chatcmpl-{token_hex(16)}", **head}

    @cached_property
    def _chunk_head(self) -> bytes:
        return b"data: " + dumps(self._head)[:-1] + b',"choices":[{"index":0,"delta":{'

    def begin(self) -> bytes:
        return self._chunk_head + b'"role":"assistant","content":""' + CHUNK_ENDS

    def finish(self, response: ModelResponse) -> bytes:
        rest = self.finish_blocks(response.message)
        extra = own(response.extra)
        choice = {"index": 0, "delta": own(response.message.extra), **extra.get("choice", {})}
        choice["finish_reason"] = reason_of(response)
        more = {name: value for name, value in extra.items() if name not in OWN_FIELDS}
        last = _chunk({**self._head, "choices": [choice], **more})
        usage = {**self._head, "choices": [], "usage": encode_usage(response.usage)}
        return rest + last + (_chunk(usage) if self._usage else b"") + STREAM_END

    def whole(self, response: ModelResponse) -> bytes:
        return encode_response(response, self._model)

    def fail(self, failed: Failure) -> bytes:
        return b"data: " + encode_error(failed.status, failed.message, failed.kind) + b"\n\n"

    def ping(self) -> bytes:
        """Returns an empty delta. The API has no ping, and clients don't count a comment as an event."""
        return self._chunk_head + CHUNK_ENDS

    def _open_block(self, block: AnswerBlock) -> bytes:
        if block.kind != "call":
            return b""
        extra = own(block.part.extra) if block.part else {}
        function = {"name": block.name, "arguments": ""}
        call = {"index": block.position, "id": block.id, "type": "function", "function": function, **extra}
        return self._chunk_head + b'"tool_calls":' + dumps([call]) + CHUNK_ENDS

    def _grow_block(self, block: AnswerBlock, fragment: str) -> bytes:
        if block.kind == "call":
            call = b'"tool_calls":[{"index":%d,"function":{"arguments":' % block.position
            return b"".join((self._chunk_head, call, dumps(fragment), CALL_ENDS))
        field = b'"content":' if block.kind == "text" else b'"reasoning_content":'
        if block.part and is_refusal(block.part):
            field = b'"refusal":'
        return b"".join((self._chunk_head, field, dumps(fragment), CHUNK_ENDS))

    def _close_block(self, block: AnswerBlock) -> bytes:
        return b""


def _chunk(body: dict[str, Any]) -> bytes:
    return b"data: " + dumps(body) + b"\n\n"


StreamWriter = ChatWriter
