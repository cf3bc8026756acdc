"""Reads streamed answers from chunks of any size: server-sent events and lines of JSON."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import repeat, takewhile
from typing import Any, ClassVar

from pydantic_core import from_json

from ..core.errors import BadReply, ProviderError
from ..core.events import Event, TextDelta, ThinkingDelta
from ..core.exchange import ModelResponse, Stop
from ..core.messages import Message, Text, Thinking
from .bodies import dumps, is_whole, loads, new_id
from .errors import UNREADABLE, cut_error, error_in_answer, head, malformed_error, no_answer_error, parse_body

MAX_EVENT = 16 * 1024 * 1024  # bytes; a stream without separators must not fill the memory
HEAD_BYTES = 500  # bytes of the body kept to recognize it and for errors
FIELDS = (b"data:", b"event:", b"error:", b"id:", b"retry:", b":")
CR = b"\r"[0]  # an int, as `int in bytes` is five times as fast as `bytes in bytes`
BOM = b"\xef\xbb\xbf"
DONE = b"[DONE]"


class LineTokenizer:
    """Cuts one stream into lines, dropping blank ones. `head` holds the first `HEAD_BYTES` bytes of the body.

    A line counts only once its newline has come; `close` returns a last line without one.
    """

    separator: ClassVar[bytes] = b"\n"
    name: ClassVar[str] = "A line"

    def __init__(self) -> None:
        self.head = b""
        self._unread = bytearray()

    @property
    def unread(self) -> bytes:
        return bytes(self._unread)

    @property
    def is_event_stream(self) -> bool:
        """Returns whether the body begins like server-sent events, not like a web page or a JSON document."""
        return self.head.removeprefix(BOM).lstrip().startswith(FIELDS)

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the pieces that `data` completes. Raises `BadReply` if one grows above `MAX_EVENT` bytes."""
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        if self._unread or not data.endswith(self.separator):  # most reads end with a whole event
            data = self._take_complete(data)
        return [piece for piece in data.split(self.separator) if piece and not piece.isspace()]

    def close(self) -> list[bytes]:
        """Returns the last piece if only its separator is missing. Call it when the body has ended."""
        piece = bytes(self._unread).rstrip(b"\n")
        _, data = self.event(piece)
        if not (data == DONE or is_whole(data)):
            return []
        self._unread.clear()
        return [piece]

    def _take_complete(self, data: bytes) -> bytes:
        """Returns all complete pieces, and keeps the rest without searching it again next time."""
        unread, separator = self._unread, self.separator
        scanned = len(unread)
        unread += data
        # A separator may be split between two reads, so the last bytes of the previous read are searched again.
        end = unread.rfind(separator, max(scanned - len(separator) + 1, 0))
        if end >= 0:
            complete = bytes(unread[:end])
            del unread[: end + len(separator)]
            return complete
        if len(unread) > MAX_EVENT:
            size = f"{MAX_EVENT >> 20} MiB"
            raise BadReply(f"{self.name} of the stream is larger than {size}.", raw=head(self.head))
        return b""

    def event(self, piece: bytes) -> tuple[str, bytes]:
        """Returns the name of the event (empty when it has none) and its data."""
        return "", piece.removeprefix(BOM)


class EventTokenizer(LineTokenizer):
    """Cuts a stream into server-sent events. Splits bytes, not text, so that U+2028 and U+0085 in JSON stay intact."""

    separator = b"\n\n"
    name = "An event"

    def __init__(self) -> None:
        super().__init__()
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._after_cr or CR in data:
            data = self._with_plain_newlines(data)
        return super().feed(data)

    def event(self, piece: bytes) -> tuple[str, bytes]:
        if piece.startswith(b"data: ") and b"\n" not in piece:
            return "", piece[6:]
        name = ""
        data: list[bytes] = []
        for line in piece.removeprefix(BOM).split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value.decode("utf-8", "replace")
            if field in (b"data", b"error"):
                data.append(value)
            if field == b"error":  # llama.cpp writes `error: {...}`
                name = "error"
        return name, b"\n".join(data)

    def _with_plain_newlines(self, data: bytes) -> bytes:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]  # the CR of this CR LF came in the previous read and became a newline there
        elif not data:
            return data
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


EVENT_BREAK = EventTokenizer.separator
MOST_AT_ONCE = 64
"""Events that are read in one pass; a limit, since an event of another kind makes part of the pass useless."""


def _is_text(spelled: bytes) -> bool:
    """Returns whether this is one JSON string's inside; a final backslash might escape the closing quote."""
    return EVENT_BREAK not in spelled and not spelled.endswith(b"\\")


class TextEvents:
    """Reads a run of events that differ only in their text in one pass.

    It learns their common beginning and end from an event that was parsed fully.
    """

    def __init__(self) -> None:
        self._ends = (b"", b"")

    def learn(self, piece: bytes, text: str) -> None:
        """Learns from an event that brings only `text`; an event without text ends the run."""
        before, quoted, after = piece.partition(dumps(text)) if text else (b"", b"", b"")
        # Only if the text occurs once, as a field's value, is the part that differs in the next event surely its text.
        is_clear = quoted and quoted not in after and before.rstrip().endswith(b'":')
        self._ends = (before + b'"', b'"' + after) if is_clear else (b"", b"")

    def texts(self, pieces: Sequence[bytes], start: int) -> list[str]:
        """Returns the texts of the run of `pieces` that begins at `start`, none if there is no run.

        Parses all of them as one JSON list, and checks that it has as many texts as the run has pieces.
        """
        before, after = self._ends
        if not before or not pieces[start].startswith(before):
            return []
        # No piece contains an empty line, so BREAK occurs only between pieces: a text with one spans several events.
        run = pieces[start : start + MOST_AT_ONCE]
        joined = EVENT_BREAK.join((*run, before))[len(before) :]
        *spelled, rest = joined.split(after + EVENT_BREAK + before)
        if len(spelled) + rest.count(EVENT_BREAK) < len(run) or b"\\" + after in joined:
            spelled = [*takewhile(_is_text, spelled)]
        with suppress(ValueError):
            texts: list[str] = from_json(b'["%b"]' % b'","'.join(spelled))
            if len(texts) == len(spelled) and {*map(type, texts)} == {str}:
                return texts
        return []


_MARKS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "◁think▷": "◁/think▷",
}
"""The marks of chat templates. Others, such as `<reasoning>`, are written because a prompt asks for them."""


class ThoughtSplitter:
    """Separates the reasoning at the beginning of a text, which may come in pieces, from the answer after it.

    `is_open` says that reasoning has begun and not ended, `is_past` that all further text belongs to the answer.
    """

    def __init__(self) -> None:
        self._held = self._closer = ""
        self._has_thought = self.is_past = False

    @property
    def is_open(self) -> bool:
        return bool(self._closer)

    def feed(self, text: str, *, is_last: bool = False) -> tuple[str, str]:
        """Returns the reasoning and the answer, as far as the text so far decides which is which."""
        if self.is_past:
            return "", text
        self._held += text
        begun = self._held.lstrip()
        if not self._closer and (opener := next(filter(begun.startswith, _MARKS), "")):
            self._held, self._closer = begun.removeprefix(opener).lstrip(), _MARKS[opener]
        if self._closer:
            return self._read_thought(is_last=is_last)
        if not is_last and any(map(str.startswith, _MARKS, repeat(begun))):
            return "", ""
        self.is_past = True
        return "", begun if self._has_thought else self._held

    def _read_thought(self, *, is_last: bool) -> tuple[str, str]:
        thought, closed, after = self._held.partition(self._closer)
        if closed:
            self._held, self._closer, self._has_thought = "", "", True
            more, answer = self.feed(after, is_last=is_last)
            return thought + more, answer
        self.is_past = is_last
        # The end may be the beginning of the closing mark.
        certain = len(thought) if is_last else max(len(thought) - len(self._closer) + 1, 0)
        self._held = thought[certain:]
        return thought[:certain], ""


def separate_thought(message: Message, stop: Stop) -> Message:
    """Returns the message with the reasoning at the beginning of its text as a part of its own.

    Reasoning without an end stays in the text, as the answer or a call is in it, unless a limit cut it.
    """
    place, first = next(((at, part) for at, part in enumerate(message.parts) if isinstance(part, Text)), (0, Text("")))
    splitter = ThoughtSplitter()
    thought, text = splitter.feed(first.text, is_last=True)
    if text == first.text or (splitter.is_open and stop != "length"):
        return message
    both: tuple[Thinking | Text, ...] = (Thinking(thought), replace(first, text=text))
    separated = (part for part in both if part.text.strip())
    return replace(message, parts=(*message.parts[:place], *separated, *message.parts[place + 1 :]))


class StreamReader(ABC):
    """Assembles one answer from the bytes of its stream.

    It builds the body that the server would have sent unstreamed, so that both are decoded in the same way. `bill` is
    the part of that body with the usage received so far. `is_done` means that the rest of the stream needn't be read.
    """

    tokenizer: ClassVar[type[LineTokenizer]] = EventTokenizer
    end_mark: ClassVar[bytes] = b""

    def __init__(self) -> None:
        self.bill: Mapping[str, Any] = {}
        self.is_done = self._has_begun = False
        self._tokens = self.tokenizer()
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._run = TextEvents()
        self._splitter = ThoughtSplitter()

    @property
    def whole(self) -> bool:
        """Returns whether the answer is complete; its usage may still follow."""
        return self.is_done

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def feed(self, data: bytes, events: list[Event] | None = None) -> list[Event]:
        """Returns the events in `data`; adjacent texts may become one event.

        Raises `ProviderError`; the events in `data` before the fault have then been added to `events`, if given.
        """
        return self._collect_events(self._tokens.feed(data), events)

    def close(self, events: list[Event] | None = None) -> list[Event]:
        """Returns the events of the rest that is left when the body has ended."""
        return self._collect_events(self._tokens.close(), events)

    @abstractmethod
    def finish(self) -> ModelResponse:
        """Returns the answer. Raises `ProviderError` if it is incomplete or empty."""

    @abstractmethod
    def _read(self, name: str, event: dict[str, Any], events: list[Event]) -> str:
        """Reads one event. Returns its text if it brings nothing else, so that `TextEvents` can learn from it."""

    def _say(self, text: str, events: list[Event]) -> None:
        if text:
            self._pieces.append(text)
            events.append(TextDelta(text))

    def _say_or_think(self, content: str, events: list[Event]) -> None:
        """Reads content that begins with the model's reasoning if the server doesn't separate it."""
        self._pieces.append(content)
        self._add_deltas(*self._splitter.feed(content), events)

    def _end_content(self, events: list[Event], *, is_cut: bool = False) -> None:
        """Releases content that was held back; reasoning without an end is text, as in `separate_thought`."""
        if not self._splitter.is_past:
            thought, text = self._splitter.feed("", is_last=True)
            self._add_deltas(thought, self.text if self._splitter.is_open and not is_cut else text, events)

    def _add_deltas(self, thought: str, text: str, events: list[Event]) -> None:
        if thought:
            events.append(ThinkingDelta(thought))
        if text:
            events.append(TextDelta(text))

    def _think(self, thought: str, events: list[Event]) -> None:
        if thought:
            self._thoughts.append(thought)
            events.append(ThinkingDelta(thought))

    def _number_call(self, given: str) -> tuple[int, str]:
        """Returns the number and a unique id for a new call, since servers leave ids out or give the same one twice."""
        id_ = given if given and given not in self._numbers else new_id()
        return self._numbers.setdefault(id_, len(self._numbers)), id_

    def _collect_events(self, pieces: list[bytes], events: list[Event] | None) -> list[Event]:
        """Reads all pieces, even those after a fault, since the usage to be billed may be in them."""
        events = [] if events is None else events
        place = 0
        try:
            while place < len(pieces):
                if texts := self._run.texts(pieces, place):
                    self._say("".join(texts), events)
                    place += len(texts)
                    continue
                place += 1
                self._take_piece(pieces[place - 1], events)
        except ProviderError:
            for piece in pieces[place:]:
                with suppress(ProviderError):  # only the first fault is reported
                    self._take_piece(piece, [])
            raise
        return events

    def _take_piece(self, piece: bytes, events: list[Event]) -> None:
        name, payload = self._tokens.event(piece)
        if not payload or self.is_done:
            return
        if payload == self.end_mark:
            self._end_content(events)
            self.is_done = True
            return
        try:
            event = parse_body(payload) if name == "error" else loads(payload)
            if name == "error" or _is_error(event):
                raise error_in_answer(event, "always", self.text)
            self._run.learn(piece, self._read(name, event, events))
            self._has_begun = True
        except UNREADABLE as error:
            raise self._unreadable_payload(payload) from error

    def _unreadable_payload(self, payload: bytes) -> ProviderError:
        return malformed_error(payload, self.text)

    def _cut_error(self) -> ProviderError:
        """Returns the error for a stream that ended before its answer did."""
        tokens = self._tokens
        if self._has_begun or tokens.is_event_stream:
            return cut_error(self.text, tokens.unread)
        return no_answer_error(tokens.unread or tokens.head)


def _is_error(event: Any) -> bool:
    """Returns whether an event reports an error; Google sometimes puts it into a list, vLLM calls its type `object`."""
    first = event[0] if isinstance(event, list) else event
    return first.get("type") == "error" or bool(first.get("error")) or first.get("object") == "error"
