"""The names that clients can ask for, their routes, and how both APIs list them."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..core.client import ModelClient
from ..core.errors import ConfigError
from ..core.plugins import near
from ..providers._endpoints import provider_traits
from .errors import NoRoute

MAX_MODELS = 1000
"""Models on one page, the limit of Anthropic's API."""
START_TIME = int(time.time())
CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START_TIME))


@dataclass(frozen=True)
class Route:
    """A name that answers. `make` returns a client for one request; state kept between requests is shared behind it.

    `strategy` is empty for a model that answers alone; `models` are those that may be called. `api` is the name of the
    upstream's API if requests in that API are passed on unchanged.
    """

    name: str
    make: Callable[[], ModelClient] = field(repr=False)
    strategy: str = ""
    models: tuple[str, ...] = ()
    api: str = ""

    @property
    def is_direct(self) -> bool:
        return not self.strategy

    @property
    def provider(self) -> str:
        """The provider of the model that answers first."""
        return self.models[0].partition("/")[0] if self.models else ""

    @cached_property
    def upstream_api(self) -> str:
        """The served API that this model speaks, or empty if its API is another."""
        return provider_traits(self.provider).api


@dataclass(frozen=True, slots=True)
class Routes:
    """The listed routes, by name; `other` finds or builds one for any other name, or returns None."""

    named: Mapping[str, Route] = field(default_factory=dict)
    other: Callable[[str], Route | None] = lambda name: None

    def __iter__(self) -> Iterator[Route]:
        return iter(self.named.values())

    def find(self, name: str) -> Route:
        """Raises `NoRoute` suggesting a similar name."""
        if route := self.named.get(name) or self.other(name):
            return route
        raise NoRoute(f"there is no model {name!r} here{near(name, [*self.named])}")


def is_anthropic(headers: Mapping[str, str]) -> bool:
    return "anthropic-version" in headers


def model_entry(route: Route, headers: Mapping[str, str]) -> dict[str, Any]:
    if is_anthropic(headers):
        return {"type": "model", "id": route.name, "display_name": route.name, "created_at": CREATED}
    facts = {"created": START_TIME, "owned_by": "ai-battle", "served_by": [*route.models]}
    return {"id": route.name, "object": "model", **facts}


def model_list(routes: Routes, headers: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Returns the list of models. `query` selects a page in Anthropic's API. Raises `ConfigError`.

    Clients of that API show only ids that look like its vendor's; the others are listed all the same.
    """
    data = [model_entry(route, headers) for route in routes]
    if not is_anthropic(headers):
        return {"object": "list", "data": data}
    data, has_more = _page(data, query)
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": has_more, **ends}


def _page(data: list[dict[str, Any]], query: Mapping[str, str]) -> tuple[list[dict[str, Any]], bool]:
    """Returns the models after or before the named one, and whether there are more."""
    limit = query.get("limit", str(MAX_MODELS))
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit[:5]) <= MAX_MODELS):
        raise ConfigError(f"limit must be a whole number from 1 to {MAX_MODELS}.")
    ids = [each["id"] for each in data]
    after, before = query.get("after_id", ""), query.get("before_id", "")
    rest = data[ids.index(after) + 1 if after in ids else 0 : ids.index(before) if before in ids else None]
    most = int(limit)
    return (rest[-most:] if before else rest[:most]), len(rest) > most
