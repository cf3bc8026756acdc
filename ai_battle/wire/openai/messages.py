"""Encodes and decodes messages of Chat Completions. Each message is encoded once and keeps its bytes."""

import base64
import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, repeat
from operator import contains, itemgetter, not_
from typing import Any

from ...core.events import Event, ThinkingDelta
from ...core.exchange import ModelRequest
from ...core.messages import Document, Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, join_text
from .. import bodies
from ..bodies import dumps, field_or
from ..checks import ObjectShape, TaggedShape, address, object_, rejection, text, text_or
from ..checks import base64 as base64_text
from ..messages import (
    Content,
    MessageCache,
    as_failure,
    call_id,
    decode_call,
    file_text,
    join_separated,
    with_ids,
    with_system,
)

WIRE = "openai"
own = partial(bodies.own, WIRE)
unknown_fields = partial(bodies.unknown_fields, WIRE)

NAME_LENGTH = 64  # characters that OpenAI allows
NOT_IN_NAMES = re.compile(r"[\s<|\\/>]+")
ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
MESSAGE_HEADS: Mapping[Role, bytes] = {role: b'{"role":"%s","content":' % role.encode() for role in ROLES.values()}


@dataclass(frozen=True, slots=True)
class Quirks:
    """The ways in which one server's Chat Completions API differs from most others.

    `max_tokens` is the name of that field (`max_completion_tokens` for OpenAI's own models). `reasoning` is the field
    that sends earlier reasoning back to the model (`reasoning_content` for DeepSeek and Moonshot, `reasoning` for
    gpt-oss), empty if it isn't sent. `names` says whether messages may carry the speaker's name, and `usage` whether a
    stream may be asked for its usage.
    """

    max_tokens: str = "max_tokens"
    reasoning: str = ""
    names: bool = True
    usage: bool = True


USUAL = Quirks()

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
KNOWN_FIELDS = frozenset[str]().union(*_MESSAGE.names.values())
CALL_FIELDS = _CALL.names["function"] | {"index"}


def encode_messages(request: ModelRequest, quirks: Quirks) -> bytes:
    """Returns the JSON objects of all messages, joined by commas.

    The API wants tool results directly after their calls. Content that it does not allow in results (pictures, text of
    the user) comes after the last of them.
    """
    key = f"{WIRE} {quirks.reasoning} {quirks.names}"
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


def decode_answer(body: Mapping[str, Any]) -> Message:
    """Decodes a model's message, ignoring the role that it states."""
    return Message("assistant", with_ids(tuple(_decode_parts(body))), extra=unknown_fields(body, KNOWN_FIELDS))


def _plain_message(message: Message) -> bytes:
    """Encodes a message that is only one text, in a third of the usual time. Returns b"" for any other."""
    part = message.parts[0] if len(message.parts) == 1 else None
    if type(part) is not Text or part.extra or message.speaker or message.extra or message.role == "tool":
        return b""
    return b"".join((MESSAGE_HEADS[message.role], dumps(part.text), b"}"))


def _encode_message(message: Message, quirks: Quirks, key: str, after: str) -> dict[str, bytes]:
    """Returns a message's bytes under `key`, and under `after` those that must follow the tool results."""
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


def decode_words(body: Mapping[str, Any]) -> Iterable[Part]:
    """Yields all parts except calls. Reads one field of reasoning, as servers that send both send the same text."""
    if reasoning := field_or(body, "reasoning_content", "") or field_or(body, "reasoning", ""):
        yield Thinking(reasoning)
    yield from decode_content(body.get("content"))
    if refusing := field_or(body, "refusal", ""):
        yield refusal(refusing)


def _decode_parts(body: Mapping[str, Any]) -> Iterable[Part]:
    yield from decode_words(body)
    for call in body.get("tool_calls") or ():
        yield decode_call(call, WIRE, CALL_FIELDS)


def _decode_result(body: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> ToolResult:
    identity = field_or(body, "tool_call_id", "")
    call = calls.get(identity) or ToolCall(field_or(body, "name", ""), id=identity)
    shown = tuple(part for part in decode_content(body.get("content")) if isinstance(part, Content))
    return ToolResult(call, shown, extra=unknown_fields(body, KNOWN_FIELDS))


def _decode_message(body: Mapping[str, Any], calls: Mapping[str, ToolCall]) -> Iterable[Message]:
    role = body["role"]
    if role in ("tool", "function"):
        return (Message("tool", (_decode_result(body, calls),)),)
    extra = unknown_fields(body, KNOWN_FIELDS)
    return (Message(ROLES[role], tuple(_decode_parts(body)), field_or(body, "name", ""), extra=extra),)


def refusal(text: str) -> Text:
    """Returns a refusal, which this API has as a separate kind of part."""
    return Text(text, extra={WIRE: {"type": "refusal", "refusal": text}})


def is_refusal(part: Part) -> bool:
    return isinstance(part, Text) and own(part.extra).get("type") == "refusal"


REFUSES = ThinkingDelta("", extra=refusal("").extra)
"""Announces that the following text is a refusal."""


def refuses(event: Event) -> bool:
    return type(event) is ThinkingDelta and event.extra is not None and own(event.extra).get("type") == "refusal"


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


def decode_content(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, Mapping):
        raise TypeError("content is an object")
    return tuple(Text(part) if isinstance(part, str) else _decode_part(part) for part in content or ())


def _decode_part(part: Mapping[str, Any]) -> Part:
    match part:
        case {"type": "text", "text": str(text)}:
            return Text(text, extra=unknown_fields(part, _PART.names["text"]))
        case {"type": "refusal", "refusal": str(text)}:
            return refusal(text)
        case {"type": "image_url", "image_url": {"url": str()} as image}:
            return image_at(image["url"], unknown_fields(image, _URL.names))
        case {"type": "image_url", "image_url": str(url)}:
            return image_at(url, {})
        case {"type": "file", "file": {"file_data": str(url)} as file}:
            extra = unknown_fields(file, frozenset(("filename", "file_data")))
            return document_at(url, field_or(file, "filename", ""), extra)
        case {"type": "input_audio", "input_audio": {"data": str(), "format": str()}}:
            return audio(part)
        case {"type": "thinking", "thinking": list(thoughts)}:  # Mistral's
            return Thinking(join_text(decode_content(thoughts)))
    return Text("", extra={WIRE: dict(part)})


def image_at(url: str, extra: Mapping[str, Any]) -> Image:
    """Returns the picture at a URL, which may be a data URL."""
    if (read := _read_data_url(url)) is not None:
        return Image(*read, extra=extra)
    return Image(mimetypes.guess_type(url)[0] or "image/png", url=url, extra=extra)


def document_at(url: str, name: str, extra: Mapping[str, Any]) -> Document:
    """Returns the file at a URL, which may be a data URL."""
    if (read := _read_data_url(url)) is not None:
        return Document(*read, name=name, extra=extra)
    return Document(mimetypes.guess_type(name or url)[0] or "application/pdf", url=url, name=name, extra=extra)


def audio(part: Mapping[str, Any]) -> Document:
    """Returns a recording as a file for other APIs; this API gets the original part back."""
    sound = part["input_audio"]
    return Document(f"audio/{sound['format']}", base64.b64decode(sound["data"]), extra={WIRE: dict(part)})


def _address(file: Image | Document) -> str:
    return file.url or f"data:{file.media_type};base64,{base64.b64encode(file.data).decode()}"


def _read_data_url(url: str) -> tuple[str, bytes] | None:
    """Returns media type and bytes, or None for any other URL. Raises `ValueError` for broken base64."""
    start, comma, encoded = url.partition(",")
    if not comma or not start.startswith("data:") or not start.endswith(";base64"):
        return None
    return start[5:-7].partition(";")[0], base64.b64decode(encoded)


MESSAGES = MessageCache(_MESSAGE, _decode_message, joins=True)
