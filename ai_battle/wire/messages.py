"""Messages of API bodies: decodes and caches them, gives tool calls unique ids, and pairs results with their calls."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from secrets import token_hex
from typing import Any, TypeAlias, TypeVar

from ..core.errors import ConfigError
from ..core.exchange import ModelRequest
from ..core.messages import Document, Image, Message, Part, Text, ToolCall, ToolResult
from .bodies import (
    ANY_OBJECT,
    MEGABYTE,
    READ_LIST,
    DecodeCache,
    decode_piece,
    dumps,
    field_or,
    given_id,
    read_arguments,
    unknown_fields,
)
from .checks import Check, check

T = TypeVar("T")
Content: TypeAlias = Text | Image | Document
DecodeMessage: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, ToolCall]], Iterable[Message]]


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
