"""Strategies by name, and what the options of a pair are to them."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path as FilePath
from typing import Any, TypeVar, get_type_hints

from ..config.collaboration import Help
from ..config.problems import Path
from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import ConfigError, translate_errors
from ..core.plugins import near
from ..core.traits import StrategyTraits

STRATEGIES = "ai_battle.collaboration"
JUDGING = (
    "threshold", "max_retries", "help_rate", "max_cost", "calibration", "judge", "check", "verify", "peers", "samples"
)  # fmt: skip
HELPING = ("helper_timeout", "helper_sees", "limits", "stream")
NO_OPTION = ("primary", "secondary", "strategy", "options", "model", "name", "grid")
LIVE = ("stuck_detector", "helping", "standing", "base")
"""What a strategy is given and no file can say."""

_KINDS: Mapping[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


H = TypeVar("H", bound=Help)


class PairOptionError(Exception):
    """A key of a pair that its strategy does not have, or one that it lacks."""

    def __init__(self, key: str, words: str, *, is_key: bool = False) -> None:
        super().__init__(words)
        self.key, self.words, self.is_key = key, words, is_key


def names() -> list[str]:
    """All strategies: the modules of the room that can make one, and entry points."""
    return [name for name in plugins.names(STRATEGIES) if hasattr(plugins.load(STRATEGIES, name), "create")]


@cache
def factory(name: str) -> Callable[..., ModelClient]:
    """`create` of a strategy; raises `ConfigError` with near names."""
    try:
        found = getattr(plugins.load(STRATEGIES, name), "create", None)
    except ConfigError as error:
        if "." in name:
            raise
        raise ConfigError(f"there is no strategy {name!r}{near(name, names())}") from error
    if not callable(found):
        raise ConfigError(f"there is no strategy {name!r}{near(name, names())}")
    made: Callable[..., ModelClient] = found
    return made


def traits(name: str) -> StrategyTraits:
    """Return what the strategy says of itself; its module is imported."""
    return plugins.traits(STRATEGIES, name, StrategyTraits())


def with_file(pair: H, base: FilePath) -> H:
    """The pair, its strategy named by the file beside the YAML, `mine.py` for `mine`, where no other has that name."""
    name = pair.strategy
    file = base / (name if name.endswith(".py") else f"{name}.py")
    may_be_file = name.endswith(".py") or (name.isidentifier() and name not in plugins.names(STRATEGIES))
    if not may_be_file or not os.path.isfile(file):
        return pair
    return pair.model_copy(update={"strategy": str(file.resolve())})


def announces_help(make: Callable[..., ModelClient]) -> bool:
    """Whether a strategy tells itself when it asks for help: ours do, and those that are given `helping`."""
    return make.__module__.startswith(f"{STRATEGIES}.") or "helping" in taken(make)


def needs_helper(make: Callable[..., ModelClient]) -> bool:
    """Whether the strategy can't do without a secondary model: its annotation says so."""
    return _hints(make).get("secondary") is ModelClient


@cache
def clients_in(make: Callable[..., ModelClient]) -> Mapping[str, bool]:
    """The options that are models, and whether each is a list of them."""
    hints = _hints(make)
    lists = (Sequence[ModelClient], tuple[ModelClient, ...])
    wanted = {name: hints.get(name) for name in inspect.signature(make).parameters if name not in NO_OPTION}
    return {name: hint in lists for name, hint in wanted.items() if hint in (*lists, ModelClient, ModelClient | None)}


@cache
def taken(make: Callable[..., Any]) -> frozenset[str]:
    """The names of what a strategy is made with."""
    return frozenset(inspect.signature(make).parameters)


def require(pair: Help) -> None:
    """`check` of a strategy whose code may be imported; all that is wrong is a `ConfigError`."""
    try:
        check(pair, trusted=True)
    except PairOptionError as misused:
        raise ConfigError(f"{misused.key}: {misused.words}") from misused


def check(pair: Help, *, trusted: bool = False) -> None:
    """Raises `ConfigError` for a strategy that is not there, and `PairOptionError` for a key that does not go with it.

    A module by its dotted name is only imported when it is `trusted`.
    """
    if "." in pair.strategy and not trusted:
        return
    make = factory(pair.strategy)
    if needs_helper(make) and not pair.secondary:
        raise PairOptionError("secondary", f"is missing: {pair.strategy} needs the model that helps")
    if unknown := [key for key in written(pair) if key not in {*_keys(make)}]:
        raise PairOptionError(unknown[0], f"{pair.strategy} has no such option{_owners(unknown[0])}", is_key=True)
    _check_judge(pair)
    _check_stream(pair)
    _check_options(pair, make)


def _check_judge(pair: Help) -> None:
    if pair.judge and pair.helper_sees == "prompt":
        raise PairOptionError("helper_sees", "is prompt, and a judge reads the attempt; say attempt or history")


def _check_stream(pair: Help) -> None:
    if pair.stream == "optimistic" and not traits(pair.strategy).drafts_alone:
        alone = [name for name in names() if traits(name).drafts_alone]
        words = f"is optimistic, and {pair.strategy} has no first answer to show; {', '.join(alone)} have"
        raise PairOptionError("stream", words)


def place_of(pair: Help, about: str) -> Path:
    """Where a pair says what an error is about: an option, a key, one of a list ("peers.0"); the strategy otherwise."""
    key, _, number = about.partition(".")
    if key in pair.options:
        return "options", key
    if key not in pair.model_fields_set:
        return ("strategy",)
    return (key, int(number)) if number else (key,)


def _check_options(pair: Help, make: Callable[..., ModelClient]) -> None:
    parameters, hints = inspect.signature(make).parameters, _hints(make)
    live = (*NO_OPTION, *LIVE, *clients_in(make))
    known = [name for name in parameters if name not in live]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for key, value in pair.options.items():
        if key not in known and (key in live or not takes_any):
            raise PairOptionError("options", f"{pair.strategy} has no option {key!r}{near(key, known)}")
        if not _is_a(value, hints.get(key)):
            raise PairOptionError("options", f"{key!r} of {pair.strategy} must be {_KINDS[hints[key]]}, not {value!r}")


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value of a file is of a simple kind; what else a plug-in takes is its own matter."""
    if kind not in (*_KINDS,):
        return True
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    return isinstance(value, int | float if kind is float else kind)


@cache
def _hints(make: Callable[..., ModelClient]) -> Mapping[str, Any]:
    with translate_errors(f"The annotations of {make.__module__}.create can't be read", ConfigError):
        return get_type_hints(make)


def written(pair: Help) -> list[str]:
    return sorted(pair.model_fields_set - {*NO_OPTION})


def _owners(key: str) -> str:
    """The end of an error message: the strategies that have the option."""
    owners = [name for name in names() if key in _keys(factory(name))]
    return f"; it is one of {', '.join(owners)}" if owners else "; no strategy that comes with ai-battle has it"


def _keys(make: Callable[..., Any]) -> Iterator[str]:
    """The keys of a pair that mean something to a strategy."""
    for name in inspect.signature(make).parameters:
        if name == "stuck_detector":
            yield from JUDGING
        elif name == "helping":
            yield from HELPING
        yield name
