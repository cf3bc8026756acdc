"""How a helper is asked: within limits, in time, redacted; what becomes of it never breaks the turn."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from ..core.borders import foreign_code
from ..core.client import ModelClient
from ..core.errors import BadReply, BudgetExceeded, ConfigError, ProviderError, ToolError
from ..core.events import Emit, TextDelta, ToolCallDelta
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse, Usage
from ..core.helping import AnswerChecked, DraftDropped, HelpAsked, HelpFailed, Role
from ..signals.wording import refuses
from ._drafts import Draft, drafted
from ._heard import Heard
from ._prompts import arguments_text
from ._redacting import Redacting

Sees = Literal["prompt", "attempt", "history"]
FAILURES = (ProviderError, BudgetExceeded, ToolError, ConfigError)


@dataclass(slots=True)
class Spent:
    """What helpers have used. One that is made with what an earlier process used goes on from there."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def add(self, usage: Usage) -> None:
        """What has no known price counts with its tokens alone."""
        self.tokens += usage.total_tokens
        self.cost_usd += usage.cost_usd or 0.0


@dataclass(frozen=True, slots=True)
class HelpLimits:
    """What helpers may use in each turn or in the whole run; None: no limit.

    A call that begins below the limits is finished, also when it goes beyond them.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    per: Literal["turn", "run"] = "run"

    def reached(self, spent: Spent) -> str:
        """Which limit keeps a helper from being asked; empty when none does."""
        return next((self._said(name, used) for name, used in self._full(spent)), "")

    def _full(self, spent: Spent) -> Iterator[tuple[str, float]]:
        for name in ("calls", "tokens", "cost_usd"):
            used, most = getattr(spent, name), getattr(self, name)
            if most is not None and used >= most:
                yield name, used

    def _said(self, name: str, used: float) -> str:
        return f"the limit of {name} for helpers is reached ({used:.6g} of {getattr(self, name):.6g} per {self.per})"


@dataclass(frozen=True, slots=True)
class Found:
    """What a look at an answer brought; `report` is what the model may be shown of it, as data."""

    checked: AnswerChecked
    report: str = ""


class Look(Protocol):
    """A look at an answer that has a price; `outcomes` are the signals that it may bring."""

    def outcomes(self, request: ModelRequest, response: ModelResponse) -> tuple[Mapping[str, float], ...]: ...

    async def __call__(self, turn: "Turn", request: ModelRequest, response: ModelResponse) -> Found | None: ...


@dataclass(frozen=True, slots=True)
class Helping:
    """On which terms helpers are asked.

    `timeout` is in seconds. `sees` is the most that they are shown: the prompt alone, the attempt too, or the history
    too. `redact` goes over each text before it leaves. `spent` is what a run has used: all that share it share the
    limits per run. `looks` are made at answers before it is decided that help is needed.
    """

    timeout: float | None = None
    sees: Sees = "history"
    limits: HelpLimits = HelpLimits()
    redact: Callable[[str], str] | None = None
    spent: Spent = field(default_factory=Spent)
    looks: tuple[Look, ...] = ()

    def shielded(self, client: ModelClient) -> ModelClient:
        """The client, with the redaction before it."""
        return Redacting(client, self.redact) if self.redact else client


class Turn:
    """One `complete` of a strategy. `usage` is what all calls on the way came to."""

    def __init__(self, strategy: str, helping: Helping, emit: Emit) -> None:
        self.usage = NOTHING_USED
        self.emit = emit
        self.strategy = strategy
        self.helping = helping
        self._spent = helping.spent if helping.limits.per == "run" else Spent()

    @property
    def may_ask(self) -> bool:
        """Whether the limits leave a helper's call."""
        return not self.helping.limits.reached(self._spent)

    async def draft(self, client: ModelClient, request: ModelRequest, role: Role = "own") -> Draft:
        """What `client` answers; nobody hears it as the answer yet. Raises what `client` raises."""
        heard = Heard(self.emit, role)
        draft: Draft | None = None
        try:
            draft = await drafted(client, request, heard, role)
        finally:
            self._count(draft.response.usage if draft else heard.usage, role)
        return draft

    async def ask(self, helper: ModelClient, request: ModelRequest, reason: str, role: Role = "helper") -> Draft | None:
        """What the helper answers; None when it may not be asked, or its answer is of no use.

        Its text is no answer of the turn until it is accepted. Only cancelling gets through.
        """
        if problem := self.helping.limits.reached(self._spent):
            await self.failed(problem)
            return None
        self._spent.calls += 1
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
        for index, call in enumerate(draft.response.tool_calls):
            await self.emit(ToolCallDelta(index, call.id, call.name, arguments_text(call)))
        if draft.text:
            await self.emit(TextDelta(draft.text))
        return replace(draft.response, usage=self.usage)

    async def _in_time(self, helper: ModelClient, request: ModelRequest, role: Role) -> Draft:
        async with asyncio.timeout(self.helping.timeout):
            with foreign_code("The helper failed", ProviderError):
                draft = await self.draft(helper, request, role)
        if problem := unusable(draft.response, role):
            await self.drop(draft, problem)
            raise BadReply(problem, partial=draft.text)
        return draft

    def _count(self, usage: Usage, role: Role) -> None:
        self.usage += usage
        if role != "own":
            self._spent.add(usage)


def unusable(response: ModelResponse, role: Role = "helper") -> str:
    """Why an answer is of no use; empty when it may be. What a boost model or a judge means is read by others."""
    in_words = role in ("helper", "peer") and not response.tool_calls and refuses(response.text)
    if in_words or response.stop in ("refusal", "content_filter"):
        return f"it declined to answer: {response.text[:200]}".rstrip(": ")
    if not response.text.strip() and not response.tool_calls:
        return f"it answered with nothing (stop: {response.stop})"
    return ""
