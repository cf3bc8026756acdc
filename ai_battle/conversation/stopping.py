"""Decides when a discussion ends before its turns do: limits that are near, and conditions on content and usage."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.errors import ConfigError
from ..core.events import BudgetReached
from ..core.exchange import Usage
from ..core.ledger import ROUNDING, Ledger, SpendingLimits
from ..core.messages import Message
from ..core.plugins import near
from ..signals.consensus import agrees, parts
from ..signals.languages import novelty

NEAR_LIMIT = 0.9
RESERVED_TURNS = 3
"""How many turns have to fit into the rest, one more, one to sum up, and a margin.

They are as dear as the dearest so far, and as slow as most: one slow turn may have loaded a model.
"""
RECENT_TURNS = 31
"""How many of the last turns tell how slow most are, so that a long run does not keep them all."""


@dataclass(slots=True)
class RunUse:
    """The usage of a run so far: its ledger, and what the turns of models have taken."""

    ledger: Ledger = field(default_factory=Ledger)
    dearest_usd: float = 0.0
    longest_tokens: int = 0
    turn_seconds: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_TURNS))

    def note_turn(self, usage: Usage, seconds: float) -> None:
        self.dearest_usd = max(self.dearest_usd, usage.cost_usd or 0.0)
        self.longest_tokens = max(self.longest_tokens, usage.total_tokens)
        self.turn_seconds.append(seconds)

    @property
    def usual_seconds(self) -> float:
        """The median; 0 after a single turn, which says little."""
        return sorted(self.turn_seconds)[(len(self.turn_seconds) - 1) // 2] if len(self.turn_seconds) > 1 else 0.0


def nearest(limits: SpendingLimits, use: RunUse) -> BudgetReached | None:
    """Returns the most used limit, once it is time to wrap up."""
    return max(filter(_is_near, _shares(limits, use)), key=lambda reached: reached.share, default=None)


def _is_near(reached: BudgetReached) -> bool:
    left = reached.allowed - reached.used
    return reached.share >= NEAR_LIMIT - ROUNDING or left < RESERVED_TURNS * reached.needed - ROUNDING


def _shares(limits: SpendingLimits, use: RunUse) -> Iterator[BudgetReached]:
    ledger = use.ledger
    if limits.cost_usd is not None:
        yield BudgetReached("cost_usd", ledger.known_cost, limits.cost_usd, use.dearest_usd)
    if limits.tokens is not None:
        yield BudgetReached("tokens", ledger.usage.total_tokens, limits.tokens, use.longest_tokens)
    if limits.seconds is not None:
        yield BudgetReached("seconds", ledger.seconds, limits.seconds, use.usual_seconds)
    if limits.tool_calls:  # a limit of 0 forbids tools; it must not end the run
        yield BudgetReached("tool_calls", ledger.tool_calls, limits.tool_calls)


MIN_NOVELTY, REPEATS = 0.25, 4


def consensus(recent: Sequence[Message]) -> bool:
    """Checks whether every speaker's last message agrees and leaves nothing open, or only says goodbye.

    Courtesies of speakers who have said nothing else yet do not count.
    """
    speakers = {message.speaker for message in recent}
    last = recent[-max(2, len(speakers)) :]
    earlier = {message.speaker for message in recent[: -len(last)]}
    if len({message.speaker for message in last}) < 2 or not speakers <= earlier:
        return False
    return all(agrees(message.text) or parts(message.text) for message in last)


def no_novelty(recent: Sequence[Message]) -> bool:
    """Checks whether each of the last four messages adds next to nothing to those before it, or only says goodbye."""
    texts = [message.text for message in recent]
    if len(texts) <= REPEATS:
        return False
    latest = range(len(texts) - REPEATS, len(texts))
    return all(parts(texts[i]) or novelty(texts[i], texts[:i]) < MIN_NOVELTY for i in reversed(latest))


@dataclass(frozen=True, slots=True)
class StopContext:
    """The data that conditions can use; `recent` holds only the last messages."""

    messages: int
    turns: int
    recent: Sequence[Message]
    use: RunUse


Condition = Callable[[StopContext], str]


def condition(spec: Mapping[str, Any] | Sequence[Any]) -> Condition:
    """Returns a test that gives the reason to stop, or an empty text if the discussion goes on.

    `spec` is `{any: [...]}`, `{all: [...]}`, `{max_messages: 40}` and so on. A list, or a mapping with several keys,
    stops at the first condition that holds.
    """
    if not isinstance(spec, Mapping):
        return _any_condition([condition(entry) for entry in spec])
    return _any_condition([_condition(name, value) for name, value in spec.items()])


def _condition(name: str, value: Any) -> Condition:
    if name in ("any", "all"):
        entries = [condition(entry) for entry in value]
        return _any_condition(entries) if name == "any" else _all_conditions(entries)
    if name not in _CONDITIONS:
        raise ConfigError(f"There is no stop condition {name!r}{near(name, ['any', 'all', *_CONDITIONS])}")
    holds = _CONDITIONS[name]
    reason = name if value is True else f"{name}: {value}"
    return lambda context: reason if value is not False and value is not None and holds(context, value) else ""


def _any_condition(conditions: Sequence[Condition]) -> Condition:
    return lambda context: next((reason for test in conditions if (reason := test(context))), "")


def _all_conditions(conditions: Sequence[Condition]) -> Condition:
    def test(context: StopContext) -> str:
        reasons = [test(context) for test in conditions]
        return " and ".join(reasons) if reasons and all(reasons) else ""

    return test


def _phrase(context: StopContext, phrase: str) -> bool:
    """Finds the phrase anywhere in the last message: small models rarely put it on a line of its own.

    Case and white space don't matter.
    """
    return bool(context.recent) and _normalize(phrase) in _normalize(context.recent[-1].text)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())


_CONDITIONS: Mapping[str, Callable[[StopContext, Any], bool]] = {
    "max_messages": lambda context, most: context.messages >= most,
    "turns": lambda context, most: context.turns >= most,
    "phrase": _phrase,
    "consensus": lambda context, _: consensus(context.recent),
    "no_novelty": lambda context, _: no_novelty(context.recent),
    "cost_usd": lambda context, most: context.use.ledger.known_cost >= most,
    "tokens": lambda context, most: context.use.ledger.usage.total_tokens >= most,
    "seconds": lambda context, most: context.use.ledger.seconds >= most,
}
