"""The client's side of OpenAI's Chat Completions and Embeddings APIs, which most servers speak: encodes requests.

Answers are decoded in `answers`. The server's side is `served`, which a discussion does not need.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import contains, itemgetter, not_
from typing import Any, cast

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest, RawBody, ToolSpec
from ...core.messages import Document, Image, Message, Part, Role, Text, ToolCall, ToolResult
from ..bodies import (
    ANY_OBJECT,
    EMPTY_VALUES,
    Content,
    PatternSearch,
    as_failure,
    call_id,
    dumps,
    encode_raw,
    file_text,
    join_separated,
    objects_in,
    with_raw_messages,
    with_system,
    without_nulls,
)
from .answers import WIRE, decode_embedding, decode_response, decode_usage, own
from .answers import ChatReader as StreamReader

__all__ = [
    "WIRE", "Quirks", "StreamReader", "decode_embedding", "decode_response", "decode_usage", "encode_embedding_request",
    "encode_request", "pass_request",
]  # fmt: skip

NAME_LENGTH = 64  # characters that OpenAI allows
NOT_IN_NAMES = re.compile(r"[\s<|\\/>]+")
MESSAGE_HEADS: Mapping[Role, bytes] = {
    role: b'{"role":"%s","content":' % role.encode() for role in ("system", "user", "assistant")
}
UNSUPPORTED = frozenset(("num_ctx", "keep_alive"))
NEEDS_REENCODING = PatternSearch(rb'"(?:developer|reasoning)', 10)
"""Finds the role and the fields in messages that some servers reject or ignore, so that these must be re-encoded."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """The ways in which one server's Chat Completions API differs from most others.

    `max_tokens` is the name of that field (`max_completion_tokens` for OpenAI's own models). `reasoning` is the field
    that sends earlier reasoning back to the model (`reasoning_content` for DeepSeek and Moonshot, `reasoning` for
    gpt-oss), empty if it isn't sent. `names` says whether messages may carry the speaker's name, `usage` whether a
    stream may be asked for its usage, and `file_urls` whether the server downloads files.
    """

    max_tokens: str = "max_tokens"
    reasoning: str = ""
    names: bool = True
    usage: bool = True
    file_urls: bool = True


USUAL = Quirks()


def encode_request(request: ModelRequest, model: str, *, stream: bool = False, quirks: Quirks = USUAL) -> bytes:
    """Returns the JSON body. Messages and tools that were sent before reuse their encoded bytes."""
    head: dict[str, Any] = {"model": model, **_encode_options(request.options, quirks)}
    extra = own(request.extra)
    tools = [*map(_encode_tool, request.tools), *map(dumps, extra.pop("tools", ()))]
    if tools:
        head |= _encode_choice(request.tool_choice)
    else:
        head.pop("parallel_tool_calls", None)  # servers reject it without tools
    if stream:
        head |= {"stream": True, "stream_options": {"include_usage": True}} if quirks.usage else {"stream": True}
    head |= extra | _encode_format(request)
    messages = encode_messages(request, quirks)
    offered = (b',"tools":[', b",".join(tools), b"]") if tools else ()
    return b"".join((dumps(head)[:-1], *offered, b',"messages":[', messages, b"]}"))


def encode_embedding_request(request: ModelRequest, model: str) -> bytes:
    """Asks for the embedding of the last message's text."""
    return dumps({"model": model, "input": request.messages[-1].text, "encoding_format": "float"})


def pass_request(body: RawBody, model: str, quirks: Quirks = USUAL) -> bytes:
    """Returns a client's body with the model replaced, or b"" if the server's quirks require re-encoding it."""
    messages: bytes = body.fields["messages"]
    head = body.once((WIRE, model, quirks), lambda fields: _pass_head(fields, model, quirks))
    return with_raw_messages(head, messages) if head and not NEEDS_REENCODING.finds(messages) else b""


def _pass_head(fields: Mapping[str, Any], model: str, quirks: Quirks) -> bytes:
    is_refused = fields.keys() & UNSUPPORTED or ("max_tokens" in fields and quirks.max_tokens != "max_tokens")
    if is_refused or not quirks.names or not quirks.usage:
        return b""
    # A stream reports its usage, which we must book, only on request.
    usage = {"stream_options": {"include_usage": True}} if fields.get("stream") else {}
    return encode_raw({**fields, "model": model, **usage})


def _encode_options(options: Mapping[str, Any], quirks: Quirks) -> dict[str, Any]:
    """Encodes options. Passes on those that this API does not define, since many servers accept more."""
    encoded = {name: value for name, value in options.items() if name not in UNSUPPORTED and value not in EMPTY_VALUES}
    if "max_tokens" in encoded:
        encoded[quirks.max_tokens] = encoded.pop("max_tokens")
    if "reasoning" in encoded:
        effort = encoded.pop("reasoning")
        encoded["reasoning_effort"] = ("none", "medium")[effort] if isinstance(effort, bool) else effort
    return encoded


def _encode_tool(tool: ToolSpec) -> bytes:
    if WIRE not in tool.encoded:
        tool.encoded[WIRE] = dumps(_tool_body(tool))
    return tool.encoded[WIRE]


def _tool_body(tool: ToolSpec) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {
        "type": "function",
        "function": {"name": tool.name, **described, "parameters": tool.schema, **own(tool.extra)},
    }


def _encode_choice(choice: str) -> dict[str, Any]:
    if choice == "auto":
        return {}
    named = {"type": "function", "function": {"name": choice}}
    return {"tool_choice": choice if choice in ("none", "required") else named}


def _encode_format(request: ModelRequest) -> dict[str, Any]:
    """Returns the format of the answer, or no field if the client's own format in `extra` has the same schema."""
    came, schema = own(request.extra).get("response_format"), request.output_schema
    if schema is None and schema_in(came) is not None:
        return {"response_format": {"type": "text"}}
    return {} if schema is None or schema_in(came) == schema else {"response_format": answer_format(schema)}


def answer_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": schema, "strict": all(map(_is_closed, objects_in(schema)))},
    }


def schema_in(form: Any) -> Mapping[str, Any] | None:
    match form:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return cast(Mapping[str, Any], without_nulls(schema))
        case {"type": "json_object"}:
            return ANY_OBJECT
        case _:
            return None


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Returns whether OpenAI can enforce the schema: objects are closed, and all their properties are required."""
    if schema.get("type") != "object" and "properties" not in schema:
        return True
    required, properties = schema.get("required", ()), schema.get("properties", ())
    return schema.get("additionalProperties") is False and set(required) == set(properties)


def encode_messages(request: ModelRequest, quirks: Quirks) -> bytes:
    """Returns the JSON objects of all messages, joined by commas.

    The API wants tool results directly after their calls. Content that it does not allow in results (pictures, text of
    the user) comes after the last of them.
    """
    key = f"{WIRE} {quirks.reasoning} {quirks.names} {quirks.file_urls}"
    after = f"{key} after"
    messages = with_system(request)
    every = [message.encoded for message in messages]
    # C-level iterators, as a long conversation has many messages, nearly all of them encoded already.
    for message in compress(messages, map(not_, map(contains, every, repeat(key)))):
        plain = _plain_message(message)
        message.encoded.update({key: plain} if plain else _encode_message(message, quirks, key, after))
    if not any(map(contains, every, repeat(after))):  # the usual case
        return b",".join(map(itemgetter(key), every))
    return b",".join(_in_order(messages, key, after))


def _in_order(messages: Iterable[Message], key: str, after: str) -> Iterator[bytes]:
    """Yields the encoded messages, moving content that is not allowed among tool results after the last of them."""
    waiting: list[bytes] = []
    for message in messages:
        if not message.tool_results:
            yield from waiting
            waiting = []
        yield message.encoded[key]
        if after in message.encoded:
            waiting.append(message.encoded[after])
    yield from waiting


def assistant_body(message: Message, quirks: Quirks) -> dict[str, Any]:
    """Encodes an assistant's message without its pictures, which no server accepts in this role."""
    words = [part for part in message.parts if isinstance(part, Text)]
    body: dict[str, Any] = {"role": "assistant", "content": encode_content(words, "".join)}
    if quirks.reasoning and message.thinking:
        body[quirks.reasoning] = message.thinking
    if calls := message.tool_calls:
        body["content"] = body["content"] or None
        body["tool_calls"] = [_encode_call(call) for call in calls]
    return body | own(message.extra)


def _plain_message(message: Message) -> bytes:
    """Encodes a message that is only one text, in a third of the usual time. Returns b"" for any other."""
    part = message.parts[0] if len(message.parts) == 1 else None
    if type(part) is not Text or part.extra or message.speaker or message.extra or message.role == "tool":
        return b""
    return b"".join((MESSAGE_HEADS[message.role], dumps(part.text), b"}"))


def _encode_message(message: Message, quirks: Quirks, key: str, after: str) -> dict[str, bytes]:
    """Returns a message's bytes under `key`, and under `after` those that must follow the tool results."""
    if not quirks.file_urls:
        _require_files(message)
    first, later = _bodies(message, quirks)
    if quirks.names and message.speaker and first[0]["role"] != "tool":
        first[0]["name"] = NOT_IN_NAMES.sub("_", message.speaker.strip())[:NAME_LENGTH]
    encoded = {key: b",".join(map(dumps, first))}
    return encoded | ({after: dumps({"role": "user", "content": encode_content(later)})} if later else {})


def _bodies(message: Message, quirks: Quirks) -> tuple[list[dict[str, Any]], list[Content]]:
    """Returns the message's bodies, and content that must follow them: files, and all but results of a tool message."""
    if message.role == "assistant":
        return [assistant_body(message, quirks)], _files(message.parts)
    content: list[Content] = [part for part in message.parts if isinstance(part, Content)]
    if not (results := message.tool_results):
        role = "user" if message.role == "tool" else message.role
        return [{"role": role, "content": encode_content(content)} | own(message.extra)], []
    beside = chain.from_iterable(map(_file_content, results))
    return [*map(_result_body, results)], [*beside, *content]


def _require_files(message: Message) -> None:
    for part in chain(message.parts, *(result.parts for result in message.tool_results)):
        if isinstance(part, Document) and not part.data:
            raise ConfigError(f"This API takes files as bytes, not as URLs: download {part.url} first.")


def _file_content(result: ToolResult) -> list[Content]:
    files = _files(result.parts)
    return [Text(f"What {result.call.name or 'the tool'} returned besides its text:"), *files] if files else []


def _files(parts: Iterable[Part]) -> list[Content]:
    return [part for part in parts if isinstance(part, Image | Document)]


def _result_body(result: ToolResult) -> dict[str, Any]:
    content = encode_content([part for part in result.parts if isinstance(part, Text)])
    if isinstance(content, str):
        content = as_failure(result, content)
    return {"role": "tool", "tool_call_id": call_id(result.call), "content": content} | own(result.extra)


def _encode_call(call: ToolCall) -> dict[str, Any]:
    """Encodes a call. Wraps malformed arguments in JSON, since local servers parse them and would fail the request."""
    arguments = dumps({"malformed": call.malformed} if call.malformed else call.arguments).decode()
    body = {"id": call_id(call), "type": "function", "function": {"name": call.name, "arguments": arguments}}
    return body | own(call.extra)


def encode_content(
    parts: Sequence[Content], join: Callable[[Iterable[str]], str] = join_separated
) -> str | list[dict[str, Any]]:
    """Returns a string if there is only text, which every server accepts, and a list of parts otherwise.

    Drops parts of kinds that only another API has.
    """
    if all(isinstance(part, Text) and WIRE not in part.extra for part in parts):
        return join(part.text for part in parts if isinstance(part, Text))
    return [_encode_part(part) for part in parts if not _is_foreign(part)]


def _is_foreign(part: Content) -> bool:
    return isinstance(part, Text) and not part.text and bool(part.extra) and WIRE not in part.extra


def _encode_part(part: Content) -> dict[str, Any]:
    """Encodes a part. A part of an unknown kind, whose `extra` has a `type`, is sent back unchanged."""
    extra = own(part.extra)
    if "type" in extra:
        return extra
    match part:
        case Text(text):
            return {"type": "text", "text": text, **extra}
        case Image():
            return {"type": "image_url", "image_url": {"url": _address(part), **extra}}
        case Document(media_type, data) if data and media_type.startswith("text/"):
            # The API accepts only PDFs as files.
            return {"type": "text", "text": file_text(part), **extra}
        case Document(name=name):
            return {"type": "file", "file": {"filename": name or "document.pdf", "file_data": _address(part), **extra}}


def _address(file: Image | Document) -> str:
    return file.url or f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"
