"""A server's configuration, read from its file and, for what the file leaves out, from its environment."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ..assembly.models import BuildContext
from ..config.collaboration import AUTO
from ..config.documents import checked_section
from ..config.problems import ConfigProblems
from ..config.server import NO_BOOST, BoostSettings, LoadedServer, ServeKey, Server, boost_settings, load_server
from ..core.errors import ConfigError, StoreError
from ..core.files import state_directory
from ..core.ledger import unpriced_reason
from ..core.redaction import NO_SECRETS, Redactor
from ..core.redis_scripts import store_place
from ..core.telemetry import Telemetry
from ..core.texts import public_url
from ..evidence.store import EvidenceStore
from ..providers._calls import RetryPolicy
from ..providers._endpoints import provider_traits
from ..providers._names import is_loopback
from .admission import MEGABYTE
from .building import RouteBuilder, RouteErrors, named_code, provider_of
from .clients import SharedCache
from .keys import KeyBudgets, Keys
from .logs import RequestLog, Write, log_level
from .shared import CountStore, SharedCounts
from .state import Deployment, ServerState
from .stored import MemoryStore, RedisStore, ResponseStore, SqliteStore
from .stores import NAME, RedisCounts, SqliteCounts
from .streaming import USUAL, StreamTiming
from .workers import Worker

FALLBACK = "ANTHROPIC_API_KEY"
HEADER = "CUSTOM_HEADER_"
SERVE_KEYS = "AI_BATTLE_SERVE_KEYS"

Stamp: TypeAlias = tuple[int, int] | None
Stamps: TypeAlias = Mapping[str, Stamp]
"""The stamps of files, by path."""
Trust = Callable[[LoadedServer, tuple[str, ...]], None]


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """A configuration ready to be served. `seen` holds the stamps of its files when they were read.

    `redactor` removes secrets from the log; `evidence` is where the findings of shadows are kept.
    """

    server: Server
    deployment: Deployment
    keys: Keys = field(default_factory=Keys)
    boost: str = NO_BOOST
    state: Path | str = Path()
    evidence: Path | str = Path()
    level: str = "info"
    redactor: Redactor = NO_SECRETS
    seen: Stamps = field(default_factory=dict)
    timing: StreamTiming = USUAL

    @property
    def unpriced_models(self) -> str:
        """The names of models without a known price, to which no limit in dollars applies."""
        names = (str(model.name) for model in self.deployment.models if model.price is None)
        return ", ".join(dict.fromkeys(names))

    @property
    def has_budgets(self) -> bool:
        return any(key.budget_usd is not None for key in self.server.keys)

    @property
    def counts_together(self) -> bool:
        """True if any key has a limit over all workers."""
        keys = self.server.keys
        return self.has_budgets or any(key.concurrent or key.per_minute for key in keys)

    @property
    def budget_scope(self) -> str:
        if isinstance(self.state, Path):
            return f"of this machine; what is spent is kept in {self.state / NAME}"
        return f"that share {public_url(self.state)}"

    def require_safe(self) -> None:
        """Raises `ConfigError` for a server open to anybody, and for budgets that could not be enforced."""
        if not is_loopback(self.server.host) and not self.server.keys:
            raise ConfigError(
                f"{self.server.host} can be reached from elsewhere, so clients need a key: set AI_BATTLE_SERVE_KEYS, "
                "or write keys under server:."
            )
        if self.has_budgets and self.server.limits.unpriced == "refuse" and (names := self.unpriced_models):
            raise ConfigError(unpriced_reason(names, "under 'server: limits:'"))

    def make_state(self, write: Write, worker: Worker | None = None) -> ServerState:
        """Returns the state of a server that starts with this configuration; `write` receives its log."""
        store = self._open_responses(worker)
        log = RequestLog(write, worker.number if worker else 0)
        state = ServerState(self.deployment, log=log, timing=self.timing, store=store, worker=worker)
        self.apply(state)
        return state

    def apply(self, state: ServerState) -> None:
        """Applies everything but the routes. Raises `ConfigError` if the spending of keys can't be stored."""
        state.limits = limits = self.server.limits
        if self.counts_together and not state.budgets.counts:
            self._count_together(state)
        if state.budgets.counts:
            state.budgets.counts.away = self.server.when_away
        state.budgets.unpriced = limits.unpriced
        state.log = replace(state.log, level=self.level, redactor=self.redactor)
        shared = None if isinstance(state.store, MemoryStore) else state.store
        self.deployment.plans.store = self.deployment.signatures.store = shared
        state.keys, state.log_content = self.keys, self.server.log_content
        state.admission.concurrent, state.admission.queue = limits.concurrent, limits.queue
        state.admission.has_several_keys = len(self.keys.names) > 1
        if self.deployment.shadows:
            state.evidence = state.evidence or EvidenceStore(self.evidence)
            self._start_shadows(state, state.evidence)

    def _count_together(self, state: ServerState) -> None:
        """Shares counts between workers. Without a store budgets fail, and each worker counts requests alone."""
        try:
            counts = SharedCounts(open_counts(self.state), warn=lambda words: state.log.log_warning(words))
        except StoreError as error:
            if self.has_budgets or self.server.when_away.requests == "closed":
                raise
            state.log.log_warning(f"{error} Each worker counts requests of keys for itself.")
        else:
            state.budgets, state.admission.counts = KeyBudgets(counts), counts

    def _open_responses(self, worker: Worker | None) -> ResponseStore:
        most = int(self.server.limits.stored_mb * MEGABYTE)
        if not isinstance(self.state, Path):
            return RedisStore(self.state, most)
        return SqliteStore(worker.folder / "responses.sqlite", most) if worker else MemoryStore(most)

    def _start_shadows(self, state: ServerState, store: EvidenceStore) -> None:
        """Starts the shadows. An alarm from before a restart stays raised, but is not posted to the webhook again."""
        for route, shadow in self.deployment.shadows.items():
            settings = self.server.routes[route].shadow
            webhook = settings.watch.webhook if settings and settings.watch else ""
            shadow.listen = partial(state.metrics.count_shadow, route)
            shadow.tell_alarm = partial(state.raise_alarm, route, webhook)
            shadow.tell_version = partial(state.log.log_notice, route)
            if words := shadow.start(store):
                state.raise_alarm(route, "", words)


def trust_anything(document: LoadedServer, code: tuple[str, ...]) -> None:
    """Trusts all code. For programs that serve a file of their own."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where a configuration comes from; `over` holds the keys of `server:` given on the command line."""

    file: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    over: Mapping[str, object] = field(default_factory=dict)
    trust: Trust = trust_anything

    def load(self) -> ServerConfig:
        """Raises `ConfigError` with all problems of the file, or with the first one of its models.

        Calls `trust` before importing any code that the file names; it raises if that code may not run.
        """
        seen = file_stamps([self.file, str(Path(self.file).parent / ".env")] if self.file else [])
        overrides = [f"server.{key}={json.dumps(value)}".replace("${", "$${") for key, value in self.over.items()]
        document = load_server(self.file or {}, self.environment, overrides)
        self.trust(document, named_code(document))
        environment, server = document.environment, document.file.server
        boost, status = boost_settings(environment)
        seen |= file_stamps(_calibration_files(server, document.base))
        usual = state_directory(environment)
        state, evidence = _places(server.state, usual)
        deployment = _deployment(document, server, boost, evidence)
        judges = (route.shadow.judge.type for route in server.routes.values() if route.shadow)
        providers = {model.name.provider for model in deployment.models}
        providers |= {provider_of(judge, document.file.providers) for judge in judges}
        keys = _client_keys(server, environment, providers)
        level = log_level(environment.get("LOG_LEVEL", ""))
        redactor = document.redactor.with_secrets({key.key: "a key of this server" for key in keys})
        server = server.model_copy(update={"keys": keys})
        config = ServerConfig(server, deployment, Keys.of(keys), status, state, evidence, level, redactor, seen)
        config.require_safe()
        return config


def _places(address: str, usual: Path) -> tuple[Path | str, Path | str]:
    """Returns where workers keep shared counts and where the evidence of pairs is kept: folders, or addresses."""
    if not address:
        return usual / "serve", usual
    try:
        place = store_place(address)
    except ConfigError as error:
        raise ConfigError(f"server.state: {error}") from error
    return place, place


def open_counts(state: Path | str) -> CountStore:
    """Raises `ConfigError`."""
    return SqliteCounts(state) if isinstance(state, Path) else RedisCounts(state)


def file_stamps(files: Iterable[str]) -> dict[str, Stamp]:
    return {file: _stamp(file) for file in files}


def _calibration_files(server: Server, base: Path) -> Iterator[str]:
    for route in server.routes.values():
        if isinstance(route.calibration, str) and route.calibration != AUTO:
            yield str(base / os.path.expanduser(route.calibration))


def _stamp(file: str) -> Stamp:
    """Returns when a file was written and its size, or None while an editor replaces it."""
    with suppress(OSError, ValueError):  # a path with a NUL is a ValueError; who opens the file tells it
        found = Path(file).stat()
        return found.st_mtime_ns, found.st_size
    return None


def _client_keys(server: Server, environment: Mapping[str, str], providers: Iterable[str]) -> tuple[ServeKey, ...]:
    """Returns the keys that clients present: by default `ANTHROPIC_API_KEY`, unless an upstream needs it."""
    named = "" if "keys" in server.model_fields_set else environment.get(SERVE_KEYS, "")
    values = enumerate(filter(None, map(str.strip, named.split(","))))
    place = f"The variable {SERVE_KEYS} for server", "keys"
    keys = server.keys or tuple(checked_section(ServeKey, {"key": key}, *place, number) for number, key in values)
    fallback = environment.get(FALLBACK, "").strip()
    if keys:
        return keys
    if not fallback or any(FALLBACK in provider_traits(name).keys for name in providers):
        return ()
    return (ServeKey(key=fallback, name=FALLBACK),)


def _upstream_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns headers for upstreams: `CUSTOM_HEADER_X_TEAM=blue` becomes `X-TEAM: blue` on each request."""
    found = ((name.removeprefix(HEADER), value) for name, value in environment.items() if name.startswith(HEADER))
    return {name.replace("_", "-"): value for name, value in found if name}


def _deployment(
    document: LoadedServer, server: Server, boost: BoostSettings | None, evidence: Path | str
) -> Deployment:
    # The server never retries: that is up to the client, which gets the upstream's `Retry-After`.
    context = BuildContext.for_document(document, RetryPolicy(0, server.request_timeout, waits=False))
    context = replace(context, redactor=context.redactor.verbatim, evidence=evidence)
    plans = SharedCache("plan/", server.plans.size, server.plans.seconds)
    deployment = Deployment(plans, Telemetry.of(document.environment))
    try:
        RouteBuilder(server, context, deployment, boost, _upstream_headers(document.environment)).build()
    except RouteErrors as error:
        raise ConfigProblems(map(document.location_of, error.problems)) from error
    if not deployment.routes.named:
        raise ConfigError("There is nothing to serve: write routes under server:, or set BIG_MODEL.")
    return deployment
