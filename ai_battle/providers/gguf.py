"""A GGUF file on llama.cpp in this process: no server to install, nothing leaves the machine."""

import asyncio
from pathlib import Path

from ..core.client import ModelClient
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.plugins import optional
from . import _engine, openai
from ._deadlines import Deadlines
from ._gguf_files import context_length, find, metadata

_CONTEXT = 16_384


class GgufClient(ModelClient):
    """Loads the model with the first request, off the event loop; the engine speaks the API of OpenAI on loopback.

    `num_ctx` is the size of the context, else that of the first request's options; `threads` 0 is llama.cpp's choice.
    """

    def __init__(
        self, model: str, num_ctx: int = 0, threads: int = 0, deadlines: Deadlines | None = None, base: Path = Path()
    ) -> None:
        optional("xllamacpp", "local")
        self.path = find(model, base)
        self.trained_context = context_length(metadata(self.path))
        self._num_ctx = num_ctx
        self._threads = threads
        self._deadlines = deadlines or Deadlines()
        self._loading = asyncio.Lock()
        self._engine: _engine.Engine | None = None
        self._client: ModelClient | None = None

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        async with self._loading:
            client = self._client or await self._load(request)
        return await client.complete(request, emit)

    async def aclose(self) -> None:
        if self._client:
            await self._client.aclose()
        if self._engine:
            await _engine.release(self._engine)
        self._client = self._engine = None

    async def _load(self, request: ModelRequest) -> ModelClient:
        wanted = self._num_ctx or int(request.options.get("num_ctx") or _CONTEXT)
        context = min(wanted, self.trained_context or wanted)
        self._engine = await _engine.acquire(_engine.Wanted(self.path, context, self._threads))
        self._client = openai.create(
            self.path.stem,
            endpoint="llamacpp",
            base_url=f"{self._engine.address}/v1",
            api_key=self._engine.key,
            deadlines=self._deadlines,
        )
        return self._client


def create(
    model: str, *, num_ctx: int = 0, threads: int = 0, deadlines: Deadlines | None = None, base: Path = Path()
) -> ModelClient:
    """`base` is the folder that a relative path starts from."""
    return GgufClient(model, num_ctx, threads, deadlines, base)
