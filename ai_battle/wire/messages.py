"""Tool calls and their results: each call of an answer has an id of its own, and results find their calls by it."""

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
    """Returns the id; a call that never got one has the same in every message that speaks of it."""
    return call.id or "call_" + hashlib.sha256(dumps([call.name, call.arguments])).hexdigest()[:24]


def decode_call(body: Mapping[str, Any], wire: str, known: frozenset[str]) -> ToolCall:
    """Reads a call as OpenAI and Ollama write it; arguments that were no JSON come back as we wrap them."""
    function = body["function"]
    written = function.get("arguments") or {}
    arguments, malformed = (written, "") if isinstance(written, Mapping) else read_arguments(str(written))
    if set(arguments) == {"malformed"} and isinstance(arguments["malformed"], str):
        arguments, malformed = {}, arguments["malformed"]
    extra = unknown_fields(wire, body, known)
    return ToolCall(field_or(function, "name", ""), arguments, given_id(body), malformed, extra=extra)


def with_ids(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Gives each call an id of its own: servers leave ids out, or give the same one twice."""
    seen: set[str] = set()
    made: list[Part] = []
    for part in parts:
        if isinstance(part, ToolCall):
            part = replace(part, id=new_id()) if not part.id or part.id in seen else part
            seen.add(part.id)
        made.append(part)
    return tuple(made)


@dataclass(slots=True)
class Decoded:
    """What one message of a body came out as, and the raw JSON that it was; empty when it was not raw.

    `answered` are the ids of the calls that its results name, each with the call that they belong to, where there is
    one: the same bytes after other calls are other messages.
    """

    messages: tuple[Message, ...]
    raw: bytes = b""
    calls: dict[str, ToolCall] = field(default_factory=dict)
    answered: dict[str, ToolCall | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Talk:
    """How a list of messages begins, as later ones do too: the JSON of `count` messages, and what it came out as.

    `awaited` are the calls whose results are to come next; None where calls and results do not fit.
    """

    raw: bytes = b""
    count: int = 0
    messages: tuple[Message, ...] = ()
    calls: Mapping[str, ToolCall] = field(default_factory=dict)
    awaited: Set[str] | None = frozenset()


NO_TALK = Talk()
LAST = 4
"""So many messages at the end may come otherwise next time: with a mark for a cache, a note, an answer tried again."""
SHORTEST_TALK, MOST_TALKED = 4_096, 2 * MEGABYTE


class MessageCache:
    """Decodes the messages of bodies; those that came before, after the same calls, are the same objects again.

    Where it `joins`, neighbouring results of tools become one message.
    """

    def __init__(self, shape: Check, decode: DecodeMessage, *, joins: bool = False) -> None:
        self._shape = shape
        self._decode = decode
        self._joins = joins
        self._made: DecodeCache[Decoded] = DecodeCache()
        self._join_cache: DecodeCache[Message] = DecodeCache()
        self._talks: list[Talk] = []

    def decode(self, came: Any, *, paired: bool = False) -> tuple[Message, ...]:
        """Returns the messages of a list or of its raw JSON, repaired where they are to be `paired`.

        Raises a `ConfigError` that names the place of what is wrong.
        """
        if not isinstance(came, bytes):
            messages = tuple(self._join([*self._decode_each(came, NO_TALK)]))
            return paired_messages(messages) if paired else messages
        talk = next((each for each in reversed(self._talks) if came.startswith(each.raw)), NO_TALK)
        pieces = READ_LIST.decode(b"[" + came[len(talk.raw) :] if talk.raw else came)
        if not pieces:
            raise ConfigError("messages must not be empty.")
        decoded = [*self._decode_each(map(bytes, pieces), talk)]
        talk, decoded = self._go_on(talk, came, decoded)
        last = tuple(self._join(decoded))
        messages = talk.messages + last
        return tuple(_repair(messages)) if paired and _awaited_after(last, talk.awaited) != set() else messages

    def _go_on(self, talk: Talk, came: bytes, following: list[Decoded]) -> tuple[Talk, list[Decoded]]:
        """Returns the talk with all that follows but the last messages, kept for later requests, and those last."""
        last = _last_messages(following)
        end = len(came)
        for each in reversed(last):  # behind the beginning of each there is no other place for its bytes
            end = came.rindex(each.raw, 0, end)
        if talk is not NO_TALK:
            self._talks.remove(talk)
        if len(last) < len(following) and end >= SHORTEST_TALK:
            talk, following = self._extend(talk, came[:end], following[: -len(last)]), last
        if talk is not NO_TALK:
            self._talks.append(talk)
        while sum(len(each.raw) for each in self._talks) > MOST_TALKED:
            del self._talks[0]
        return talk, following

    def _extend(self, talk: Talk, raw: bytes, following: list[Decoded]) -> Talk:
        new = tuple(self._join(following))
        calls = dict(talk.calls)
        for each in following:
            calls |= each.calls
        awaited = _awaited_after(new, talk.awaited)
        return Talk(raw, talk.count + len(following), talk.messages + new, calls, awaited)

    def _join(self, decoded: Iterable[Decoded]) -> Iterator[Message]:
        if not self._joins:
            yield from chain.from_iterable(each.messages for each in decoded)
            return
        for is_result, run in groupby(decoded, lambda each: each.messages[0].role == "tool"):
            if is_result:
                yield self._join_results([*run])
            else:
                yield from (each.messages[0] for each in run)

    def _decode_each(self, bodies: Iterable[Any], talk: Talk) -> Iterator[Decoded]:
        calls = dict(talk.calls)
        for index, body in enumerate(bodies, talk.count):
            raw = body if isinstance(body, bytes) else b""
            made = self._made.get(raw) if raw else None
            # The same bytes after other calls are other messages; ids come again in later turns and conversations.
            if made is None or (made.answered and not made.answered.items() <= calls.items()):
                made = self._read(decode_piece(raw) if raw else body, raw, calls, index)
            calls |= made.calls
            yield made

    def _join_results(self, run: Sequence[Decoded]) -> Message:
        """Returns neighbouring results of tools as one message."""
        if len(run) == 1:
            return run[0].messages[0]
        message = Message("tool", tuple(chain.from_iterable(each.messages[0].parts for each in run)))
        if not all(each.raw for each in run):
            return message
        raw = b"".join(each.raw for each in run)
        made = self._join_cache.get(raw)
        if made and [*map(id, made.parts)] == [*map(id, message.parts)]:
            return made
        return self._join_cache.remember(raw, message, len(raw))

    def _read(self, body: Any, raw: bytes, calls: Mapping[str, ToolCall], index: int) -> Decoded:
        check(body, self._shape, f"messages[{index}]")
        decoded = Decoded(tuple(self._decode(body, calls)), raw)
        for part in chain.from_iterable(message.parts for message in decoded.messages):
            if isinstance(part, ToolCall):
                decoded.calls[part.id] = part
            elif isinstance(part, ToolResult):
                decoded.answered[part.call.id] = calls.get(part.call.id)
        return self._made.remember(raw, decoded, len(raw)) if raw else decoded


def _last_messages(following: list[Decoded]) -> list[Decoded]:
    """Returns the last messages, and those before them whose results of tools belong together with theirs."""
    place = len(following) - LAST
    while place > 0 and any(message.role == "tool" for message in following[place].messages):
        place -= 1
    return following[max(place, 0) :]


def turns(messages: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Returns the inside of a JSON list, in pieces to be joined.

    `messages` are, for each, how a turn in its role opens (`{"role":"user","content":[`) and its parts, encoded and
    joined by commas; those without parts are left out.
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
    """Returns the system prompt and the messages, for the APIs where it is a message, too."""
    prompt = (Message("system", (Text(request.system),)),) if request.system else ()
    return prompt + request.messages


def file_text(file: Document) -> str:
    """Returns a file of text as words, for the APIs that read no files but PDFs."""
    return f"{file.name or 'file'}:\n{file.data.decode('utf-8', 'replace')}\n\n"


def join_separated(texts: Iterable[str]) -> str:
    """Joins texts, on lines of their own where they would run into one another."""
    pieces: list[str] = []
    for text in filter(None, texts):
        if pieces and not (pieces[-1][-1].isspace() or text[0].isspace()):
            pieces.append("\n")
        pieces.append(text)
    return "".join(pieces)


def as_failure(result: ToolResult, words: str) -> str:
    """Marks a failure in words, for the APIs that have no place for `is_error`; most say themselves what they are."""
    if not result.is_error or "error" in words.lower():
        return words
    return f"Error: {words}" if words else "Error"


NO_RESULT = "There is no result: the call was interrupted."
NO_CALL = "A tool returned this; its call is no longer part of the conversation:"


def with_pairs(request: ModelRequest) -> ModelRequest:
    messages = paired_messages(request.messages)
    return request if messages is request.messages else replace(request, messages=messages)


def paired_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Returns the conversation repaired, which is itself where nothing is wrong.

    A result that comes too late moves up to its call, a call without a result gets one that says so, and a result
    without a call becomes words of the user's.
    """
    return messages if _awaited_after(messages) == set() else tuple(_repair(messages))


def _awaited_after(messages: Iterable[Message], awaited: Set[str] | None = frozenset()) -> Set[str] | None:
    """Returns the calls whose results are to come next; None where calls and results do not fit."""
    for message in messages:
        if awaited is not None:
            awaited = _awaited_next(message, awaited)
    return awaited


def _awaited_next(message: Message, awaited: Set[str]) -> Set[str] | None:
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
    """Returns what the message says besides the results that have a call."""
    words = [part for part in message.parts if not isinstance(part, ToolResult)]
    return (*words, *(part for result in orphans for part in (Text(NO_CALL), *result.parts)))


Results = dict[int, list[ToolResult]]


def _results_by_place(messages: tuple[Message, ...]) -> tuple[Results, Results]:
    """Returns the results of each turn of calls, and those without a call, by the places of the messages.

    Ids may come again in later turns; a result belongs to the last call with its id that has none yet.
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
