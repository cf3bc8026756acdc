"""The list of models, and one of them, in the shape of either API."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from .routes import Route

BEGUN = int(time.time())
CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGUN))


def is_anthropic(headers: Mapping[str, str]) -> bool:
    return "anthropic-version" in headers


def all_of(routes: Iterable[Route], headers: Mapping[str, str]) -> dict[str, Any]:
    """Clients of Anthropic's API show only ids that look like its vendor's; the others are listed all the same."""
    data = [one(route, headers) for route in routes]
    if not is_anthropic(headers):
        return {"object": "list", "data": data}
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": False, **ends}


def one(route: Route, headers: Mapping[str, str]) -> dict[str, Any]:
    if is_anthropic(headers):
        return {"type": "model", "id": route.name, "display_name": route.name, "created_at": CREATED}
    told = {"created": BEGUN, "owned_by": "ai-battle", "served_by": [*route.models]}
    return {"id": route.name, "object": "model", **told}
