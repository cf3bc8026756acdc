"""Transports send a request body and return the answer's bytes as they arrive; this one uses aiohttp's connections."""

import asyncio
import errno
import socket
import ssl
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from types import MappingProxyType
from typing import Any, Self, TypeAlias, TypeVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from ..core.errors import BadReply, ConfigError, TimedOut, Unreachable
from ..core.texts import public_url
from ._breaker import loop_resource
from ._names import is_loopback
from ._settings import Access

_NO_WAY = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)
_ERRNOS = {
    **dict.fromkeys(_NO_WAY, "the host can't be reached."),
    errno.ECONNREFUSED: "nothing listens there (connection refused).",
}


def connection_fault(error: BaseException, access: Access) -> Unreachable:
    """Translates a library's exception to an error for the user."""
    where, start, chain = str(access), access.start, list(_causes(error))
    if tls := _first_cause(chain, (ssl.SSLError, ssl.CertificateError)):
        return Unreachable(f"{where}: no secure connection: {_tls_reason(tls)}")
    if any("Timeout" in type(cause).__name__ for cause in chain):
        return TimedOut(f"{where}: no connection in time (the connect clock). {start}".rstrip(), again="always")
    if _first_cause(chain, (socket.gaierror,)):
        return Unreachable(f"{where}: no such host. {start or 'Is base_url right?'}", again="always")
    if text := _errno_text(chain):
        return Unreachable(f"{where}: {text} {start}".rstrip(), again="always")
    if _first_cause(chain, (aiohttp.ClientPayloadError,)):
        return Unreachable(f"{where}: the connection broke in the middle of the answer.", again="always")
    return Unreachable(f"{where}: the connection broke ({_reason(chain)}).", again="always")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_cause(chain: Iterable[BaseException], kinds: tuple[type[BaseException], ...]) -> BaseException | None:
    return next((cause for cause in chain if isinstance(cause, kinds)), None)


def _errno_text(chain: Sequence[BaseException]) -> str:
    return next((_ERRNOS[number] for cause in chain if (number := getattr(cause, "errno", 0)) in _ERRNOS), "")


def _tls_reason(error: BaseException) -> str:
    text = str(error)
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER" in text:
        return "the server speaks plain http; write http:// in base_url."
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("CERTIFICATE_VERIFY_FAILED] ")[2] or text
        return f"{reason}. A certificate authority of your own is named by SSL_CERT_FILE."
    return text


def _reason(chain: Sequence[BaseException]) -> str:
    """Returns the innermost message on one line, without aiohttp's "400, message:", which is not a server's status."""
    texts = (" ".join(str(cause).split()).removeprefix("400, message: ") for cause in reversed(chain))
    return next((text for text in texts if text), type(chain[0]).__name__)[:200]


MOST_BYTES = 16 * 2**20
MOST_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 307, 308})
READ_COMPRESSIONS = frozenset({"gzip", "x-gzip", "deflate"})
COMPRESSIONS = READ_COMPRESSIONS | {"br", "zstd", "compress"}
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_STREAMED_FROM_BYTES = 2**20  # bytes of a body above which aiohttp would warn if it were given as bytes
_PIECE_BYTES = 100  # bytes of an unstreamed body that count as content
_DRAIN_SECONDS = 0.25  # seconds
_LISTENER_SECONDS = 1.0  # seconds
_GZIP_OR_ZLIB = zlib.MAX_WBITS + 32
_GZIP_BEGINS = b"\x1f"
_INFLATED_BYTES = 2**16
Headers: TypeAlias = CIMultiDict[str]
T = TypeVar("T")


class HttpReply:
    """An answer's status and headers, and its decoded bytes as they come; `whole` collects them in `body`.

    As a context it is closed at the end, with the connection unless the answer was read to its end.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        read: Callable[[], Awaitable[bytes]],
        close: Callable[[], Awaitable[None]],
        at_end: Callable[[], bool] = lambda: False,
    ) -> None:
        self.close = close
        self.status = status
        self.headers = headers
        self.body = bytearray()
        self._read = read
        self._at_end = at_end
        self._size = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def more(self) -> bytes:
        """Returns the next bytes, b"" at the end. Raises `Unreachable` if the connection breaks."""
        data = await self._read()
        self._size += len(data)
        if self._size > MOST_BYTES:
            raise BadReply(
                f"The answer is longer than {MOST_BYTES // 2**20} MiB.", raw=data[:500].decode(errors="replace")
            )
        return data

    async def whole(self, mark_content: Callable[[], None] = lambda: None) -> bytes:
        """Returns the whole body, calling `mark_content` for every `_PIECE_BYTES` bytes.

        Leading white space and single bytes are keep-alives and do not count as content. Of an error's body, returns
        what can be read, or why nothing can: its status must not be lost with it.
        """
        marked = 0
        try:
            while not self._at_end() and (data := await self.more()):
                self.body += data if self.body else data.lstrip()
                if len(self.body) - marked >= _PIECE_BYTES:
                    marked = len(self.body)
                    mark_content()
        except (Unreachable, BadReply) as error:
            if self.status < 300:
                raise
            return bytes(self.body) or str(error).encode()
        return bytes(self.body)

    async def rest(self) -> None:
        """Waits briefly for the end of the body after the last event, so that the connection can be reused."""
        if self._at_end():
            return
        with suppress(TimeoutError, Unreachable, BadReply):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while await self.more():
                    pass


class Transport(ABC):
    """Sends requests to `root`, or if that is empty where an SDK sends them. `breaks` are a library's exceptions."""

    access: Access
    root = ""
    breaks: tuple[type[Exception], ...] = (OSError,)

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = NO_HEADERS,
        on_sent: Callable[[], None] = lambda: None,
    ) -> HttpReply:
        """Sends a request, and again where redirects within the same origin lead. The caller closes the reply.

        `on_sent` is called when the server may have begun to read the request, before there is a reply.
        """
        url = self.root + path
        for _ in range(MOST_REDIRECTS + 1):
            url, reply = await self.exchange(method, url, body, headers, on_sent)
            if reply.status not in REDIRECTS:
                return reply
            await reply.close()
            url = _redirect_target(self.access, url, reply.headers)
        raise Unreachable(f"{self.access}: redirects more than {MOST_REDIRECTS} times. Is base_url right?")

    @abstractmethod
    async def exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], on_sent: Callable[[], None]
    ) -> tuple[str, HttpReply]:
        """Sends one request; returns its whole URL and the answer, which the caller closes."""

    async def wait_for(self, work: Awaitable[T]) -> T:
        """Waits for a library; its `breaks` become `Unreachable`."""
        try:
            return await work
        except self.breaks as error:
            raise connection_fault(error, self.access) from error

    @abstractmethod
    async def require_listener(self) -> None:
        """Raises `Unreachable` if a connection is refused at once; passes if that can't be determined."""


def _redirect_target(access: Access, url: str, headers: Mapping[str, str]) -> str:
    """Returns the target of a redirect. Raises `Unreachable` for another origin, which must not get key or request."""
    if not (location := headers.get("location", "")):
        raise Unreachable(f"{access}: redirects, and does not say where to. Is base_url right?")
    try:
        target = URL(url).join(URL(location))
        same = target.origin() == URL(access.url).origin()
    except ValueError:
        raise Unreachable(f"{access}: redirects to {location[:100]!r}, which is not an address.") from None
    if not same:
        raise Unreachable(
            f"{access}: redirects to {public_url(str(target))}; nothing was sent there. Is base_url right?"
        )
    return str(target)


class AiohttpTransport(Transport):
    breaks = (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, OSError, zlib.error)

    def __init__(self, access: Access) -> None:
        base = URL(access.url.rstrip("/"))
        # aiohttp rejects a user in the URL together with an authorization header.
        base = base.with_user(None) if "authorization" in access.headers else base
        self.root = str(base)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=access.settings.deadlines.connect)
        self._proxy = _proxy_for(base)
        through = f"It is reached through {public_url(self._proxy)}, the proxy in your environment; is that right?"
        self.access = replace(access, start=through) if self._proxy else access
        usual = {"content-type": "application/json", "user-agent": "ai-battle", "accept-encoding": "gzip"}
        self._headers = CIMultiDict({**usual, **access.headers})

    async def exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], on_sent: Callable[[], None]
    ) -> tuple[str, HttpReply]:
        mine = _without_empty({**self._headers, **headers}) if headers else self._headers
        response = await self.wait_for(self._request(method, URL(url), body, mine, on_sent))
        protocol = response.connection and response.connection.protocol
        if protocol is not None and response.headers.get("Server") == "llama.cpp":
            protocol.force_close()  # as it does itself after this answer without saying so; the next call would break
        content, encoding = response.content, response.headers.get("content-encoding", "").lower()

        async def close() -> None:
            response.close()

        if encoding in COMPRESSIONS:
            chunks = decompress(encoding, content.iter_any())
            return url, HttpReply(response.status, response.headers, lambda: self.wait_for(anext(chunks, b"")), close)
        return url, HttpReply(
            response.status, response.headers, lambda: self.wait_for(content.readany()), close, content.at_eof
        )

    async def require_listener(self) -> None:
        """Opens a connection and sends nothing. Servers behind a proxy and slow ones are left to the first call."""
        if self._proxy:
            return
        root = URL(self.root)
        try:
            async with asyncio.timeout(_LISTENER_SECONDS):
                _, writer = await asyncio.open_connection(root.host, root.port)
                writer.close()
        except TimeoutError:
            return
        except OSError as error:
            raise connection_fault(error, self.access) from error

    async def _request(
        self, method: str, url: URL, body: bytes, headers: Headers, on_sent: Callable[[], None], *, again: bool = True
    ) -> aiohttp.ClientResponse:
        session = await loop_resource(AiohttpTransport, _session)
        data = BytesIO(body) if len(body) > _STREAMED_FROM_BYTES else body or None
        try:
            return await session.request(
                method, url, data=data, headers=headers, timeout=self._timeout,
                allow_redirects=False, proxy=self._proxy or None, trace_request_ctx=on_sent,
            )  # fmt: skip
        except aiohttp.ClientOSError as error:
            if not again or not isinstance(error.__cause__ or error, aiohttp.ClientConnectionResetError):
                raise
            # The server had closed a pooled connection before the whole request was sent, so it can't have answered.
            return await self._request(method, url, body, headers, on_sent, again=False)


def _without_empty(headers: Mapping[str, str]) -> Headers:
    """Removes empty headers, with which a request cancels the client's own."""
    return CIMultiDict({name: value for name, value in headers.items() if value})


def _session() -> aiohttp.ClientSession:
    """Returns the connection pool of all providers, without a limit, as `connect` timeouts include waiting for it.

    It leaves bodies compressed, as aiohttp fails without their status if it can't decompress them.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=300)
    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(_call_on_sent)
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trace_configs=[tracing]
    )


async def _call_on_sent(_: aiohttp.ClientSession, context: Any, __: aiohttp.TraceRequestHeadersSentParams) -> None:
    context.trace_request_ctx()


async def decompress(encoding: str, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Decompresses a body in small pieces, since a few bytes of it can expand to gigabytes.

    Raises `Unreachable` for an encoding that servers use although nobody asked for it.
    """
    if encoding not in READ_COMPRESSIONS:
        raise Unreachable(f"The answer is compressed with {encoding[:20]}, for which nobody asked.", again="always")
    inflater = None
    async for data in chunks:
        while data:
            if not (inflater := _inflater(inflater, encoding, data)):
                return
            if piece := inflater.decompress(data, _INFLATED_BYTES):
                yield piece
            data = inflater.unconsumed_tail or inflater.unused_data


def _inflater(before: Any, encoding: str, data: bytes) -> Any:
    """Returns what decompresses the data: the one `before`, or another for the next gzip member; None for padding."""
    if before and not before.eof:
        return before
    if before and not data.startswith(_GZIP_BEGINS):
        return None
    # Many servers send "deflate" without zlib's header.
    is_raw = encoding == "deflate" and data[0] & 0x0F != zlib.DEFLATED
    return zlib.decompressobj(-zlib.MAX_WBITS if is_raw else _GZIP_OR_ZLIB)


def _proxy_for(url: URL) -> str:
    """Returns the environment's proxy for this host, "" for this machine itself."""
    host = url.host or ""
    if is_loopback(host) or proxy_bypass(host):
        return ""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    if proxy.startswith("socks"):
        raise ConfigError(
            f"{public_url(proxy)}, the proxy in your environment, speaks SOCKS, which is not supported here. "
            f"Name an HTTP proxy in {url.scheme}_proxy, or list {host} in no_proxy."
        )
    return proxy


@dataclass(frozen=True, slots=True)
class Sdk:
    """An official package, its HTTP library, and `make`, which makes a client if the caller has not brought one.

    `make` gets the package and an SSL context. A `raw` SDK can't send given bytes, so its inner HTTP client is used.
    """

    package: str
    http: str
    make: Callable[[Any, Any], Any]
    raw: bool = False


def open_transport(
    access: Access, sdk: Sdk, key: Mapping[str, str], shared: Mapping[str, str] = NO_HEADERS
) -> Transport:
    """Returns the transport that the settings choose; `key` are the headers with the key, which an SDK adds itself."""
    if not access.settings.through_sdk:
        return AiohttpTransport(access.with_headers({**key, **shared}))
    # Imported at its first use, as few runs go through an SDK.
    made: Transport = import_module(f"{__package__}._sdk").SdkTransport(access.with_headers(shared), sdk)
    return made
