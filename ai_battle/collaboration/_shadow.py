"""Lets a pair's other model answer a sample of requests too, after the answer was sent, and compares both answers."""

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
from ..core.errors import AIBattleError, BudgetExceeded, ProviderError, StoreError
from ..core.events import Emit, ignore
from ..core.exchange import WHOLE_ANSWER, ModelRequest, ModelResponse, ToolSpec
from ..core.ledger import Budget, Ledger, SpendingLimits, charge_to
from ..core.plugins import translate_errors
from ..evidence.store import EvidenceStore
from ..evidence.trials import AnswerComparison, ShadowTrial, add_to_day, keep_trial
from ..evidence.versions import CalibrationVersion, newest_version
from ..evidence.watch import Fallback, LossWatch, find_fallback, find_watch, keep_fallback, record_loss
from ..judging import assessment
from ..judging.calibration import ALWAYS_HELP, Calibration
from ..judging.case import Case
from ..judging.promise import digest
from ._comparing import AnswerJudge
from ._prompts import HelpCase, Sees, bounded_text, excerpt, request_in_place
from ._wrappers import HelpListener

QUEUE, AT_ONCE = 16, 4
"""How many answers may wait for their comparison, and how many are compared at once."""
COMPARISON_SECONDS = 120.0
"""The time limit of a comparison, in seconds: the other model's answer and the judgement."""
KEPT_CHARACTERS = 16_000
"""How many characters of a text are kept."""
CALIBRATES_EVERY, LOOKS = 10, 5.0
"""After how many comparisons a pair calibrates itself again, and the seconds between looks for others' calibrations."""

Listen = Callable[[str, float], object]
"""Receives the outcome of a sampled request, or why there is none, and its cost in dollars."""
Learn = Callable[[str, str, str], Awaitable[object]]
"""Takes a lesson from a request that the small model lost: the prompt, the better answer, and what was wrong."""
FindCut = Callable[[EvidenceStore, str, Calibration | None], Calibration]
"""Finds a safe calibration for the named pair from the store, after its own, or the given fallback, lost too much."""

Calibrate = Callable[[EvidenceStore, str], object]


@dataclass(frozen=True, slots=True)
class ShadowTerms:
    """The settings of a shadow.

    `pair` is its name in the store, `share` the sampling probability; `limits` hold per day. `sees` limits what the
    helper and the judge are shown; `redact` is applied to each text that is kept. `cut` is a digest of when the pair
    asks for help. At most the share `promised` of the answers may be lost, if it is watched. With a `seed`, a series of
    requests is sampled in the same way each time. If `is_advised`, the small model writes the answer even when helped.
    `find_safe_cut` chooses the calibration after an alarm. `calibrates` stores a new version of the calibration if
    there is enough new evidence; the newest version is used.
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
    find_safe_cut: FindCut = lambda store, pair, fallback: ALWAYS_HELP
    calibrates: Calibrate | None = None


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """An answer that was sent, with its cost, and the helper's part of it, in dollars and seconds.

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
    """Compares sampled answers in the background, without delaying any answer.

    It raises nothing: failures are counted and reported to `listen`. It does nothing until it is started with a store.
    `calibration` replaces the pair's own after an alarm, reported once to `tell_alarm`, and when the pair calibrates
    itself, reported to `tell_version`. Later pairs use it, and its losses are watched in turn. `cut` is the digest of
    when the pair asks for help now.
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
        """Starts with a store; returns the reason if there is an alarm already. Raises `StoreError`."""
        self.store, why = store, ""
        if self.terms.calibrates:
            self._take_version(newest_version(store, self.terms.pair))
        while self.terms.promised and (watch := find_watch(store, self.terms.pair, self.cut)) and watch.alarm_at:
            why = self._take(self._last_safe_cut(store, watch))
        return why

    def _last_safe_cut(self, store: EvidenceStore, watch: LossWatch) -> Fallback:
        """Returns the calibration to use after an alarm: the one that another process has found, else a new one.

        Raises `StoreError`.
        """
        pair = self.terms.pair
        if kept := find_fallback(store, pair, self.cut):
            return kept
        return keep_fallback(store, pair, watch, self.cut, self.terms.find_safe_cut(store, pair, self.calibration))

    def _take(self, fallback: Fallback) -> str:
        """Switches to the fallback and returns its reason."""
        self.calibration, self.cut = fallback.calibration, fallback.cut
        return fallback.why

    def _take_version(self, found: CalibrationVersion | None) -> None:
        if found and found.number > self._version:
            self._version, self.calibration, self.cut = found.number, found.calibration, found.cut
            self.tell_version(f"{self.terms.pair} asks for help by {found.words}.")

    def follow(self, pair: ModelClient) -> ModelClient:
        """Wraps the pair so that a sample of its answers is offered to this shadow."""
        return _ShadowedClient(pair, self)

    def draw(self) -> bool:
        """Decides at random whether the next request is sampled."""
        if self.store is None:
            return False
        self._counts["requests"] += 1
        if self.terms.calibrates and monotonic() >= self._looks_at:
            self._looks_at = monotonic() + LOOKS
            self._run_later(self._look(self.store))
        return self._random.random() < self.terms.share

    def offer(self, answer: ServedAnswer) -> None:
        """Queues an answer; if the queue is full, the answer is dropped and counted."""
        if answer.response.steps:
            self._tell("used_tools")  # the tools' effects must not happen a second time for a comparison
            return
        try:
            self._queue.put_nowait(answer)
        except asyncio.QueueFull:
            self._tell("dropped")
            return
        if len(self._workers) < AT_ONCE:
            # Use an empty context, so that nothing here is charged to the request's key or run.
            self._workers.append(asyncio.get_running_loop().create_task(self._work(), context=Context()))

    async def join(self, seconds: float) -> None:
        """Waits until all queued answers are compared, at most for `seconds`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), seconds)

    async def aclose(self) -> None:
        """Cancels comparisons, counts queued answers as dropped, and closes all models."""
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
            async with asyncio.timeout(COMPARISON_SECONDS):
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
        """Tries to calibrate after every `CALIBRATES_EVERY` comparisons."""
        self._verdicts += 1
        if self.terms.calibrates and self.store and not self._verdicts % CALIBRATES_EVERY:
            with suppress(StoreError):
                await asyncio.to_thread(self.terms.calibrates, self.store, self.terms.pair)
            await self._look(self.store)

    async def _look(self, store: EvidenceStore) -> None:
        """Takes the newest version, whether this process, another one, or `ai-battle pair undo` has made it."""
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
                self.tell_alarm(self._take(fallback))  # in the event loop, so that no request sees a half-made switch

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
            family=Case(small.text[:KEPT_CHARACTERS], context.prompt[:KEPT_CHARACTERS], context).family,
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
        return excerpt(self.terms.redact(text), KEPT_CHARACTERS)

    def _tell(self, outcome: str, dollars: float = 0.0) -> None:
        self._counts[outcome] += 1
        self.listen(outcome, dollars)

    async def _keep_counts(self) -> None:
        """Adds new counts to the day's, even if the caller is cancelled meanwhile."""
        counts, self._counts = self._counts, defaultdict(float)
        await asyncio.shield(self._run_later(self._write(counts)))

    def _run_later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a task that `aclose` waits for."""
        task = asyncio.create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def _write(self, counts: Mapping[str, float]) -> None:
        """Writes counts; if the store fails, they are kept for the next time."""
        if not self.store:
            return
        try:
            await self._spending.add(self.store, counts)
        except StoreError:
            self.listen("unkept", 0.0)
            for name, number in counts.items():
                self._counts[name] += number


class DaySpending:
    """The day's spending of all processes that share a store; the others' part is updated after each trial."""

    def __init__(self, terms: ShadowTerms) -> None:
        self._terms = terms
        self._day = ""
        self._budget = Budget()
        self._own, self._others = 0.0, 0.0
        self._opening = asyncio.Lock()

    async def budget(self, store: EvidenceStore) -> Budget:
        """Returns today's budget. Raises `StoreError`."""
        async with self._opening:
            if self._day != (day := _date_today()):
                kept = await asyncio.to_thread(add_to_day, store, self._terms.pair, day, {"usd": 0.0})
                self._day, self._own, self._others = day, 0.0, kept["usd"]
                payer = f"the shadow of {self._terms.pair}"
                self._budget = Budget(self._terms.limits, Ledger(known_cost=self._others), payer)
            return self._budget

    async def add(self, store: EvidenceStore, counts: Mapping[str, float]) -> None:
        """Adds to today's counts, among them "usd", the dollars spent. Raises `StoreError`."""
        day, dollars = _date_today(), counts.get("usd", 0.0)
        self._own += dollars
        try:
            kept = (await asyncio.to_thread(add_to_day, store, self._terms.pair, day, counts)).get("usd", 0.0)
        except StoreError:
            self._own -= dollars
            raise
        # The sum may or may not contain what this process is adding meanwhile, so others have spent at least this.
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
    """Returns the offered tools; only their names if they are large."""
    whole = [{"name": tool.name, "description": tool.description, "parameters": tool.schema} for tool in tools]
    return whole if len(str(whole)) <= KEPT_CHARACTERS else [{"name": tool.name} for tool in tools]


def _date_today() -> str:
    return datetime.now(UTC).date().isoformat()


def _ignore(*fields: object) -> None:
    """Stands in for a listener."""
