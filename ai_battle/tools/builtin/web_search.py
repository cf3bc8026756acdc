"""`web_search`: search the web through SearXNG, Brave, Tavily or DuckDuckGo."""

from typing import Any

from yarl import URL

from ...core.errors import ConfigError
from ...core.plugins import near
from .._web.engines import ENGINES, Engine
from ..base import Tool, telling_errors

MOST = 20


class WebSearchTool(Tool):
    name = "web_search"
    description = "Search the web. Gives titles, addresses and snippets; web_fetch reads a page."
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "query": {"type": "string", "description": "Search query", "required": True},
        "num_results": {
            "type": "integer",
            "description": "Number of results to return",
            "minimum": 1,
            "maximum": MOST,
            "default": 5,
        },
    }
    timeout = 30.0

    def __init__(self, api_key: str = "", backend: str = "", base_url: str = "") -> None:
        """A key alone means Brave, an address alone a SearXNG, and nothing at all DuckDuckGo."""
        self.engine = _engine(
            backend or ("brave" if api_key else "searxng" if base_url else "duckduckgo"), base_url, api_key
        )

    @telling_errors
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        query = parameters.get("query", "")
        if not isinstance(query, str) or not query.strip():
            return {"error": "Query is required"}
        found = await self.engine.search(query.strip(), min(int(parameters.get("num_results", 5)), MOST))
        return {"results": [one.to_json() for one in found], "total": len(found)}


def _engine(backend: str, base_url: str, api_key: str) -> Engine:
    if backend not in ENGINES:
        raise ConfigError(f"web_search has no backend {backend!r}{near(backend, list(ENGINES))}")
    kind, usual, needs_key = ENGINES[backend]
    if needs_key and not api_key:
        raise ConfigError(f"web_search by {backend} needs api_key; name a variable of the environment: ${{NAME}}")
    if not (address := base_url or usual):
        raise ConfigError(
            "web_search by searxng needs base_url, the address of a SearXNG such as http://localhost:8888"
        )
    if not _is_address(address):
        raise ConfigError(f"web_search: base_url must be http:// or https:// and a host, not {address!r}")
    return kind(address, api_key)


def _is_address(text: str) -> bool:
    try:
        url = URL(text)
    except ValueError:
        return False
    return url.scheme in ("http", "https") and bool(url.host)
