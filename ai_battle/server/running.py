"""Runs a server in the foreground: it listens, reloads its configuration, and ends when its last answers are out."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from ..assembly.models import Model, find_unreachable
from ..config.server import Server
from ..core.errors import AIBattleError, ConfigError
from ..core.telemetry import set_up_telemetry
from .app import AS_CRASHES, create_app
from .config import ConfigSource, ServerConfig, Stamps, file_stamps
from .errors import Crashed
from .logs import ConnectionLog, Write
from .metrics import place_of
from .state import ServerState
from .workers import LISTEN_BACKLOG, Command, Supervisor, Worker, address_of, sharing_upstreams, take_places

POLL_SECONDS = 1.0
"""Seconds between two checks of the file for changes."""
KEEP_ALIVE = 75.0
"""Seconds an idle connection stays open: more than nginx's 60, so that it never reuses one just closed."""
LINGER_SECONDS = 1.0
"""Seconds for which the rest of a refused body is read, or an ended answer is written: clients get to see the error."""
GC_THRESHOLDS = (2_000, 5, 2)
ENDING_NOTICE = "Ending: no new requests; running answers are finished. A second signal ends at once."
END_SIGNALS = ("SIGINT", "SIGTERM")
RELOAD_SIGNALS = ("SIGHUP",)  # missing on Windows
TOO_MANY_CONNECTIONS = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 21\r\n\r\ntoo many connections\n"
)

Say = Callable[[str], None]
Reload = Callable[[], Awaitable[Stamps]]


@asynccontextmanager
async def listening(
    config: ServerConfig, write: Write = len, worker: Worker | None = None
) -> AsyncIterator[tuple[ServerState, str]]:
    """Runs the server while the block runs, and yields its state and address.

    `write` receives the log; a `worker` brings its own sockets. Raises `ConfigError` if the address can't be bound.
    """
    state, grace = config.make_state(write, worker), config.server.limits.grace_seconds
    runner = web.AppRunner(
        create_app(state),
        handler_cancellation=True,
        auto_decompress=False,  # aiohttp answers what it can't decompress with a page that is no API's error
        access_log=None,
        shutdown_timeout=(grace + LINGER_SECONDS) / 2,  # aiohttp waits for handlers twice that long
        keepalive_timeout=KEEP_ALIVE,
        lingering_time=LINGER_SECONDS,
        logger=ConnectionLog(lambda: state.log).logger,
    )
    await runner.setup()
    try:
        async with sharing_upstreams(state.store), _accept_connections(runner, config.server, worker) as address:
            if state.budgets.counts:
                state.budgets.counts.start()
            await state.warn_of_other_limits()
            yield state, address
    finally:
        ending = asyncio.get_running_loop().call_later(grace, state.closing.end_answers)
        await runner.cleanup()  # first, as it waits for running answers, which still use the state
        ending.cancel()
        await state.aclose()


@asynccontextmanager
async def _accept_connections(runner: web.AppRunner, server: Server, worker: Worker | None) -> AsyncIterator[str]:
    """Accepts connections at the yielded address. Accepted ones stay open afterwards, so that answers can finish."""
    inside = runner.server
    assert inside is not None
    limiter = ConnectionLimiter(inside, server.limits.connections, server.limits.header_seconds)
    listeners = await _listen(limiter, server, worker)
    try:
        yield address_of(listeners[0].sockets[0])
    finally:
        for listener in listeners:
            listener.close()
        limiter.close()


async def _listen(limiter: "ConnectionLimiter", server: Server, worker: Worker | None) -> list[asyncio.Server]:
    loop = asyncio.get_running_loop()
    if worker:
        given = [socket.socket(fileno=number) for number in worker.sockets]
        return [await loop.create_server(limiter, sock=each, backlog=LISTEN_BACKLOG) for each in given]
    try:
        return [await loop.create_server(limiter, server.host, server.port, backlog=LISTEN_BACKLOG)]
    except OSError as error:
        where = f"{server.host}:{server.port}"
        raise ConfigError(f"Can't listen on {where}: {error.strerror}; choose another with --port.") from error


async def serve(source: ConfigSource, config: ServerConfig, say: Say, write: Write) -> None:
    """Serves until SIGINT or SIGTERM; a second signal ends the process at once.

    `say` receives the startup lines and each change; `write` receives a log line for each request.
    """
    signals = SignalEvents()
    signals.listen()
    async with listening(config, write) as (state, address):
        set_up_telemetry(source.environment, state.log.log_warning)
        asyncio.get_running_loop().run_in_executor(None, warm_up, config.deployment.models)
        reload = partial(_reload_config, source, partial(_exchange, state), say, say)
        await _run_until_ended(config, address, say, signals, reload)


async def serve_as_worker(source: ConfigSource, config: ServerConfig, say: Say, write: Write, worker: Worker) -> None:
    """Serves as one of several workers. The parent reports startup and changes; `say` receives errors only."""
    signals = SignalEvents()
    signals.listen()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _end_with_parent, signals.ended)
    async with listening(config, write, worker) as (state, _):
        set_up_telemetry(source.environment, state.log.log_warning)
        await asyncio.to_thread(warm_up, config.deployment.models)
        worker.restore(state.metrics)
        reload = partial(_reload_config, source, partial(_exchange, state), say, len)
        tasks = [
            asyncio.create_task(worker.keep_writing(state.metrics, state.gauges)),
            asyncio.create_task(_watch({}, signals.reload, reload)),
        ]
        await signals.ended.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def serve_with_workers(source: ConfigSource, config: ServerConfig, say: Say, command: Command) -> None:
    """Starts `server.workers` processes by `command` and keeps them running; otherwise like `serve`."""
    server, signals = config.server, SignalEvents()
    signals.listen()
    with take_places(server.workers, server.host, server.port) as places:
        supervisor = Supervisor(command, say, places)
        async with supervisor.running():
            reload = partial(_reload_config, source, lambda _: supervisor.reload(), say, say)
            await _run_until_ended(config, address_of(places[0].listeners[0]), say, signals, reload)


async def _run_until_ended(
    config: ServerConfig, address: str, say: Say, signals: "SignalEvents", reload: Reload
) -> None:
    """Reports the start, reloads on changes, and returns when the process is told to end."""
    for line in startup_lines(config, address):
        say(line)
    watching = asyncio.create_task(_watch(config.seen, signals.reload, reload))
    for line in await find_unreachable((str(model.name), model) for model in config.deployment.models):
        say(f"Warning: {line}")
    await signals.ended.wait()
    signals.forget()  # before running answers are awaited: the next signal ends the process at once
    say(ENDING_NOTICE)
    watching.cancel()


def _end_with_parent(over: asyncio.Event) -> None:
    """Ends this worker when its parent closes the pipe to it.

    Kills it if it was ending already: the parent has then stopped waiting. A worker does not count signals itself, as a
    service manager often signals each process of a service.
    """
    asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
    if over.is_set():
        os.kill(os.getpid(), signal.SIGKILL)
    over.set()


def warm_up(models: Iterable[Model]) -> None:
    """Looks up prices before the first answer needs them, and keeps what is loaded out of garbage collection."""
    for model in models:
        model.find_price()
    gc.collect()
    gc.freeze()
    # A full collection waits until objects grow by a quarter of those that the last one left: now few are left.
    gc.collect()
    gc.set_threshold(*GC_THRESHOLDS)


def startup_lines(config: ServerConfig, address: str) -> list[str]:
    """Returns the lines shown at startup: the address, which models answer for each route, and instead of which."""
    routes = config.deployment.routes
    width = max(len(route.name) for route in routes)
    lines = [f"  {r.name:<{width}}  {', '.join(r.models)}{f'  ({r.strategy})' if r.strategy else ''}" for r in routes]
    workers = f" with {config.server.workers} workers" if config.server.workers > 1 else ""
    notes = dict.fromkeys(model.name.note for model in config.deployment.models if model.name.note)
    return [f"Listening on {address}{workers}", *lines, *notes, config.boost, *_shadow_terms(config), *_terms(config)]


def _shadow_terms(config: ServerConfig) -> Iterator[str]:
    """Yields a line for each route whose requests also go to models that do not answer them."""
    for name, route in config.server.routes.items():
        if shadow := route.shadow:
            yield (
                f"Both models answer {shadow.share * 100:g} % of the requests to {name}. {shadow.judge.type} compares "
                f"them, for at most ${shadow.budget.cost_usd:g} a day; ai-battle pair report shows the result."
            )


def _terms(config: ServerConfig) -> Iterator[str]:
    """Yields lines about keys and budgets: who may send requests, and what may be spent."""
    names = ", ".join(config.keys.names)
    yield f"Clients need a key: {names}" if names else "Programs of this machine need no key."
    if config.has_budgets:
        yield f"Budgets hold for all workers {config.budget_scope}."
        if names := config.unpriced_models:
            yield f"No price is known of {names}, so it counts as nothing; write it under prices:."


async def _watch(seen: Stamps, requested: asyncio.Event, reload: Reload) -> None:
    """Reloads on request or if one of these files has changed. A worker watches no files: its parent tells it."""
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(requested.wait(), POLL_SECONDS)
        now = file_stamps(seen)
        if requested.is_set() or now != seen:
            requested.clear()
            read = await reload()
            seen = seen and (read or now)


async def _reload_config(
    source: ConfigSource, change: Callable[[ServerConfig], Awaitable[None]], say: Say, say_done: Callable[[str], object]
) -> Stamps:
    """Reloads the configuration and returns its stamps. On any error, reports it and keeps the old one."""
    try:
        with AS_CRASHES:
            config = source.load()
            await change(config)
    except Crashed as crash:
        say(f"The change was not loaded: an error in ai-battle itself, please report it: {place_of(crash.__cause__)}")
        return {}
    except AIBattleError as error:
        say(f"The change was not loaded: {error}")
        return {}
    say_done(f"Reloaded: {', '.join(route.name for route in config.deployment.routes)}")
    return config.seen


async def _exchange(state: ServerState, config: ServerConfig) -> None:
    config.apply(state)
    await state.warn_of_other_limits()
    await state.exchange(config.deployment)


@dataclass(slots=True)
class ConnectionLimiter:
    """Creates the protocol of each connection, up to `connections`, and closes it if no request arrives in `seconds`.

    Between two requests of a connection the server's keep-alive time holds. Answers carry no `server` header, not even
    those that aiohttp gives to malformed HTTP, which the application never sees.
    """

    server: web.Server
    connections: int
    seconds: float
    _awaited: dict[web.RequestHandler, asyncio.TimerHandle] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make = self.server.request_factory

        def factory(message: Any, payload: Any, protocol: web.RequestHandler, writer: Any, task: Any) -> Any:
            if timer := self._awaited.pop(protocol, None):
                timer.cancel()
            writer.write_headers = partial(_write_without_server, writer.write_headers)
            return make(message, payload, protocol, writer, task)

        self.server.request_factory = factory

    def __call__(self) -> asyncio.Protocol:
        if len(self.server.connections) >= self.connections:
            return _RefusedConnection()
        protocol = self.server()
        loop = asyncio.get_running_loop()
        self._awaited[protocol] = loop.call_later(self.seconds, self._close, protocol)
        return protocol

    def _close(self, protocol: web.RequestHandler) -> None:
        del self._awaited[protocol]
        protocol.force_close()

    def close(self) -> None:
        for timer in self._awaited.values():
            timer.cancel()


async def _write_without_server(write: Callable[..., Awaitable[None]], status: str, headers: Any) -> None:
    headers.popall("server", None)
    await write(status, headers)


class _RefusedConnection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.WriteTransport):
            transport.write(TOO_MANY_CONNECTIONS)
        transport.close()


@dataclass(frozen=True, slots=True)
class SignalEvents:
    """Events set by signals once `listen` was called. After `forget` a signal to end ends the process as usual.

    Python's own handlers serve, as the event loop of Windows has none.
    """

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    reload: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for names, event in ((END_SIGNALS, self.ended), (RELOAD_SIGNALS, self.reload)):
            for number in _signals(names):
                signal.signal(number, lambda *_, event=event: loop.call_soon_threadsafe(event.set))

    def forget(self) -> None:
        for number in _signals(END_SIGNALS):
            signal.signal(number, signal.SIG_DFL)


def _signals(names: tuple[str, ...]) -> list[signal.Signals]:
    return [signal.Signals[name] for name in names if name in signal.Signals.__members__]
