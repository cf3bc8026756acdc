"""A server in the foreground: it listens, takes up changes of its file, and ends when its last answers are out."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web

from ..assembly.surroundings import Patience, Surroundings
from ..collaboration._boost_settings import BoostSettings, boost_settings
from ..config.server import LoadedServer, Server, load_server
from ..core.errors import ConfigError
from . import settings
from .app import create_app
from .building import Builder
from .served import MEGABYTE, Bounds, Generation, Served

LOOKS = 1.0
"""Seconds between two looks at the file."""
GRACE = 60.0
"""Seconds that running answers have when the server is told to end."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """A configuration that can be served."""

    server: Server
    generation: Generation
    boost: BoostSettings | None = None

    @property
    def bounds(self) -> Bounds:
        limits = self.server.limits
        return Bounds(int(limits.body_mb * MEGABYTE), limits.max_tokens)


@dataclass(frozen=True, slots=True)
class Told:
    """Where a configuration comes from; `over` are the keys of `server:` that the command line says."""

    file: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    over: Mapping[str, object] = field(default_factory=dict)

    def plan(self) -> Plan:
        """Raises `ConfigError` with all that is wrong with the file, or the first that is wrong with its models."""
        document = load_server(self.file or {}, self.environment)
        written = document.file.server.model_copy(update=dict(self.over))
        server = settings.settled(written, document.environment)
        boost = boost_settings(document.environment)
        generation = _generation(document, server, boost)
        if not _is_loopback(server.host) and not server.keys:
            raise ConfigError(
                f"{server.host} can be reached from elsewhere, so clients need a key: set AI_BATTLE_SERVE_KEYS, "
                "or write keys under server:."
            )
        return Plan(server, generation, boost)


def _generation(document: LoadedServer, server: Server, boost: BoostSettings | None) -> Generation:
    around = Surroundings.beside(document, Patience(0, server.request_timeout))
    builder = Builder(server, around, boost, settings.headers(document.environment))
    routes = builder.routes()
    if not routes.named:
        raise ConfigError("There is nothing to serve: write routes under server:, or set BIG_MODEL.")
    return Generation(routes, tuple(builder.models))


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


@contextlib.asynccontextmanager
async def listening(plan: Plan) -> AsyncIterator[tuple[Served, str]]:
    """The server while the block runs, and its address; raises `ConfigError` when nobody can listen there."""
    served = Served(plan.generation, plan.bounds)
    runner = web.AppRunner(create_app(served), handler_cancellation=True, access_log=None, shutdown_timeout=GRACE)
    await runner.setup()
    site = web.TCPSite(runner, plan.server.host, plan.server.port)
    try:
        try:
            await site.start()
        except OSError as error:
            where = f"{plan.server.host}:{plan.server.port}"
            raise ConfigError(f"Nobody can listen on {where}: {error.strerror}; choose another with --port.") from error
        host, port = runner.addresses[0][:2]
        yield served, f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        await runner.cleanup()
        await served.aclose()


async def serve(told: Told, plan: Plan, say: Say) -> None:
    """Until SIGINT or SIGTERM. `say` is told where it listens, what it serves, and of each change."""
    over, again = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, over), (signal.SIGTERM, over), (signal.SIGHUP, again)):
        loop.add_signal_handler(number, event.set)
    async with listening(plan) as (served, address):
        for line in described(plan, address):
            say(line)
        watching = asyncio.create_task(_watch(told, again, lambda: _reload(told, served, say)))
        await over.wait()
        say("Ending: no new requests; answers that run are finished.")
        watching.cancel()


def described(plan: Plan, address: str) -> list[str]:
    """What a user wants to see first: the address, and who answers to which name."""
    routes = plan.generation.routes
    width = max(len(route.name) for route in routes)
    lines = [f"  {r.name:<{width}}  {', '.join(r.models)}{f'  ({r.strategy})' if r.strategy else ''}" for r in routes]
    if plan.boost and plan.boost.tiers:
        lines.append(str(plan.boost))
    else:
        lines.append("boost is not configured")
    return [f"Listening on {address}", *lines]


async def _watch(told: Told, again: asyncio.Event, reload: Callable[[], Awaitable[None]]) -> None:
    seen = _stamp(told.file)
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(again.wait(), LOOKS)
        now = _stamp(told.file)
        if again.is_set() or now != seen:
            again.clear()
            seen = now
            await reload()


def _stamp(file: str) -> tuple[int, int] | None:
    """Nothing while an editor replaces the file."""
    with contextlib.suppress(OSError):
        found = Path(file).stat()
        return found.st_mtime_ns, found.st_size
    return None


async def _reload(told: Told, served: Served, say: Say) -> None:
    """What is wrong is said, and the old routes stay."""
    try:
        plan = told.plan()
    except ConfigError as error:
        say(f"The change is not taken up: {error}")
        return
    await served.exchange(plan.generation)
    say(f"Taken up: {', '.join(route.name for route in plan.generation.routes)}")
