"""The list of models, in the shape of either API."""

import time
from collections.abc import Iterable
from typing import Any

from .routes import Route

BEGUN = int(time.time())


def openai(routes: Iterable[Route]) -> dict[str, Any]:
    entries = [
        {"id": route.name, "object": "model", "created": BEGUN, "owned_by": "ai-battle", "served_by": [*route.models]}
        for route in routes
    ]
    return {"object": "list", "data": entries}


def anthropic(routes: Iterable[Route]) -> dict[str, Any]:
    """Clients of this API show only ids that look like its vendor's; the others are listed all the same."""
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGUN))
    data = [{"type": "model", "id": r.name, "display_name": r.name, "created_at": begun} for r in routes]
    ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
    return {"data": data, "has_more": False, **ends}
