"""Names that clients ask for, and what answers to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near


class NoRoute(ConfigError):
    """Nobody answers to the name of the model that a client asked for."""


@dataclass(frozen=True, slots=True)
class Route:
    """`make` gives a client for one request; what is worth keeping between requests is shared behind it.

    `strategy` is empty for a model that answers alone; `models` are those that may be called.
    """

    name: str
    make: Callable[[], ModelClient] = field(repr=False)
    strategy: str = ""
    models: tuple[str, ...] = ()

    @property
    def is_direct(self) -> bool:
        return not self.strategy


@dataclass(frozen=True, slots=True)
class Routes:
    """`named` are the routes that are listed; `other` finds or makes one for any other name, or returns None."""

    named: Mapping[str, Route]
    other: Callable[[str], Route | None] = lambda name: None

    def __iter__(self) -> Iterator[Route]:
        return iter(self.named.values())

    def find(self, name: str) -> Route:
        """Raises `NoRoute` with the names that there are."""
        if route := self.named.get(name) or self.other(name):
            return route
        raise NoRoute(f"there is no model {name!r} here{near(name, [*self.named])}")

    @classmethod
    def of(cls, routes: Iterable[Route]) -> "Routes":
        return cls({route.name: route for route in routes})
