"""Books what provider replies cost in every budget that is open where the call was made.

`charge_to` opens budgets for all calls inside it, in whichever task they are made. Where a provider is called, the most
that a call can cost is reserved before it, and its actual cost is settled after it. A context variable carries the
budgets, because clients are shared by callers who pay separately, and because listeners may be muted.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol

from .errors import BudgetExceeded
from .events import BudgetReached, ModelReplied
from .exchange import NOTHING_USED, Usage
from .plugins import check_options
from .texts import in_dollars, limit_amount

ROUNDING = 1e-9  # dollars by which sums of floats may be off
RUN = "the run"
POLL_SECONDS = 0.1
"""Seconds between two checks of whether calls of other processes still block this one."""


@dataclass(slots=True)
class Ledger:
    """The sum of its entries. `known_cost` leaves out replies without a known price.

    With `paid_only`, replies from a cache or a recording are left out. `seconds` counts from `start` on.
    """

    usage: Usage = NOTHING_USED
    known_cost: float = 0.0
    calls: int = 0
    tool_calls: int = 0
    seconds_before: float = 0.0
    paid_only: bool = False
    _started: float | None = None

    def start(self) -> None:
        self._started = monotonic()

    @property
    def seconds(self) -> float:
        return self.seconds_before + (0.0 if self._started is None else monotonic() - self._started)

    def book(self, entry: ModelReplied) -> None:
        if entry.paid or not self.paid_only:
            self.usage += entry.usage
            self.known_cost += entry.usage.cost_usd or 0.0
            self.calls += 1


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """Upper limits, each None for no limit. Dollars and tokens are never exceeded.

    `unpriced: allow` admits models without a known price, for which a limit in dollars can't hold.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_calls: int | None = None
    unpriced: Literal["refuse", "allow"] = "refuse"

    def rest_after(self, used: Ledger) -> "SpendingLimits":
        """Returns what these limits leave in dollars and tokens after what is booked in `used`."""
        cost = None if self.cost_usd is None else max(0.0, self.cost_usd - used.known_cost)
        tokens = None if self.tokens is None else max(0, self.tokens - used.usage.total_tokens)
        return SpendingLimits(cost, tokens, unpriced=self.unpriced)

    @classmethod
    def of(cls, values: "SpendingLimits | Mapping[str, Any]") -> "SpendingLimits":
        if isinstance(values, SpendingLimits):
            return values
        check_options(cls, "limits", values)
        return cls(**values)


NO_LIMITS = SpendingLimits()


@dataclass(frozen=True, slots=True)
class Quote:
    """The most that a call can use.

    `rates` are the dollars per token read and per token written, None if no price is known. If `least` is set, the
    answer may be limited to fewer than `output_tokens`, but not to fewer than `least`.
    """

    model: str
    input_tokens: int
    output_tokens: int
    rates: tuple[float, float] | None
    least: int | None = None
    paid: bool = True

    def cost(self, output_tokens: float) -> float:
        read, written = self.rates or (0.0, 0.0)
        return self.input_tokens * read + output_tokens * written

    @property
    def shortest(self) -> int:
        return self.output_tokens if self.least is None else min(self.least, self.output_tokens)


class Dollars(NamedTuple):
    """Dollars spent, and dollars set aside for running calls."""

    spent: float = 0.0
    aside: float = 0.0


class SharedBudget(Protocol):
    """Shares one payer's dollars between processes. Each reports its own totals, so that repeats do no harm.

    Both totals in `own` count from the start of this process.
    """

    async def claim(self, own: Dollars, limit: float) -> tuple[bool, Dollars | None]:
        """Takes `own` if all stay within `limit`; returns whether, and the others' sums (None if not asked)."""

    async def look(self, own: Dollars, limit: float) -> Dollars:
        """Returns the current sums of the others."""

    def publish(self, own: Dollars) -> None:
        """Reports `own` to the others soon. Never waits."""


class Budget:
    """Limits on a ledger. Sets aside what running calls may cost, so that together they can't exceed a limit.

    `payer` names it in errors. `refused` is the error if a call was refused in this budget or an outer one. `shared`
    knows what other processes spend of the same dollars; `others` is its latest reply.
    """

    others = Dollars()

    def __init__(
        self,
        limits: SpendingLimits | None = None,
        ledger: Ledger | None = None,
        payer: str = RUN,
        shared: SharedBudget | None = None,
    ) -> None:
        self.limits = limits or NO_LIMITS
        self.ledger = ledger or Ledger()
        self.payer = payer
        self.refused: BudgetExceeded | None = None
        self.shared = shared
        self._aside_usd, self._aside_tokens = 0.0, 0
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def own(self) -> Dollars:
        return Dollars(self.ledger.known_cost, self._aside_usd)

    @property
    def spent(self) -> float:
        """Returns the dollars spent, those of other processes included."""
        return self.ledger.known_cost + self.others.spent

    @property
    def full_limit(self) -> str:
        """Returns the limit that is used up, with its figures, or ""."""
        ledger, tokens = self.ledger, self.ledger.usage.total_tokens
        table = {"cost_usd": self.spent, "tokens": tokens, "seconds": ledger.seconds, "tool_calls": ledger.tool_calls}
        for name, used in table.items():
            allowed = getattr(self.limits, name)
            if allowed is not None and used >= allowed - ROUNDING:
                return f"{name} ({limit_amount(name, used)} of {limit_amount(name, allowed)})"
        return ""

    @property
    def is_limited(self) -> bool:
        return self.limits.cost_usd is not None or self.limits.tokens is not None

    def limits_call(self, quote: Quote) -> bool:
        """Returns whether a limit applies to calls of this kind."""
        if self.ledger.paid_only and not quote.paid:
            return False
        return self.limits.tokens is not None or (self.limits.cost_usd is not None and quote.rates != (0.0, 0.0))

    def room(self, quote: Quote, *, alone: bool = False) -> float:
        """Returns the most tokens that an answer may have; negative if the question alone does not fit.

        With `alone`, running calls are ignored.
        """
        if not self.limits_call(quote):
            return inf
        others, room = 0 if alone else 1, inf
        if self.limits.tokens is not None:
            left = self.limits.tokens - self.ledger.usage.total_tokens - others * self._aside_tokens
            room = left - quote.input_tokens
        if self.limits.cost_usd is not None:
            left_usd = self.limits.cost_usd - self.spent - others * (self._aside_usd + self.others.aside)
            room = min(room, self._room_in_dollars(quote, left_usd))
        return room

    def refusal(self, quote: Quote) -> BudgetExceeded:
        """Returns an error that says why not even the shortest answer to this question fits."""
        limits, used, tokens = self.limits, self.ledger, quote.input_tokens + quote.shortest
        if limits.tokens is not None and used.usage.total_tokens + tokens > limits.tokens:
            reached = BudgetReached("tokens", used.usage.total_tokens, limits.tokens, tokens)
            words = f"{reached.used} of {reached.allowed} tokens are used, and the call may take {tokens}"
        else:
            reached = BudgetReached("cost_usd", self.spent, limits.cost_usd or 0.0, quote.cost(quote.shortest))
            if quote.rates is None and reached.used < reached.allowed - ROUNDING:
                return BudgetExceeded(unpriced_reason(quote.model))
            words = (
                f"{in_dollars(reached.used)} of {in_dollars(reached.allowed)} are spent, "
                f"and the call may cost {in_dollars(reached.needed)}"
            )
        return BudgetExceeded(
            f"The limit of {self.payer} leaves no room for a call of {quote.model}: {words}.", reached
        )

    async def claim(self) -> bool:
        """Returns whether all processes together stay within the dollars, with what is set aside here."""
        if not self.shared or self.limits.cost_usd is None:
            return True
        granted, others = await self.shared.claim(self.own, self.limits.cost_usd + ROUNDING)
        self.others = others or self.others
        return granted

    def book(self, entry: ModelReplied | None) -> None:
        """Books what a call cost, None for nothing, and informs other processes."""
        if entry:
            self.ledger.book(entry)
        if self.shared:
            self.shared.publish(self.own)

    def set_aside(self, quote: Quote, output_tokens: int) -> None:
        self._aside_usd += quote.cost(output_tokens)
        self._aside_tokens += quote.input_tokens + output_tokens

    def give_back(self, quote: Quote, output_tokens: int) -> None:
        """Releases what was set aside and wakes all waiters."""
        self._aside_usd = max(0.0, self._aside_usd - quote.cost(output_tokens))
        self._aside_tokens -= quote.input_tokens + output_tokens
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Returns when a running call has ended, in this process or another."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            with suppress(TimeoutError):
                # Calls of other processes end without waking anybody here, so those are polled.
                async with asyncio.timeout(POLL_SECONDS if self.others.aside else None):
                    await waiter
        finally:
            self._waiting.discard(waiter)
        if self.shared and self.others.aside:
            self.others = await self.shared.look(self.own, self.limits.cost_usd or 0.0)

    def _room_in_dollars(self, quote: Quote, left: float) -> float:
        if quote.rates == (0.0, 0.0):
            return inf
        if quote.rates is None:
            return inf if self.limits.unpriced == "allow" and left > ROUNDING else -1.0
        rest = left - quote.cost(0) + ROUNDING
        if rest < 0:
            return -1.0
        return rest / quote.rates[1] if quote.rates[1] else inf


@dataclass(slots=True)
class Reservation:
    """The amounts that a call has set aside in its budgets; `output_tokens` is the longest answer, None for any."""

    quote: Quote | None = None
    output_tokens: int | None = None
    _budgets: tuple[Budget, ...] = ()
    _limiting: tuple[Budget, ...] = field(default=())

    def settle(self, entry: ModelReplied | None) -> None:
        """Books what the call cost, None for nothing, and releases what was set aside. Never waits."""
        for budget in self._limiting:
            if self.quote and self.output_tokens is not None:
                budget.give_back(self.quote, self.output_tokens)
        self._limiting = ()
        for budget in self._budgets:
            budget.book(entry)


_open: ContextVar[tuple[Budget, ...]] = ContextVar("budgets", default=())


class charge_to:  # noqa: N801 - used like contextlib.suppress
    """Charges all provider calls made inside, also in tasks started there, to these budgets too."""

    def __init__(self, *budgets: Budget) -> None:
        self._budgets = budgets

    def __enter__(self) -> None:
        already = _open.get()
        self._token = _open.set((*already, *[budget for budget in self._budgets if budget not in already]))

    def __exit__(self, *error: object) -> None:
        _open.reset(self._token)


async def reserve(find_quote: Callable[[], Quote] | None) -> Reservation:
    """Sets aside the most that a call can cost, in all open budgets or in none.

    Waits while only running calls stand in the way, as they may cost less than was set aside. Raises `BudgetExceeded`.
    """
    budgets = _open.get()
    if not find_quote or not any(map(attrgetter("is_limited"), budgets)):
        return Reservation(_budgets=budgets)
    quote = find_quote()
    limiting = tuple(budget for budget in budgets if budget.limits_call(quote))
    if not limiting:
        return Reservation(quote, None, budgets)
    # Between finding room and claiming it another process may have taken the shared part, so this is retried.
    while (room := await _wait_for_room(limiting, quote)) != inf:
        output_tokens = int(min(room, quote.output_tokens))
        if await _set_aside(limiting, quote, output_tokens):
            return Reservation(quote, output_tokens, budgets, limiting)
    return Reservation(quote, _budgets=budgets)


async def _set_aside(budgets: tuple[Budget, ...], quote: Quote, output_tokens: int) -> bool:
    """Sets the tokens aside in all budgets or, if another process has taken the shared part meanwhile, in none."""
    for budget in budgets:
        budget.set_aside(quote, output_tokens)
    granted = False
    try:
        granted = all([await budget.claim() for budget in budgets])
    finally:
        # A claim may also fail by cancellation; what is set aside must not leak then.
        if not granted:
            for budget in budgets:
                budget.give_back(quote, output_tokens)
                budget.book(None)
    return granted


async def _wait_for_room(budgets: tuple[Budget, ...], quote: Quote) -> float:
    """Waits until the shortest answer fits in all `budgets`, and returns the room. Raises `BudgetExceeded`."""
    while (room := min(budget.room(quote) for budget in budgets)) < quote.shortest:
        for budget in budgets:
            # Refused only if it would not fit alone, as running calls may cost less than is set aside for them.
            if budget.room(quote, alone=True) < quote.shortest:
                raise _refuse(budget, quote)
        # Only the tightest budget blocks; everything is checked again whenever one of its calls has ended.
        await min(budgets, key=lambda budget: budget.room(quote)).wait()
    return room


def _refuse(budget: Budget, quote: Quote) -> BudgetExceeded:
    """Returns the refusal, and records it in every budget opened inside this one, whose owners lack a call now."""
    error = budget.refusal(quote)
    budgets = _open.get()
    for inner in budgets[budgets.index(budget) :]:
        inner.refused = error
    return error


def book(entry: ModelReplied) -> None:
    """Books a reply for which nothing was reserved."""
    for budget in _open.get():
        budget.book(entry)


def book_tool_call(count: int = 1) -> None:
    """Books a tool call that is about to run; -1 takes back one that does not run after all."""
    for budget in _open.get():
        budget.ledger.tool_calls += count


def open_budgets() -> tuple[Budget, ...]:
    """Returns the budgets that calls made here are charged to, outermost (a request's key, or all runs) first."""
    return _open.get()


def limit_reached() -> str:
    """Returns which limit of an open budget is used up, after which no tools are run; "" if none is."""
    full = ((each.payer, each.full_limit) for each in _open.get() if each.limits is not NO_LIMITS)
    return next((f"the limit of {payer} is reached: {limit}" for payer, limit in full if limit), "")


def unpriced_reason(model: str, place: str = "next to the limit") -> str:
    """Returns why a limit in dollars refuses a model, and what the user can do."""
    return (
        f"The price of {model} is not known, so a limit in dollars can't hold: state it under 'prices:', or set "
        f"'unpriced: allow' {place}."
    )
