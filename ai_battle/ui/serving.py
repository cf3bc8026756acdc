"""Serves the page on loopback, admits only its user, and sets the security headers of all responses."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from ..core.errors import AIBattleError, ConfigChanged, ConfigError, JournalError, NoSuchRecord
from ..core.plugins import translate_errors
from .workspace import FileChanged, NotTrusted

HOST = "127.0.0.1"
LARGEST_BODY = 6_000_000
WRITING = ("POST", "PUT", "DELETE")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ENTRY_PAGE = "<!doctype html><html lang=en><meta http-equiv=refresh content='0;url=/'><title>ai-battle</title>"
NOT_ENTERED = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>ai-battle</title><main><h1>This page needs its key</h1>"
    "<p>Open the address that <code>ai-battle ui</code> has printed last in its terminal. It holds a key that can be "
    "used once; if that was used in another browser, a new one has been printed.</p></main>"
)
AS_PAGE_ERRORS = translate_errors("The page failed; please report it", AIBattleError)


def _new_key() -> str:
    return secrets.token_urlsafe(32)


@dataclass(slots=True)
class PageAccess:
    """Admits whoever has the key in the printed address, once, and afterwards whoever has the cookie.

    Detects a page that points its own name at this machine (DNS rebinding) by the Host header, and one that sends forms
    or scripts here by the Origin header.
    """

    port: int
    say: Callable[[str], object] = field(default=len, repr=False)
    key: str = field(default_factory=_new_key, repr=False)
    session: str = field(default_factory=_new_key, repr=False)

    @property
    def cookie(self) -> str:
        """The cookie's name. Browsers share cookies between ports, so each server has its own."""
        return f"ai_battle_{self.port}"

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/?key={self.key}"

    def refusal(self, http: web.Request) -> str:
        """Returns why a request to any path is refused, or nothing."""
        if http.host not in (f"{HOST}:{self.port}", f"localhost:{self.port}"):
            return "This server answers to 127.0.0.1 and localhost only."
        if http.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and http.path != "/":
            return "Another page has no business here."
        if http.method in WRITING and http.headers.get("Origin") != f"http://{http.host}":
            return "Another page has no business here."
        return ""

    def enter(self, http: web.Request) -> bool:
        """Checks the key and uses it up if it is right."""
        if not self.key or not _is_same(http.query.get("key", ""), self.key):
            return False
        self.key = ""
        return True

    def offer_key(self) -> None:
        """Prints a new address if the last one was used: on the terminal, which only its user reads."""
        if not self.key:
            self.key = _new_key()
            self.say(self.address)

    def knows(self, http: web.Request) -> bool:
        return _is_same(http.cookies.get(self.cookie, ""), self.session)


def _is_same(given: str, wanted: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def guard(keeper: PageAccess) -> Middleware:
    """Returns the middleware that every request passes through. It answers nothing to clients without access."""

    @web.middleware
    async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
        if words := keeper.refusal(request):
            return web.Response(status=403, text=words)
        if request.path == "/" and keeper.enter(request):
            response = web.Response(text=ENTRY_PAGE, content_type="text/html")
            response.set_cookie(keeper.cookie, keeper.session, httponly=True, samesite="Strict", path="/")
            return response
        if not keeper.knows(request):
            if request.path == "/":
                keeper.offer_key()
            return web.Response(status=403, text=NOT_ENTERED, content_type="text/html")
        return await _respond(request, handler)

    return handle


async def _set_rules(http: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


async def _respond(http: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns errors of ours into responses: JSON for the page, text for a person who opens an address."""
    try:
        with AS_PAGE_ERRORS:
            return await _answer(http, handler)
    except AIBattleError as error:
        if not http.path.startswith("/api/"):
            return web.Response(text=str(error), status=_status(error))
        return web.json_response({"error": str(error), **_question(error)}, status=_status(error))


async def _answer(http: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(http)
    except web.HTTPException as refused:
        return web.json_response({"error": refused.text or refused.reason}, status=refused.status)


def _question(error: AIBattleError) -> dict[str, Any]:
    """Returns what the page asks its user, who may want to continue all the same."""
    match error:
        case NotTrusted(code=code, digest=digest):
            return {"code": list(code), "trust": digest}
        case ConfigChanged():
            return {"changed": True}
    return {}


def _status(error: AIBattleError) -> int:
    match error:
        case NoSuchRecord():
            return 404
        case NotTrusted() | ConfigChanged() | FileChanged() | JournalError():
            return 409
        case ConfigError():
            return 400
    return 502


@asynccontextmanager
async def listening(app: web.Application, port: int, say: Callable[[str], object] = len) -> AsyncIterator[PageAccess]:
    """Serves the application on loopback while the block runs. Raises `ConfigError` if the port can't be used.

    `say` receives each further address once the previous one was used.
    """
    keeper = PageAccess(port, say)
    app.middlewares.append(guard(keeper))
    app.on_response_prepare.append(_set_rules)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await _listen(web.TCPSite(runner, HOST, port), port)
        keeper.port = runner.addresses[0][1]
        yield keeper
    finally:
        await runner.cleanup()


async def _listen(site: web.TCPSite, port: int) -> None:
    try:
        await site.start()
    except OSError as error:
        words = f"Can't listen on {HOST}:{port}: {os.strerror(error.errno or 0)}"
        raise ConfigError(f"{words}; stop what listens there, or choose another with --port.") from error


async def serve(
    app: web.Application, port: int, open_page: Callable[[str], object], say: Callable[[str], object]
) -> None:
    """Serves until cancelled. `open_page` receives the first address, which can be used once, `say` each further."""
    async with listening(app, port, say) as keeper:
        open_page(keeper.address)
        await asyncio.Event().wait()
