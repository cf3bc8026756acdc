"""The provider for GGUF files: runs llama.cpp in this process, without a server to install."""

import asyncio
import os
import secrets
import struct
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.plugins import near, optional
from ..core.traits import ProviderTraits
from . import openai
from ._calls import DEFAULT, Deadlines

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_FOLDERS = (".", "models", "~/models", "~/.lmstudio/models", "~/.cache/lm-studio/models", "~/.cache/huggingface/hub")
_LONGEST_STRING = 2**24


def find_model_file(model: str, base: Path = Path()) -> Path:
    """Returns the file for a model type: a path relative to `base`, or a file's name in one of the usual folders."""
    path = base / Path(model).expanduser()
    for candidate in (path, path.with_name(f"{path.name}.gguf")):
        if os.path.isfile(candidate):  # unlike `Path.is_file`, doesn't raise for a name that is too long
            return candidate.resolve()
    found = {file.stem: file for file in model_files()}
    if file := found.get(path.name.removesuffix(".gguf")):
        return file
    raise ConfigError(f"There is no model file {model!r} in {base.resolve()}{near(path.stem, list(found))}")


def model_files() -> Iterable[Path]:
    """Yields all GGUF files in the usual folders, and only the first part of a model in several parts."""
    for folder in (Path(name).expanduser() for name in _FOLDERS):
        depth = "*.gguf" if folder == Path() else "**/*.gguf"
        for file in sorted(folder.glob(depth)):
            if file.is_file() and ("-of-" not in file.stem or "-00001-of-" in file.stem):
                yield file.resolve()


def file_metadata(path: Path) -> Mapping[str, Any]:
    """Returns the metadata of a GGUF file up to its vocabulary. Raises `ConfigError` if it is not a GGUF file."""
    try:
        with path.open("rb") as file:
            return dict(_entries(file, path))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}.") from error
    except (struct.error, UnicodeDecodeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{path} is a damaged GGUF file; download it again.") from error


def context_length(described: Mapping[str, Any]) -> int | None:
    """Returns the context length in tokens that the model was trained for."""
    length = described.get(f"{described.get('general.architecture')}.context_length")
    return length if isinstance(length, int) else None


def _entries(file: BinaryIO, path: Path) -> Iterable[tuple[str, Any]]:
    if file.read(4) != _MAGIC:
        raise ConfigError(f"{path} is not a GGUF file.")
    _version, _tensors, count = _unpack(file, "IQQ")
    for _ in range(count):
        key = _string(file)
        if key.startswith("tokenizer."):
            return
        yield key, _value(file, *_unpack(file, "I"))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        element, length = _unpack(file, "IQ")
        return [_value(file, element) for _ in range(length)]
    return _unpack(file, _NUMBERS[kind])[0]


def _string(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    if length > _LONGEST_STRING:
        raise struct.error
    return file.read(length).decode()


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    packed = struct.Struct(f"<{form}")
    return packed.unpack(file.read(packed.size))


_PARALLEL_SLOTS = 4
_QUIET = -1


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings of an engine: `context` in tokens; `threads` 0 leaves their number to llama.cpp."""

    path: Path
    context: int
    threads: int = 0


@dataclass(slots=True)
class Engine:
    """A running engine, which answers at `address` on loopback to clients with `key`."""

    wanted: EngineSettings
    key: str = field(repr=False)
    server: Any = field(repr=False)
    users: int = 0

    @property
    def address(self) -> str:
        return str(self.server.listening_address)


_running: dict[EngineSettings, Engine] = {}
_thread = ThreadPoolExecutor(1, "llama.cpp")  # loading blocks for seconds; one thread also keeps `_running` in order


async def acquire(wanted: EngineSettings) -> Engine:
    """Returns a shared engine with these settings, loading the model if none is running."""
    engine = _thread.submit(_acquire, wanted)
    try:
        return await asyncio.wrap_future(engine)
    except asyncio.CancelledError:
        engine.add_done_callback(_release_unwanted)
        raise


async def release(engine: Engine) -> None:
    """Releases the engine. The last user stops it and waits for its end."""
    await asyncio.wrap_future(_thread.submit(_release, engine))


def _acquire(wanted: EngineSettings) -> Engine:
    engine = _running.get(wanted) or _start(wanted)
    _running[wanted] = engine
    engine.users += 1
    return engine


def _release(engine: Engine) -> None:
    engine.users -= 1
    if not engine.users:
        del _running[engine.wanted]
        engine.server = None


def _release_unwanted(future: "Future[Engine]") -> None:
    """Releases an engine whose caller was cancelled while it loaded."""
    if not future.cancelled() and not future.exception():
        _release(future.result())


def _start(wanted: EngineSettings) -> Engine:
    xllamacpp = optional("xllamacpp", "local")
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(wanted.path)
    params.model_alias = [wanted.path.stem]
    params.n_ctx = wanted.context
    if wanted.threads:
        params.cpuparams.n_threads = wanted.threads
    params.n_parallel = _PARALLEL_SLOTS
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
    server.handle_metrics()  # waits for an answer: an engine stopped before its loop runs hangs
    return Engine(wanted, key, server)


_DEFAULT_CONTEXT = 16_384


class GgufClient(ModelClient):
    """Loads the model at the first request, off the event loop; the engine serves OpenAI's API on loopback.

    `num_ctx` is the context in tokens; if 0, the first request's options decide. `threads` 0 is llama.cpp's choice, and
    a relative path starts at `base`.
    """

    def __init__(
        self, model: str, *, num_ctx: int = 0, threads: int = 0, deadlines: Deadlines = DEFAULT, base: Path = Path()
    ) -> None:
        optional("xllamacpp", "local")
        self.path = find_model_file(model, base)
        self.trained_context = context_length(file_metadata(self.path))
        self._num_ctx = num_ctx
        self._threads = threads
        self._deadlines = deadlines
        self._loading = asyncio.Lock()
        self._engine: Engine | None = None
        self._client: ModelClient | None = None

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        async with self._loading:
            client = self._client or await self._load(request)
        return await client.complete(request, emit)

    async def aclose(self) -> None:
        if self._client:
            await self._client.aclose()
        if self._engine:
            await release(self._engine)
        self._client = self._engine = None

    async def _load(self, request: ModelRequest) -> ModelClient:
        wanted = self._num_ctx or int(request.options.get("num_ctx") or _DEFAULT_CONTEXT)
        context = min(wanted, self.trained_context or wanted)
        self._engine = await acquire(EngineSettings(self.path, context, self._threads))
        self._client = openai.create(
            self.path.stem,
            endpoint="llamacpp",
            base_url=f"{self._engine.address}/v1",
            api_key=self._engine.key,
            deadlines=self._deadlines,
        )
        return self._client


TRAITS = ProviderTraits(
    from_file=True, local=True, free=True, needs_model=True, dashed=True, get_model="put a .gguf file into this folder"
)


async def list_models(**settings: Any) -> Sequence[str]:
    return [str(path) for path in model_files()]


async def ask(model: str, **settings: Any) -> Mapping[str, Any]:
    return {"context_window": context_length(file_metadata(find_model_file(model)))}


def create(
    model: str, *, num_ctx: int = 0, threads: int = 0, deadlines: Deadlines = DEFAULT, base: Path = Path()
) -> ModelClient:
    return GgufClient(model, num_ctx=num_ctx, threads=threads, deadlines=deadlines, base=base)
