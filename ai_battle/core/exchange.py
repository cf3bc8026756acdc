"""What goes to a model and what comes back."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .messages import Message, ToolCall, extra_fields

T = TypeVar("T")
Stop = Literal["end", "length", "stop_sequence", "tool_calls", "refusal", "content_filter", "pause"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `schema` is the JSON Schema of its arguments object.

    `writes` says that a call may change something. `encoded` is where a wire keeps the bytes of this tool, by the
    wire's name, for every later request.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}}, hash=False)
    extra: Mapping[str, Any] = extra_fields()
    writes: bool = False
    encoded: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Wants:
    """Says what the caller of a model makes use of, so that whoever answers may save itself the rest.

    `stream`: the answer piece by piece as it comes, because somebody reads along or may cut it short. `drafts`: also
    pieces of what may never become the answer. `each_warning`: a warning with every request that it concerns, not once.
    """

    stream: bool = True
    drafts: bool = True
    each_warning: bool = False


EVERYTHING = Wants()
WHOLE_ANSWER = Wants(stream=False, drafts=False)


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body as a client sent it: `data` is all of it, `fields` its fields, of which the largest are JSON still.

    `api` is the name under which servers speak the API; `headers` are those that belong to the request. `made` is what
    was made of the fields beside the messages, for all bodies that have the same.
    """

    api: str
    data: bytes
    fields: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def once(self, key: Hashable, read: Callable[[Mapping[str, Any]], T]) -> T:
        """Returns what `read` makes of the fields beside the messages; `key` names it."""
        if key not in self.made:
            self.made[key] = read(self.fields)
        made: T = self.made[key]
        return made


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model.

    `tool_choice` is "auto", "none", "required" or the name of the one tool to call. `output_schema` is the JSON
    Schema that the answer must fit. `options` are the sampling parameters under the names of the discussion YAML
    (`temperature max_tokens top_p seed stop reasoning num_ctx ...`); those that are not set are left to the provider.
    `wants` is no part of the question: it says what of the answer the caller makes use of. `raw` says the same as the
    other fields, for an upstream that speaks the API in which the request came; `replace` makes a request without it.
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
        """The same with these messages, in a tenth of the time that `replace` takes."""
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
    """A request of which only `raw`, `options` and `wants` are known until somebody looks at the rest.

    Then `read` reads it, once: reading takes longer than all else that happens to a long conversation that is passed
    on. It raises `ConfigError` for a body that no request can be made of.
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Python calls this for a field that has no value yet."""
            if name not in self._UNREAD:
                raise AttributeError(name)
            read = self._read()
            for each in self._UNREAD:
                object.__setattr__(self, each, getattr(read, each))
            return getattr(read, name)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and dollars. `input_tokens` counts cached ones too; `cost_usd` is None where no price is known.

    Of a sum with anything in it that was not reported, `estimated` is true. `cache_hour_tokens` are those of
    `cache_write_tokens` that were written to be kept for an hour, which costs more.
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
        """Sums field by field; a sum with an unknown cost is unknown. Start from `NOTHING_USED`."""
        if self is NOTHING_USED:
            return other
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
            self.estimated or other.estimated,
            self.cache_hour_tokens + other.cache_hour_tokens,
        )

    def __sub__(self, part: "Usage") -> "Usage":
        """Returns what is left of a sum without one of its parts; the rest of an unknown cost is unknown."""
        unknown = self.cost_usd is None or part.cost_usd is None
        return Usage(
            self.input_tokens - part.input_tokens,
            self.output_tokens - part.output_tokens,
            self.cache_read_tokens - part.cache_read_tokens,
            self.cache_write_tokens - part.cache_write_tokens,
            self.reasoning_tokens - part.reasoning_tokens,
            None if unknown else (self.cost_usd or 0.0) - (part.cost_usd or 0.0),
            self.estimated,
            self.cache_hour_tokens - part.cache_hour_tokens,
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


NOTHING_USED = Usage(cost_usd=0.0)
UNKNOWN_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One answer. `steps` are the messages with tool calls and results on the way to it, however deep they happened.

    `others` is what other models have used that the provider asked for it, by their names; `usage` is without it. `id`
    is what the provider calls the answer, empty where it has no such name.
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
