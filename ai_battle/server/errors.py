"""Requests that are refused, and how errors are shown to clients."""

import re
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from ipaddress import ip_address
from math import ceil
from types import MappingProxyType

from ..core.errors import (
    AIBattleError,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    ProviderError,
    RateLimited,
    Refused,
    TimedOut,
)
from ..wire.blocks import Failure

ADDRESS = re.compile(r"( at )?\bhttps?://(?:[^\s/@]{1,200}@)?(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d+)?(?:/[^\s\"'<>()]*)?")
BARE_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]{2,40}\]|(?<![\w.-])[\w-]+(?:\.[\w-]+)*):\d{1,5}\b")
VERSION = re.compile(r"\b((?!HTTP/)[A-Za-z][A-Za-z-]{1,30})/\d+(?:\.\d+)+[\w.-]*")
WITHHELD = "(an address of this server's)"
NO_RETRY = {"x-should-retry": "false"}


class Denied(AIBattleError):
    """A request that this server refuses itself, with an HTTP `status` and `headers`; `kind` is that of a `Failure`.

    `retry_after` is in seconds.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "",
        retry_after: float | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after = retry_after
        self.headers = headers


class NoRoute(ConfigError):
    """No route has the name of the model that a client asked for."""


# In order: an error gets the status of the first kind that it is an instance of.
STATUSES: Mapping[type[AIBattleError], int] = {
    NoRoute: 404, ConfigError: 400, BudgetExceeded: 429, RateLimited: 429, TimedOut: 504, Refused: 400,
    ProviderError: 502, AIBattleError: 500,
}  # fmt: skip
# An upstream's statuses that mean the same to our client.
CLIENT_STATUSES = frozenset((400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529))
TOO_LONG = "prompt is too long"  # the phrase at which agents compact their history


class Crashed(AIBattleError):
    """A bug in this program; its cause says where."""


class ClientDisconnected(AIBattleError):
    """The client has disconnected, so nothing can be sent."""


class BrokenStream(AIBattleError):
    """The part of a stream that a client has read turned out to be no answer, and cannot be taken back.

    It is not a `ProviderError`, so that no strategy takes it for a helper's failure and continues.
    """

    def __init__(self, cause: ProviderError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def client_failure(error: AIBattleError) -> Failure:
    """Returns the error as a client of an API can handle it."""
    match error:
        case BrokenStream(cause=cause):
            return client_failure(cause)
        case ContextTooLong():
            words = str(error)
            return Failure(400, words if TOO_LONG in words.lower() else f"{TOO_LONG}: {words}", "context")
        case Denied():
            return Failure(error.status, str(error), error.kind)
    return Failure(_status(error), str(error), _kind(error))


def _status(error: AIBattleError) -> int:
    if isinstance(error, ProviderError) and error.status in CLIENT_STATUSES:
        return error.status
    return next(status for kind, status in STATUSES.items() if isinstance(error, kind))


def _kind(error: AIBattleError) -> str:
    if isinstance(error, ConfigError) and error.about == "previous_response_id":
        return "previous_response"
    return "budget" if retry_headers(error) is NO_RETRY else ""


def without_addresses(text: str, upstreams: Container[str]) -> str:
    """Removes addresses and software versions from an upstream's error, so that a client may read it.

    Links to web pages stay, unless they lead to one of `upstreams` (host names).
    """

    def withhold(found: re.Match[str]) -> str:
        at, host = found[1], found[2]
        if not _is_ours(host, upstreams):
            return found[0]
        end = found[0][len(found[0].rstrip(".,;:!?")) :]
        return end if at else WITHHELD + end

    text = ADDRESS.sub(withhold, text)
    text = BARE_ADDRESS.sub(lambda found: WITHHELD if _is_ours(found[1], upstreams) else found[0], text)
    return VERSION.sub(r"\1", text)


def with_requested_name(text: str, models: Iterable[str], requested: str) -> str:
    """Replaces the names of the `models` behind a route by the name that a client asked for."""
    names = {spelled for name in models for spelled in (name, name.partition("/")[2]) if not spelled.isalpha()}
    known = "|".join(map(re.escape, sorted(names - {""}, key=len, reverse=True)))
    if not known:
        return text
    return re.sub(rf"(?<![\w/.:-])(?:{known})(?![\w/-]|[.:]\w)", lambda _: requested or "the model", text)


def _is_ours(host: str, upstreams: Container[str]) -> bool:
    """Checks whether a host is an upstream's, or a name that only this network can resolve."""
    bare = host.strip("[]").lower()
    with suppress(ValueError):
        return bool(ip_address(bare))
    return bare in upstreams or bare == "localhost"


def retry_headers(error: AIBattleError) -> dict[str, str]:
    """Returns headers saying when to retry, if known, and whether to: an exhausted budget does not come back."""
    match error:
        case BudgetExceeded() | RateLimited(retry_after=None, again="never"):
            return NO_RETRY
        case Denied(retry_after=wait, headers=headers):
            return {**headers, **_retry_after(wait)}
        case ProviderError(retry_after=wait):
            return _retry_after(wait)
    return {}


def _retry_after(wait: float | None) -> dict[str, str]:
    """Returns whole seconds as HTTP requires, and the exact value in the header that these APIs' clients prefer."""
    if wait is None:
        return {}
    exactly = {} if wait == ceil(wait) else {"retry-after-ms": f"{wait * 1000:.0f}"}
    return {"retry-after": f"{ceil(wait)}", **exactly}
