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


@dataclass(slots=True)
class Engine:
    """A running engine: it answers at `address`, on loopback, to whoever knows `key`."""

    path: Path
    context: int
    key: str = field(repr=False)
    server: Any = field(repr=False)
    users: int = 0

    @property
    def address(self) -> str:
        return str(self.server.listening_address)


_running: dict[tuple[Path, int], Engine] = {}
_thread = ThreadPoolExecutor(1, "llama.cpp")  # loading blocks for seconds; one thread also keeps `_running` in order


async def acquire(path: Path, context: int) -> Engine:
    """The engine of this file; loads the model when nobody has yet."""
    engine = _thread.submit(_acquired, path, context)
    try:
        return await asyncio.wrap_future(engine)
    except asyncio.CancelledError:
        engine.add_done_callback(_given_back)
        raise


async def release(engine: Engine) -> None:
    """Gives the engine back; the last user waits for its end."""
    await asyncio.wrap_future(_thread.submit(_released, engine))


def _acquired(path: Path, context: int) -> Engine:
    engine = _running.get((path, context)) or _started(path, context)
    _running[path, context] = engine
    engine.users += 1
    return engine


def _released(engine: Engine) -> None:
    engine.users -= 1
    if not engine.users:
        del _running[engine.path, engine.context]
        engine.server = None


def _given_back(future: "Future[Engine]") -> None:
    """Nobody waits for this engine any more."""
    if not future.cancelled() and not future.exception():
        _released(future.result())


def _started(path: Path, context: int) -> Engine:
    xllamacpp = optional("xllamacpp", "local")
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = [path.stem]
    params.n_ctx = context
    params.n_parallel = _SLOTS
    params.kv_unified = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.ui = False
    params.verbosity = _QUIET
    try:
        return Engine(path, context, key, xllamacpp.Server(params))
    except RuntimeError as error:
        raise ProviderError(
            f"llama.cpp can't load {path}: the file is damaged, too new or too large for it."
        ) from error
