"""Lets a strategy ask models within limits and in time, with redaction; a failing helper never breaks the turn."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Protocol, get_args

from ..core.client import ModelClient, among, request_answer, turn_calls
from ..core.errors import (
    AIBattleError,
    BadReply,
    BudgetExceeded,
    ConfigError,
    CutShort,
    ProviderError,
    TimedOut,
    ToolError,
    failure_kind,
)
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Emit,
    Event,
    ModelReplied,
    TextDelta,
    ToolCallDelta,
    Warned,
    as_role,
    ignore,
)
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, ToolSpec, Usage, estimate_text
from ..core.helping import (
    MOST_CHARACTERS,
    AnswerChecked,
    DraftDropped,
    HelpAsked,
    HelpFailed,
    ModelConsulted,
    Role,
)
from ..core.ledger import Budget, charge_to
from ..core.messages import assistant
from ..core.plugins import translate_errors
from ..core.telemetry import span
from ..core.tooling import LoopStopped, ToolsOffered
from ..signals.refusals import refuses as refuses_in_words
from ..wire.openai.answers import REFUSES, is_refusal, refuses
from ._limits import HelpLimits, HelpUse
from ._prompts import Sees, bounded_text, excerpt, shown_text
from ._wrappers import redacted_request

FAILURES = (ProviderError, BudgetExceeded, ToolError, ConfigError)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of checking an answer; `report` is what the model may be shown of it, as data.

    `fact` is a finding about the prompt itself, whoever answers it.
    """

    checked: AnswerChecked
    report: str = ""
    fact: str = ""

    @property
    def event(self) -> AnswerChecked:
        """The result as listeners get it, with a bounded report."""
        return replace(self.checked, text=excerpt(self.report, MOST_CHARACTERS))


class AnswerCheck(Protocol):
    """A check of an answer that has a price; `outcomes` are the signals that it may bring."""

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]: ...

    async def __call__(self, turn: "Turn", request: ModelRequest, response: ModelResponse) -> CheckResult | None: ...


@dataclass(frozen=True, slots=True)
class Helping:
    """The terms on which helpers are asked.

    `timeout` is in seconds. `sees` is the most that helpers are shown: the prompt alone, the attempt too, or the
    history too. `redact` is applied to each text before it is sent. `use` is what a run has used: everything that
    shares it shares the limits per run. `checks` are checks of an answer before the decision about help. `verification`
    costs no tokens: it comes before the other checks, and before votes of several answers are counted.
    """

    timeout: float | None = None
    sees: Sees = "history"
    limits: HelpLimits = field(default_factory=HelpLimits)
    redact: Callable[[str], str] | None = None
    use: HelpUse = field(default_factory=HelpUse)
    checks: tuple[AnswerCheck, ...] = ()
    verification: AnswerCheck | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and self.timeout <= 0:
            raise ConfigError(f"timeout is in seconds, more than 0, not {self.timeout!r}.")
        if self.sees not in get_args(Sees):
            raise ConfigError(f"sees is one of {', '.join(get_args(Sees))}, not {self.sees!r}.")

    def new_use(self) -> HelpUse:
        """Returns the use that a turn counts its help in: the run's, if the limits are per run."""
        return self.use if self.limits.per == "run" else HelpUse()

    def checks_in_order(self, *, verification: bool) -> tuple[AnswerCheck, ...]:
        """Returns the checks of an answer, the cheapest first."""
        first = (self.verification,) if verification and self.verification else ()
        return *first, *self.checks


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that may still be dropped.

    `usage` and `calls` are what dropping it wastes, without help and drops inside. `cut` says why it was cut short; its
    response then has only the beginning, and its usage is estimated. `in_circles` is true if its tool calls made no
    progress and were stopped.
    """

    response: ModelResponse
    usage: Usage
    role: Role = "own"
    cut: str = ""
    saved_tokens: int = 0
    calls: int = 1
    in_circles: bool = False

    @property
    def text(self) -> str:
        return self.response.text

    def drop_event(self, reason: str) -> DraftDropped:
        """Returns the event for a draft that does not become the answer."""
        calls, text = bool(self.response.tool_calls), bounded_text(self.response.message)
        return DraftDropped(
            reason, self.usage, self.role, self.saved_tokens, calls=self.calls, text=text, calls_tools=calls
        )


class DraftListener:
    """Forwards events, turns text into draft deltas, and holds back tool-call deltas so that two drafts never mix.

    Without `drafts`, nobody wants the deltas. Replies without another role are booked on `role`. `usage` sums all
    replies; the drafts built here know only the usage of the answer itself.
    """

    def __init__(self, emit: Emit, role: Role = "own", *, drafts: bool = True) -> None:
        self.usage = NOTHING_USED
        self._role: Role = role
        self._own = NOTHING_USED
        self._dropped = NOTHING_USED
        self._calls = 0
        self._in_circles = False
        self._emit = emit
        self._wants_drafts = drafts
        self._emit_in_role = as_role(emit, role)

    def draft(self, response: ModelResponse, **more: Any) -> Draft:
        """Returns the answer as a draft with its usage."""
        usage = self._own - self._dropped
        return Draft(response, usage, self._role, calls=self._calls, in_circles=self._in_circles, **more)

    async def __call__(self, event: Event) -> None:
        if type(event) is TextDelta:  # first, because nearly all events are
            if self._wants_drafts:
                await self._emit(DraftDelta(event.text))
        elif (type(event) is ToolsOffered and self._role != "own") or refuses(event):
            return  # one describes the participant's own tools, the other a text that is held back
        elif type(event) is not ToolCallDelta:
            self._count(event)
            await self._emit_in_role(event)

    def _count(self, event: Event) -> None:
        match event:
            case ModelReplied(usage=usage, role=role, failed=failed):
                self.usage += usage
                if role == "own" and not failed:
                    self._own += usage
                    self._calls += 1
            case DraftDropped(usage=usage, role="own"):
                self._dropped += usage
                self._calls -= event.calls
            case LoopStopped(in_circles=True):
                self._in_circles = True


class Turn:
    """One `complete` of a strategy: asks models, books their usage, and reports what becomes of their answers.

    `use` is shared if a turn makes several requests.
    """

    def __init__(self, strategy: str, helping: Helping, emit: Emit, use: HelpUse | None = None) -> None:
        self.emit = emit
        self.strategy = strategy
        self.helping = helping
        self._use = use or helping.new_use()
        self._help = helping.limits.budget(self._use)
        self._all = Budget()
        self._calls = turn_calls()
        self.has_help = False
        self.failure = ""

    @property
    def may_ask(self) -> bool:
        """True if the limits allow another call of a helper."""
        return not self.helping.limits.limit_reached(self._use)

    @property
    def usage(self) -> Usage:
        """The usage of all calls in the turn."""
        return self._all.ledger.usage

    async def request_answer(self, client: ModelClient, request: ModelRequest, emit: Emit) -> ModelResponse:
        """Returns the client's answer, with its events passed to `emit`. Raises what the client raises."""
        with among(self._calls):
            return await request_answer(client, request, emit, self._all)

    async def request_draft(self, client: ModelClient, request: ModelRequest, role: Role = "own") -> Draft:
        """Returns the client's answer as a draft, or its beginning if a listener cut it short.

        It is streamed even without a listener, so that a model that falls silent is noticed early and can be replaced.
        Raises what the client raises.
        """
        listener = DraftListener(self.emit, role, drafts=request.wants.drafts)
        if not request.wants.stream:
            request = replace(request, wants=replace(request.wants, stream=True))
        try:
            with among(self._calls), charge_to(*() if role == "own" else (self._help,)):
                return listener.draft(await request_answer(client, request, listener, self._all))
        except CutShort as cut:
            response = ModelResponse(assistant(cut.text), stop="length", usage=listener.usage)
            return listener.draft(response, cut=str(cut), saved_tokens=_saved_tokens(request, cut))

    async def ask(self, helper: ModelClient, request: ModelRequest, reason: str, role: Role = "helper") -> Draft | None:
        """Asks a helper within the limits; returns None if it may not be asked or its answer is unusable.

        The answer is a draft until it is accepted. Nothing but cancellation is raised.
        """
        if problem := self.helping.limits.limit_reached(self._use):
            await self.report_failure(problem, kind="limit")
            return None
        self._use.calls += 1  # before the first await, so that concurrent requests can't exceed the limit
        event = HelpAsked(self.strategy, reason, self.helping.sees, role=role)
        await self.emit(event)
        draft = await self.consult(self.strategy, helper, request, role)
        self.has_help = self.has_help or bool(draft and event.is_help)
        return draft

    async def consult(self, what_for: str, model: ModelClient, request: ModelRequest, role: Role) -> Draft | None:
        """Asks another model in time and redacted; returns None, after a report, if its answer is unusable."""
        started = monotonic()
        try:
            request = redacted_request(request, self.helping.redact)
        except ConfigError as error:  # nothing was sent, so there is no consultation to report
            await self.report_failure(error, what_for)
            return None
        with span("invoke_agent", role, agent=role, strategy=what_for):
            draft, failed = await self._answer_in_time(model, request, role)
        await self.emit(consultation_event(what_for, role, request, draft, monotonic() - started))
        if failed and draft:  # no call has failed, so the failure has no kind
            await self.refuse(draft, str(failed), what_for)
        elif failed:
            await self.report_failure(failed, what_for)
        return None if failed else draft

    async def _answer_in_time(
        self, model: ModelClient, request: ModelRequest, role: Role
    ) -> tuple[Draft | None, AIBattleError | None]:
        """Returns a model's answer, if there is one, and why it is unusable, if it is."""
        try:
            async with asyncio.timeout(self.helping.timeout):
                with translate_errors("The helper failed", ProviderError):
                    draft = await self.request_draft(model, request, role)
        except TimeoutError:
            return None, TimedOut(f"no answer within {self.helping.timeout:.4g} s")
        except FAILURES as error:
            return None, error
        why = why_unusable(draft.response, role)
        return draft, BadReply(why) if why else None

    async def report_failure(self, reason: str | AIBattleError, what_for: str = "", kind: str | None = None) -> None:
        """Tells listeners that help failed. `failure` keeps the reason for callers."""
        if isinstance(reason, AIBattleError):
            kind, reason = failure_kind(reason), str(reason)
        await self.emit(HelpFailed(what_for or self.strategy, reason, kind=kind))
        self.failure = reason

    async def drop(self, draft: Draft, reason: str, attempt: int = 0) -> None:
        """Tells listeners that a draft will not become the turn's answer."""
        await self.emit(replace(draft.drop_event(reason), attempt=attempt))

    async def refuse(self, draft: Draft | None, why: str, what_for: str = "") -> None:
        """Tells listeners that help failed because an answer, if there is one, is unusable."""
        if draft:
            await self.drop(draft, why)
        await self.report_failure(why, what_for)

    async def accept(self, draft: Draft) -> ModelResponse:
        """Emits the draft as the answer and returns it, with the usage of the whole turn."""
        if any(map(is_refusal, draft.response.message.parts)):
            await self.emit(REFUSES)
        if draft.text:
            await self.emit(TextDelta(draft.text))
        for index, call in enumerate(draft.response.tool_calls):
            await self.emit(ToolCallDelta(index, call.id, call.name, call.arguments_text))
        return replace(draft.response, usage=self.usage)


class HelperPool(ModelClient):
    """Several helpers as one: if the first fails or declines, the next one is asked.

    The last one's answer or error counts. Each but the last gets an equal share of `seconds`, so that the next is still
    in time.
    """

    def __init__(self, clients: Sequence[ModelClient], seconds: float | None = None) -> None:
        self.clients = tuple(clients)
        self._share = None if seconds is None else seconds / len(clients)

    @property
    def offered_tools(self) -> tuple[ToolSpec, ...]:
        return tuple(tool for client in self.clients for tool in client.offered_tools)

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        *earlier, last = self.clients
        budget = Budget()
        for client in earlier:
            try:
                async with asyncio.timeout(self._share):
                    response = await request_answer(client, request, emit, budget)
                if not (why := why_unusable(response)):
                    return replace(response, usage=budget.ledger.usage)
                await emit(Draft(response, response.usage).drop_event(why))
            except TimeoutError:
                why = f"no answer within {self._share or 0:.4g} s"
                await emit(AttemptFailed("helper", 1, why, self._share or 0, timed_out=True, kind="timeout"))
            except ProviderError as error:
                why = str(error)
            await emit(Warned(f"A helper failed, and the next one is asked: {why}"))
        response = await request_answer(last, request, emit, budget)
        return replace(response, usage=budget.ledger.usage)

    async def aclose(self) -> None:
        for client in self.clients:
            await client.aclose()


def consultation_event(
    what_for: str, role: Role, request: ModelRequest, draft: Draft | None, seconds: float
) -> ModelConsulted:
    """Returns the event with what a model was shown and, if it answered, what it said."""
    shown = shown_text(request)
    if draft is None:
        return ModelConsulted(what_for, role, shown, "", seconds=seconds)
    text = bounded_text(draft.response.message)
    return ModelConsulted(what_for, role, shown, text, draft.response.model, draft.usage, seconds)


def why_unusable(response: ModelResponse, role: Role = "helper") -> str:
    """Returns why an answer is unusable; empty if it can be used.

    The words of boost models and judges are not searched for refusals, since their own parsers read them.
    """
    in_words = role in ("helper", "peer") and not response.tool_calls and refuses_in_words(response.text)
    who = response.model or "it"
    if in_words or response.stop in ("refusal", "content_filter"):
        return f"{who} declined to answer: {response.text[:200]}".rstrip(": ")
    if not response.text.strip() and not response.tool_calls:
        return f"{who} gave an empty answer (stop: {response.stop})"
    return ""


def _saved_tokens(request: ModelRequest, cut: CutShort) -> int:
    """Returns the rest of `max_tokens`; without a limit it guesses that half of the answer was still to come."""
    came = estimate_text(cut.thinking + cut.text)
    most = request.options.get("max_tokens")
    return max(0, most - came) if isinstance(most, int) else came
