"""Strategies by name, and what the options of a pair are to them."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_type_hints

from ..config.collaboration import Help
from ..core import plugins
from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near

STRATEGIES = "ai_battle.collaboration"
JUDGING = ("threshold", "max_retries", "help_rate", "max_cost", "calibration")
HELPING = ("helper_timeout", "helper_sees", "limits")
NO_OPTION = ("primary", "secondary", "strategy", "options", "model", "name", "grid")


class Misused(Exception):
    """A key of a pair that its strategy does not have, or one that it lacks."""

    def __init__(self, key: str, words: str, *, is_key: bool = False) -> None:
        super().__init__(words)
        self.key, self.words, self.is_key = key, words, is_key


def names() -> list[str]:
    """All strategies: the modules of the room that can make one, and entry points."""
    return [name for name in plugins.names(STRATEGIES) if hasattr(plugins.load(STRATEGIES, name), "create")]


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


def needs_helper(make: Callable[..., ModelClient]) -> bool:
    """Whether the strategy can't do without a secondary model: its annotation says so."""
    return get_type_hints(make).get("secondary") is ModelClient


def clients_in(make: Callable[..., ModelClient]) -> Mapping[str, bool]:
    """The options that are models, and whether each is a list of them."""
    hints = get_type_hints(make)
    lists = (Sequence[ModelClient], tuple[ModelClient, ...])
    wanted = {name: hints.get(name) for name in inspect.signature(make).parameters if name not in NO_OPTION}
    return {name: hint in lists for name, hint in wanted.items() if hint in (*lists, ModelClient, ModelClient | None)}


def check(pair: Help) -> None:
    """Raises `ConfigError` for a strategy that is not there, and `Misused` for a key that does not go with it."""
    if "." in pair.strategy:
        return
    make = factory(pair.strategy)
    if needs_helper(make) and not pair.secondary:
        raise Misused("secondary", f"is missing: {pair.strategy} needs the model that helps")
    taken = set(_keys(make))
    for key in written(pair):
        if key not in taken:
            raise Misused(key, f"{pair.strategy} has no such option{_owners(key)}", is_key=True)
    for key in pair.options:
        if key not in inspect.signature(make).parameters:
            known = [name for name in inspect.signature(make).parameters if name not in NO_OPTION]
            raise Misused("options", f"{pair.strategy} has no option {key!r}{near(key, known)}")


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
