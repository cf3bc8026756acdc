"""Upstreams that are down, or ask for rest, are left alone: whoever asks then is told at once when to come back."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any

from ..assembly.models import Model
from ..core.client import ModelClient
from ..core.errors import ProviderError, RateLimited, Unreachable
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..providers._traffic import Traffic, traffic_of

LIMITED = 10
"""So many 429 in a row, and no other answer between them, are no matter of one client."""
LONGEST = 60.0
"""Seconds for which an upstream is left alone at most, whatever it says: its clients share its limit unevenly."""
PROBE = 5.0
"""Seconds after which it is worth coming back while a call probes."""


class Breaker(ModelClient):
    """Before a client without retries, which would wait itself. All clients of one endpoint share what is known of it.

    A single 429 is passed on and nothing else happens, as clients have limits of their own upstream; `LIMITED` in a
    row are a model that is to be left alone. Limits are a model's own, so the others of its endpoint are asked.
    """

    def __init__(self, client: ModelClient, model: str, endpoint: str) -> None:
        self.client = client
        self.model = model
        self.endpoint = endpoint
        self._limited = 0

    @property
    def traffic(self) -> Traffic:
        return traffic_of(self.endpoint)

    @property
    def limit(self) -> Traffic:
        return _limit(self.endpoint, self.model)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if wait := _waiting(self.traffic):
            raise Unreachable(self._left_alone(wait, self.traffic.reason), status=503, retry_after=ceil(wait))
        if self._limited >= LIMITED and (wait := self.limit.waiting()):
            raise RateLimited(self._left_alone(wait, self.limit.reason), status=429, retry_after=ceil(wait))
        try:
            response = await self.client.complete(request, emit)
        except RateLimited as error:
            self._limited += 1
            if error.retry_after and self._limited >= LIMITED:
                self.limit.close_for(min(error.retry_after, LONGEST))
            raise
        except ProviderError:
            self._limited = 0
            raise
        self._limited = 0
        return response

    async def aclose(self) -> None:
        await self.client.aclose()

    def _left_alone(self, wait: float, reason: str) -> str:
        return f"{self.model} is not called for another {ceil(wait)} s: {reason.rstrip('.')}."


def _waiting(traffic: Traffic) -> float:
    """Seconds. One probes, and nobody waits with it: it may take as long as an answer may."""
    return PROBE if traffic.is_probed else traffic.waiting()


def _limit(endpoint: str, model: str) -> Traffic:
    return traffic_of(f"{endpoint} {model}")


def endpoint_of(model: Model) -> str:
    """Under which its calls are counted."""
    return model.endpoint or model.name.provider


def _rest(endpoint: str, model: str) -> float:
    return max(_waiting(traffic_of(endpoint)), _limit(endpoint, model).waiting())


def readiness(models: Iterable[Model]) -> tuple[bool, Mapping[str, Any]]:
    """Whether any upstream can be asked, and which can't, from what earlier calls came to; nobody is called."""
    waits = {str(model.name): ceil(_rest(endpoint_of(model), str(model.name))) for model in models}
    upstreams = {name: {"up": not wait, **({"retry_after": wait} if wait else {})} for name, wait in waits.items()}
    ready = not waits or not all(waits.values())
    return ready, {"status": "ready" if ready else "no upstream answers", "upstreams": upstreams}
