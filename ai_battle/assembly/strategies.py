"""Loads strategies by name, lists the models of a pair, and checks the pair's options against its strategy."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..config.collaboration import Help, HelperSettings, UsedHelp
from ..config.problems import KeyPath, Problem
from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near, translate_errors
from ..core.traits import StrategyTraits

STRATEGIES = "ai_battle.collaboration"
JUDGING = (
    "threshold", "max_retries", "help_rate", "max_cost", "calibration", "promise", "judge", "check", "verify", "peers",
    "samples",
)  # fmt: skip
HELPING = ("helper_timeout", "helper_sees", "limits", "stream")
NO_OPTION = ("primary", "secondary", "strategy", "options", "model", "name", "grid", "shadow", "lessons")
RECIPE_PARAMETERS = ("stuck_detector", "helping", "standing", "base", "labels", "native_tool", "hedge")
"""Parameters that a strategy gets from its recipe, never from `options`."""
USUAL = StrategyTraits()

_KINDS: Mapping[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_MODELS = (Sequence[ModelClient], tuple[ModelClient, ...], ModelClient, ModelClient | None)

H = TypeVar("H", bound=Help)


class PairOptionError(ConfigError):
    """A key of a pair that its strategy lacks, or one that is missing."""

    def __init__(self, key: str, words: str, *, is_key: bool = False) -> None:
        super().__init__(words, key)
        self.is_key = is_key


def names() -> list[str]:
    """Returns all strategies: modules of the collaboration package with `create`, and entry points."""
    return [name for name in plugins.names(STRATEGIES) if hasattr(plugins.load(STRATEGIES, name), "create")]


@cache
def factory(name: str) -> Callable[..., ModelClient]:
    """Returns a strategy's `create`. Raises `ConfigError` with similar names."""
    try:
        return plugins.factory(STRATEGIES, name)
    except ConfigError as error:
        if "." in name:
            raise
        raise ConfigError(f"there is no strategy {name!r}{near(name, names())}") from error


def traits(name: str, *, trusted: bool = True) -> StrategyTraits:
    """Returns a strategy's traits; the defaults if it does not exist or its code is not trusted yet."""
    if ("." in name and not trusted) or ("." not in name and not plugins.is_there(STRATEGIES, name)):
        return USUAL
    return plugins.traits(STRATEGIES, name, USUAL)


def with_file(pair: H, base: Path) -> H:
    """Points the pair to a strategy file next to the YAML (`mine.py` for `mine`), unless a strategy has the name."""
    name = plugins.with_file(STRATEGIES, pair.strategy, base)
    # A copy would count the strategy as stated, even in a route that is no pair.
    return pair if name == pair.strategy else pair.model_copy(update={"strategy": name})


def helpers_of(pair: Help) -> Iterator[tuple[KeyPath, HelperSettings]]:
    """Yields the helpers and judges of a pair with their places in it."""
    yield from secondaries(pair)
    if pair.judge:
        yield ("judge",), pair.judge
    for key in ("models", "peers"):
        for index, helper in enumerate(getattr(pair, key)):
            yield (key, index), helper


def secondaries(pair: Help) -> Iterator[tuple[KeyPath, HelperSettings]]:
    """Yields the secondary models, which replace each other on failure; a single one is written without a list."""
    for index, helper in enumerate(pair.secondary):
        yield ("secondary", index) if len(pair.secondary) > 1 else ("secondary",), helper


def words_on_itself(who: str, steps: KeyPath) -> str:
    """Returns the problem of a pair that names the model itself at `steps`."""
    if steps[0] in ("secondary", "judge"):
        return f"{who} can't {'help' if steps[0] == 'secondary' else 'judge'} itself; name another model"
    return f"{who} answers already; name another model (several answers of one are for vote)"


def types_of(pair: UsedHelp) -> Iterator[str]:
    """Yields the types of all models that a pair names."""
    yield from (helper.type for _, helper in helpers_of(pair))
    if pair.shadow and pair.shadow.judge.type != "check":
        yield pair.shadow.judge.type


def large_of(pair: Help) -> HelperSettings | None:
    """Returns the first helper's settings; without one those of the last model, the dearest."""
    return next((helper for _, helper in (*secondaries(pair), *reversed([*helpers_of(pair)]))), None)


def announces_help(make: Callable[..., ModelClient]) -> bool:
    """Checks whether a strategy emits `HelpAsked` itself: all of ours do, and those that take `helping`."""
    return make.__module__.startswith(f"{STRATEGIES}.") or "helping" in parameters(make)


@cache
def parameters(make: Callable[..., Any]) -> frozenset[str]:
    """Returns the names of a strategy's parameters."""
    return frozenset(inspect.signature(make).parameters)


def require(pair: Help) -> None:
    """Raises `ConfigError` for everything that `check` finds; imports the strategy's code."""
    try:
        check(pair, trusted=True)
    except PairOptionError as error:
        raise ConfigError(f"{error.about}: {error}") from error


def check(pair: Help, *, trusted: bool = False) -> None:
    """Raises `ConfigError` for an unknown strategy or a key that it does not take.

    A module with a dotted name is imported only if it is `trusted`.
    """
    if "." in pair.strategy and not trusted:
        return
    make = factory(pair.strategy)
    _check_keys(pair, make)
    _check_values(pair)
    _check_labels(pair, make)
    _check_options(pair, make)


def problem_of(pair: Help, path: KeyPath, error: ConfigError) -> Problem:
    """Turns an error into a problem of the pair at `path`, with the place that the error is about."""
    if isinstance(error, PairOptionError):
        return Problem((*path, error.about), str(error), key=error.is_key)
    return Problem((*path, *_place_of(pair, error.about)), str(error))


def _place_of(pair: Help, about: str) -> KeyPath:
    """Returns the place in a pair of an option, a key or a list entry; else that of the strategy."""
    key, _, number = about.partition(".")
    if key in pair.options:
        return "options", key
    if key not in pair.model_fields_set:
        return ("strategy",)
    return (key, int(number) if number.isdecimal() else number) if number else (key,)


def _check_keys(pair: Help, make: Callable[..., ModelClient]) -> None:
    if _hints(make).get("secondary") is ModelClient and not pair.secondary:
        raise PairOptionError("secondary", f"is missing: {pair.strategy} needs the model that helps")
    known = {*_keys(make)}
    if unknown := sorted(key for key in pair.model_fields_set - {*NO_OPTION} if key not in known):
        raise PairOptionError(unknown[0], f"{pair.strategy} has no such option{_owners(unknown[0])}", is_key=True)


def _check_values(pair: Help) -> None:
    if pair.judge and pair.helper_sees == "prompt":
        raise PairOptionError("helper_sees", "is prompt, and a judge reads the attempt; say attempt or history")
    if pair.stream == "optimistic" and not traits(pair.strategy).drafts_alone:
        alone = ", ".join(name for name in names() if traits(name).drafts_alone)
        raise PairOptionError("stream", f"is optimistic, but {pair.strategy} has no first answer to show; {alone} do")


def _check_labels(pair: Help, make: Callable[..., ModelClient]) -> None:
    for steps, helper in helpers_of(pair):
        if "labels" not in parameters(make) and (helper.name or helper.purpose):
            words = f"has a name or a purpose, by which nobody chooses in {pair.strategy}; take them away"
            raise PairOptionError(str(steps[0]), words)


def _check_options(pair: Help, make: Callable[..., ModelClient]) -> None:
    signature, hints = inspect.signature(make).parameters, _hints(make)
    live = {*NO_OPTION, *RECIPE_PARAMETERS, *_model_parameters(make)}
    known = [name for name in signature if name not in live]
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.values())
    for key, value in pair.options.items():
        if key not in known and (key in live or not takes_any):
            raise PairOptionError("options", f"{pair.strategy} has no option {key!r}{near(key, known)}")
        if not _is_a(value, hints.get(key)):
            words = f"{key!r} of {pair.strategy} must be {_KINDS[hints[key]]}, not {value!r}"
            raise PairOptionError("options", words)


def _model_parameters(make: Callable[..., ModelClient]) -> Iterator[str]:
    return (name for name, kind in _hints(make).items() if kind in _MODELS)


def _is_a(value: Any, kind: Any) -> bool:
    """Checks a value against a simple type; other types are left to the strategy."""
    if kind not in (*_KINDS,):
        return True
    if isinstance(value, bool) or kind is bool:  # bool is a subclass of int, but `true` is not a number
        return isinstance(value, bool) and kind is bool
    return isinstance(value, int | float if kind is float else kind)


@cache
def _hints(make: Callable[..., ModelClient]) -> Mapping[str, Any]:
    with translate_errors(f"The annotations of {make.__module__}.create can't be read", ConfigError):
        signature = inspect.signature(make, eval_str=True)
    return {name: each.annotation for name, each in signature.parameters.items()}


def _owners(key: str) -> str:
    """Names the strategies that have the option, as the end of an error message."""
    owners = [name for name in names() if key in _keys(factory(name))]
    if not owners:
        return "; no strategy that comes with ai-battle has it"
    return f"; {', '.join(owners)} {'have' if len(owners) > 1 else 'has'} it"


def _keys(make: Callable[..., Any]) -> Iterator[str]:
    """Yields the keys of a pair that the strategy uses."""
    for name in inspect.signature(make).parameters:
        yield from {"stuck_detector": JUDGING, "helping": HELPING}.get(name, ())
        yield name
