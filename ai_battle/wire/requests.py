"""Clients' requests: decodes their bodies and messages, caches both, and pairs results of tools with their calls."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any, TypeAlias, TypeVar

import msgspec
from pydantic_core import from_json

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest
from ..core.messages import Message, Part, Text, ToolCall, ToolResult
from .bodies import MEGABYTE, DecodeCache, decode_piece
from .checks import Check, check

T = TypeVar("T")
DecodeMessage: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, ToolCall]], Iterable[Message]]
RAW = ("messages", "tools")  # fields that stay raw JSON, since they are most of a body and mostly known from before
READ_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
READ_LIST = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class BodyHead:
    """All fields of a body except its messages, shared by bodies that have the same. `made` caches derived values."""

    fields: Mapping[str, Any]
    made: dict[Hashable, Any] = field(default_factory=dict)


HEAD_CACHE: DecodeCache[BodyHead] = DecodeCache()


def decode_body(data: bytes) -> dict[str, Any]:
    """Decodes a JSON object, leaving `tools` and `messages` as raw JSON. Raises `ConfigError`.

    Replaces lone surrogates, which editors send; a body with such an error is decoded whole.
    """
    return decode_body_and_head(data)[0]


def decode_body_and_head(data: bytes) -> tuple[dict[str, Any], BodyHead]:
    """Returns the same as `decode_body`, and the part of it that other bodies may share."""
    try:
        if not data.isascii():  # msgspec cuts out raw pieces without checking that they are UTF-8
            data.decode()
        pieces = READ_FIELDS.decode(data)
    except (ValueError, RecursionError):
        pieces = {}
    if "messages" not in pieces:
        fields = _whole_body(data)
        return fields, BodyHead(fields)
    messages = bytes(pieces.pop("messages"))
    head = _decode_head({name: bytes(raw) for name, raw in pieces.items()}, len(data) - len(messages))
    return {**head.fields, "messages": _field("messages", messages)}, head


def _decode_head(pieces: Mapping[str, bytes], size: int) -> BodyHead:
    key = (*pieces, *pieces.values())
    if head := HEAD_CACHE.get(key):
        return head
    return HEAD_CACHE.remember(key, BodyHead({name: _field(name, raw) for name, raw in pieces.items()}), size)


def checkable(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the body with a placeholder for raw `messages`, which are checked one by one when they are decoded."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), bytes):
        return body
    return {**body, "messages": [None]}


def _field(name: str, raw: bytes) -> Any:
    return raw if name in RAW and raw.startswith(b"[") else decode_piece(raw)


def _whole_body(data: bytes) -> dict[str, Any]:
    try:
        body = from_json(data)
    except ValueError:
        body = _decode_mended(data)
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _decode_mended(data: bytes) -> Any:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"The body is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.") from error
    return decode_piece(data)


@dataclass(slots=True)
class DecodedMessage:
    """The result of decoding one message of a body; `raw` is its JSON, empty if it was not raw.

    `answered` maps the ids in its tool results to their calls (None if there is no such call). The cache compares it,
    as the same bytes mean other messages after other calls.
    """

    messages: tuple[Message, ...]
    raw: bytes = b""
    calls: dict[str, ToolCall] = field(default_factory=dict)
    answered: dict[str, ToolCall | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ConversationPrefix:
    """The beginning of a conversation, which later requests repeat: the raw JSON of `count` messages, and their values.

    `awaited` holds the ids of the calls whose results must come next. It is None if calls and results do not match.
    """

    raw: bytes = b""
    count: int = 0
    messages: tuple[Message, ...] = ()
    calls: Mapping[str, ToolCall] = field(default_factory=dict)
    awaited: Set[str] | None = frozenset()


NO_PREFIX = ConversationPrefix()
UNSETTLED_MESSAGES = 4
"""Messages at the end that a client may send differently next time: with a cache mark, a note or a retried answer."""
SHORTEST_PREFIX, MOST_PREFIXED = 4_096, 2 * MEGABYTE


class MessageCache:
    """Decodes the messages of bodies; messages that came before, after the same calls, are the same objects again.

    With `joins`, adjacent tool results become one message.
    """

    def __init__(self, shape: Check, decode: DecodeMessage, *, joins: bool = False) -> None:
        self._shape = shape
        self._decode = decode
        self._joins = joins
        self._made: DecodeCache[DecodedMessage] = DecodeCache()
        self._prefixes: list[ConversationPrefix] = []

    def decode(self, came: Any, *, paired: bool = False) -> tuple[Message, ...]:
        """Decodes a list of messages or its raw JSON; with `paired`, repairs calls without results and the reverse.

        Raises `ConfigError` naming the place of an invalid value.
        """
        if not isinstance(came, bytes):
            messages = tuple(self._join([*self._decode_each(came, NO_PREFIX)]))
            return paired_messages(messages) if paired else messages
        prefix = next((each for each in reversed(self._prefixes) if came.startswith(each.raw)), NO_PREFIX)
        pieces = READ_LIST.decode(b"[" + came[len(prefix.raw) :] if prefix.raw else came)
        if not pieces:
            raise ConfigError("messages must not be empty.")
        decoded = [*self._decode_each(map(bytes, pieces), prefix)]
        prefix, decoded = self._advance(prefix, came, decoded)
        last = tuple(self._join(decoded))
        messages = prefix.messages + last
        return tuple(_repair(messages)) if paired and _pending_calls(last, prefix.awaited) != set() else messages

    def _advance(
        self, prefix: ConversationPrefix, came: bytes, following: list[DecodedMessage]
    ) -> tuple[ConversationPrefix, list[DecodedMessage]]:
        """Extends the prefix by all following messages but the last few, keeps it, and returns it and those few."""
        last = _last_messages(following)
        end = len(came)
        # Separators between messages are not kept, so the cut is found from the end: each message is the last match.
        for each in reversed(last):
            end = came.rindex(each.raw, 0, end)
        if prefix is not NO_PREFIX:
            self._prefixes.remove(prefix)
        if len(last) < len(following) and end >= SHORTEST_PREFIX:
            prefix, following = self._extend(prefix, came[:end], following[: -len(last)]), last
        if prefix is not NO_PREFIX:
            self._prefixes.append(prefix)
        while sum(len(each.raw) for each in self._prefixes) > MOST_PREFIXED:
            del self._prefixes[0]
        return prefix, following

    def _extend(self, prefix: ConversationPrefix, raw: bytes, following: list[DecodedMessage]) -> ConversationPrefix:
        new = tuple(self._join(following))
        calls = dict(prefix.calls)
        for each in following:
            calls |= each.calls
        awaited = _pending_calls(new, prefix.awaited)
        return ConversationPrefix(raw, prefix.count + len(following), prefix.messages + new, calls, awaited)

    def _join(self, decoded: Iterable[DecodedMessage]) -> Iterator[Message]:
        if not self._joins:
            yield from chain.from_iterable(each.messages for each in decoded)
            return
        for is_result, run in groupby(decoded, lambda each: each.messages[0].role == "tool"):
            if is_result:
                yield _joined_results([*run])
            else:
                yield from (each.messages[0] for each in run)

    def _decode_each(self, bodies: Iterable[Any], prefix: ConversationPrefix) -> Iterator[DecodedMessage]:
        calls = dict(prefix.calls)
        for index, body in enumerate(bodies, prefix.count):
            raw = body if isinstance(body, bytes) else b""
            made = self._made.get(raw) if raw else None
            # Ids repeat in later turns and conversations, so the same bytes may answer another call than last time.
            if made is None or (made.answered and not made.answered.items() <= calls.items()):
                made = self._read(decode_piece(raw) if raw else body, raw, calls, index)
            calls |= made.calls
            yield made

    def _read(self, body: Any, raw: bytes, calls: Mapping[str, ToolCall], index: int) -> DecodedMessage:
        check(body, self._shape, f"messages[{index}]")
        decoded = DecodedMessage(tuple(self._decode(body, calls)), raw)
        for part in chain.from_iterable(message.parts for message in decoded.messages):
            if isinstance(part, ToolCall):
                decoded.calls[part.id] = part
            elif isinstance(part, ToolResult):
                decoded.answered[part.call.id] = calls.get(part.call.id)
        return self._made.remember(raw, decoded, len(raw)) if raw else decoded


def _joined_results(run: Sequence[DecodedMessage]) -> Message:
    """Returns one message with the tool results of all; a single one is returned as it is, with its encoded bytes."""
    if len(run) == 1:
        return run[0].messages[0]
    return Message("tool", tuple(chain.from_iterable(each.messages[0].parts for each in run)))


def _last_messages(following: list[DecodedMessage]) -> list[DecodedMessage]:
    """Returns the last messages, starting early enough not to separate adjacent tool results."""
    place = len(following) - UNSETTLED_MESSAGES
    while place > 0 and any(message.role == "tool" for message in following[place].messages):
        place -= 1
    return following[max(place, 0) :]


NO_RESULT = "There is no result: the call was interrupted."
NO_CALL = "A tool returned this; its call is no longer part of the conversation:"


def with_pairs(request: ModelRequest) -> ModelRequest:
    messages = paired_messages(request.messages)
    return request if messages is request.messages else replace(request, messages=messages)


def paired_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Repairs the pairing of calls and results; returns the same object if nothing is wrong.

    Moves a late result up to its call, gives a call without a result one that says so, and turns a result without a
    call into text of the user.
    """
    return messages if _pending_calls(messages) == set() else tuple(_repair(messages))


def _pending_calls(messages: Iterable[Message], awaited: Set[str] | None = frozenset()) -> Set[str] | None:
    """Returns the ids of calls whose results must come next, or None if calls and results do not match."""
    for message in messages:
        if awaited is not None:
            awaited = _pending_after(message, awaited)
    return awaited


def _pending_after(message: Message, awaited: Set[str]) -> Set[str] | None:
    if message.role == "assistant":
        return None if awaited else {part.id for part in message.parts if isinstance(part, ToolCall)}
    # One result for each call and nothing else; without calls, anything but results.
    result_ids = [part.call.id for part in message.parts if isinstance(part, ToolResult)]
    is_whole = not result_ids or len(message.parts) == len(result_ids) == len(awaited)
    return set() if is_whole and awaited == set(result_ids) else None


def _repair(messages: tuple[Message, ...]) -> Iterator[Message]:
    answers, orphans = _results_by_place(messages)
    for place, message in enumerate(messages):
        if not _results_in(message):
            yield message
        elif words := _words_of(message, orphans.get(place, [])):
            yield Message("user", words, message.speaker)
        if calls := _calls_of(message):
            parts = _all_results(calls, answers.get(place, []))
            following = messages[place + 1 : place + 2]
            yield following[0] if following and following[0].parts == parts else Message("tool", parts)


def _words_of(message: Message, orphans: list[ToolResult]) -> tuple[Part, ...]:
    """Returns all parts of the message except results that have a call."""
    words = [part for part in message.parts if not isinstance(part, ToolResult)]
    return (*words, *(part for result in orphans for part in (Text(NO_CALL), *result.parts)))


Results = dict[int, list[ToolResult]]


def _results_by_place(messages: tuple[Message, ...]) -> tuple[Results, Results]:
    """Returns the results by the place of the message that called, and results without a call by their own place.

    Ids may repeat in later turns; a result belongs to the last call with its id that has no result yet.
    """
    answers, orphans, awaited = Results(), Results(), dict[str, int]()
    for place, message in enumerate(messages):
        awaited |= {call.id: place for call in _calls_of(message)}
        for result in _results_in(message):
            place_of_call = awaited.pop(result.call.id, None)
            found, at = (orphans, place) if place_of_call is None else (answers, place_of_call)
            found.setdefault(at, []).append(result)
    return answers, orphans


def _all_results(calls: tuple[ToolCall, ...], answers: list[ToolResult]) -> tuple[ToolResult, ...]:
    ids = {result.call.id for result in answers}
    missing = {call.id: call for call in calls if call.id not in ids}
    return (*answers, *(ToolResult(call, (Text(NO_RESULT),), is_error=True) for call in missing.values()))


def _results_in(message: Message) -> tuple[ToolResult, ...]:
    return () if message.role == "assistant" else message.tool_results


def _calls_of(message: Message) -> tuple[ToolCall, ...]:
    return message.tool_calls if message.role == "assistant" else ()
