"""Answers that were given before, by the whole request: what two settings ask alike is asked once."""

import asyncio
import hashlib
from typing import Protocol

from ..core.client import ClientWrapper, ModelClient
from ..core.events import Emit, ModelReplied, TextDelta, ToolCallDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.ledger import book
from ..providers._recordings import request_digest, response_from_json, response_to_json
from ..wire.bodies import dumps, loads


class AnswerStore(Protocol):
    """Keeps answers; the results of a benchmark are one."""

    def answer(self, key: bytes) -> str | None: ...
    def keep_answer(self, key: bytes, response: str) -> None: ...


class Cache:
    """One for all samples of a process: what is being asked is waited for."""

    def __init__(self, keeper: AnswerStore) -> None:
        self._keeper = keeper
        self._asking: dict[bytes, asyncio.Future[None]] = {}

    async def turn(self, key: bytes) -> str | None:
        """Returns what is kept; None says that the caller is to ask, and to call `release` whatever comes of it."""
        # Who asked may have failed, so each that waited looks again, and the first that finds nothing asks.
        while (asking := self._asking.get(key)) is not None:
            await asyncio.wait([asking])
        if (found := self._keeper.answer(key)) is None:
            self._asking[key] = asyncio.get_running_loop().create_future()
        return found

    def release(self, key: bytes, response: str = "") -> None:
        try:
            if response:
                self._keeper.keep_answer(key, response)
        finally:
            self._asking.pop(key).set_result(None)


class CachedClient(ClientWrapper):
    """`identity` says which model it is, with all that it was made of; `saved_seconds` is what its hits have saved."""

    def __init__(self, client: ModelClient, cache: Cache, identity: str) -> None:
        super().__init__(client)
        self._cache = cache
        self._identity = identity
        self.saved_seconds = 0.0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        key = key_of(self._identity, request)
        if found := await self._cache.turn(key):
            return await self._again(found, emit)
        kept_text = ""
        try:
            begun = asyncio.get_running_loop().time()
            response = await self.client.complete(request, emit)
            kept_text = _as_text(response, asyncio.get_running_loop().time() - begun)
            return response
        finally:
            self._cache.release(key, kept_text)

    async def _again(self, found: str, emit: Emit) -> ModelResponse:
        data = loads(found.encode())
        response = response_from_json(data)
        if response.text:
            await emit(TextDelta(response.text))
        for index, call in enumerate(response.tool_calls):
            await emit(ToolCallDelta(index, call.id, call.name, dumps(call.arguments).decode()))
        entry = ModelReplied(response.model, response.usage, data["seconds"], response.stop, paid=False)
        # It counts for the setting as if the model had been asked; only `paid` says that nothing was spent.
        book(entry)
        await emit(entry)
        self.saved_seconds += data["seconds"]
        return response


def key_of(identity: str, request: ModelRequest) -> bytes:
    """Returns a digest of all that has an influence on the answer."""
    return hashlib.sha256(dumps([identity, request_digest(request)])).digest()


def _as_text(response: ModelResponse, seconds: float) -> str:
    return dumps({**response_to_json(response), "seconds": seconds}).decode()
