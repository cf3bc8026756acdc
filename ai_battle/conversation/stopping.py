"""When a discussion is over before its turns are: conditions on what was said and used, nested with any and all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import conversation
from ..core.errors import ConfigError
from ..core.messages import Message
from ..core.plugins import near
from .limits import RunUse


@dataclass(frozen=True, slots=True)
class StopContext:
    """What a condition may look at; `recent` are the last messages only."""

    messages: int
    turns: int
    recent: Sequence[Message]
    use: RunUse


Condition = Callable[[StopContext], str]


def condition(spec: Mapping[str, Any] | Sequence[Any]) -> Condition:
    """A test that says why to stop, or nothing. `{any: [...]}`, `{all: [...]}`, `{max_messages: 40}` and so on.

    A list, and a mapping with several keys, stop at the first that holds.
    """
    if not isinstance(spec, Mapping):
        return _any([condition(entry) for entry in spec])
    return _any([_condition(name, value) for name, value in spec.items()])


def _condition(name: str, value: Any) -> Condition:
    if name in ("any", "all"):
        entries = [condition(entry) for entry in value]
        return _any(entries) if name == "any" else _all(entries)
    if name not in _CONDITIONS:
        raise ConfigError(f"There is no stop condition {name!r}{near(name, ['any', 'all', *_CONDITIONS])}")
    holds = _CONDITIONS[name]
    reason = name if value is True else f"{name}: {value}"
    return lambda context: reason if value is not False and value is not None and holds(context, value) else ""


def _any(conditions: Sequence[Condition]) -> Condition:
    return lambda context: next((reason for test in conditions if (reason := test(context))), "")


def _all(conditions: Sequence[Condition]) -> Condition:
    def test(context: StopContext) -> str:
        reasons = [test(context) for test in conditions]
        return " and ".join(reasons) if reasons and all(reasons) else ""

    return test


def _phrase(context: StopContext, phrase: str) -> bool:
    """Anywhere in the last message, in any case, with any white space between its words: small models rarely put it
    on a line of its own."""
    return bool(context.recent) and _spaced(phrase) in _spaced(context.recent[-1].text)


def _spaced(text: str) -> str:
    return " ".join(text.casefold().split())


_CONDITIONS: Mapping[str, Callable[[StopContext, Any], bool]] = {
    "max_messages": lambda context, most: context.messages >= most,
    "turns": lambda context, most: context.turns >= most,
    "phrase": _phrase,
    "consensus": lambda context, _: conversation.consensus(context.recent),
    "no_novelty": lambda context, _: conversation.no_novelty(context.recent),
    "cost_usd": lambda context, most: context.use.ledger.known_cost >= most,
    "tokens": lambda context, most: context.use.ledger.usage.total_tokens >= most,
    "seconds": lambda context, most: context.use.ledger.seconds >= most,
}
