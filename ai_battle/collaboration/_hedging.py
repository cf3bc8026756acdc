"""Hedged help: where the small model is slow, the helper starts beside it, and the first good answer is taken."""

import asyncio
from collections import deque
from dataclasses import replace
from math import ceil
from typing import Any

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..judging.detector import StuckDetector
from ._attempts import TRUSTED, Attempts, Candidate, Strategy, answer_in_place, take_over
from ._checks import Judges
from ._turn import Helping, Turn
from ._wrappers import MutedClient

LEAST_LATENCIES, MOST_LATENCIES = 20, 200
"""How many a quantile needs, and how many of the newest it is taken over."""


class Hedge:
    """How long the primary is waited for: seconds, or a quantile of how long it took of late (`p95`).

    A quantile is that of all pairs that share this value; while too few latencies are known, it waits to the end.
    """

    def __init__(self, wait: float | str) -> None:
        self._quantile = int(wait[1:]) / 100 if isinstance(wait, str) else 0.0
        self._seconds = None if isinstance(wait, str) else wait
        self._latencies = deque[float](maxlen=MOST_LATENCIES)

    @property
    def seconds(self) -> float | None:
        """How long to wait from now on; None: to the end."""
        if not self._quantile or len(self._latencies) < LEAST_LATENCIES:
            return self._seconds
        return sorted(self._latencies)[ceil(self._quantile * len(self._latencies)) - 1]

    def record(self, seconds: float) -> None:
        """Keep a latency: of an answer that came, or what one that was given up had taken by then.

        Without those given up the quantile would sink with each of them, until every answer were hedged.
        """
        self._latencies.append(seconds)


class HedgedModel(Strategy):
    """`primary` answers; where it is slow, `secondary` answers beside it, and where it is stuck, in its place.

    Neither has tools of its own: they would be run by both.
    """

    def __init__(
        self,
        primary: ModelClient,
        secondary: ModelClient,
        hedge: Hedge,
        detector: Judges | None = None,
        helping: Helping | None = None,
    ) -> None:
        super().__init__(primary, secondary, helping=helping)
        if primary.offered_tools or secondary.offered_tools:
            raise ConfigError(
                "hedge lets two models answer at once, and both would run the tools; give the participant `tools: []`, "
                "or take hedge away.",
                "hedge",
            )
        self.secondary = secondary
        self.detector = detector or StuckDetector()
        self._hedge = hedge

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        attempts = Attempts(self.primary, self.detector, Turn("takeover", self.helping, emit), request)
        own = asyncio.create_task(attempts.try_alone())
        try:
            await self._answer(attempts, own)
        finally:
            await _end(own)
        return await attempts.accept_best()

    async def _answer(self, attempts: Attempts, own: "asyncio.Task[None]") -> None:
        """Leave a good answer with the attempts, if there is one; raises what `own` raises where that is all."""
        clock, wait = asyncio.get_running_loop().time, self._hedge.seconds
        begun = clock()
        await asyncio.wait([own], timeout=wait)
        if wait is not None and not own.done():
            await self._hurry(attempts, own, wait)
        else:
            await own
            if attempts.stuck:
                await take_over(attempts, self.secondary)
        self._hedge.record(clock() - begun)

    async def _hurry(self, attempts: Attempts, own: "asyncio.Task[None]", waited: float) -> None:
        """Start the helper beside `own`, which goes on, and take the first good answer; the other is cancelled."""
        case = replace(attempts.case, reason=f"there is no good answer after {waited:.3g} s")
        # The words of two that stream at once can't be told apart.
        help_ = asyncio.create_task(answer_in_place(attempts.turn, MutedClient(self.secondary), case))
        try:
            await asyncio.wait([own, help_], return_when=asyncio.FIRST_COMPLETED)
            if own.done() and not own.exception() and not attempts.stuck:
                await _end(help_)
                await attempts.turn.report_failure("the model that it helps has answered first")
            elif answer := await help_:
                await _end(own)  # before its place is taken, or it might still put another answer there
                await attempts.put_in_place(Candidate(answer, TRUSTED))
            else:
                await own
        finally:
            await _end(help_)


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancel a task and wait until its calls are booked; what it raises is of no interest any more."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
