"""How a helper is asked: within limits, in time, redacted; what becomes of it never breaks the turn."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import BadReply, BudgetExceeded, ConfigError, ProviderError, ToolError
from ..core.events import Emit, TextDelta, ToolCallDelta
from ..core.exchange import ModelRequest, ModelResponse, Usage
from ..core.helping import AnswerChecked, DraftDropped, HelpAsked, HelpFailed, Role
from ..core.ledger import Budget, Ledger, SpendingLimits, charged_to, request_answer
from ..signals.wording import refuses
from ._drafts import Draft, UsageListener, request_draft
from ._prompts import arguments_text
from ._redacting import Redacting

Sees = Literal["prompt", "attempt", "history"]
FAILURES = (ProviderError, BudgetExceeded, ToolError, ConfigError)


@dataclass(slots=True)
class HelpUse:
    """What helpers have used, and how often they were asked; an earlier process may have begun it."""

    ledger: Ledger = field(default_factory=Ledger)
    calls: int = 0


@dataclass(frozen=True, slots=True)
class HelpLimits:
    """The most that helpers may use in each turn or in the whole run; None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    per: Literal["turn", "run"] = "run"
    unpriced: Literal["refuse", "allow"] = "refuse"

    def budget(self, use: HelpUse) -> Budget:
        return Budget(SpendingLimits(self.cost_usd, self.tokens, unpriced=self.unpriced), use.ledger, "helpers")

    def reached(self, use: HelpUse) -> str:
        """Which limit keeps a helper from being asked; empty when none does."""
        if self.calls is not None and use.calls >= self.calls:
            return self._words(f"calls ({use.calls} of {self.calls})")
        return self._words(self.budget(use).reached)

    def _words(self, limit: str) -> str:
        return f"the limit of {limit.replace(' (', ' for helpers is reached (')[:-1]} per {self.per})" if limit else ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at an answer brought; `report` is what the model may be shown of it, as data.

    `fact` is what was found out about the prompt itself, whoever answers it.
    """

    checked: AnswerChecked
    report: str = ""
    fact: str = ""


class Look(Protocol):
    """A look at an answer that has a price; `outcomes` are the signals that it may bring."""

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]: ...

    async def __call__(self, turn: "Turn", request: ModelRequest, response: ModelResponse) -> Found | None: ...


@dataclass(frozen=True, slots=True)
class Helping:
    """On which terms helpers are asked.

    `timeout` is in seconds. `sees` is the most that they are shown: the prompt alone, the attempt too, or the history
    too. `redact` goes over each text before it leaves. `use` is what a run has used: all that share it share the
    limits per run. `looks` are made at answers before it is decided that help is needed, `verification` the first of
    them, and at each of several answers before their votes are counted: it costs no tokens.
    """

    timeout: float | None = None
    sees: Sees = "history"
    limits: HelpLimits = HelpLimits()
    redact: Callable[[str], str] | None = None
    use: HelpUse = field(default_factory=HelpUse)
    looks: tuple[Look, ...] = ()
    verification: Look | None = None

    def shielded(self, client: ModelClient) -> ModelClient:
        """The client, with the redaction before it."""
        return Redacting(client, self.redact) if self.redact else client


class Turn:
    """One `complete` of a strategy."""

    def __init__(self, strategy: str, helping: Helping, emit: Emit) -> None:
        self.emit = emit
        self.strategy = strategy
        self.helping = helping
        self._use = helping.use if helping.limits.per == "run" else HelpUse()
        self._help = helping.limits.budget(self._use)
        self._all = Budget()

    @property
    def may_ask(self) -> bool:
        """Whether the limits leave a helper's call."""
        return not self.helping.limits.reached(self._use)

    @property
    def usage(self) -> Usage:
        """What all calls on the way came to."""
        return self._all.ledger.usage

    async def draft(self, client: ModelClient, request: ModelRequest, role: Role = "own") -> Draft:
        """What `client` answers; nobody hears it as the answer yet. Raises what `client` raises."""
        with charged_to(*() if role == "own" else (self._help,)):
            return await request_draft(
                client, request, UsageListener(self.emit, role, drafts=request.wants.drafts), role, self._all
            )

    async def request_answer(self, client: ModelClient, request: ModelRequest, emit: Emit) -> ModelResponse:
        """What `client` answers, to whoever listens; raises what it raises."""
        return await request_answer(client, request, emit, self._all)

    async def ask(self, helper: ModelClient, request: ModelRequest, reason: str, role: Role = "helper") -> Draft | None:
        """What the helper answers; None when it may not be asked, or its answer is of no use.

        Its text is no answer of the turn until it is accepted. Only cancelling gets through.
        """
        if problem := self.helping.limits.reached(self._use):
            await self.failed(problem)
            return None
        self._use.calls += 1
        await self.emit(HelpAsked(self.strategy, reason, self.helping.sees, role=role))
        return await self.consult(self.strategy, helper, request, role)

    async def consult(self, what_for: str, model: ModelClient, request: ModelRequest, role: Role) -> Draft | None:
        """What another model answers, in time and redacted; None, and it is told why, when that is of no use."""
        try:
            return await self._in_time(self.helping.shielded(model), request, role)
        except TimeoutError:
            await self.failed(f"no answer within {self.helping.timeout:.4g} s", what_for)
        except FAILURES as error:
            await self.failed(str(error), what_for)
        return None

    async def failed(self, reason: str, what_for: str = "") -> None:
        """Tells that help came to nothing."""
        await self.emit(HelpFailed(what_for or self.strategy, reason))

    async def drop(self, draft: Draft, reason: str) -> None:
        """Tells that this answer will not become that of the turn."""
        await self.emit(DraftDropped(reason, draft.usage, draft.role, draft.saved_tokens, calls=draft.calls))

    async def accept(self, draft: Draft) -> ModelResponse:
        """Says the answer aloud; its usage is that of the whole turn."""
        if draft.text:
            await self.emit(TextDelta(draft.text))
        for index, call in enumerate(draft.response.tool_calls):
            await self.emit(ToolCallDelta(index, call.id, call.name, arguments_text(call)))
        return replace(draft.response, usage=self.usage)

    async def _in_time(self, helper: ModelClient, request: ModelRequest, role: Role) -> Draft:
        async with asyncio.timeout(self.helping.timeout):
            with foreign_code("The helper failed", ProviderError):
                draft = await self.draft(helper, request, role)
        if problem := unusable(draft.response, role):
            await self.drop(draft, problem)
            raise BadReply(problem, partial=draft.text)
        return draft


def unusable(response: ModelResponse, role: Role = "helper") -> str:
    """Why an answer is of no use; empty when it may be. What a boost model or a judge means is read by others."""
    in_words = role in ("helper", "peer") and not response.tool_calls and refuses(response.text)
    if in_words or response.stop in ("refusal", "content_filter"):
        return f"it declined to answer: {response.text[:200]}".rstrip(": ")
    if not response.text.strip() and not response.tool_calls:
        return f"it answered with nothing (stop: {response.stop})"
    return ""
