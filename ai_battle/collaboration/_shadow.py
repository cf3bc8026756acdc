"""Has a share of a pair's requests answered by its other arm too, after the answer has gone out, and compares both."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from secrets import token_hex
from time import monotonic
from typing import Any

from ..core.client import ClientWrapper, ModelClient, request_answer
from ..core.errors import AIBattleError, BudgetExceeded, ProviderError, StoreError, translate_errors
from ..core.events import Emit, ignore
from ..core.exchange import WHOLE_ANSWER, ModelRequest, ModelResponse, ToolSpec
from ..core.ledger import Budget, Ledger, SpendingLimits, charge_to
from ..evidence.store import EvidenceStore
from ..evidence.trials import AnswerComparison, ShadowTrial, add_to_day, keep_trial
from ..evidence.versions import CalibrationVersion, newest_version
from ..evidence.watch import Fallback, LossWatch, find_fallback, find_watch, keep_fallback, record_loss
from ..judging import assessment
from ..judging.calibration import ALWAYS, Calibration
from ..judging.case import Case
from ..judging.promise import digest
from ._comparing import AnswerJudge
from ._help_listener import HelpListener
from ._prompts import HelpCase, Sees, bounded_text, excerpt, request_in_place

QUEUE, AT_ONCE = 16, 4
"""Answers that wait for their comparison, and how many are compared at once."""
PATIENCE = 120.0
"""Seconds for a comparison: the answer of the other arm, and what the judge says."""
LONGEST = 16_000
"""Characters of a text that is kept."""
CALIBRATES_EVERY, LOOKS = 10, 5.0
"""Comparisons after which a pair looks whether it can calibrate itself anew, and seconds between two looks for what
others have made of its calibration."""

Listen = Callable[[str, float], object]
"""Told what became of a request that was drawn, and what that cost: an outcome, or why there is none."""
Learn = Callable[[str, str, str], Awaitable[object]]
"""Takes a lesson from a request that the small model has lost: the prompt, the better answer, what was wrong."""
FindCut = Callable[[EvidenceStore, str, Calibration | None], Calibration]
"""Finds when a pair of that name has to ask for help, by what is in the store, where it loses too much by its own
calibration, or by the fallback that is given."""

Calibrate = Callable[[EvidenceStore, str], object]


@dataclass(frozen=True, slots=True)
class ShadowTerms:
    """`pair` is its name in the store, `share` the probability that a request is drawn, `limits` are for a day.

    `sees` is the most that the helper and the judge are shown, and `redact` goes over each text that is kept. `cut` is
    when the pair asks for help, as a digest; of the answers at most the share `promised` may be lost, if it is watched.
    With a `seed` the same of a series of requests are drawn each time. `is_advised`: the small model answers itself
    also where it is helped. `find_safe_cut` says what decides about help after an alarm; `calibrates` keeps another
    version of the calibration in the store, where enough is new: the newest one decides.
    """

    pair: str
    share: float
    limits: SpendingLimits
    sees: Sees = "history"
    redact: Callable[[str], str] = str
    cut: str = ""
    promised: float | None = None
    seed: int | None = None
    is_advised: bool = False
    find_safe_cut: FindCut = lambda store, pair, fallback: ALWAYS
    calibrates: Calibrate | None = None


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """An answer that has gone out: what it took, and what of that was the helper's, in dollars and seconds.

    `cut` is the digest of when the pair asked for help.
    """

    cut: str
    request: ModelRequest
    response: ModelResponse
    helped: bool
    usd: float | None
    seconds: float
    helper_usd: float | None
    helper_seconds: float


class Shadow:
    """What is done here delays no answer and raises nothing: it is counted, and told to `listen`.

    It does nothing before it was started with a store. `calibration` takes the place of the pair's own, where more is
    lost than may be, of which `tell_alarm` hears once, and where the pair calibrates itself, of which `tell_version`
    hears: whoever makes the pair takes it from then on. It is watched in turn. `cut` is the digest of when the pair
    asks for help now.
    """

    def __init__(self, terms: ShadowTerms, small: ModelClient, large: ModelClient, judge: AnswerJudge) -> None:
        self.terms = terms
        self.store: EvidenceStore | None = None
        self.listen: Listen = _ignore
        self.tell_alarm: Callable[[str], object] = _ignore
        self.tell_version: Callable[[str], object] = _ignore
        self.learn: Learn | None = None
        self.calibration: Calibration | None = None
        self.cut = terms.cut
        self._version, self._looks_at = 0, 0.0
        self._verdicts = 0
        self._switching = asyncio.Lock()
        self._small, self._large, self._judge = small, large, judge
        self._random = Random(terms.seed)  # noqa: S311 - draws a sample
        self._queue: asyncio.Queue[ServedAnswer] = asyncio.Queue(QUEUE)
        self._workers: list[asyncio.Task[None]] = []
        self._counts: defaultdict[str, float] = defaultdict(float)
        self._writing: set[asyncio.Task[None]] = set()
        self._spending = DaySpending(terms)

    def start(self, store: EvidenceStore) -> str:
        """Returns why there is an alarm already, empty where there is none; raises `StoreError`."""
        self.store, why = store, ""
        if self.terms.calibrates:
            self._take_version(newest_version(store, self.terms.pair))
        while self.terms.promised and (watch := find_watch(store, self.terms.pair, self.cut)) and watch.alarm_at:
            why = self._take(self._last_safe_cut(store, watch))
        return why

    def _last_safe_cut(self, store: EvidenceStore, watch: LossWatch) -> Fallback:
        """Returns what is to decide about help after an alarm, as another process has found it, or as is found now.

        Raises `StoreError`.
        """
        pair = self.terms.pair
        if kept := find_fallback(store, pair, self.cut):
            return kept
        return keep_fallback(store, pair, watch, self.cut, self.terms.find_safe_cut(store, pair, self.calibration))

    def _take(self, fallback: Fallback) -> str:
        """Lets it decide from now on, and returns why."""
        self.calibration, self.cut = fallback.calibration, fallback.cut
        return fallback.why

    def _take_version(self, found: CalibrationVersion | None) -> None:
        if found and found.number > self._version:
            self._version, self.calibration, self.cut = found.number, found.calibration, found.cut
            self.tell_version(f"{self.terms.pair} asks for help by {found.words}.")

    def follow(self, pair: ModelClient) -> ModelClient:
        """Returns the pair, of whose answers some are shown to this shadow; who asks it notices nothing."""
        return _ShadowedClient(pair, self)

    def draw(self) -> bool:
        """Says whether the next request is one of the sample."""
        if self.store is None:
            return False
        self._counts["requests"] += 1
        if self.terms.calibrates and monotonic() >= self._looks_at:
            self._looks_at = monotonic() + LOOKS
            self._run_later(self._look(self.store))
        return self._random.random() < self.terms.share

    def offer(self, answer: ServedAnswer) -> None:
        """Puts an answer in the queue; where that is full it is dropped and counted."""
        if answer.response.steps:
            self._tell("used_tools")  # what a tool did can't be done again for a comparison
            return
        try:
            self._queue.put_nowait(answer)
        except asyncio.QueueFull:
            self._tell("dropped")
            return
        if len(self._workers) < AT_ONCE:
            # In a context of its own: nothing of this is charged to the key or the run of the request.
            self._workers.append(asyncio.get_running_loop().create_task(self._work(), context=Context()))

    async def join(self, seconds: float) -> None:
        """Returns when all that waits has been compared, or after so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), seconds)

    async def aclose(self) -> None:
        """Drops what waits still."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, *self._writing, return_exceptions=True)
        self._counts["dropped"] += self._queue.qsize()
        await self._keep_counts()
        for each in (self._small, self._large, self._judge):
            await each.aclose()

    async def _work(self) -> None:
        while True:
            answer = await self._queue.get()
            own, outcome = Budget(), "dropped"
            try:
                outcome = await self._outcome(answer, own)
            finally:
                self._counts["usd"] += own.ledger.known_cost
                self._tell(outcome, own.ledger.known_cost)
            await self._keep_counts()
            await self._calibrate()
            self._queue.task_done()

    async def _outcome(self, answer: ServedAnswer, own: Budget) -> str:
        store = self.store
        assert store is not None
        try:
            day = await self._spending.budget(store)
            async with asyncio.timeout(PATIENCE):
                with translate_errors("The comparison failed", ProviderError), charge_to(day, own):
                    trial = await self._compare(answer)
            await asyncio.to_thread(keep_trial, store, self.terms.pair, token_hex(8), trial)
            await self._watch(store, trial)
            if self.learn and trial.outcome == "loss":
                await self.learn(trial.prompt, trial.large, trial.reason)
        except TimeoutError:
            return "timed_out"
        except BudgetExceeded:
            return "unpaid"
        except StoreError:
            return "unkept"
        except AIBattleError:
            return "failed"
        return trial.outcome

    async def _calibrate(self) -> None:
        """Looks now and then whether what was found is enough for a new version."""
        self._verdicts += 1
        if self.terms.calibrates and self.store and not self._verdicts % CALIBRATES_EVERY:
            with suppress(StoreError):
                await asyncio.to_thread(self.terms.calibrates, self.store, self.terms.pair)
            await self._look(self.store)

    async def _look(self, store: EvidenceStore) -> None:
        """Takes the newest version, whoever has made it: this process, another one, or `ai-battle pair undo`."""
        async with self._switching:
            with suppress(StoreError):
                self._take_version(await asyncio.to_thread(newest_version, store, self.terms.pair))

    async def _compare(self, answer: ServedAnswer) -> ShadowTrial:
        request, sees = replace(answer.request, wants=WHOLE_ANSWER), self.terms.sees
        arm, arm_request = self._small, request
        if not answer.helped:
            arm, arm_request = self._large, request_in_place(HelpCase(request), sees)
        own, started = Budget(), monotonic()
        other = await request_answer(arm, arm_request, ignore, own)
        seconds = monotonic() - started
        small, large = (other, answer.response) if answer.helped else (answer.response, other)
        texts = bounded_text(small.message), bounded_text(large.message)
        found = await self._judge.compare(request, *texts)
        took = (answer.helper_usd, answer.helper_seconds) if answer.helped else (own.ledger.usage.cost_usd, seconds)
        return self._trial(answer, found, (small, *texts), took)

    async def _watch(self, store: EvidenceStore, trial: ShadowTrial) -> None:
        terms = self.terms
        if terms.promised is None:
            return
        loss = float(trial.is_lost)
        watch = await asyncio.to_thread(record_loss, store, terms.pair, trial.cut, terms.promised, loss)
        async with self._switching:
            if watch.alarm_at and trial.cut == self.cut:
                fallback = await asyncio.to_thread(self._last_safe_cut, store, watch)
                self.tell_alarm(self._take(fallback))  # here, so that no request gets a half of it

    def _trial(
        self,
        answer: ServedAnswer,
        found: AnswerComparison,
        answers: tuple[ModelResponse, str, str],
        large: tuple[float | None, float],
    ) -> ShadowTrial:
        small, *texts = answers
        context = assessment.Context.of(answer.request, small)
        prompt, *kept = (self._clean(text) for text in (context.prompt, *texts))
        return ShadowTrial(
            outcome=found.outcome,
            helped=answer.helped,
            share=self.terms.share,
            family=Case(small.text[:LONGEST], context.prompt[:LONGEST], context).family,
            prompt=prompt,
            small=kept[0],
            large=kept[1],
            reason=self._clean(found.reason),
            is_steady=found.is_steady,
            cut=answer.cut,
            is_advised=answer.helped and self.terms.is_advised,
            pair_usd=answer.usd,
            large_usd=large[0],
            pair_seconds=answer.seconds,
            large_seconds=large[1],
            tools=_tool_documents(answer.request.tools),
            system=digest(answer.request.system),
        )

    def _clean(self, text: str) -> str:
        return excerpt(self.terms.redact(text), LONGEST)

    def _tell(self, outcome: str, dollars: float = 0.0) -> None:
        self._counts[outcome] += 1
        self.listen(outcome, dollars)

    async def _keep_counts(self) -> None:
        """Adds what was counted since the last time to the day; it is written also where this is cancelled."""
        counts, self._counts = self._counts, defaultdict(float)
        await asyncio.shield(self._run_later(self._write(counts)))

    def _run_later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Lets it run; it is waited for at the end."""
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def _write(self, counts: Mapping[str, float]) -> None:
        """Writes them, else keeps them until more is counted."""
        if not self.store:
            return
        try:
            await self._spending.add(self.store, counts)
        except StoreError:
            self.listen("unkept", 0.0)
            for name, number in counts.items():
                self._counts[name] += number


class DaySpending:
    """The dollars of a day, of all processes that share a store: what others have spent is known after each trial."""

    def __init__(self, terms: ShadowTerms) -> None:
        self._terms = terms
        self._day = ""
        self._budget = Budget()
        self._own, self._others = 0.0, 0.0
        self._opening = asyncio.Lock()

    async def budget(self, store: EvidenceStore) -> Budget:
        """Returns that of today; raises `StoreError`."""
        async with self._opening:
            if self._day != (day := _today()):
                kept = await asyncio.to_thread(add_to_day, store, self._terms.pair, day, {"usd": 0.0})
                self._day, self._own, self._others = day, 0.0, kept["usd"]
                payer = f"the shadow of {self._terms.pair}"
                self._budget = Budget(self._terms.limits, Ledger(known_cost=self._others), payer)
            return self._budget

    async def add(self, store: EvidenceStore, counts: Mapping[str, float]) -> None:
        """Adds to the counts of today, of which "usd" is what was spent; raises `StoreError`."""
        day, dollars = _today(), counts.get("usd", 0.0)
        self._own += dollars
        try:
            kept = (await asyncio.to_thread(add_to_day, store, self._terms.pair, day, counts)).get("usd", 0.0)
        except StoreError:
            self._own -= dollars
            raise
        # What this process adds meanwhile may be in the sum already or not, so others have spent this at the least.
        if day == self._day and (more := kept - self._own - self._others) > 0:
            self._others += more
            self._budget.ledger.known_cost += more


class _ShadowedClient(ClientWrapper):
    def __init__(self, pair: ModelClient, shadow: Shadow) -> None:
        super().__init__(pair)
        self._shadow, self._cut = shadow, shadow.cut

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        if not self._shadow.draw():
            return await self.client.complete(request, emit)
        listener, own, started = HelpListener(emit), Budget(), monotonic()
        with charge_to(own):
            response = await self.client.complete(request, listener)
        took = own.ledger.usage.cost_usd, monotonic() - started
        helper = listener.helper.usage.cost_usd, listener.seconds
        self._shadow.offer(ServedAnswer(self._cut, request, response, listener.helped, *took, *helper))
        return response


def _tool_documents(tools: Sequence[ToolSpec]) -> Sequence[Mapping[str, Any]]:
    """The tools that were offered; of large ones the names alone."""
    whole = [{"name": tool.name, "description": tool.description, "parameters": tool.schema} for tool in tools]
    return whole if len(str(whole)) <= LONGEST else [{"name": tool.name} for tool in tools]


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _ignore(*fields: object) -> None:
    """Stands where nobody listens."""
