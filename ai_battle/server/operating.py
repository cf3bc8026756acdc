"""The addresses for those that run the server: is it alive, is it ready, what has it done."""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any

from aiohttp import web

from ..assembly.models import Model
from ..providers._breaker import upstream_at
from .refusing import Denied
from .served import Served

PATHS = ("/", "/healthz", "/readyz", "/metrics")
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def add_to(app: web.Application, served: Served) -> None:
    async def ready(http: web.Request) -> web.StreamResponse:
        """Without a key, the status alone."""
        is_ready, told = readiness(served.current.models)
        shown = told if _may_know(served, http) else {"status": told["status"]}
        return web.json_response(shown, status=200 if is_ready else 503)

    async def metrics(http: web.Request) -> web.StreamResponse:
        if not _may_know(served, http):
            return web.json_response({"error": {"message": "Metrics need a key."}}, status=401)
        return web.Response(body=served.metrics.text(_now(served)).encode(), headers={"content-type": PROMETHEUS})

    app.router.add_get("/healthz", _alive)
    app.router.add_get("/", _alive)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/metrics", metrics)


async def _alive(http: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


def _may_know(served: Served, http: web.Request) -> bool:
    try:
        served.keys.holder(http.headers)
    except Denied:
        return False
    return True


def _now(served: Served) -> Iterator[tuple[str, str, float]]:
    yield "requests_in_flight", "Requests that are being answered.", served.admission.running
    yield "requests_queued", "Requests that wait for their turn.", served.admission.queued
    plans = served.current.plans
    yield "plan_cache_hits_total", "Boost plans that were in the cache.", plans.hits
    yield "plan_cache_misses_total", "Boost plans that were not.", plans.misses
    yield "plan_cache_size", "Boost plans in the cache.", len(plans)


def readiness(models: Iterable[Model]) -> tuple[bool, Mapping[str, Any]]:
    """Whether any upstream can be asked, and which can't, from what earlier calls came to; nobody is called."""
    waits = {str(model.name): ceil(upstream_at(model.upstream).waiting(str(model.name))) for model in models}
    upstreams = {name: {"up": not wait, **({"retry_after": wait} if wait else {})} for name, wait in waits.items()}
    ready = not waits or not all(waits.values())
    return ready, {"status": "ready" if ready else "no upstream answers", "upstreams": upstreams}
