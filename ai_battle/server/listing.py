"""The list of models, and one of them, in the shape of either API."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import ConfigError
from .routes import Route

MOST = 1000
"""On one page, as Anthropic has it."""
BEGUN = int(time.time())
CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGUN))


def is_anthropic(headers: Mapping[str, str]) -> bool:
    return "anthropic-version" in headers


def all_of(routes: Iterable[Route], headers: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Clients of Anthropic's API show only ids that look like its vendor's; the others are listed all the same.

    That API has pages, of which `query` asks for one. Raises `ConfigError`.
    """
    data = [one(route, headers) for route in routes]
    if not is_anthropic(headers):
        return {"object": "list", "data": data}
    data, has_more = _page(data, query)
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": has_more, **ends}


def _page(data: list[dict[str, Any]], query: Mapping[str, str]) -> tuple[list[dict[str, Any]], bool]:
    """Those after or before one of them, and whether there are more; all of them, where no limit is asked for."""
    ids = [each["id"] for each in data]
    after, before = query.get("after_id", ""), query.get("before_id", "")
    rest = data[ids.index(after) + 1 if after in ids else 0 : ids.index(before) if before in ids else None]
    most = _limit(query.get("limit", str(MOST)))
    return (rest[-most:] if before else rest[:most]), len(rest) > most


def _limit(written: str) -> int:
    if written.isascii() and written.isdecimal() and 1 <= int(written[:5]) <= MOST:
        return int(written)
    raise ConfigError(f"limit must be a whole number from 1 to {MOST}.")


def one(route: Route, headers: Mapping[str, str]) -> dict[str, Any]:
    if is_anthropic(headers):
        return {"type": "model", "id": route.name, "display_name": route.name, "created_at": CREATED}
    told = {"created": BEGUN, "owned_by": "ai-battle", "served_by": [*route.models]}
    return {"id": route.name, "object": "model", **told}
