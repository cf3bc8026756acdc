"""How many calls a provider gets at once: fewer after it asked to slow down, more again while it answers."""

import asyncio
from collections import deque
from time import monotonic

from ..core.client import ClientWrapper, ModelClient
from ..core.events import AttemptFailed, Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse

TOO_MANY = 429
LEAST = 1.0


class ConcurrencyLimit:
    """Additive increase, multiplicative decrease, as TCP does it (Jacobson, 1988); `most` is where it begins.

    Calls that were under way together are slowed down for once.
    """

    def __init__(self, most: int) -> None:
        self.most = float(most)
        self.width = float(most)
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._slowed = 0
        self._begun = 0

    async def enter(self) -> int:
        """Waits for a place among those that run; the number tells `slow_down` when the call began."""
        if self._running >= int(self.width) or self._waiting:
            await self._wait()
        else:
            self._running += 1
        self._begun += 1
        return self._begun

    def leave(self) -> None:
        self._running -= 1
        self._let_in()

    def widen(self) -> None:
        """Adds one more place for each round of answers."""
        if self.width < self.most:
            self.width = min(self.most, self.width + 1 / self.width)
            self._let_in()

    def slow_down(self, number: int) -> None:
        """Halves the limit, unless the call began before it was halved last."""
        if number > self._slowed:
            self.width = max(LEAST, self.width / 2)
            self._slowed = self._begun

    async def _wait(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Cancelled in the moment that it was let in: its place is another's, or nobody would come in any more.
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def _let_in(self) -> None:
        while self._waiting and self._running < int(self.width):
            turn = self._waiting.popleft()
            if not turn.done():
                self._running += 1
                turn.set_result(None)


class LimitedClient(ClientWrapper):
    """A client whose calls wait for their turn; `waited` is how long, in seconds. `model` is its name in events."""

    def __init__(self, client: ModelClient, limit: ConcurrencyLimit, model: str) -> None:
        super().__init__(client)
        self.model = model
        self.waited = 0.0
        self._limit = limit
        self._number = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        started = monotonic()
        self._number = await self._limit.enter()
        self.waited += monotonic() - started
        try:
            response = await self.client.complete(request, emit)
        finally:
            self._limit.leave()
        self._limit.widen()
        return response

    def note_failure(self, failed: AttemptFailed) -> None:
        """An attempt that failed while a call was under way."""
        if failed.status == TOO_MANY and failed.model == self.model:
            self._limit.slow_down(self._number)

    async def aclose(self) -> None:
        """Other samples use the client too; who keeps it closes it."""
