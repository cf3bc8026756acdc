"""The server as an aiohttp application: its routes and how it handles a request."""

import asyncio
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TypeAlias

from aiohttp import web

from .. import server
from ..core.client import ModelClient
from ..core.errors import AIBattleError
from ..core.exchange import RawBody, estimate_request
from ..core.ledger import charge_to
from ..core.plugins import translate_errors
from ..core.telemetry import request_span
from ..providers._breaker import upstream_at
from ..wire.blocks import Failure
from ..wire.requests import decode_body_and_head
from .admission import read_body
from .apis import CHAT, MESSAGES, RESPONSES, Api, Conversation, is_anthropic, model_entry, model_in, model_list
from .errors import ClientDisconnected, Crashed, Denied, client_failure, retry_headers
from .metrics import RequestStats
from .state import ServerState
from .streaming import ClientStream, ServedRequest

JSON = "application/json"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
AS_CRASHES = translate_errors("The server failed", Crashed)
APIS = {"/v1/messages": MESSAGES, "/v1/chat/completions": CHAT, "/v1/responses": RESPONSES}
COUNT = "/v1/messages/count_tokens"
RESPONSE = "/v1/responses/{id}"
MODELS = ("/models", "/v1/models")

Answers: TypeAlias = Callable[[ServerState, Api, web.Request, RequestStats], Awaitable[web.StreamResponse]]


def create_app(state: ServerState) -> web.Application:
    """Builds the application. Serve it with `handler_cancellation=True`, so that a disconnect cancels the work."""
    app = web.Application()
    for path, api in APIS.items():
        app.router.add_post(path, partial(_account, state, _answer, api))
    app.router.add_get(RESPONSE, partial(_account, state, _show_answer, RESPONSES))
    app.router.add_delete(RESPONSE, partial(_account, state, _delete_answer, RESPONSES))
    app.router.add_post(COUNT, partial(_account, state, _count_tokens, MESSAGES))
    for path in MODELS:
        app.router.add_get(path, partial(_account, state, _list_models, None))
        app.router.add_get(f"{path}/{{name:.+}}", partial(_account, state, _show_model, None))
    for path, show in OPERATING.items():
        app.router.add_get(path, partial(show, state))
    app.router.add_route("*", "/{path:.*}", _refuse_address)
    return app


async def _account(state: ServerState, answers: Answers, api: Api | None, http: web.Request) -> web.StreamResponse:
    """Counts a request and reports errors in the shape of its API.

    Without an `api` the address belongs to both Anthropic's and OpenAI's API, and the headers decide.
    """
    shape = api or (MESSAGES if is_anthropic(http.headers) else CHAT)
    stats = RequestStats(shape.name)
    try:
        with AS_CRASHES:
            stats.holder = state.keys.holder(http.headers)
            stats.budget.payer = stats.holder.name
            return await answers(state, shape, http, stats)
    except AIBattleError as error:
        stats.record_failure(error)
        return _refuse(shape, state.failure(error, stats.model), retry_headers(error), stats, http)
    except asyncio.CancelledError:
        stats.record_departure()
        raise
    finally:
        state.account(stats)


async def _answer(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    """Answers a request and charges all its model calls to its key."""
    with charge_to(stats.budget, *state.budgets.budgets_of(stats.holder)):
        await state.admission.enter(stats.holder)
        try:
            body, conversation = await _read_body(state, api, http, stats), None
            if not api.passes:
                body, conversation = await state.conversation_of(stats.holder).expand(body)
            return await _answer_by_route(state, http, _find_call(state, api, body, stats, conversation))
        finally:
            state.admission.leave(stats.holder)


def _find_call(
    state: ServerState, api: Api, body: RawBody, stats: RequestStats, conversation: Conversation | None
) -> ServedRequest:
    """Decodes a request and finds its route. Awaits nothing, so the route cannot be closed in between."""
    stats.model = model_in(body.fields)
    route = state.routes.find(stats.model)
    decoded = api.decode(body, state.limits.max_tokens, unread=route.api == api.name)
    stats.stream = decoded.stream
    stats.left_out += api.omissions(decoded.request, body.fields, route)
    call = ServedRequest(api, decoded, stats, route, conversation)
    return state.current.advisors.apply(call, body, state.routes)


async def _answer_by_route(state: ServerState, http: web.Request, call: ServedRequest) -> web.StreamResponse:
    """Answers with the routes of this moment, even if a reload replaces them meanwhile."""
    deployment, call.stats.route = state.current, call.route
    deployment.running += 1
    try:
        with request_span(deployment.telemetry, http.method, http.path, http.headers) as attributes:
            holder = call.stats.holder.name or None
            attributes |= {"route": call.route.name, "strategy": call.route.strategy or None, "key": holder}
            response = await (_send_stream if call.asked.stream else _send_whole)(state, http, call)
            attributes["status"] = response.status
            return response
    finally:
        await deployment.leave()


async def _send_whole(state: ServerState, http: web.Request, call: ServedRequest) -> web.StreamResponse:
    async with state.closing.may_end():
        response = await call.complete(call.route.make(), call.stats)
    writer = call.writer(http)
    body = writer.whole(response)
    await call.store(writer)
    if state.log_content:
        call.stats.content["answer"] = response.text
    return web.Response(body=body, content_type=JSON, headers=call.stats.headers)


async def _send_stream(state: ServerState, http: web.Request, call: ServedRequest) -> web.StreamResponse:
    stream = ClientStream(http, call, state.timing)
    try:
        with suppress(ClientDisconnected):
            await _stream_answer(state, stream, call, call.route.make())
        return await stream.end()
    finally:
        await stream.aclose()
        call.stats.is_delivered = stream.buffer.is_delivered
        if stream.buffer.begun:  # else an error is reported with a status of its own
            call.stats.record_departure()


async def _stream_answer(state: ServerState, stream: ClientStream, call: ServedRequest, client: ModelClient) -> None:
    """Streams an answer. Raises errors that occur before anything was sent; reports later ones in the stream."""
    try:
        with AS_CRASHES:
            async with state.closing.may_end():
                response = await stream.answer(client)
        if state.log_content:
            call.stats.content["answer"] = response.text
    except AIBattleError as error:
        if isinstance(error, ClientDisconnected) or not stream.buffer.begun:
            raise
        call.stats.record_failure(error)
        stream.fail(state.failure(error, call.stats.model))


async def _count_tokens(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    """Returns an estimate, which costs no call. Raises `NoRoute` for a model that nobody could ask."""
    body = await _read_body(state, api, http, stats)
    stats.model = model_in(body.fields)
    state.routes.find(stats.model)
    decoded = api.decode(replace(body, fields={"max_tokens": 1, **body.fields}, made={}))
    return web.json_response({"input_tokens": max(1, estimate_request(decoded.request))}, headers=stats.ids)


async def _show_answer(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    answer = await state.conversation_of(stats.holder).answer(http.match_info["id"])
    return web.json_response(answer, headers=stats.ids)


async def _delete_answer(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    deleted = await state.conversation_of(stats.holder).delete(http.match_info["id"])
    return web.json_response(deleted, headers=stats.ids)


async def _list_models(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    return web.json_response(model_list(state.routes, http.headers, http.query), headers=stats.ids)


async def _show_model(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> web.StreamResponse:
    route = state.routes.find(http.match_info["name"])
    return web.json_response(model_entry(route, http.headers), headers=stats.ids)


async def _refuse_address(http: web.Request) -> web.StreamResponse:
    api = MESSAGES if http.path.startswith("/v1/messages") or is_anthropic(http.headers) else CHAT
    if allowed := await _methods(http):
        error = Denied(405, f"{http.path} takes {allowed}, not {http.method}.", headers={"allow": allowed})
    else:
        words = f"There is no {http.path[:200]} here; there is {', '.join(ADDRESSES)}."
        error = Denied(404, words, kind="address")
    return _refuse(api, client_failure(error), retry_headers(error), RequestStats(api.name), http)


async def _methods(http: web.Request) -> str:
    """Returns the methods of the address, or nothing if there is none."""
    found = [(await resource.resolve(http))[1] for resource in http.app.router.resources()]
    return ", ".join(sorted(set().union(*found) - {"*"}))


async def _read_body(state: ServerState, api: Api, http: web.Request, stats: RequestStats) -> RawBody:
    # RFC 8259 lets a reader ignore a byte order mark.
    data = (await read_body(http, state.limits)).removeprefix(BOM_UTF8)
    if state.log_content:
        stats.content["request"] = data.decode(errors="replace")
    headers = {name: http.headers[name] for name in api.headers if name in http.headers}
    fields, head = decode_body_and_head(data)
    return RawBody(api.name, data, fields, headers, head.made)


def _refuse(
    api: Api, failed: Failure, headers: Mapping[str, str], stats: RequestStats, http: web.Request
) -> web.Response:
    """Returns an error response. Closes the connection if a rest of the body is unread: it is not a request."""
    body = api.wire.encode_error(failed.status, failed.message, failed.kind, stats.request_id)
    response = web.Response(status=failed.status, body=body, content_type=JSON, headers={**stats.headers, **headers})
    if not http.content.is_eof():
        response.force_close()
    return response


async def _health(state: ServerState, http: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


async def _readiness(state: ServerState, http: web.Request) -> web.StreamResponse:
    """Reports whether any upstream is up, judging by earlier calls. With a key, also reports which."""
    waits = {
        str(model.name): ceil(upstream_at(model.upstream).waiting(str(model.name))) for model in state.current.models
    }
    upstreams = {name: {"up": not wait, **({"retry_after": wait} if wait else {})} for name, wait in waits.items()}
    is_ready = not waits or not all(waits.values())
    status = {"status": "ready" if is_ready else "no upstream answers"}
    shown = {**status, "upstreams": upstreams} if _has_key(state, http) else status
    return web.json_response(shown, status=200 if is_ready else 503)


async def _metrics(state: ServerState, http: web.Request) -> web.StreamResponse:
    if not _has_key(state, http):
        return web.json_response({"error": {"message": "Metrics need a key."}}, status=401)
    return web.Response(body=state.metrics_text().encode(), headers={"content-type": PROMETHEUS})


async def _pairs(state: ServerState, http: web.Request) -> web.StreamResponse:
    """Returns what the shadows have found, as text or, if the client accepts it, as JSON."""
    if not _has_key(state, http):
        return web.json_response({"error": {"message": "The evidence on pairs needs a key."}}, status=401)
    store = state.evidence
    # A lambda, so that the import at the first use does not block the event loop either.
    found = await asyncio.to_thread(lambda: server.pair_evidence.read_evidence(store)) if store else []
    if JSON in http.headers.get("accept", ""):
        return web.json_response([each.to_json() for each in found])
    text = "\n\n".join("\n".join(each.lines) for each in found) or "No pair here has a shadow."
    # The text quotes requests, which a browser must not take for HTML.
    return web.Response(text=f"{text}\n", headers={"x-content-type-options": "nosniff"})


def _has_key(state: ServerState, http: web.Request) -> bool:
    try:
        state.keys.holder(http.headers)
    except Denied:
        return False
    return True


OPERATING = {"/": _health, "/healthz": _health, "/readyz": _readiness, "/metrics": _metrics, "/pairs": _pairs}
ADDRESSES = (*APIS, COUNT, RESPONSE, *MODELS, *OPERATING)
