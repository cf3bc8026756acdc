"""Plans of a boost model that are kept for a while, for requests that are the same to the last word."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic

from .. import collaboration
from ..core.client import ModelClient
from ..core.events import Emit, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse


@dataclass(slots=True)
class Plans:
    """The `size` that were used last, each for `seconds` after it was made."""

    size: int = 0
    seconds: float = 0.0
    clock: Callable[[], float] = monotonic
    hits: int = 0
    misses: int = 0
    _kept: OrderedDict[bytes, tuple[float, ModelResponse]] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes) -> ModelResponse | None:
        ends, plan = self._kept.get(key, (0.0, None))
        if plan is None or ends <= self.clock():
            self._kept.pop(key, None)
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return plan

    def put(self, key: bytes, plan: ModelResponse) -> None:
        self._kept[key] = (self.clock() + self.seconds, plan)
        self._kept.move_to_end(key)
        if len(self._kept) > self.size:
            self._kept.popitem(last=False)


class Planned(ModelClient):
    """The boost model, asked only for what it has not planned yet. A plan from the cache costs nothing.

    Replies in none of the loop's formats are not kept: asked again, it may do better.
    """

    def __init__(self, boost: ModelClient, model: str, plans: Plans) -> None:
        self.client = boost
        self.model = model
        self.plans = plans

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        key = key_of(self.model, request)
        if plan := self.plans.get(key):
            await emit(TextDelta(plan.text))
            return replace(plan, usage=NOTHING_USED)
        plan = await self.client.complete(request, emit)
        if plan.stop == "end" and collaboration.is_plan(plan.text):
            self.plans.put(key, plan)
        return plan

    async def aclose(self) -> None:
        await self.client.aclose()


def key_of(model: str, request: ModelRequest) -> bytes:
    """All that the model is shown, and how it is asked. Pictures count with their bytes."""
    digest = hashlib.sha256(repr((model, request, request.extra)).encode("utf-8", "surrogatepass"))
    for message in request.messages:
        for part in message.parts:
            digest.update(getattr(part, "data", b""))
    return digest.digest()
