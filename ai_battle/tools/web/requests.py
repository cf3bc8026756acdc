"""Fetches pages of the public web, with limits on time, size and redirects. Addresses are checked when connecting."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ...core.errors import ToolError
from .addresses import why_not_public

LONGEST, CHUNK = 4_000, 1 << 16
SCHEME = re.compile(r"\s*[a-zA-Z][a-zA-Z0-9+.-]*:")
REDIRECTS = (301, 302, 303, 307, 308)
AGENT = f"ai-battle/{version('ai-battle')}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one request."""

    seconds: float = 20.0
    size: int = 5 << 20
    redirects: int = 5


USUAL = Bounds()


@dataclass(frozen=True, slots=True)
class Page:
    """The response of an address. `is_cut` says that it was longer than allowed."""

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes = field(repr=False)
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Web:
    """Fetches pages of the public internet, and of the addresses in `allow` ("10.0.0.5", or "10.0.0.5:8080")."""

    allow: frozenset[str] = frozenset()
    bounds: Bounds = USUAL
    resolver: AbstractResolver | None = None

    async def get(self, url: str) -> Page:
        """Returns the page, after redirects. Raises `ToolError` if it may not be reached or does not answer."""
        target = page_url(url)
        filter_ = _ConnectionFilter(self.allow)
        with _network_errors(target, filter_):
            session = _session(filter_.socket_for, self.bounds, self.resolver)
            async with asyncio.timeout(self.bounds.seconds), session:
                return await self._follow(session, target)

    async def _follow(self, session: aiohttp.ClientSession, url: URL) -> Page:
        for _ in range(self.bounds.redirects + 1):
            # Redirects are followed here, so that each target passes the same checks.
            async with session.get(url, allow_redirects=False) as response:
                onward = response.headers.get("location") if response.status in REDIRECTS else None
                if onward is None:
                    return await read(response, self.bounds.size)
                url = _redirect_target(url, onward)
        raise ToolError(f"{url} redirects more than {self.bounds.redirects} times.")


async def ask_service(method: str, url: URL, bounds: Bounds, **request: Any) -> Page:
    """Sends one request to a service that the user has configured, at any address. Redirects are returned."""
    with _network_errors(url, None):
        async with (
            asyncio.timeout(bounds.seconds),
            _session(None, bounds, None) as session,
            session.request(method, url, allow_redirects=False, **request) as response,
        ):
            return await read(response, bounds.size)


async def read(response: aiohttp.ClientResponse, limit: int) -> Page:
    pieces, size = [], 0
    async for piece in response.content.iter_chunked(CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    body = b"".join(pieces)[:limit]
    kind, charset = response.content_type, response.charset or ""
    return Page(str(response.url), response.status, kind, charset, body, is_cut=size > limit)


def page_url(url: str) -> URL:
    """Returns the address to fetch. Raises `ToolError` for other schemes, and for addresses with passwords."""
    try:
        target = URL(url if SCHEME.match(url) else f"https://{url}")
        host = target.host or ""
    except (ValueError, UnicodeError) as error:
        raise ToolError(f"{url!r:.200} is not an address of a page: {error}") from error
    if target.scheme not in ("http", "https") or not host or len(url) > LONGEST:
        raise ToolError(f"{url!r:.200} is not an address of a page; it must begin with https:// or http:// and a host.")
    if target.user is not None or target.password is not None:
        raise ToolError("Addresses with a user name or password in them are not fetched.")
    return target.with_fragment(None)


class _ConnectionFilter:
    """Checks the numeric address at the moment of connecting, so that DNS can't change in between."""

    def __init__(self, allow: frozenset[str]) -> None:
        self.allow = allow
        self.refused = ""

    def socket_for(self, found: Any) -> socket.socket:
        family, kind, protocol, _, (address, port, *_) = found
        if reason := self._why_not(str(address).partition("%")[0], port):
            self.refused = reason
            raise OSError(reason)
        return socket.socket(family, kind, protocol)

    def _why_not(self, address: str, port: int) -> str:
        if address in self.allow or f"{address}:{port}" in self.allow:
            return ""
        if reason := why_not_public(address):
            return f"it leads to {address} ({reason}), and only the public web may be fetched"
        return ""


def _session(
    factory: Callable[[Any], socket.socket] | None, bounds: Bounds, resolver: AbstractResolver | None
) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
        socket_factory=factory, resolver=resolver, force_close=True, use_dns_cache=False, limit=4
    )
    headers: Mapping[str, str] = {"user-agent": AGENT, "accept-language": "en,*;q=0.5"}
    timeout = aiohttp.ClientTimeout(total=bounds.seconds)
    # A proxy from the environment would connect in our place, without the check of the address.
    return aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
    )


def _redirect_target(url: URL, location: str) -> URL:
    try:
        return page_url(str(url.join(URL(location))))
    except ValueError as error:
        raise ToolError(f"{url} redirects to {location!r:.200}, which is not an address.") from error


@contextmanager
def _network_errors(url: URL, filter_: _ConnectionFilter | None) -> Iterator[None]:
    """Turns network errors into sentences about that address."""
    try:
        yield
    except (aiohttp.ClientError, OSError, ValueError) as error:
        reason = filter_.refused if filter_ and filter_.refused else _reason(error)
        raise ToolError(f"{url.origin()}{url.path} was not fetched: {reason}.") from error


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "there is no such host"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not accepted ({error})"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection ({error.strerror or error})"
    return f"{type(error).__name__}: {error}"[:300]
