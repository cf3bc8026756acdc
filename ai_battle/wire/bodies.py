"""Bodies of HTTP requests and answers: JSON to and from bytes, fields, messages, and caches of decoded pieces."""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest
from ..core.messages import Document, Image, Message, Part, Text, ToolCall, ToolResult

T = TypeVar("T")
MEGABYTE = 1024 * 1024
MAX_PIECE_BYTES = 256 * 1024  # bytes of one piece that a cache keeps
SHORTEST_KNOWN, MOST_KNOWN = 16 * 1024, 7  # bytes of a searched beginning that is kept, and how many others are
MOST_MET = 2_048  # hashes of pieces that came once
SURROGATES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a valid pair, which is one character
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\."
)
EMPTY_VALUES: tuple[Any, ...] = (None, "", [], (), {})
ANY_OBJECT: Mapping[str, Any] = {"type": "object", "additionalProperties": True}
"""The schema of an answer that may be any JSON object."""


def dumps(value: Any) -> bytes:
    """Encodes JSON. Replaces lone surrogates, which are not valid Unicode, with U+FFFD."""
    try:
        return to_json(value, inf_nan_mode="null", fallback=_plain_value)
    except PydanticSerializationError:  # half of a surrogate pair
        text = json.dumps(value, ensure_ascii=False, default=_plain_value)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def loads(data: bytes) -> Any:
    """Decodes JSON, replacing invalid characters with U+FFFD if need be. Raises `ValueError` if that isn't enough."""
    try:
        return from_json(data)
    except ValueError:
        mended = data.decode("utf-8", "replace").encode()
        return from_json(SURROGATES.sub(lambda m: b"\\ufffd" if m["lone"] else m[0], mended))


def is_whole(data: bytes) -> bool:
    """Returns whether `data` is a complete JSON object."""
    try:
        return isinstance(loads(data), dict)
    except ValueError:
        return False


def read_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """Returns the arguments of a tool call, or none and the text itself if it is not a JSON object."""
    if not text.strip():
        return {}, ""
    try:
        arguments = from_json(text, allow_inf_nan=False)
    except ValueError:
        return {}, text
    if arguments is None:
        return {}, ""
    return (arguments, "") if isinstance(arguments, dict) else ({}, text)


def own(wire: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of `extra` that belong to `wire`."""
    return dict(extra[wire]) if wire in extra else {}


def unknown_fields(wire: str, body: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Returns the fields of `body` that are not `known`, as an `extra`. Drops empty ones."""
    if body.keys() <= known:
        return {}
    unknown = {key: value for key, value in body.items() if key not in known and value not in EMPTY_VALUES}
    return {wire: unknown} if unknown else {}


def required_field(body: Mapping[str, Any], field: str, kind: type[T]) -> T:
    return _require_type(body[field], field, kind)


def field_or(body: Mapping[str, Any], field: str, otherwise: T) -> T:
    """Returns the field, or `otherwise` if it is missing or null. Raises `TypeError` if their types differ."""
    value = body.get(field)
    return otherwise if value is None else _require_type(value, field, type(otherwise))


def count(body: Mapping[str, Any], field: str) -> int:
    """Returns a number of tokens, 0 if it is missing or null."""
    return int(body.get(field) or 0)


def given_id(body: Mapping[str, Any]) -> str:
    """Returns the id as text, since some servers send numbers; empty if there is none."""
    return str(body.get("id") or "")


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class DecodeCache(Generic[T]):
    """An LRU cache of decoded JSON, keyed by its bytes. It holds pieces with up to `most` bytes together.

    Assistants send all messages and tools again with each request, but most other pieces come only once. So a piece
    is kept from the second time on.
    """

    def __init__(self, most: int = MEGABYTE) -> None:
        self._most = most
        self._size = 0
        self._made: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._met: set[int] = set()

    def decode(self, came: Any, read: Callable[[Any], T]) -> T:
        """Applies `read` to a value or to raw JSON; returns the object from before for raw JSON that is cached."""
        if not isinstance(came, bytes):
            return read(came)
        made = self.get(came)
        return self.remember(came, read(decode_piece(came)), len(came)) if made is None else made

    def get(self, key: Hashable) -> T | None:
        if (found := self._made.get(key)) is None:
            return None
        self._made.move_to_end(key)
        return found[0]

    def remember(self, key: Hashable, made: T, size: int) -> T:
        """Returns `made`, and caches it from its second call with `key` on unless `size` is above `MAX_PIECE_BYTES`."""
        # Only a hash is kept of a key that came once. A collision does no harm: it caches a piece one call too early.
        if (digest := hash(key)) not in self._met:
            if len(self._met) >= MOST_MET:
                self._met.clear()
            self._met.add(digest)
        elif size <= MAX_PIECE_BYTES:
            self._size += 0 if key in self._made else size
            self._made[key] = made, size
        while self._size > self._most:
            self._size -= self._made.popitem(last=False)[1][1]
        return made


class PatternSearch:
    """Searches raw JSON messages for a pattern, whose matches are at most `longest` bytes long.

    A conversation comes again with each turn, so its beginning is not searched again once it has no match. Its last
    quarter does not count as beginning, since clients may send the last messages differently next time.
    """

    def __init__(self, pattern: bytes, longest: int) -> None:
        self._search = re.compile(pattern).search
        self._longest = longest
        self._clear: list[bytes] = []

    def finds(self, messages: bytes) -> bool:
        known = next((each for each in reversed(self._clear) if messages.startswith(each)), b"")
        if self._search(messages, max(0, len(known) - self._longest)):
            return True
        beginning = messages[: min(len(messages) * 3 // 4, MAX_PIECE_BYTES)]
        if len(beginning) > max(len(known), SHORTEST_KNOWN):
            self._clear = [*[each for each in self._clear if each is not known][-MOST_KNOWN:], beginning]
        return False


def encode_raw(fields: Mapping[str, Any]) -> bytes:
    """Encodes all fields but the messages; fields that are raw JSON already are copied as they are."""
    raw = {name: value for name, value in fields.items() if type(value) is bytes and name != "messages"}
    head = dumps({name: value for name, value in fields.items() if type(value) is not bytes})
    return b"".join((head[:-1], *(b',"%s":%s' % (name.encode(), value) for name, value in raw.items()), b"}"))


def with_raw_messages(body: bytes, messages: bytes) -> bytes:
    """Appends raw JSON messages to an encoded object as its last field."""
    return b"".join((body[:-1], b',"messages":', messages, b"}"))


def decode_piece(raw: bytes) -> Any:
    """Decodes a piece of a body that was left raw. Raises `ConfigError`."""
    try:
        return loads(raw)
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}.") from error


Content: TypeAlias = Text | Image | Document


def new_id() -> str:
    return f"call_{token_hex(12)}"


def call_id(call: ToolCall) -> str:
    """Returns the call's id, or one hashed from its content, so that the call and its result get the same one."""
    return call.id or "call_" + hashlib.sha256(dumps([call.name, call.arguments])).hexdigest()[:24]


def decode_call(body: Mapping[str, Any], wire: str, known: frozenset[str]) -> ToolCall:
    """Decodes a call in the form of OpenAI and Ollama. Unwraps malformed arguments that our encoder has wrapped."""
    function = body["function"]
    written = function.get("arguments") or {}
    arguments, malformed = (written, "") if isinstance(written, Mapping) else read_arguments(str(written))
    if set(arguments) == {"malformed"} and isinstance(arguments["malformed"], str):
        arguments, malformed = {}, arguments["malformed"]
    extra = unknown_fields(wire, body, known)
    return ToolCall(field_or(function, "name", ""), arguments, given_id(body), malformed, extra=extra)


def with_ids(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Gives each call a unique id, since servers leave ids out or give the same one twice."""
    seen: set[str] = set()
    made: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            part = replace(part, id=new_id()) if not part.id or part.id in seen else part
            seen.add(part.id)
        made.append(part)
    return tuple(made)


def turns(messages: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Returns the inside of a JSON list, in pieces to be joined; adjacent messages with the same role become one.

    Each of `messages` is the opening of a turn in its role (`{"role":"user","content":[`) and its encoded parts, joined
    by commas. Messages without parts are dropped.
    """
    pieces: list[bytes] = []
    current = b""
    for opening, parts in messages:
        if not parts:
            continue
        if opening == current:
            pieces += (b",", parts)
        else:
            pieces += (b"]},", opening, parts) if current else (opening, parts)
            current = opening
    return [*pieces, b"]}"] if pieces else []


def with_system(request: ModelRequest) -> tuple[Message, ...]:
    """Returns the messages after the system prompt, for APIs where that is a message too."""
    prompt = (Message("system", (Text(request.system),)),) if request.system else ()
    return prompt + request.messages


def with_schema_in_words(request: ModelRequest) -> ModelRequest:
    """Returns the request with its output schema in the system prompt, for models whose API can't enforce it."""
    schema = request.output_schema
    fits = "" if schema == ANY_OBJECT else f" It must fit this schema: {dumps(schema).decode()}"
    words = f"Answer with JSON alone, without a code fence.{fits}"
    return replace(request, system="\n\n".join(filter(None, (request.system, words))), output_schema=None)


def file_text(file: Document) -> str:
    """Returns a text file as plain text, for APIs that accept no files but PDFs."""
    return f"{file.name or 'file'}:\n{file.data.decode('utf-8', 'replace')}\n\n"


def join_separated(texts: Iterable[str]) -> str:
    """Joins texts, putting a newline between two that have no space there."""
    pieces: list[str] = []
    for text in filter(None, texts):
        if pieces and not (pieces[-1][-1].isspace() or text[0].isspace()):
            pieces.append("\n")
        pieces.append(text)
    return "".join(pieces)


def as_failure(result: ToolResult, words: str) -> str:
    """Prefixes "Error: " for APIs without a field for `is_error`, unless the words mention an error already."""
    if not result.is_error or "error" in words.lower():
        return words
    return f"Error: {words}" if words else "Error"


MAY_BE_NULL = frozenset(("default", "const"))
VALUES = MAY_BE_NULL | {"enum", "examples"}


def objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yields a JSON object and all objects inside it."""
    if isinstance(value, Mapping):
        yield value
        value = [*value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from objects_in(inner)


def without_nulls(schema: Any) -> Any:
    """Removes fields that are null, which some clients write for keywords that they do not use."""
    if isinstance(schema, list):
        return list(map(without_nulls, schema))
    if not isinstance(schema, Mapping):
        return schema
    given = {name: inner for name, inner in schema.items() if inner is not None or name in MAY_BE_NULL}
    return {name: inner if name in VALUES else without_nulls(inner) for name, inner in given.items()}


def _require_type(value: Any, field: str, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{field} is {type(value).__name__}, not {kind.__name__}")
    return value


def _plain_value(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
