"""Turns providers' error replies and unusable answers into our exceptions, which say whether and when to retry."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import wraps
from operator import attrgetter
from typing import Any

from ..core.errors import Again, BadReply, ConfigError, ContextTooLong, EmptyAnswer, ProviderError, RateLimited, Refused
from ..core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ..core.messages import Part, Text, Thinking
from ..core.redaction import without_keys
from .bodies import dumps, loads

# Decoding a body of an unexpected shape raises these.
UNREADABLE = (AttributeError, LookupError, OverflowError, TypeError, ValueError)
MESSAGE_CHARACTERS = 500  # characters
RAW_BYTES = 500  # bytes
COUNTS = tuple(each.name for each in fields(Usage))
TOKENS = attrgetter(*(name for name in COUNTS if name.endswith("_tokens")))

STATUS_OF = {
    "invalid_request_error": 400, "authentication_error": 401, "invalid_api_key": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "model_not_found": 404, "request_too_large": 413,
    "context_length_exceeded": 400, "exceed_context_size_error": 400, "rate_limit_error": 429,
    "rate_limit_exceeded": 429, "tokens": 429, "requests": 429, "insufficient_quota": 429, "api_error": 500,
    "server_error": 500, "internal_server_error": 500, "timeout_error": 504, "overloaded_error": 529,
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404, "ABORTED": 409, "RESOURCE_EXHAUSTED": 429, "INTERNAL": 500, "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}  # fmt: skip
QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}
WRONG_KEY = {"API_KEY_INVALID"}  # Google sends it with HTTP 400; its gateways give only words
WRONG_KEY_WORDS = r"(?i)\bapi[ _]?key (is )?(not (valid|found)|invalid|expired|missing)"
BLOCKED_KINDS = {"content_filter", "content_policy_violation"}
GARBLED = {"tool_use_failed"}  # Groq can't read the call that the model wrote; the next one may be better
TOO_LONG_CODES = {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
TOO_LONG = (
    r"(?i)context[ _](length|window|size|limit)|(prompt|input|request|context) (is |was )?too (long|large)"
    r"|input token count"
    r"|maximum (number of )?tokens|maximum prompt length|reduce the length of the (messages|prompt)"
)
NO_MONEY = (
    r"(?i)exceeded your current quota|credit balance|insufficient (credits|balance|funds)"
    r"|reached your (\w+ ){1,3}usage limit"
)
PER_DAY = r"(?i)\b(?:per|each|a)[ -]day\b|\bdaily\b|PerDay"
MARKUP = r"(?si)<(style|script)\b.*?</\1>|<[^>]*>"
SPAN = r"\d+(?:\.\d+)?\s*(?:ms|milli|h|m|s)[a-z]*"  # 6s, 250ms, 1m12.5s, 26 seconds
RETRY_IN = rf"(?i)\b(?:try again|retry)\s+(?:in|after)\s+((?:{SPAN}\s*)+)"
PART = r"(?i)(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)[a-z]*?(?=[\d\s]|$)"
SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
WITHHELD: Mapping[Stop, str] = {
    "refusal": "The model refused to answer, without a word.",
    "content_filter": "A content filter held the whole answer back.",
}
WHOLE = frozenset({"type", "block", "part"})  # keys in `extra` of a part of an unknown kind, which counts as content
CONTENT = frozenset({"audio", "images", "function_call"})  # keys in a message's `extra` that hold content


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An API's error reply, read from any of the known shapes. `retry_after` is in seconds."""

    message: str
    kinds: frozenset[str] = frozenset()
    status: int | None = None
    retry_after: float | None = None


def http_error(status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
    """Returns the exception for an HTTP status other than success."""
    in_body = read_error_reply(parse_body(body))
    known = {name.lower(): value for name, value in headers.items()}
    after = _wait_in_headers(known)
    reply = ErrorReply(in_body.message, in_body.kinds, status, in_body.retry_after if after is None else after)
    is_final = known.get("x-should-retry", "").strip().lower() == "false"  # honoured as in OpenAI's SDK
    error = _provider_error(reply, "always" if _may_pass(status) and not is_final else "never")
    error.raw = head(body)
    error.request_id = known.get("x-request-id") or known.get("request-id") or ""
    return error


def error_in_answer(body: Any, again: Again = "once", partial: str = "") -> ProviderError:
    """Returns the exception for an error object that came with HTTP 200 or within a stream."""
    reply = read_error_reply(body)
    passing = reply.status is None or _may_pass(reply.status)
    error = _provider_error(reply, again if passing else "never")
    error.partial = partial
    error.raw = head(dumps(body))
    return error


def cut_error(partial: str, raw: bytes = b"") -> BadReply:
    """Returns the exception for a stream that ended before its last event. `raw` is the start of a broken event."""
    within = raw.strip()
    message = f"The answer was cut after {len(partial)} characters{', within an event' if within else ''}."
    return BadReply(message, again="once" if within else "always", partial=partial, raw=head(raw))


def malformed_error(raw: bytes, partial: str = "") -> BadReply:
    return BadReply("The answer is malformed or truncated JSON.", again="once", partial=partial, raw=head(raw))


def no_answer_error(raw: bytes) -> ProviderError:
    """Returns the exception for HTTP 200 without an answer: nothing, a web page, an error object or other JSON."""
    if not raw.strip():
        return BadReply("The server sent an empty body; is base_url right?", again="once")
    body = parse_body(raw)
    if isinstance(body, Mapping) and ("error" in body or body.get("object") == "error"):
        return error_in_answer(body)
    if isinstance(body, str) and raw.lstrip().startswith(b"{"):
        return malformed_error(raw)
    kind = "a web page" if raw.lstrip()[:1] == b"<" else "no answer of this API"
    start = without_keys(_one_line(head(raw)))[:200]
    return BadReply(f"The server sent {kind}; is base_url right? It begins: {start}", again="once", raw=head(raw))


class _Readable:
    """Turns an `UNREADABLE` exception into the one that `make` returns.

    It is a class because every request and every answer enters it, and `@contextmanager` generators are slower.
    """

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Exception], Exception]) -> None:
        self._make = make

    def __enter__(self) -> None:
        """Opens nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UNREADABLE):
            raise self._make(error) from error


def readable_answer(body: Any) -> _Readable:
    """Turns errors of decoding `body` into an exception that shows how it begins."""
    return _Readable(lambda _: no_answer_error(dumps(body)))


def readable_request(api: str) -> _Readable:
    """Turns errors of decoding a client's body into `ConfigError`."""
    return _Readable(
        lambda error: ConfigError(f"The body is not a valid {api} request: {type(error).__name__}: {error}")
    )


def plausible_usage(decode: Callable[[Mapping[str, Any]], Usage]) -> Callable[[Mapping[str, Any]], Usage]:
    """Wraps a decoder of usage so that broken usage never spoils an answer: it drops unreadable or negative counts."""

    @wraps(decode)
    def read(body: Mapping[str, Any]) -> Usage:
        try:
            usage = decode(body)
        except UNREADABLE:
            return UNKNOWN_USAGE
        if min(TOKENS(usage)) >= 0 and 0 <= (usage.cost_usd or 0.0) < math.inf:
            return usage
        counts = {name: value for name in COUNTS if (value := getattr(usage, name)) is not None}
        return Usage(**{name: value for name, value in counts.items() if 0 <= value < math.inf})

    return read


def read_error_reply(body: Any) -> ErrorReply:
    """Reads `{"error": {...} or "text"}`, `[{"error": ...}]`, `{"detail": ...}`, `{"message": ...}` and plain text.

    A gateway such as OpenRouter quotes the error of the provider behind it in `metadata`.
    """
    inner = _innermost_body(body)
    if not isinstance(inner, Mapping):
        message = _one_line(str(inner or ""))
        return ErrorReply(message, retry_after=_wait_in_words(message))
    kinds = [str(inner[key]) for key in ("code", "type", "status") if inner.get(key)]
    message = _one_line(str(inner.get("message") or _fault_of_field(inner) or " ".join(kinds) or dict(inner)))
    if upstream := _upstream_reply(inner):
        message, kinds = f"{message}: {upstream.message}", [*kinds, *upstream.kinds]
    details = _objects_in(inner.get("details"))
    kinds += _kinds_in(details)
    after = _delay_in(details)
    after = _wait_in_words(message) if after is None else after
    return ErrorReply(message, frozenset(kinds), _status_of(kinds), after)


def _upstream_reply(inner: Mapping[str, Any]) -> ErrorReply | None:
    match inner.get("metadata"):
        case {"raw": str(raw)} if raw:
            return read_error_reply(parse_body(raw.encode()))
    return None


def _fault_of_field(fault: Mapping[str, Any]) -> str:
    """Reads FastAPI's errors: `{"loc": ["body", "messages"], "msg": "Field required"}`."""
    place = ".".join(map(str, fault["loc"])) if isinstance(fault.get("loc"), list) else ""
    return ": ".join(filter(None, (place, str(fault.get("msg") or ""))))


def _innermost_body(body: Any) -> Any:
    while True:
        match body:
            case [first, *_]:
                body = first
            case {"error": inner} if inner:
                body = inner
            case {"detail": inner} if inner and not body.get("message"):
                body = inner
            case _:
                return body


def head(raw: bytes) -> str:
    return without_keys(raw[:RAW_BYTES].decode("utf-8", "replace"))


def _objects_in(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _kinds_in(details: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the reason and the ids of violated quotas in Google's `details`."""
    for entry in details:
        named = [entry.get("reason"), *(violation.get("quotaId") for violation in _objects_in(entry.get("violations")))]
        yield from (name for name in named if isinstance(name, str))


def _delay_in(details: list[Mapping[str, Any]]) -> float | None:
    delays = (str(entry["retryDelay"]) for entry in details if entry.get("retryDelay"))
    return next((_seconds(delay.removesuffix("s")) for delay in delays), None)


def _provider_error(reply: ErrorReply, again: Again) -> ProviderError:
    status, message = reply.status, without_keys(reply.message)[:MESSAGE_CHARACTERS] or "no reason given"
    text = f"HTTP {status}: {message}" if status else message
    if reply.kinds & BLOCKED_KINDS:
        return Refused(text, status=status)
    if _is_too_long(reply):
        return ContextTooLong(text, status=status)
    if _is_out_of_money(reply):
        return RateLimited(f"{text} (the quota or the credit of this key is used up)", status=status)
    if status == 429:
        return _rate_limit(reply, text, again)
    return _other_error(reply, text, again)


def _other_error(reply: ErrorReply, text: str, again: Again) -> ProviderError:
    if reply.kinds & GARBLED:
        return BadReply(text, again="once", status=reply.status)
    status = 401 if _is_wrong_key(reply) else reply.status
    return ProviderError(text, again=again, status=status, retry_after=reply.retry_after)


def _rate_limit(reply: ErrorReply, text: str, again: Again) -> RateLimited:
    if _is_out_for_today(reply):
        return RateLimited(f"{text} (a quota of a whole day is used up)", status=429)
    return RateLimited(text, again=again, status=429, retry_after=reply.retry_after)


def _may_pass(status: int) -> bool:
    return status in (408, 409, 425, 429, 499) or status >= 500


def _is_too_long(reply: ErrorReply) -> bool:
    if reply.status == 413 or reply.kinds & TOO_LONG_CODES:
        return True
    # OpenAI sends 429 for a request above its whole limit of tokens per minute; some servers send 500.
    return reply.status in (None, 400, 422, 429, 500) and re.search(TOO_LONG, reply.message) is not None


def _is_out_of_money(reply: ErrorReply) -> bool:
    if reply.status == 402 or reply.kinds & QUOTA:
        return True
    return (
        reply.status in (None, 400, 403, 429) and reply.retry_after is None and bool(re.search(NO_MONEY, reply.message))
    )


def _is_wrong_key(reply: ErrorReply) -> bool:
    return bool(reply.kinds & WRONG_KEY) or (reply.status == 400 and bool(re.search(WRONG_KEY_WORDS, reply.message)))


def _is_out_for_today(reply: ErrorReply) -> bool:
    # Google sends a delay of seconds even for a daily quota, whose id decides then. Words count only without a delay.
    in_words = reply.message if reply.retry_after is None else ""
    return any(re.search(PER_DAY, words) for words in (*reply.kinds, in_words))


def _status_of(kinds: list[str]) -> int | None:
    found: Iterator[int | None] = (int(kind) if kind.isdecimal() else STATUS_OF.get(kind) for kind in kinds)
    return next((status for status in found if status and 400 <= status < 600), None)


def parse_body(body: bytes) -> Any:
    """Decodes a JSON body; returns the text of any other, such as a web page, without its markup."""
    try:
        return loads(body)
    except ValueError:
        return re.sub(MARKUP, " ", body[:20_000].decode("utf-8", "replace"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _wait_in_headers(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds in `retry-after-ms` or `retry-after` (lower-case names), or None if neither is usable."""
    if (milliseconds := _seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    if (seconds := _seconds(value)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    left = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
    return left if left > 0 else None


def _wait_in_words(message: str) -> float | None:
    """Reads seconds in "try again in 1m12.5s" (OpenAI, Groq), "retry in 12.3s" (Google), "after 26 seconds" (Azure)."""
    match = re.search(RETRY_IN, message)
    return sum(float(number) * SECONDS[unit.lower()] for number, unit in re.findall(PART, match[1])) if match else None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def require_content(response: ModelResponse, reason: str = "") -> ModelResponse:
    """Returns the response if it has content besides thinking, and raises `ProviderError` otherwise.

    `reason` is the provider's own explanation of an empty answer.
    """
    message = response.message
    if any(map(_is_content, message.parts)) or _has(CONTENT, message.extra):
        return response
    if response.stop in WITHHELD:
        error: ProviderError = Refused(reason or WITHHELD[response.stop])
    elif response.stop == "length":
        error = _length_error(response)
    else:
        error = empty_answer("the model thought, and then said nothing") if message.thinking else empty_answer()
    error.response = response
    raise error


def empty_answer(after: str = "no text, no tool call") -> EmptyAnswer:
    return EmptyAnswer(f"The answer is empty: {after}.", again="once")


def _length_error(response: ModelResponse) -> EmptyAnswer:
    """Returns an error without a retry, since the same limit would cut the answer again."""
    tokens = response.usage.output_tokens
    limit = f"the limit of {tokens} tokens" if tokens else "the token limit"
    thought = response.message.thinking or response.usage.reasoning_tokens
    cause = f"thinking used up {limit}" if thought else f"{limit} was reached before the first word"
    return EmptyAnswer(f"The answer is empty: {cause}. Raise max_tokens or lower reasoning.")


def _is_content(part: Part) -> bool:
    if isinstance(part, Text):
        return (bool(part.text) and not part.text.isspace()) or _has(WHOLE, part.extra)
    return not isinstance(part, Thinking)


def _has(names: frozenset[str], extra: Mapping[str, Any]) -> bool:
    return any(names & fields.keys() for fields in extra.values())
