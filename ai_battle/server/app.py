"""The server as an aiohttp application: its addresses, and what happens to a request."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from uuid import uuid4

from aiohttp import web
from pydantic_core import from_json

from ..core.borders import foreign_code
from ..core.errors import AIBattleError, ConfigError, ProviderError
from ..core.events import ignore
from ..core.tokens import estimate_request
from ..wire.failures import Failure, failure
from . import listing
from .answering import Call, Stream, whole
from .apis import chat, messages
from .apis.api import Api
from .routes import NoRoute
from .served import Served

JSON = "application/json"
BYTES_PER_TOKEN = 4

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def create_app(served: Served) -> web.Application:
    """Serve it with `handler_cancellation=True`: a client that leaves cancels what was done for it."""
    app = web.Application(client_max_size=served.bounds.body)
    for path, api in (("/v1/messages", messages.API), ("/v1/chat/completions", chat.API)):
        app.router.add_post(path, _answering(served, api))
    app.router.add_post("/v1/messages/count_tokens", _counting)
    app.router.add_get("/v1/models", _listing(served))
    app.router.add_get("/healthz", _healthy)
    app.router.add_route("HEAD", "/", _healthy)
    return app


def _answering(served: Served, api: Api) -> Handler:
    async def handle(http: web.Request) -> web.StreamResponse:
        headers = {"x-request-id": (request_id := f"req_{uuid4().hex[:24]}"), "request-id": request_id}
        try:
            with foreign_code("The server failed", ProviderError):
                return await _answered(served, api, http, headers)
        except AIBattleError as error:
            return _refused(api, error, headers)

    return handle


async def _answered(served: Served, api: Api, http: web.Request, headers: dict[str, str]) -> web.StreamResponse:
    asked = api.decode(await _body(http))
    async with served.route(asked.model) as route:
        headers |= {"x-ai-battle-route": route.name}
        if route.strategy:
            headers["x-ai-battle-strategy"] = route.strategy
        call = Call(api, asked, route, headers, (http.content_length or 0) // BYTES_PER_TOKEN)
        if asked.stream:
            return await _streamed(http, call)
        body, _ = await whole(call, route.make(), ignore)
        return web.Response(body=body, content_type=JSON, headers=headers)


async def _streamed(http: web.Request, call: Call) -> web.StreamResponse:
    stream = Stream(http, call, ignore)
    try:
        await stream.answer(call.route.make())
    except AIBattleError as error:
        if not stream.begun:
            raise
        await stream.fail(error)
    finally:
        await stream.aclose()
    return await stream.end()


async def _healthy(http: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


async def _counting(http: web.Request) -> web.StreamResponse:
    """An estimate, which costs no call."""
    try:
        asked = messages.decode({"max_tokens": 1, **await _body(http)})
    except AIBattleError as error:
        return _refused(messages.API, error, {"request-id": f"req_{uuid4().hex[:24]}"})
    return web.json_response({"input_tokens": max(1, estimate_request(asked.request))})


def _listing(served: Served) -> Handler:
    async def handle(http: web.Request) -> web.StreamResponse:
        shape = listing.anthropic if "anthropic-version" in http.headers else listing.openai
        return web.json_response(shape(served.routes))

    return handle


async def _body(http: web.Request) -> dict[str, Any]:
    try:
        body = from_json(await http.read())
    except ValueError as error:
        raise ConfigError(f"The body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise ConfigError("The body must be a JSON object.")
    return body


def _refused(api: Api, error: AIBattleError, headers: dict[str, str]) -> web.Response:
    said = Failure(404, str(error)) if isinstance(error, NoRoute) else failure(error)
    body = api.error(said.status, said.message, said.kind, headers["request-id"])
    wait = error.retry_after if isinstance(error, ProviderError) else None
    again = {} if wait is None else {"retry-after": f"{wait:g}"}
    return web.Response(status=said.status, body=body, content_type=JSON, headers={**headers, **again})
