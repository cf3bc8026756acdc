"""The parts of a message as parts of generateContent, both ways."""

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...core.messages import Document, Image, Part, Text, Thinking, ToolCall, ToolResult
from .._extra import kept, own
from .._json import dumps
from .._shape import given, needed

WIRE = "gemini"

Body = dict[str, Any]

# Objects whose keys are the user's or the model's own words, not field names of the API.
FOREIGN = frozenset({"args", "response", "parameters", "parametersJsonSchema", "responseJsonSchema", "labels"})
IN_RESULTS = frozenset({"name", "id", "response", "parts"})
UNDERSCORE = re.compile(r"_([a-z])")

# What Google documents for calls that another model made: Gemini 3 refuses a turn of calls without a signature.
UNSIGNED = {"thoughtSignature": "skip_thought_signature_validator"}


def in_camel_case(value: Any) -> Any:
    """The same body with the field names in the API's own spelling; clients may write them in snake_case."""
    if isinstance(value, list):
        return [in_camel_case(inner) for inner in value]
    if not isinstance(value, Mapping):
        return value
    named = {UNDERSCORE.sub(lambda m: m[1].upper(), key): inner for key, inner in value.items()}
    return {key: inner if key in FOREIGN else in_camel_case(inner) for key, inner in named.items()}


def encode_parts(parts: Iterable[Part], *, modern: bool) -> list[Body]:
    """`modern` is Gemini 3 and later: signed calls, and pictures inside of results instead of beside them."""
    bodies = [body for part in parts for body in _encode_part(part, modern)]
    calls = [body for body in bodies if "functionCall" in body]
    if modern and calls and not any("thoughtSignature" in call for call in calls):
        calls[0] |= UNSIGNED
    return bodies


def decode_part(body: Mapping[str, Any], calls: Sequence[ToolCall] = ()) -> Part:
    """A result finds the call that it answers in `calls`; a part without a counterpart in our values is kept whole."""
    for field, decode in DECODERS.items():
        if body.get(field) is not None:
            return decode(body, calls)
    return Text("", extra={WIRE: {"part": dict(body)}})


def _encode_part(part: Part, modern: bool) -> Iterable[Body]:
    if isinstance(part, ToolResult):
        return _encode_result(part, modern)
    extra = own(WIRE, part.extra)
    if "part" in extra:
        return [dict(extra["part"])]
    if isinstance(part, Text) and not part.text and not extra:
        return []
    return [{**_bare_part(part), **extra}]


def _bare_part(part: Text | Thinking | ToolCall | Image | Document) -> Body:
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text):
            return {"text": text, "thought": True}
        case ToolCall(name, arguments, id_):
            return {"functionCall": {"name": name, "args": dict(arguments), **_id(id_)}}
        case Image() | Document():
            return _file(part)


def _file(file: Image | Document) -> Body:
    if not file.data:
        return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}}
    return {"inlineData": {"mimeType": file.media_type, "data": b64encode(file.data).decode()}}


def _encode_result(result: ToolResult, modern: bool) -> Iterable[Body]:
    answer = {"error" if result.is_error else "output": result.text}
    body: Body = {"name": result.call.name, "response": answer, **_id(result.call.id), **own(WIRE, result.extra)}
    files = [_file(part) for part in result.parts if isinstance(part, Image | Document)]
    if files and modern:
        return [{"functionResponse": {**body, "parts": files}}]
    return [{"functionResponse": body}, *files]


def _id(id_: str) -> Body:
    return {"id": id_} if id_ else {}


def _text(body: Mapping[str, Any], calls: Sequence[ToolCall]) -> Part:
    kind = Thinking if body.get("thought") else Text
    return kind(needed(body, "text", str), extra=_rest(body, "text", "thought"))


def _inline(body: Mapping[str, Any], calls: Sequence[ToolCall]) -> Part:
    media_type, data = given(body["inlineData"], "mimeType", ""), given(body["inlineData"], "data", "")
    return _kind_of(media_type)(media_type, read_base64(data), extra=_rest(body, "inlineData"))


def _by_uri(body: Mapping[str, Any], calls: Sequence[ToolCall]) -> Part:
    media_type, uri = given(body["fileData"], "mimeType", ""), needed(body["fileData"], "fileUri", str)
    return _kind_of(media_type)(media_type, url=uri, extra=_rest(body, "fileData"))


def _kind_of(media_type: str) -> type[Image | Document]:
    return Image if media_type.startswith("image/") else Document


def read_base64(text: str) -> bytes:
    """Google's own client writes the alphabet of addresses, others the usual one, some leave the padding out."""
    return b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4))


def _call(body: Mapping[str, Any], calls: Sequence[ToolCall]) -> Part:
    call, extra = body["functionCall"], _rest(body, "functionCall")
    if extra.get(WIRE) == UNSIGNED:
        extra = {}
    return ToolCall(needed(call, "name", str), given(call, "args", {}), given(call, "id", ""), extra=extra)


def _result(body: Mapping[str, Any], calls: Sequence[ToolCall]) -> Part:
    answer = body["functionResponse"]
    name, id_ = given(answer, "name", ""), given(answer, "id", "")
    call = next((call for call in calls if (call.id, call.name) == (id_, name)), ToolCall(name, {}, id_))
    said, is_error, extra = _said(given(answer, "response", {}))
    beside = [decode_part(part) for part in answer.get("parts") or ()]
    parts = (*said, *(part for part in beside if isinstance(part, Text | Image | Document)))
    rest = own(WIRE, kept(WIRE, answer, IN_RESULTS)) | extra
    return ToolResult(call, parts, is_error, extra={WIRE: rest} if rest else {})


def _said(response: Body) -> tuple[tuple[Text, ...], bool, Body]:
    """The text of a result, whether it is an error, and the whole of it where it is more than a text."""
    if not response:
        return (), False, {}
    match response:
        case {"output": str(text)} if len(response) == 1:
            return (Text(text),) if text else (), False, {}
        case {"error": str(text)} if len(response) == 1:
            return (Text(text),) if text else (), True, {}
    return (Text(dumps(response).decode()),), "error" in response, {"response": response}


def _rest(body: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What a part has beyond the fields that our values carry (`thoughtSignature`, `videoMetadata`, ...)."""
    return kept(WIRE, body, frozenset(known))


DECODERS: Mapping[str, Callable[[Mapping[str, Any], Sequence[ToolCall]], Part]] = {
    "text": _text,
    "functionCall": _call,
    "functionResponse": _result,
    "inlineData": _inline,
    "fileData": _by_uri,
}
