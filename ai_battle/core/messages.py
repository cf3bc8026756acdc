"""What is said: a message and the parts that it is made of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Generic, Literal, TypeVar

Role = Literal["system", "user", "assistant", "tool"]
T = TypeVar("T")


def extra_fields() -> Any:
    """Fields that only one API knows, `{wire: {name: value}}`; written back to that wire alone."""
    return field(default_factory=dict, repr=False, hash=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as bytes, or by `url` when `data` is empty."""

    media_type: str
    data: bytes = field(default=b"", repr=False)
    url: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Document:
    """A file that a model reads as such (a PDF), as bytes, or by `url` when `data` is empty."""

    media_type: str
    data: bytes = field(default=b"", repr=False)
    url: str = ""
    name: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning text; `signature` is what its provider wants back untouched."""

    text: str
    signature: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A wish to run a tool. `arguments` that were no JSON object are empty, with the raw text in `malformed`."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    id: str = ""
    malformed: str = ""
    extra: Mapping[str, Any] = extra_fields()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to `call`: text, images and files."""

    call: ToolCall
    parts: tuple["Text | Image | Document", ...] = ()
    is_error: bool = False
    extra: Mapping[str, Any] = extra_fields()

    @property
    def text(self) -> str:
        return join_text(self.parts)


FILE_KINDS = frozenset({"images", "documents", "video"})
"""The kinds of files that some models are sent as they are."""
Part = Text | Image | Document | Thinking | ToolCall | ToolResult


def file_of(part: Part) -> Mapping[str, Any]:
    """Returns what is known of the file that a part was read from; empty for any other part.

    `name`, `kind` and `about` say which file it is; `size` (pixels), `pages` and `seconds` how much there is to read;
    `text` is what to read in place of a PDF. Parts with a `form` stand for one another: a model that reads the file as
    it is ("native") takes those, any other one the "plain" ones. `resend` is what its user wants of later requests.
    """
    known: Mapping[str, Any] = part.extra.get("file", {})
    return known


def join_text(parts: Iterable[Part]) -> str:
    return "".join([part.text for part in parts if isinstance(part, Text)])


@dataclass(frozen=True, slots=True)
class Message:
    """One contribution. `speaker` is the participant's name, empty where nobody in particular speaks.

    `encoded` is where a wire keeps the bytes of this message, by the wire's name: a message never changes, so it
    is encoded once and its bytes serve every later request.
    """

    role: Role
    parts: tuple[Part, ...]
    speaker: str = ""
    extra: Mapping[str, Any] = extra_fields()
    encoded: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The text parts alone, joined without a separator."""
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
    """Computes a value of messages; of those that the request before began with too, it is known already.

    `extend` returns the value with further messages. The last message of a request is not kept, since a note may stand
    at its end for this one request. One talk is kept, so it serves a client that has one.
    """

    def __init__(self, empty: T, extend: Callable[[T, tuple[Message, ...]], T]) -> None:
        self._extend = extend
        self._empty = self._value = empty
        self._prefix: tuple[Message, ...] = ()

    def value(self, messages: tuple[Message, ...]) -> T:
        # The very same messages, not equal ones: 1 and True are equal, and are written differently.
        if len(self._prefix) >= len(messages) or not all(map(is_, self._prefix, messages)):
            self._prefix, self._value = (), self._empty
        self._value = self._extend(self._value, messages[len(self._prefix) : -1])
        self._prefix = messages[:-1]
        return self._extend(self._value, messages[-1:])
