"""llama.cpp in this process: one engine for all who use the same model file, gone when the last one closes."""

import asyncio
import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.errors import ProviderError
from ..core.plugins import optional

_SLOTS = 4
_QUIET = -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an engine is to be; `threads` 0 leaves their number to llama.cpp."""

    path: Path
    context: int
    threads: int = 0


@dataclass(slots=True)
class Engine:
    """A running engine: it answers at `address`, on loopback, to whoever knows `key`."""

    wanted: Wanted
    key: str = field(repr=False)
    server: Any = field(repr=False)
    users: int = 0

    @property
    def address(self) -> str:
        return str(self.server.listening_address)


_running: dict[Wanted, Engine] = {}
_thread = ThreadPoolExecutor(1, "llama.cpp")  # loading blocks for seconds; one thread also keeps `_running` in order


async def acquire(wanted: Wanted) -> Engine:
    """The engine that is wanted; loads the model when nobody has yet."""
    engine = _thread.submit(_acquired, wanted)
    try:
        return await asyncio.wrap_future(engine)
    except asyncio.CancelledError:
        engine.add_done_callback(_given_back)
        raise


async def release(engine: Engine) -> None:
    """Gives the engine back; the last user waits for its end."""
    await asyncio.wrap_future(_thread.submit(_released, engine))


def _acquired(wanted: Wanted) -> Engine:
    engine = _running.get(wanted) or _started(wanted)
    _running[wanted] = engine
    engine.users += 1
    return engine


def _released(engine: Engine) -> None:
    engine.users -= 1
    if not engine.users:
        del _running[engine.wanted]
        engine.server = None


def _given_back(future: "Future[Engine]") -> None:
    """Nobody waits for this engine any more."""
    if not future.cancelled() and not future.exception():
        _released(future.result())


def _started(wanted: Wanted) -> Engine:
    xllamacpp = optional("xllamacpp", "local")
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(wanted.path)
    params.model_alias = [wanted.path.stem]
    params.n_ctx = wanted.context
    if wanted.threads:
        params.cpuparams.n_threads = wanted.threads
    params.n_parallel = _SLOTS
    params.kv_unified = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.verbosity = _QUIET
    params.endpoint_metrics = True
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise ProviderError(
            f"llama.cpp can't load {wanted.path}: the file is damaged, too new or too large for it."
        ) from error
    server.handle_metrics()  # an engine that is ended before its loop runs never ends: wait until it answers something
    return Engine(wanted, key, server)
