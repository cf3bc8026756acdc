"""What can go wrong between a client and a provider, by name; `FAULTS` lists them all."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..core.plugins import near
from . import _spoiling as spoil
from ._answers import FOR_EVER, Answer, Break
from ._spoiling import Scene
from .replies import Reply

_HOUR = 3600.0
_CUT = Reply("An answer that was on its way when the fault came; nobody shall take its first half for all of it.")
_REFUSAL = Reply("I can't help with that.", stop="refusal")
_STATUSES = {
    400: "The request is refused as invalid.",
    401: "The key is not accepted.",
    403: "The key may not do this.",
    404: "There is no such model.",
    408: "The provider gave up waiting for the request.",
    409: "The request is in conflict with another one.",
    413: "The request is too large.",
    422: "The request can't be processed.",
    425: "The request came too early.",
    429: "Too many requests, without a word on when to come back.",
    500: "The provider has an internal error.",
    502: "The provider's gateway got no answer.",
    503: "The provider is not available.",
    504: "The provider's gateway waited too long.",
    529: "The provider is overloaded.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong, `times` times in a row. `wires` are the APIs that know such a thing.

    `seconds` are those of `Retry-After` or between two bytes, where a fault has such; `reply` is the answer that it
    spoils.
    """

    name: str
    sentence: str
    answer: Callable[[Scene], Answer]
    wires: tuple[str, ...] = ("openai", "anthropic", "ollama", "gemini")
    times: int = 1
    seconds: float | None = None
    reply: Reply = _CUT


def fault(name: str | int, times: int = 1, *, seconds: float | None = None, reply: Reply | None = None) -> Fault:
    """The fault of that name or HTTP status, to be put among replies: `says(fault("http_503", times=2), "Hello")`."""
    name = f"http_{name}" if isinstance(name, int) else name
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}{near(name, list(FAULTS))}")
    found = FAULTS[name]
    return replace(found, times=times, seconds=seconds, reply=reply or found.reply)


def _statuses() -> Iterable[Fault]:
    for status, sentence in _STATUSES.items():
        yield Fault(f"http_{status}", f"HTTP {status}: {sentence}", spoil.error(status=status))
    yield Fault("rate_limited", "HTTP 429 with `Retry-After: 1`.", spoil.rate_limited(spoil.after(1.0)))
    yield Fault("rate_limited_long", "HTTP 429 with `Retry-After: 3600`.", spoil.rate_limited(spoil.after(_HOUR)))
    yield Fault("rate_limited_date", "HTTP 429 until a moment in 2 seconds.", spoil.rate_limited(spoil.at(2.0)))
    yield Fault("rate_limited_past", "HTTP 429 until a moment an hour ago.", spoil.rate_limited(spoil.at(-_HOUR)))
    yield Fault("rate_limited_nan", "HTTP 429 with `Retry-After: nan`.", spoil.rate_limited(lambda _: "nan"))


def _refusals() -> Iterable[Fault]:
    yield Fault("insufficient_quota", "The account's quota or credit is used up.", spoil.error("quota"))
    yield Fault("daily_quota", "The quota of a day is used up.", spoil.error("daily_quota"), ("gemini",))
    yield Fault("wrong_key", "HTTP 400: The key is not accepted.", spoil.error("wrong_key"), ("gemini",))
    yield Fault("context_length", "The request does not fit the context window.", spoil.error("context_length"))
    yield Fault("tools_unsupported", "The model can't use tools.", spoil.error("tools_unsupported"))
    yield Fault("parameter_refused", "The model takes no such sampling parameter.", spoil.error("parameter_refused"))
    yield Fault("refusal", "The model declines to answer.", spoil.says(_REFUSAL), ("openai", "anthropic", "gemini"))
    filtered = Reply("A first half that", stop="content_filter")
    yield Fault("content_filter", "A filter ends the answer.", spoil.says(filtered), ("openai", "gemini"))
    cut = Reply("An answer that is longer than", stop="length")
    yield Fault("length", "The answer ends at the token limit.", spoil.says(cut))


def _connections() -> Iterable[Fault]:
    half = spoil.half_then
    yield Fault("stall_before_headers", "The request is taken and never answered.", spoil.only(FOR_EVER))
    yield Fault("stall_after_headers", "The headers come, and then nothing.", spoil.only(b"", FOR_EVER))
    yield Fault("stall_mid_stream", "The first half comes, and then nothing.", half(FOR_EVER))
    yield Fault("reset_before_headers", "The connection is reset (RST) before an answer.", spoil.only(Break.RESET))
    yield Fault("reset_mid_stream", "The connection is reset (RST) in mid-answer.", half(0.05, Break.RESET))
    yield Fault("close_before_headers", "The connection is closed (FIN) before an answer.", spoil.only(Break.CLOSE))
    yield Fault("close_mid_stream", "The connection is closed (FIN) in mid-answer.", half(Break.CLOSE))
    yield Fault("end_mid_stream", "The body ends in mid-answer as if it were whole.", spoil.ends_in_the_middle)
    yield Fault("slow_drip", "The answer comes byte by byte, five a second.", spoil.drip)
    yield Fault("ping_for_ever", "Signs of life come, and never an answer.", spoil.pings)
    yield Fault("redirect_same_origin", "HTTP 307 to another path of the same server.", spoil.redirect)
    yield Fault("redirect_other_origin", "HTTP 307 to another server.", spoil.redirect_elsewhere)


def _bodies() -> Iterable[Fault]:
    yield Fault("error_event_mid_stream", "An error comes in the midst of a 200.", spoil.error_event)
    yield Fault("error_200", "An error object comes with status 200.", spoil.error_object)
    yield Fault("truncated_json", "The JSON ends before its end.", spoil.truncated)
    yield Fault("malformed_json", "The JSON, or that of one event, is none.", spoil.malformed)
    yield Fault("empty_body", "Nothing comes, with status 200.", spoil.only(b""))
    yield Fault("empty_answer", "A well-formed answer says nothing.", spoil.says(Reply()))
    yield Fault("empty_choices", "A well-formed body has no answer in it.", spoil.hollow)
    yield Fault("invalid_utf8", "A byte of the answer is no UTF-8.", spoil.invalid_utf8)
    yield Fault("html_200", "A web page comes with status 200.", spoil.page(200, b"Welcome"))
    yield Fault("html_502", "A gateway's web page comes with status 502.", spoil.page(502, b"502 Bad Gateway"))
    yield Fault("huge_answer", "The answer is 17 MiB long.", spoil.huge)
    yield Fault("gzip_bomb", "Some KiB of gzip become 32 MiB.", spoil.bomb)
    yield Fault("duplicate_tool_ids", "Two tool calls bear the same id.", spoil.says(spoil.SAME_IDS))
    yield Fault("missing_tool_ids", "Two tool calls bear no id.", spoil.without_ids)


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for group in (_statuses, _refusals, _connections, _bodies) for fault in group()}
)
