"""The client's side of Ollama's own API, `/api/chat`: encodes requests, decodes answers, streamed or whole."""

import base64
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from ..core.errors import ConfigError, ProviderError
from ..core.events import Event, ToolCallDelta
from ..core.exchange import ModelRequest, ModelResponse, Stop, ToolSpec, Usage
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from . import bodies, streams
from .bodies import (
    ANY_OBJECT,
    EMPTY_VALUES,
    as_failure,
    call_id,
    count,
    decode_call,
    dumps,
    field_or,
    file_text,
    join_separated,
    with_ids,
    with_system,
)
from .errors import cut_error, error_in_answer, no_answer_error, plausible_usage, readable_answer, require_content

__all__ = ["StreamReader", "decode_response", "decode_usage", "encode_request"]

WIRE = "ollama"
own = partial(bodies.own, WIRE)
unknown_fields = partial(bodies.unknown_fields, WIRE)
MESSAGE_FIELDS = frozenset(("role", "content", "thinking", "tool_calls", "tool_name", "tool_call_id"))
CALL_FIELDS = frozenset(("id", "type", "function"))
KNOWN_FIELDS = frozenset(("model", "message", "done", "done_reason", "prompt_eval_count", "eval_count"))
OUTSIDE = ("keep_alive", "think", "logprobs", "top_logprobs")  # options that Ollama takes at the top level
UNSUPPORTED = ("parallel_tool_calls",)
LEVELS: Mapping[str, str] = {
    "none": "low", "minimal": "low", "xhigh": "high", "max": "high", "false": "low", "true": "medium",
}  # fmt: skip


def encode_request(request: ModelRequest, model: str, *, stream: bool = False) -> bytes:
    """Returns the JSON body. Messages that were sent before reuse their encoded bytes."""
    head: dict[str, Any] = {"model": model, "stream": stream, **_encode_options(request.options, model)}
    # Ollama has no `tool_choice`, so it is offered only the tools that this permits.
    offered = [tool for tool in request.tools if request.tool_choice in ("auto", "required", tool.name)]
    if offered:
        head["tools"] = [_encode_tool(tool) for tool in offered]
    if request.output_schema is not None:
        head["format"] = "json" if request.output_schema == ANY_OBJECT else request.output_schema
    head |= own(request.extra)
    messages = b",".join([message.encoded.get(WIRE) or _encode_message(message) for message in with_system(request)])
    return b"".join((dumps(head)[:-1], b',"messages":[', messages, b"]}"))


def unsupported_options(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of given options that a request omits."""
    return tuple(name for name in UNSUPPORTED if name in options)


def _encode_options(options: Mapping[str, Any], model: str) -> dict[str, Any]:
    inside = {name: value for name, value in options.items() if value not in EMPTY_VALUES and name not in UNSUPPORTED}
    outside = {name: inside.pop(name) for name in OUTSIDE if name in inside}
    if "reasoning" in inside:
        outside["think"] = _think(inside.pop("reasoning"), model)
    if "max_tokens" in inside:
        inside["num_predict"] = inside.pop("max_tokens")
    if isinstance(inside.get("stop"), str):
        inside["stop"] = [inside["stop"]]
    return outside | ({"options": inside} if inside else {})


def _think(reasoning: Any, model: str) -> bool | str:
    """Returns the option `think`: a level for gpt-oss, which can't turn thinking off; true or false for all others."""
    return LEVELS.get(str(reasoning).lower(), reasoning) if "gpt-oss" in model else reasoning not in (False, "none")


def _encode_tool(tool: ToolSpec) -> dict[str, Any]:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": described | own(tool.extra)}


def _message_bodies(message: Message) -> Iterable[dict[str, Any]]:
    """Yields a message for each tool result, then one with all other parts."""
    for result in message.tool_results:
        body = _message_body("tool", result.parts)
        body["content"] = as_failure(result, body["content"])
        named = {"tool_name": result.call.name, "tool_call_id": call_id(result.call)}
        yield body | named | own(result.extra)
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    if rest or not message.tool_results:
        role = "user" if message.role == "tool" else message.role
        yield _message_body(role, rest) | own(message.extra)


def _encode_message(message: Message) -> bytes:
    encoded = message.encoded[WIRE] = b",".join(dumps(body) for body in _message_bodies(message))
    return encoded


def _message_body(role: str, parts: Iterable[Part]) -> dict[str, Any]:
    parts = list(parts)
    join = "".join if role == "assistant" else join_separated
    body: dict[str, Any] = {"role": role, "content": join(map(_words, parts))}
    if thinking := "".join(part.text for part in parts if isinstance(part, Thinking)):
        body["thinking"] = thinking
    if images := [_picture(part) for part in parts if isinstance(part, Image)]:
        body["images"] = images
    if calls := [_encode_call(part) for part in parts if isinstance(part, ToolCall)]:
        body["tool_calls"] = calls
    return body


def _words(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case Document(media_type) if media_type.startswith("text/"):
            return file_text(part)
        case Document(media_type):
            raise ConfigError(f"Ollama can't read {media_type} files; send their text, or pictures of their pages.")
        case _:
            return ""


def _picture(image: Image) -> str:
    if not image.data and image.url:
        raise ConfigError(f"Ollama takes pictures as bytes, not as URLs: download {image.url} first.")
    return base64.b64encode(image.data).decode()


def _encode_call(call: ToolCall) -> dict[str, Any]:
    arguments = {"malformed": call.malformed} if call.malformed else call.arguments
    return {"id": call_id(call), "function": {"name": call.name, "arguments": arguments}} | own(call.extra)


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `ProviderError` for an error object, and `BadReply` if the answer is missing, cut or empty."""
    if isinstance(body, Mapping) and body.get("error"):
        raise error_in_answer(body)
    if not isinstance(body, Mapping) or not isinstance(body.get("message"), Mapping):
        raise no_answer_error(dumps(body))
    with readable_answer(body):
        message = _decode_message(body["message"])
        if not body.get("done"):
            raise cut_error(message.text)
        stop, model, extra = _stop_from(body, message), field_or(body, "model", ""), unknown_fields(body, KNOWN_FIELDS)
        message = streams.separate_thought(message, stop)
        return require_content(ModelResponse(message, stop=stop, usage=decode_usage(body), model=model, extra=extra))


@plausible_usage
def decode_usage(body: Mapping[str, Any]) -> Usage:
    return Usage(count(body, "prompt_eval_count"), count(body, "eval_count"))


def _stop_from(last: Mapping[str, Any], message: Message) -> Stop:
    if last.get("done_reason") == "length":
        return "length"
    return "tool_calls" if message.tool_calls else "end"


def _decode_message(body: Mapping[str, Any]) -> Message:
    thought, content = field_or(body, "thinking", ""), field_or(body, "content", "")
    parts_before_calls = [part for part in (Thinking(thought), Text(content)) if part.text]
    calls = (decode_call(call, WIRE, CALL_FIELDS) for call in body.get("tool_calls") or ())
    parts = with_ids((*parts_before_calls, *calls))
    return Message("assistant", parts, extra=unknown_fields(body, MESSAGE_FIELDS))


class OllamaReader(streams.StreamReader):
    """Assembles one streamed answer, which is whole once a line has `"done": true`."""

    tokenizer = streams.LineTokenizer

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[Mapping[str, Any]] = []

    def finish(self) -> ModelResponse:
        if not self.is_done:
            raise self._cut_error()
        message = {"thinking": "".join(self._thoughts), "content": self.text, "tool_calls": self._calls}
        return decode_response({**self.bill, "message": message})

    def _read(self, name: str, line: dict[str, Any], events: list[Event]) -> str:
        message = line["message"]
        self._think(field_or(message, "thinking", ""), events)
        self._say_or_think(field_or(message, "content", ""), events)
        if calls := message.get("tool_calls"):
            events.extend(self._take_call(call) for call in calls)
        if line.get("done"):
            self._end_content(events, is_cut=line.get("done_reason") == "length")
            self.bill, self.is_done = line, True
        return ""

    def _take_call(self, body: Mapping[str, Any]) -> ToolCallDelta:
        call = decode_call(body, WIRE, CALL_FIELDS)
        number, id_ = self._number_call(call.id)
        self._calls.append({**body, "id": id_})
        return ToolCallDelta(number, id_, call.name, call.malformed or dumps(call.arguments).decode())

    def _unreadable_payload(self, payload: bytes) -> ProviderError:
        """Blames the server's address for a bad first line, and the connection for a later one."""
        return super()._unreadable_payload(payload) if self._has_begun else no_answer_error(self._tokens.head)


StreamReader = OllamaReader
