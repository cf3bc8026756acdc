"""Requests to a model, its responses, and their usage: as reported, and as estimated before."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .messages import (
    Document,
    Image,
    Message,
    Part,
    PrefixCache,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    extra_fields,
    file_of,
)

T = TypeVar("T")
Stop = Literal["end", "length", "stop_sequence", "tool_calls", "refusal", "content_filter", "pause"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `schema` is the JSON Schema of its arguments object.

    `writes` says that a call may change something. `guide` is a text for the system prompt, once for all tools that
    share it. `encoded` caches its bytes by the name of the wire format.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}}, hash=False)
    extra: Mapping[str, Any] = extra_fields()
    writes: bool = False
    guide: str = ""
    encoded: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON Schema of an object with exactly these properties."""
    return {"type": "object", "properties": dict(properties), "required": [*properties], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Wants:
    """The parts of an answer that the caller uses, so that a client can skip the rest.

    `stream`: pieces of the answer as they arrive, because somebody reads along or may cut it short. `drafts`: also
    pieces of what may never become the answer. `each_warning`: a warning with every request, not only the first.
    `can_shorten`: the error of a request that is too long, since the caller sends a shorter one, which costs no help.
    """

    stream: bool = True
    drafts: bool = True
    each_warning: bool = False
    can_shorten: bool = False


EVERYTHING = Wants()
WHOLE_ANSWER = Wants(stream=False, drafts=False)


@dataclass(frozen=True, slots=True)
class RawBody:
    """A request body as a client sent it: `data` is all of it, `fields` its fields, the largest of them undecoded JSON.

    `api` is the name of the API in our server; `headers` are those that belong to the request. `made` caches what was
    built from the fields other than the messages, for all bodies that have the same ones.
    """

    api: str
    data: bytes
    fields: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Returns what `read` makes of the fields other than the messages, cached under `key`."""
        if key not in self.made:
            self.made[key] = read(self.fields)
        made: T = self.made[key]
        return made


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model.

    `tool_choice` is "auto", "none", "required" or the name of the one tool to call. `output_schema` is the JSON Schema
    that the answer must fit. `options` are the sampling parameters under the names of the discussion YAML (`temperature
    max_tokens top_p seed stop reasoning num_ctx ...`); unset ones are left to the provider. `wants` is what the caller
    uses of the answer. `raw` is the body as it came, to pass on to an upstream of the same API; `dataclasses.replace`
    drops it, because it would no longer match.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    output_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = extra_fields()
    wants: Wants = field(default=EVERYTHING, compare=False, kw_only=True)
    raw: RawBody | None = field(default=None, init=False, repr=False, compare=False)

    def with_messages(self, messages: tuple[Message, ...], system: str | None = None) -> "ModelRequest":
        """Returns the request with other messages, in a tenth of the time that `replace` takes."""
        return ModelRequest(
            messages,
            self.system if system is None else system,
            self.tools,
            self.tool_choice,
            self.output_schema,
            self.options,
            extra=self.extra,
            wants=self.wants,
        )


class UnreadRequest(ModelRequest):
    """A request of which only `raw`, `options` and `wants` are known until another field is accessed.

    That field is parsed by `read`, once, since parsing a long conversation takes longer than passing it on. `read`
    raises `ConfigError` for a body that is not a valid request.
    """

    __slots__ = ("_read",)
    _UNREAD = ("messages", "system", "tools", "tool_choice", "output_schema", "extra")

    @classmethod
    def of(
        cls, raw: RawBody, read: Callable[[], ModelRequest], options: Mapping[str, Any], wants: Wants
    ) -> "UnreadRequest":
        unread = cls.__new__(cls)
        for name, value in (("raw", raw), ("options", options), ("wants", wants), ("_read", read)):
            object.__setattr__(unread, name, value)
        return unread

    if not TYPE_CHECKING:  # a `__getattr__` would make every attribute valid to a type checker

        def __getattr__(self, name: str) -> Any:
            """Reads the request; Python calls this only for slots that have no value yet."""
            if name not in self._UNREAD:
                raise AttributeError(name)
            read = self._read()
            for each in self._UNREAD:
                object.__setattr__(self, each, getattr(read, each))
            return getattr(read, name)


DOLLAR_DIGITS = 12
"""Decimals of sums of dollars: more than any price has, and none of the noise of binary fractions."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and dollars. `input_tokens` includes cached ones; `cost_usd` is None if no price is known.

    A sum is `estimated` if any part was not reported. `cache_hour_tokens` are those of `cache_write_tokens` that are
    kept for an hour, which costs more.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = field(default=False, compare=False)
    cache_hour_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Adds field by field; an unknown cost makes the sum unknown. Start from `NOTHING_USED`."""
        return other if self is NOTHING_USED else self._add(other, 1, estimated=self.estimated or other.estimated)

    def __sub__(self, part: "Usage") -> "Usage":
        """Returns a sum without one of its parts; an unknown cost stays unknown."""
        return self._add(part, -1, estimated=self.estimated)

    def _add(self, other: "Usage", times: int, *, estimated: bool) -> "Usage":
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            self.input_tokens + times * other.input_tokens,
            self.output_tokens + times * other.output_tokens,
            self.cache_read_tokens + times * other.cache_read_tokens,
            self.cache_write_tokens + times * other.cache_write_tokens,
            self.reasoning_tokens + times * other.reasoning_tokens,
            None if unknown else round((self.cost_usd or 0.0) + times * (other.cost_usd or 0.0), DOLLAR_DIGITS),
            estimated,
            self.cache_hour_tokens + times * other.cache_hour_tokens,
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


NOTHING_USED = Usage(cost_usd=0.0)
UNKNOWN_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One answer. `steps` are the messages with the tool calls and results that led to it, however nested.

    `others` is the usage, by name, of models that the provider itself consulted; `usage` does not include it. `id` is
    the provider's id of the answer, empty if it has none.
    """

    message: Message
    steps: tuple[Message, ...] = ()
    stop: Stop = "end"
    usage: Usage = UNKNOWN_USAGE
    model: str = ""
    extra: Mapping[str, Any] = extra_fields()
    others: tuple[tuple[str, Usage], ...] = field(default=(), kw_only=True)
    id: str = field(default="", kw_only=True, compare=False)

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self.message.tool_calls

    @property
    def used_tools(self) -> bool:
        return any(step.tool_calls for step in self.steps)


CHARACTERS_PER_TOKEN = 3.6
TOKENS_PER_MESSAGE = 6
_CACHE_KEY = "tokens"
TOKENS_PER_IMAGE = 1_200
"""Used when the size of a picture is unknown."""
TOKENS_PER_SECOND = 300
"""Tokens per second of video."""
_PATCH = 28


def _patches(width: int, height: int) -> int:
    return ceil(width / _PATCH) * ceil(height / _PATCH)


@dataclass(frozen=True, slots=True)
class FileTokens:
    """The token counts of files for a model: a picture by its width and height in pixels, a PDF by the page.

    The defaults follow Anthropic: one token for each 28x28 patch
    (platform.claude.com/docs/en/build-with-claude/vision), and for each page 1,500 to 3,000 plus a picture of it.
    """

    picture: Callable[[int, int], int] = _patches
    page: int = 3_000


USUAL_FILES = FileTokens()


def estimate_text(text: str, characters_per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Returns the estimate, rounded up. Characters beyond Latin count one token each, the usual worst case."""
    beyond_ascii = 0 if text.isascii() else sum(character > "\u024f" for character in text)
    return int((len(text) - beyond_ascii) / characters_per_token + beyond_ascii) + 1 if text else 0


def estimate_message(
    message: Message, characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    """Returns the estimated tokens of a message; with the default settings it is computed once per message."""
    if files is not USUAL_FILES or characters_per_token != CHARACTERS_PER_TOKEN:
        return estimate_parts(message.parts, characters_per_token, files) + TOKENS_PER_MESSAGE
    # Conversations send the same messages again in every turn, so the estimate is kept next to the encoded bytes.
    if _CACHE_KEY not in message.encoded:
        message.encoded[_CACHE_KEY] = b"%d" % (estimate_parts(message.parts) + TOKENS_PER_MESSAGE)
    return int(message.encoded[_CACHE_KEY])


def estimate_request(
    request: ModelRequest, characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    """Returns the tokens that a model has to read: system prompt, tools, messages, and files by its own count."""
    tokens = sum(estimate_message(message, characters_per_token, files) for message in request.messages)
    return _estimate_fixed(request, characters_per_token) + tokens


class TokenEstimator:
    """Estimates requests as `estimate_request` does, but looks only at the new messages of a growing conversation."""

    def __init__(self) -> None:
        self._message_tokens = PrefixCache(0, lambda tokens, new: tokens + sum(map(estimate_message, new)))

    def estimate(self, request: ModelRequest) -> int:
        return _estimate_fixed(request, CHARACTERS_PER_TOKEN) + self._message_tokens.value(request.messages)


def _estimate_fixed(request: ModelRequest, characters_per_token: float) -> int:
    tools = "".join(f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools)
    return estimate_text(request.system + tools, characters_per_token)


def estimate_parts(
    parts: Iterable[Part], characters_per_token: float = CHARACTERS_PER_TOKEN, files: FileTokens = USUAL_FILES
) -> int:
    return sum(_estimate_part(part, characters_per_token, files) for part in parts)


def _estimate_part(part: Part, characters_per_token: float, files: FileTokens) -> int:
    match part:
        case Text(text) | Thinking(text):
            return estimate_text(text, characters_per_token)
        case ToolCall(name, arguments):
            return estimate_text(f"{name}{dict(arguments)}", characters_per_token)
        case ToolResult(_, parts):
            return estimate_parts(parts, characters_per_token, files)
        case Image():
            width, height = file_of(part).get("size", (0, 0))
            return files.picture(width, height) if width else TOKENS_PER_IMAGE
        case Document():
            known = file_of(part)
            as_read = known.get("pages", 0) * files.page + int(known.get("seconds", 0) * TOKENS_PER_SECOND)
            return as_read or len(part.data) // 4
