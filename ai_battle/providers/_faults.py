"""Broken connections as errors of ours, whichever library noticed them."""

import errno
import socket
import ssl
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from ..core.errors import TimedOut, Unreachable

_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}


def connection_fault(error: BaseException, where: str, start: str = "") -> Unreachable:
    """What a library's exception means for the user; `start` is how the server at `where` is started."""
    chain = list(_causes(error))
    if tls := _first(chain, (ssl.SSLError, ssl.CertificateError)):
        return Unreachable(f"{where}: no secure connection: {_tls_reason(tls)}")
    if any("Timeout" in type(cause).__name__ for cause in chain):
        return TimedOut(f"{where}: no connection in time (the connect clock). {start}".rstrip(), again="always")
    if _first(chain, (socket.gaierror,)):
        return Unreachable(f"{where}: no such host. {start or 'Is base_url right?'}", again="always")
    numbers = {cause.errno for cause in chain if isinstance(cause, OSError)}
    if errno.ECONNREFUSED in numbers:
        return Unreachable(f"{where}: nothing listens there (connection refused). {start}".rstrip(), again="always")
    if numbers & _NO_ROUTE:
        return Unreachable(f"{where}: the host can't be reached. {start}".rstrip(), again="always")
    return Unreachable(f"{where}: the connection broke ({_reason(chain)}).", again="always")


@lru_cache
def shown(url: str) -> str:
    """A URL as it may be shown: without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first(chain: Iterable[BaseException], kinds: tuple[type[BaseException], ...]) -> BaseException | None:
    return next((cause for cause in chain if isinstance(cause, kinds)), None)


def _tls_reason(error: BaseException) -> str:
    text = str(error)
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER" in text:
        return "the server speaks plain http; write http:// in base_url."
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("CERTIFICATE_VERIFY_FAILED] ")[2] or text
        return f"{reason}. A certificate authority of your own is named by SSL_CERT_FILE."
    return text


def _reason(chain: Sequence[BaseException]) -> str:
    """What the lowest layer said, in one line; aiohttp's own "400, message:" is no answer of a server."""
    said = (" ".join(str(cause).split()).removeprefix("400, message: ") for cause in reversed(chain))
    return next((text for text in said if text), type(chain[0]).__name__)[:200]
