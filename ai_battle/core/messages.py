"""Messages and the parts that they consist of."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Generic, Literal, TypeVar

Role = Literal["system", "user", "assistant", "tool"]
T = TypeVar("T")


def extra_fields() -> Any:
    """Declares a field for what only one API knows, `{wire: {name: value}}`. It is sent back only to that API."""
    return field(default_factory=dict, repr=False, hash=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as bytes, or by `url` if `data` is empty."""

    media_type: str
    data: bytes = field(default=b"", repr=False)
    url: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Document:
    """A file that models read as it is, such as a PDF: as bytes, or by `url` if `data` is empty."""

    media_type: str
    data: bytes = field(default=b"", repr=False)
    url: str = ""
    name: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning text. Its provider wants `signature` back unchanged."""

    text: str
    signature: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request to run a tool. If the arguments were no JSON object, they are empty and `malformed` is the raw text."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    id: str = ""
    malformed: str = ""
    extra: Mapping[str, Any] = extra_fields()

    @property
    def arguments_text(self) -> str:
        """Returns the arguments as JSON, or as they came if they are malformed."""
        return self.malformed or json.dumps(dict(self.arguments), ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool for `call`: text, images and files."""

    call: ToolCall
    parts: tuple["Text | Image | Document", ...] = ()
    is_error: bool = False
    extra: Mapping[str, Any] = extra_fields()

    @property
    def text(self) -> str:
        return join_text(self.parts)


FILE_KINDS = frozenset({"images", "documents", "video"})
"""The kinds of files that some models accept as they are."""
Part = Text | Image | Document | Thinking | ToolCall | ToolResult


def file_of(part: Part) -> Mapping[str, Any]:
    """Returns what is known of the file that a part was read from; empty for any other part.

    `name`, `kind` and `about` say which file it is; `size` (pixels), `pages` and `seconds` how much there is to read;
    `text` is what to read in place of a PDF. Parts with a `form` are alternatives: a model that reads the file directly
    takes the "native" ones, any other the "plain" ones. `resend` is the user's setting for later requests.
    """
    known: Mapping[str, Any] = part.extra.get("file", {})
    return known


def join_text(parts: Iterable[Part]) -> str:
    return "".join([part.text for part in parts if isinstance(part, Text)])


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `speaker` is the participant's name, or empty.

    `encoded` caches the bytes of this message by the name of the wire format: a message never changes, so it is encoded
    once for all later requests.
    """

    role: Role
    parts: tuple[Part, ...]
    speaker: str = ""
    extra: Mapping[str, Any] = extra_fields()
    encoded: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """Returns the text parts alone, joined without a separator."""
        parts = self.parts
        return parts[0].text if len(parts) == 1 and isinstance(parts[0], Text) else join_text(parts)

    @property
    def thinking(self) -> str:
        return "".join([part.text for part in self.parts if isinstance(part, Thinking)])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])


def user(text: str, speaker: str = "") -> Message:
    return Message("user", (Text(text),), speaker)


def assistant(text: str, speaker: str = "") -> Message:
    return Message("assistant", (Text(text),), speaker)


class PrefixCache(Generic[T]):
    """Computes a value from a request's messages, reusing the result for the prefix shared with the request before.

    `extend` returns the value extended by further messages. The last message of a request is never kept, because a note
    for this one request may be at its end. Only one conversation is remembered, so each client needs its own cache.
    """

    def __init__(self, empty: T, extend: Callable[[T, tuple[Message, ...]], T]) -> None:
        self._extend = extend
        self._empty = self._value = empty
        self._prefix: tuple[Message, ...] = ()

    def value(self, messages: tuple[Message, ...]) -> T:
        # Identity, not equality: 1 == True, but their encodings differ.
        if len(self._prefix) >= len(messages) or not all(map(is_, self._prefix, messages)):
            self._prefix, self._value = (), self._empty
        self._value = self._extend(self._value, messages[len(self._prefix) : -1])
        self._prefix = messages[:-1]
        return self._extend(self._value, messages[-1:])
