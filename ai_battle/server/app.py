"""The server as an aiohttp application: its addresses, and what happens to a request."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from aiohttp import web

from ..core.borders import foreign_code
from ..core.errors import AIBattleError
from ..core.exchange import ModelRequest, Wants
from ..core.ledger import charged_to
from ..core.tokens import estimate_request
from ..wire.bodies import decode_body
from ..wire.failures import Failed
from . import listing, operating
from .admission import body_of
from .answering import Call, Stream, whole
from .apis import chat, messages, responses
from .apis.api import Api, Asked
from .refusing import Crashed, Denied, Left, headers_of, said
from .served import Served
from .stored import Conversation
from .tally import Tally

JSON = "application/json"
BYTES_PER_TOKEN = 4
GUARDED = foreign_code("The server failed", Crashed)
APIS: Mapping[str, Api] = {
    "/v1/messages": messages.API,
    "/v1/chat/completions": chat.API,
    "/v1/responses": responses.API,
}
COUNT = "/v1/messages/count_tokens"
MODELS = ("/models", "/v1/models")
METHODS = {**dict.fromkeys((*APIS, COUNT), "POST"), **dict.fromkeys((*MODELS, *operating.PATHS), "GET, HEAD")}

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
Answers: TypeAlias = Callable[[Served, Api, web.Request, Tally], Awaitable[web.StreamResponse]]


def create_app(served: Served) -> web.Application:
    """Serve it with `handler_cancellation=True`: a client that leaves cancels what was done for it."""
    app = web.Application()
    for path, api in APIS.items():
        app.router.add_post(path, _accounted(served, api, _answered))
    app.router.add_post(COUNT, _accounted(served, messages.API, _counted))
    for path in MODELS:
        app.router.add_get(path, _either(served, _listed))
        app.router.add_get(f"{path}/{{name:.+}}", _either(served, _shown))
    operating.add_to(app, served)
    app.router.add_route("*", "/{path:.*}", _nowhere)
    return app


def _accounted(served: Served, api: Api, answers: Answers) -> Handler:
    """Whatever becomes of a request, its client is told in the shape of the API, and it is counted."""

    async def handle(http: web.Request) -> web.StreamResponse:
        tally = Tally(api.name)
        try:
            with GUARDED, charged_to(tally.budget):
                tally.holder = served.keys.holder(http.headers)
                tally.budget.payer = tally.holder.name
                return await answers(served, api, http, tally)
        except AIBattleError as error:
            tally.failed(error)
            return _refused(api, served.told(error, tally.model), headers_of(error), tally, http)
        except asyncio.CancelledError:
            tally.left()
            raise
        finally:
            served.account(tally)

    return handle


def _either(served: Served, answers: Answers) -> Handler:
    """For addresses that Anthropic's API and OpenAI's both have."""
    theirs, others = _accounted(served, messages.API, answers), _accounted(served, chat.API, answers)

    async def handle(http: web.Request) -> web.StreamResponse:
        return await (theirs if listing.is_anthropic(http.headers) else others)(http)

    return handle


async def _answered(served: Served, api: Api, http: web.Request, tally: Tally) -> web.StreamResponse:
    """Every call of a model on the way is charged to the key of the request."""
    with charged_to(served.budgets.of(tally.holder)):
        lane = await served.admission.enter(tally.holder)
        try:
            return await _admitted(served, api, http, tally)
        finally:
            served.admission.leave(lane)


async def _admitted(served: Served, api: Api, http: web.Request, tally: Tally) -> web.StreamResponse:
    body, conversation = await _body(served, http, tally), None
    if api.refers:
        body, conversation = await Conversation(served.store, tally.holder.name).expanded(body)
    asked = api.decode(body)
    request = _bounded(api.told(asked.request, http.headers), served.bounds.max_tokens)
    wants = Wants(stream=asked.stream, drafts=False, each_warning=True)
    tally.model, tally.stream = asked.model, asked.stream
    async with served.route(asked.model) as route:
        tally.route = route
        if tracing := served.current.tracing:
            tracing.continued(http.headers)
        tokens = (http.content_length or 0) // BYTES_PER_TOKEN
        call = Call(api, replace(asked, request=replace(request, wants=wants)), route, tally, tokens, conversation)
        return await (_streamed if asked.stream else _whole)(served, http, call)


async def _whole(served: Served, http: web.Request, call: Call) -> web.StreamResponse:
    body, response = await whole(call, call.route.make())
    if served.log_content:
        call.tally.content["answer"] = response.text
    return web.Response(body=body, content_type=JSON, headers=call.tally.headers)


async def _streamed(served: Served, http: web.Request, call: Call) -> web.StreamResponse:
    stream = Stream(http, call, served.rhythm)
    try:
        await _told(served, stream, call)
        return await stream.end()
    finally:
        await stream.aclose()
        call.tally.is_delivered = stream.is_delivered
        if stream.begun:
            call.tally.left()


async def _told(served: Served, stream: Stream, call: Call) -> None:
    """Raises what went wrong before anything was sent."""
    try:
        with GUARDED:
            response = await stream.answer(call.route.make())
        if served.log_content:
            call.tally.content["answer"] = response.text
    except Left:
        pass
    except AIBattleError as error:
        if not stream.begun:
            raise
        call.tally.failed(error)
        with suppress(Left):
            stream.fail(served.told(error, call.tally.model))


def _bounded(request: ModelRequest, most: int | None) -> ModelRequest:
    """With no more tokens than there may be."""
    if most and request.options.get("max_tokens", most + 1) > most:
        return replace(request, options={**request.options, "max_tokens": most})
    return request


async def _counted(served: Served, api: Api, http: web.Request, tally: Tally) -> web.StreamResponse:
    """An estimate, which costs no call."""
    asked: Asked = api.decode({"max_tokens": 1, **await _body(served, http, tally)})
    tokens = max(1, estimate_request(asked.request))
    return web.json_response({"input_tokens": tokens}, headers=tally.ids)


async def _listed(served: Served, api: Api, http: web.Request, tally: Tally) -> web.StreamResponse:
    return web.json_response(listing.all_of(served.routes, http.headers, http.query), headers=tally.ids)


async def _shown(served: Served, api: Api, http: web.Request, tally: Tally) -> web.StreamResponse:
    route = served.routes.find(http.match_info["name"])
    return web.json_response(listing.one(route, http.headers), headers=tally.ids)


async def _nowhere(http: web.Request) -> web.StreamResponse:
    is_theirs = http.path.startswith("/v1/messages") or listing.is_anthropic(http.headers)
    api = messages.API if is_theirs else chat.API
    error = _misdirected(http.method, http.path)
    return _refused(api, said(error), headers_of(error), Tally(api.name), http)


def _misdirected(method: str, path: str) -> Denied:
    if allowed := METHODS.get(path):
        return Denied(405, f"{path} takes {allowed}, not {method}.", headers={"allow": allowed})
    return Denied(404, f"There is no {path[:200]} here; there is {', '.join(METHODS)}.", kind="address")


async def _body(served: Served, http: web.Request, tally: Tally) -> dict[str, Any]:
    raw = await body_of(http, served.bounds)
    if served.log_content:
        tally.content["request"] = raw.decode(errors="replace")
    return decode_body(raw, len(raw))


def _refused(api: Api, failed: Failed, headers: Mapping[str, str], tally: Tally, http: web.Request) -> web.Response:
    """What is left of a body that was not read to its end is no next request."""
    body = api.error(failed.status, failed.message, failed.kind, tally.request_id)
    told = {**tally.headers, **headers}
    response = web.Response(status=failed.status, body=body, content_type=JSON, headers=told)
    if not http.content.is_eof():
        response.force_close()
    return response
