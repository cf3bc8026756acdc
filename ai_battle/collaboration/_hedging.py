"""Hedges a slow model: the helper starts in parallel, and the first good answer is taken."""

import asyncio
from bisect import bisect
from collections import OrderedDict, deque
from dataclasses import replace
from itertools import accumulate
from math import ceil
from statistics import fmean as mean
from typing import Any, NamedTuple

from ..core.client import ClientWrapper, ModelClient
from ..core.errors import ConfigError
from ..core.events import Emit, Event, TextDelta, ignore
from ..core.exchange import ModelRequest, ModelResponse
from ..core.helping import NOT_NEEDED
from ..core.messages import assistant
from ..judging.detector import StuckDetector
from ._attempts import TRUSTED, Attempts, Candidate, Strategy, answer_in_place, take_over
from ._checks import Judges
from ._prompts import HelpCase, request_in_place
from ._turn import Helping, Turn
from ._wrappers import MutedClient

LEAST_LATENCIES, MOST_LATENCIES = 20, 200
"""How many latencies a quantile needs at least, and how many of the newest it uses."""
LEAST_CALLS, MOST_CALLS = 3, 50
"""How many helper calls an estimate of their cost needs at least, and how many of the newest it uses."""
FIRST_LOOK = 200
"""The length in characters at which an answer is first judged."""
DOUBT_REASON = "what there is of its answer is doubtful"
WARM, BEGINNINGS = 300.0, 1_000
"""For how many seconds a provider is assumed to cache a request's beginning, and how many beginnings are tracked."""


class HelperCall(NamedTuple):
    """The time and cost of a helper's call."""

    seconds: float
    usd: float


class Hedge:
    """Decides how long to wait for the primary: for seconds, or for a quantile of its recent latencies (`p95`).

    With `worth`, the value in dollars of a second saved, it waits until the expected saving is worth more than the
    expected cost of the helper's call. Both are estimated from recent calls, separately for requests whose beginning
    the provider probably has cached and for others. While too little is known, `wait` holds, and a quantile waits to
    the end. `doubt`, from 0 to 1, is the limit of what may speak against an unfinished answer; above it the helper
    starts at once. All pairs that share this object share its statistics.
    """

    def __init__(self, wait: float | str, worth: float | None = None, doubt: float | None = None) -> None:
        self.doubt = doubt
        self._quantile = int(wait[1:]) / 100 if isinstance(wait, str) else 0.0
        self._seconds = None if isinstance(wait, str) else wait
        self._worth = worth
        self._latencies = deque[float](maxlen=MOST_LATENCIES)
        self._poor = deque[bool](maxlen=MOST_LATENCIES)
        # Keyed by whether a call with the same beginning was made shortly before, so that it is cheaper and faster.
        self._calls = {warm: deque[HelperCall](maxlen=MOST_CALLS) for warm in (False, True)}
        self._beginnings: OrderedDict[int, float] = OrderedDict()

    def seconds(self, request: ModelRequest) -> float | None:
        """Returns how long to wait before asking the helper; None means to the end."""
        if len(self._latencies) < LEAST_LATENCIES:
            return self._seconds
        if self._worth and len(calls := self._calls[self._is_warm(_beginning(request))]) >= LEAST_CALLS:
            return self._worthwhile(self._worth, mean(call.seconds for call in calls), mean(call.usd for call in calls))
        if not self._quantile:
            return self._seconds
        return sorted(self._latencies)[ceil(self._quantile * len(self._latencies)) - 1]

    def record(self, seconds: float, *, poor: bool = False) -> None:
        """Records the latency of an answer, or of one that was given up, at that moment.

        Without the latter the quantile would sink with each answer given up, until every answer was hedged. `poor` says
        that the answer came but was not good enough.
        """
        self._latencies.append(seconds)
        self._poor.append(poor)

    def record_call(self, request: ModelRequest, seconds: float, usd: float | None) -> None:
        """Records what a helper's call took; without a price it can't be weighed."""
        if not self._worth:
            return
        beginning = _beginning(request)
        if usd is not None:
            self._calls[self._is_warm(beginning)].append(HelperCall(seconds, usd))
        self._beginnings[beginning] = asyncio.get_running_loop().time()
        self._beginnings.move_to_end(beginning)
        while len(self._beginnings) > BEGINNINGS:
            self._beginnings.popitem(last=False)

    def _is_warm(self, beginning: int) -> bool:
        return asyncio.get_running_loop().time() - self._beginnings.get(beginning, -WARM) < WARM

    def _worthwhile(self, worth: float, helper: float, usd: float) -> float:
        """Returns the first moment at which the helper is worth its call.

        If the answer will be poor, the helper is needed anyway, so calling it early costs nothing extra and saves the
        rest of the wait. An answer slower than all before is expected to take as long again.
        """
        known, poor = sorted(self._latencies), mean(self._poor)
        tails = [*accumulate(reversed(known))]  # the sums of the last one, two, three
        for place, waited in enumerate((0.0, *known[:-1])):
            left = len(known) - place
            late = len(known) - bisect(known, waited + helper)
            if_good = (tails[late - 1] - late * (waited + helper)) / left if late else 0.0
            saved = poor * (tails[left - 1] / left - waited) + (1 - poor) * if_good
            if saved * worth > (1 - poor) * usd:
                return waited
        return max(known[-1], (1 - poor) * (usd / worth + helper))


def _beginning(request: ModelRequest) -> int:
    """Returns the same number for requests with the same system prompt, tools and first message."""
    return hash((request.system, tuple(tool.name for tool in request.tools), *map(repr, request.messages[:1])))


class DoubtWatch(ClientWrapper):
    """Judges the small model's answer while it streams; sets `doubted` if more than `mark` speaks against it.

    It judges again each time the answer has doubled in length, which keeps the cost linear.
    """

    def __init__(self, client: ModelClient, detector: Judges, mark: float | None) -> None:
        super().__init__(client)
        self.doubted = asyncio.Event()
        self._detector = detector
        self._mark = mark

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if (mark := self._mark) is None:
            return await self.client.complete(request, emit)
        text, next_look = "", FIRST_LOOK

        async def listen(event: Event) -> None:
            nonlocal text, next_look
            if isinstance(event, TextDelta):
                text += event.text
                if len(text) >= next_look:
                    next_look = 2 * len(text)
                    judged = self._detector.assess_response(request, ModelResponse(assistant(text)))
                    if 1 - judged.quality > mark:
                        self.doubted.set()
            await emit(event)

        return await self.client.complete(replace(request, wants=replace(request.wants, stream=True)), listen)


class TimedHelper(ClientWrapper):
    """Records the time and cost of the helper's calls in the hedge."""

    def __init__(self, client: ModelClient, hedge: Hedge) -> None:
        super().__init__(client)
        self._hedge = hedge

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        clock = asyncio.get_running_loop().time
        begun = clock()
        response = await self.client.complete(request, emit)
        self._hedge.record_call(request, clock() - begun, response.usage.cost_usd)
        return response


class HedgedModel(Strategy):
    """Lets `primary` answer; if it is slow, `secondary` answers in parallel, and if it is stuck, instead.

    Neither may have tools, because both would run them.
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
        self.secondary = TimedHelper(secondary, hedge)
        self.detector = detector or StuckDetector()
        self._hedge = hedge

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        watched = DoubtWatch(self.primary, self.detector, self._hedge.doubt)
        attempts = Attempts(watched, self.detector, Turn("takeover", self.helping, emit), request)
        own, doubted = asyncio.create_task(attempts.try_alone()), asyncio.create_task(watched.doubted.wait())
        try:
            await self._answer(attempts, own, doubted)
        finally:
            await _end(own)
            await _end(doubted)
        return await attempts.accept_best()

    async def _answer(self, attempts: Attempts, own: "asyncio.Task[None]", doubted: "asyncio.Task[Any]") -> None:
        """Leaves the best answer with the attempts. Raises the error of `own` if there is no answer."""
        clock, turn = asyncio.get_running_loop().time, attempts.turn
        wait = self._hedge.seconds(request_in_place(HelpCase(attempts.request), turn.helping.sees))
        begun = clock()
        await asyncio.wait([own, doubted], timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        if not own.done():
            reason = DOUBT_REASON if doubted.done() else f"there is no good answer after {wait:.3g} s"
            await self._race_helper(attempts, own, reason)
            self._hedge.record(clock() - begun)
            return
        await own
        self._hedge.record(clock() - begun, poor=attempts.stuck)
        if attempts.stuck:
            await take_over(attempts, self.secondary)

    async def _race_helper(self, attempts: Attempts, own: "asyncio.Task[None]", reason: str) -> None:
        """Starts the helper in parallel with `own` and takes the first good answer; the other is cancelled."""
        case = replace(attempts.case, reason=reason)
        # Mute the helper: deltas of two answers that stream at once can't be told apart.
        help_ = asyncio.create_task(answer_in_place(attempts.turn, MutedClient(self.secondary), case))
        try:
            await asyncio.wait([own, help_], return_when=asyncio.FIRST_COMPLETED)
            if own.done() and not own.exception() and not attempts.stuck:
                await _end(help_)
                reason = "the model that it helps has answered first"
                await attempts.turn.report_failure(reason, kind=NOT_NEEDED)
            elif answer := await help_:
                await _end(own)  # cancel first, or it might still replace the helper's answer with its own
                await attempts.put_in_place(Candidate(answer, TRUSTED))
            else:
                await own
        finally:
            await _end(help_)


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancels a task and waits until its calls are booked; its exception no longer matters."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
