"""Counts money at the border to a provider: the maximum cost of each call, and the usage of each reply."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter

from ..core.events import Emit, Event, ModelReplied, TextDelta, ThinkingDelta, ToolCallDelta, UsageReported, ignore
from ..core.exchange import (
    CHARACTERS_PER_TOKEN,
    UNKNOWN_USAGE,
    ModelRequest,
    ModelResponse,
    TokenEstimator,
    Usage,
    estimate_message,
    estimate_request,
    estimate_text,
)
from ..core.ledger import Quote, Reservation, book
from ._prices import TokenPrice

_ENOUGH_TOKENS = 200  # reported tokens from which on the rate is used
FEWEST_CHARACTERS, MOST_CHARACTERS = 1.0, 8.0
"""Bounds on the characters per token; a rate beyond them means that tokens were used for something else than text."""
INPUT_MARGIN = 1.25
"""The factor by which a request's tokens may exceed the estimate, besides the excess seen before."""
PROVIDER_TOKENS = 500
"""Tokens that a provider may add to the first request: its template, its own text about tools."""
SHORTEST_ANSWER = 256
"""Tokens below which a limit does not shorten an answer, as it would be cut off; later twice the longest so far."""
ASSUMED_OUTPUT_TOKENS = 8_192
"""Tokens assumed for an answer under a limit if neither `max_tokens` nor the model's own maximum is known."""

MostOutput = Callable[[ModelRequest], int | None]
"""Returns the maximum tokens of an answer to a request, or None if unknown."""


@dataclass(frozen=True, slots=True)
class CallTerms:
    """The terms of calls to a model. A callable `price` is looked up at the first call.

    Scripts and recordings are not `bounded`, since limits can't change what they answer. Answers from a recording are
    not `paid`. `find_price` returns the price of another model of the provider.
    """

    price: TokenPrice | Callable[[], TokenPrice | None] | None = None
    most_output: MostOutput = lambda request: request.options.get("max_tokens")
    bounded: bool = True
    paid: bool = True
    find_price: Callable[[str], TokenPrice | None] = lambda model: None


DEFAULT_TERMS = CallTerms()


class Meter:
    """Estimates the maximum cost of one model's calls, and books their actual cost in the ledger.

    It estimates usage that the provider does not report from the characters per token of earlier reports.
    """

    def __init__(self, model: str, terms: CallTerms) -> None:
        self.model = model
        self.is_bounded = terms.bounded
        self._terms = terms
        self._input = TokenEstimator()
        self._characters = 0
        self._tokens = 0
        self._beyond_input: int | None = None
        self._beyond_output = 0
        self._longest = SHORTEST_ANSWER // 2

    def settle(
        self, request: ModelRequest, reply: "ReplyListener", reservation: Reservation
    ) -> tuple[ModelReplied, ...]:
        """Books a reply's usage, learns from it, and returns the entries, the model's own first."""
        entry = self._entry(request, reply)
        self._learn(request, reply, entry, reservation)
        reservation.settle(entry)
        others = tuple(self._other_entries(reply.response)) if reply.response else ()
        for other in others:
            book(other)
        return (entry, *others) if entry else others

    def _other_entries(self, response: ModelResponse) -> Iterator[ModelReplied]:
        """Yields entries for other models that the provider called, at their own prices."""
        for model, usage in response.others:
            price = self._terms.find_price(model)
            usage = replace(usage, cost_usd=price.cost(usage)) if price else usage
            name = f"{self.model.partition('/')[0]}/{model}"
            yield ModelReplied(name, usage, 0.0, role="helper", paid=self._terms.paid)

    @cached_property
    def price(self) -> TokenPrice | None:
        price = self._terms.price
        return price() if callable(price) else price

    @property
    def characters_per_token(self) -> float:
        """The rate in this model's reported usage, within the usual bounds, or a common guess before enough reports."""
        if self._tokens < _ENOUGH_TOKENS:
            return CHARACTERS_PER_TOKEN
        return min(max(self._characters / self._tokens, FEWEST_CHARACTERS), MOST_CHARACTERS)

    def quote(self, request: ModelRequest) -> Quote:
        """Returns the upper bound of a call's cost, plus any excess over such a bound seen before."""
        most = self._terms.most_output(request)
        estimate = self._input.estimate(request)
        beyond = PROVIDER_TOKENS if self._beyond_input is None else self._beyond_input
        input_tokens = int(estimate * INPUT_MARGIN) + beyond
        rates = self.price.highest_rates(input_tokens) if self.price else None
        least = None if request.options.get("max_tokens") else 2 * self._longest
        output_tokens = (ASSUMED_OUTPUT_TOKENS if most is None else most) + self._beyond_output
        return Quote(self.model, input_tokens, output_tokens, rates, least, self._terms.paid)

    def within(self, reservation: Reservation, request: ModelRequest) -> ModelRequest:
        """Sets `max_tokens` to what a limit leaves, if the answer could be longer."""
        quote, granted = reservation.quote, reservation.output_tokens
        if not quote or granted is None or quote.least is None:
            return request
        if granted >= quote.output_tokens and self._terms.most_output(request) is not None:
            return request
        return replace(request, options={**request.options, "max_tokens": granted})

    def _entry(self, request: ModelRequest, reply: "ReplyListener") -> ModelReplied | None:
        usage = self._usage(request, reply)
        if usage is None:
            return None
        price, reported = self.price, reply.usage
        if price and (usage.cost_usd is None or price.stated):
            usage = replace(usage, cost_usd=price.cost(usage))
        stop = reply.response.stop if reply.response else "length" if reply.was_left else "end"
        is_estimated = (usage.input_tokens, usage.output_tokens) != (reported.input_tokens, reported.output_tokens)
        failed = not (reply.response or reply.is_enough)
        return ModelReplied(self.model, usage, reply.seconds, stop, is_estimated, failed=failed, paid=self._terms.paid)

    def _usage(self, request: ModelRequest, reply: "ReplyListener") -> Usage | None:
        """Returns the reported usage, completed by estimates, or None if nothing was used."""
        usage = reply.usage
        if not reply.has_used:
            return None
        written = self._output_tokens(request, reply)
        read = usage.input_tokens or estimate_request(request, self.characters_per_token)
        if (read, written) == (usage.input_tokens, usage.output_tokens):
            return usage
        return replace(usage, input_tokens=read, output_tokens=written)

    def _output_tokens(self, request: ModelRequest, reply: "ReplyListener") -> int:
        """Returns the answer's tokens as reported, or an estimate if the report can't be complete."""
        reported = reply.usage.output_tokens
        if reply.response is None:
            received = estimate_text(reply.text, self.characters_per_token)
            return max(reported, self._at_most(request, received or int(reply.unread / self.characters_per_token)))
        if reported or not reply.response.message.parts:
            return reported
        return self._at_most(request, estimate_message(reply.response.message, self.characters_per_token))

    def _at_most(self, request: ModelRequest, tokens: int) -> int:
        """Limits an estimate to the maximum answer, since no provider charges for more."""
        most = self._terms.most_output(request)
        return tokens if most is None else min(tokens, most)

    def _learn(
        self, request: ModelRequest, reply: "ReplyListener", entry: ModelReplied | None, reservation: Reservation
    ) -> None:
        if not entry or entry.estimated:
            return
        response, usage = reply.response, entry.usage
        if response and _is_plain(response):
            self._characters += len(response.text)
            self._tokens += usage.output_tokens
        self._longest = max(self._longest, usage.output_tokens)
        # Both excesses halve with each reply, so that a single outlier does not inflate all later reservations.
        if reservation.quote:  # only quotes for a limit need these figures
            beyond = usage.input_tokens - int(self._input.estimate(request) * INPUT_MARGIN)
            self._beyond_input = max((self._beyond_input or 0) // 2, beyond)
        if (granted := reservation.output_tokens) is not None:
            self._beyond_output = max(self._beyond_output // 2, usage.output_tokens - granted)


def _is_plain(response: ModelResponse) -> bool:
    """Returns whether a response is only ASCII text, whose reported tokens give a fair rate of characters per token."""
    return response.text.isascii() and not response.usage.reasoning_tokens and len(response.message.parts) == 1


@dataclass(slots=True)
class ReplyListener:
    """Listens to one reply to find its usage. `unread` counts the bytes of a reply that can't be decoded.

    `was_left` means that the caller stopped listening, `is_enough` that it did so because it had heard enough.
    """

    emit: Emit
    reported: Usage = UNKNOWN_USAGE
    pieces: list[str] = field(default_factory=list)
    unread: int = 0
    response: ModelResponse | None = None
    is_sent: bool = False
    was_left: bool = False
    is_enough: bool = False
    started: float = field(default_factory=perf_counter)

    def __call__(self, event: Event) -> Awaitable[None]:
        if isinstance(event, (TextDelta, ThinkingDelta)):
            self.pieces.append(event.text)
        elif isinstance(event, ToolCallDelta):
            self.pieces.append(event.name + event.arguments)
        elif isinstance(event, UsageReported):
            self.reported, self.unread = event.usage, max(self.unread, event.unread)
            self.is_sent = event.is_sent
            return ignore(event)
        return self.emit(event)

    @property
    def usage(self) -> Usage:
        return self.response.usage if self.response else self.reported

    @property
    def has_used(self) -> bool:
        """Whether anything was received, or may have followed after the caller left."""
        came = self.response or self.pieces or self.unread or self.was_left
        return bool(came) or self.reported != UNKNOWN_USAGE

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def seconds(self) -> float:
        return perf_counter() - self.started
