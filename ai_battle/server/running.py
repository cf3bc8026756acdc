"""A server in the foreground: it listens, takes up changes of its file, and ends when its last answers are out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from aiohttp import web

from ..assembly import RetryPolicy
from ..assembly.models import BuildContext, find_unreachable
from ..collaboration._boost_settings import BoostMissing, BoostSettings, boost_settings
from ..config.server import LoadedServer, Server, load_server
from ..core.errors import ConfigError
from ..core.ledger import unpriced
from ..core.redaction import NO_SECRETS, Redactor
from . import settings
from .admission import MEGABYTE, Admission, Bounds
from .answering import USUAL, Rhythm
from .app import create_app
from .auth import Keys, is_loopback
from .budgets import Budgets, state_directory
from .building import Builder, Unmade, named_code
from .door import Door
from .logging import Connections, RequestLog, Write, level_of
from .plans import Plans
from .served import Generation, Served
from .settling import settle
from .signalled import Signalled
from .stored import MemoryStore
from .tracing import Tracing, set_up

LOOKS = 1.0
"""Seconds between two looks at the file."""
KEEP_ALIVE = 75.0
"""Seconds that a connection may wait for its next request: longer than nginx keeps one."""
LINGER = 1.0
"""Seconds for which the rest of a refused body is read, so that its client gets to see why."""
BACKLOG = 1024
NO_BOOST = "boost is not configured"

Say = Callable[[str], None]
Stamp: TypeAlias = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A configuration that can be served; `seen` is the state of its file when it was read.

    `redactor` knows what must not be logged.
    """

    server: Server
    generation: Generation
    keys: Keys = field(default_factory=Keys)
    boost: str = NO_BOOST
    state: Path = Path()
    level: str = "info"
    redactor: Redactor = NO_SECRETS
    seen: Stamp = None
    rhythm: Rhythm = USUAL

    @property
    def bounds(self) -> Bounds:
        limits = self.server.limits
        return Bounds(int(limits.body_mb * MEGABYTE), limits.body_seconds, limits.max_tokens)

    @property
    def unpriced_models(self) -> str:
        """The names of those that a limit in dollars can't hold for."""
        names = (str(model.name) for model in self.generation.models if model.price is None)
        return ", ".join(dict.fromkeys(names))

    @property
    def has_budgets(self) -> bool:
        return any(key.budget_usd is not None for key in self.server.keys)

    def budgets(self) -> Budgets:
        budgets = Budgets.opened(self.state) if self.has_budgets else Budgets()
        budgets.unpriced = self.server.limits.unpriced
        return budgets

    def served(self, write: Write) -> Served:
        limits = self.server.limits
        return Served(
            self.generation,
            self.bounds,
            self.keys,
            self.budgets(),
            Admission(limits.concurrent, limits.queue),
            log=RequestLog(write, self.level, self.redactor),
            log_content=self.server.log_content,
            rhythm=self.rhythm,
            store=MemoryStore(int(limits.stored_mb * MEGABYTE)) if limits.stored_mb else None,
        )


Trust = Callable[[LoadedServer, tuple[str, ...]], None]


def anything(document: LoadedServer, code: tuple[str, ...]) -> None:
    """For a program that serves a file of its own."""


@dataclass(frozen=True, slots=True)
class Told:
    """Where a configuration comes from; `over` are the keys of `server:` that the command line says."""

    file: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    over: Mapping[str, object] = field(default_factory=dict)
    trust: Trust = anything

    def plan(self) -> Plan:
        """Raises `ConfigError` with all that is wrong with the file, or the first that is wrong with its models.

        Before any code is imported that the file names, `trust` is asked, which raises where it may not run.
        """
        seen = _stamp(self.file)
        document = load_server(self.file or {}, self.environment)
        self.trust(document, named_code(document))
        written = document.file.server.model_copy(update=dict(self.over))
        server = settings.settled(written, document.environment)
        boost, status = _boost(document.environment)
        generation = _generation(document, server, boost)
        keys = settings.keys(server, document.environment, _upstreams(generation))
        if not is_loopback(server.host) and not keys:
            raise ConfigError(
                f"{server.host} can be reached from elsewhere, so clients need a key: set AI_BATTLE_SERVE_KEYS, "
                "or write keys under server:."
            )
        state = Path(server.state) if server.state else state_directory(document.environment)
        level = level_of(document.environment.get("LOG_LEVEL", ""))
        redactor = document.redactor.with_secrets({key.key: "a key of this server" for key in keys})
        named = server.model_copy(update={"keys": keys})
        plan = Plan(named, generation, Keys.of(keys), status, state, level, redactor, seen)
        if plan.has_budgets and server.limits.unpriced == "refuse" and (names := plan.unpriced_models):
            raise ConfigError(unpriced(names, "under 'server: limits:'"))
        return plan


def _boost(environment: Mapping[str, str]) -> tuple[BoostSettings | None, str]:
    """And its status, for people. With half a set of its variables requests are served without it."""
    try:
        settings = boost_settings(environment)
    except BoostMissing as missing:
        return None, f"{NO_BOOST}, requests are served directly. {missing}"
    return settings, str(settings) if settings and settings.tiers else NO_BOOST


def _upstreams(generation: Generation) -> set[str]:
    return {model.name.provider for model in generation.models}


def _generation(document: LoadedServer, server: Server, boost: BoostSettings | None) -> Generation:
    around = BuildContext.beside(document, RetryPolicy(0, server.request_timeout, waits=False))
    around = replace(around, redactor=around.redactor.verbatim)
    plans = Plans(server.plans.size, server.plans.seconds)
    tracing = Tracing.of(document.environment)
    builder = Builder(server, around, boost, settings.headers(document.environment), plans=plans, tracing=tracing)
    try:
        routes = builder.routes()
    except Unmade as error:
        raise ConfigError(document.located(error.problem)) from error
    if not routes.named:
        raise ConfigError("There is nothing to serve: write routes under server:, or set BIG_MODEL.")
    return Generation(routes, tuple(builder.models), plans, tracing, builder.hosts, builder.upstreams)


@contextlib.asynccontextmanager
async def listening(plan: Plan, write: Write = len) -> AsyncIterator[tuple[Served, str]]:
    """The server while the block runs, and its address; `write` gets the log.

    Raises `ConfigError` when nobody can listen there.
    """
    served = plan.served(write)
    runner = web.AppRunner(
        create_app(served),
        handler_cancellation=True,
        access_log=None,
        shutdown_timeout=plan.server.limits.grace_seconds,
        keepalive_timeout=KEEP_ALIVE,
        lingering_time=LINGER,
        logger=Connections(lambda: served.log).logger,
    )
    await runner.setup()
    try:
        async with _open_door(runner, plan.server) as (host, port):
            yield served, f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        await runner.cleanup()
        await served.aclose()


@contextlib.asynccontextmanager
async def _open_door(runner: web.AppRunner, server: Server) -> AsyncIterator[tuple[str, int]]:
    """Who was let in stays when the door is closed."""
    inside = runner.server
    assert inside is not None
    door = Door(inside, server.limits.connections, server.limits.header_seconds)
    loop = asyncio.get_running_loop()
    try:
        listener = await loop.create_server(door, server.host, server.port, backlog=BACKLOG)
    except OSError as error:
        where = f"{server.host}:{server.port}"
        raise ConfigError(f"Nobody can listen on {where}: {error.strerror}; choose another with --port.") from error
    try:
        host, port = listener.sockets[0].getsockname()[:2]
        yield host, port
    finally:
        listener.close()
        door.close()


async def serve(told: Told, plan: Plan, say: Say, write: Write) -> None:
    """Until SIGINT or SIGTERM; a second one waits for nobody. `say` is told what it serves, and of each change.

    `write` gets a line for each request.
    """
    set_up(told.environment)
    signalled = Signalled()
    signalled.listen()
    async with listening(plan, write) as (served, address):
        for line in described(plan, address):
            say(line)
        watching = asyncio.create_task(
            _watch(told.file, plan.seen, signalled.again, lambda: _reload(told, served, say))
        )
        for line in await find_unreachable((str(model.name), model) for model in plan.generation.models):
            say(f"Warning: {line}")
        await asyncio.to_thread(settle, plan.generation.models)
        await signalled.over.wait()
        signalled.forget()
        say("Ending: no new requests; answers that run are finished, unless you say it again.")
        watching.cancel()


def described(plan: Plan, address: str) -> list[str]:
    """What a user wants to see first: the address, and who answers to which name."""
    routes = plan.generation.routes
    width = max(len(route.name) for route in routes)
    lines = [f"  {r.name:<{width}}  {', '.join(r.models)}{f'  ({r.strategy})' if r.strategy else ''}" for r in routes]
    return [f"Listening on {address}", *lines, plan.boost, *_terms(plan)]


def _terms(plan: Plan) -> Iterator[str]:
    """Who may ask, and what may be spent."""
    names = ", ".join(dict.fromkeys(holder.name for holder in plan.keys.holders.values()))
    yield f"Clients need a key: {names}" if names else "Programs of this machine need no key."
    if plan.has_budgets:
        yield f"Budgets hold for this worker alone; what is spent is kept under {plan.state}."
        if names := plan.unpriced_models:
            yield f"No price is known of {names}, so it counts as nothing; write it under prices:."


async def _watch(file: str, seen: Stamp, again: asyncio.Event, reload: Callable[[], Awaitable[None]]) -> None:
    while True:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(again.wait(), LOOKS)
        now = _stamp(file)
        if again.is_set() or now != seen:
            again.clear()
            seen = now
            await reload()


def _stamp(file: str) -> Stamp:
    """Nothing while an editor replaces the file."""
    with contextlib.suppress(OSError):
        found = Path(file).stat()
        return found.st_mtime_ns, found.st_size
    return None


async def _reload(told: Told, served: Served, say: Say) -> None:
    """What is wrong is said, and the old routes stay."""
    try:
        plan = told.plan()
        if plan.has_budgets and not served.budgets.folder:
            served.budgets = plan.budgets()
        served.budgets.unpriced = plan.server.limits.unpriced
    except ConfigError as error:
        say(f"The change is not taken up: {error}")
        return
    served.log = replace(served.log, level=plan.level, redactor=plan.redactor)
    limits = plan.server.limits
    served.keys, served.bounds, served.log_content = plan.keys, plan.bounds, plan.server.log_content
    served.admission.concurrent, served.admission.queue = limits.concurrent, limits.queue
    await served.exchange(plan.generation)
    say(f"Taken up: {', '.join(route.name for route in plan.generation.routes)}")
