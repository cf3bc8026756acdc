"""`web_search`: searches the web through SearXNG, Brave, Tavily or DuckDuckGo."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from yarl import URL

from ...core.errors import ConfigError, ToolError
from ...core.plugins import near
from ..base import Tool, errors_as_fields
from ..web.html import HtmlToken, plain_line, tokens
from ..web.requests import Bounds, Page, ask_service

SECONDS, SIZE = 20.0, 4 << 20
QUOTA = (402, 429, 432, 433)
MAX_RESULTS = 20
PROOF = "DuckDuckGo asks for a proof that a person is searching; wait, or use another backend."


class WebSearchTool(Tool):
    name = "web_search"
    description = "Search the web. Gives titles, addresses and snippets; web_fetch reads a page."
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "query": {"type": "string", "description": "Search query", "required": True},
        "num_results": {
            "type": "integer",
            "description": "Number of results to return",
            "minimum": 1,
            "maximum": MAX_RESULTS,
            "default": 5,
        },
    }
    timeout = 30.0

    def __init__(self, api_key: str = "", backend: str = "", base_url: str = "") -> None:
        """Chooses a backend: with only a key Brave, with only an address SearXNG, with neither DuckDuckGo."""
        self.engine = _engine(
            backend or ("brave" if api_key else "searxng" if base_url else "duckduckgo"), base_url, api_key
        )

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        query = parameters.get("query", "")
        if not isinstance(query, str) or not query.strip():
            return {"error": "Query is required"}
        found = await self.engine.search(query.strip(), min(int(parameters.get("num_results", 5)), MAX_RESULTS))
        return {"results": [asdict(one) for one in found], "total": len(found)}


def _engine(backend: str, base_url: str, api_key: str) -> "SearchEngine":
    if backend not in ENGINES:
        raise ConfigError(f"web_search has no backend {backend!r}{near(backend, list(ENGINES))}")
    engine = ENGINES[backend]
    if engine.needs_key and not api_key:
        raise ConfigError(f"web_search by {backend} needs api_key; name a variable of the environment: ${{NAME}}")
    if not (address := base_url or engine.address):
        raise ConfigError(
            "web_search by searxng needs base_url, the address of a SearXNG such as http://localhost:8888"
        )
    if not _is_address(address):
        raise ConfigError(f"web_search: base_url must be http:// or https:// and a host, not {address!r}")
    return replace(engine, address=address, key=api_key)


def _is_address(text: str) -> bool:
    try:
        url = URL(text)
    except ValueError:
        return False
    return url.scheme in ("http", "https") and bool(url.host)


@dataclass(frozen=True, slots=True)
class SearchResult:
    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """A search service at an `address`. `ask` makes a request's options from query, count and key.

    `read` raises `ToolError` for an invalid answer. If `refuses` is true of a page, `refusal` says why.
    """

    name: str
    address: str
    path: str
    ask: Callable[[str, int, str], Mapping[str, Any]]
    read: Callable[[Page], Iterable[SearchResult]]
    refuses: Callable[[Page], bool] = lambda _: False
    refusal: str = ""
    method: str = "GET"
    needs_key: bool = False
    key: str = field(default="", repr=False)

    async def search(self, query: str, count: int) -> list[SearchResult]:
        """Returns the results. Raises `ToolError` for a quota, a refused key, an error page, or an unknown format."""
        url = URL(self.address.rstrip("/") + self.path)
        page = await ask_service(self.method, url, Bounds(SECONDS, SIZE), **self.ask(query, count, self.key))
        if page.status != 200:
            raise ToolError(self._refusal(page))
        try:
            return [one for one in self.read(page) if one.url.startswith(("http://", "https://"))][:count]
        except UnknownForm as why:
            text = f"{self.name} answered in a form that is not understood ({why}); is the address right?"
            raise ToolError(text) from why

    def _refusal(self, page: Page) -> str:
        if self.refuses(page):
            return self.refusal
        words = _service_message(page).replace(self.key or "\0", "***")
        reason = f" ({words})" if words else ""
        if page.status in QUOTA:
            return (
                f"{self.name} refuses more searches for now: the limit of the plan or of its rate is reached{reason}."
            )
        if page.status in (401, 403):
            return f"{self.name} refuses the key{reason}; check api_key."
        if 300 <= page.status < 400:
            return f"{self.name} redirects elsewhere; is the address right?"
        return f"{self.name} answered with the status {page.status}{reason}."


class UnknownForm(Exception):
    """An answer that does not have the service's known format."""


def _json(page: Page) -> Mapping[str, Any]:
    try:
        body = json.loads(page.body)
    except (ValueError, RecursionError) as error:
        raise UnknownForm(f"{page.content_type}, no JSON") from error
    if not isinstance(body, Mapping):
        raise UnknownForm("no object")
    return body


def _results_in_list(listed: Any, snippet: str) -> Iterator[SearchResult]:
    """Yields the results of a JSON answer; `snippet` names the field with their text."""
    if not isinstance(listed, list):
        raise UnknownForm("no list of results")
    for one in listed:
        if isinstance(one, Mapping) and isinstance(one.get("url"), str):
            title, text = (plain_line(str(one.get(name) or "")) for name in ("title", snippet))
            yield SearchResult(title, one["url"], text)


def _read_searxng(page: Page) -> Iterable[SearchResult]:
    body = _json(page)
    listed = list(_results_in_list(body.get("results"), "content"))
    if not listed and (silent := body.get("unresponsive_engines")):
        raise ToolError(f"SearXNG found nothing, for its engines did not answer: {str(silent)[:200]}")
    return listed


def _read_brave(page: Page) -> Iterable[SearchResult]:
    body = _json(page)
    if "web" not in body and body.get("type") != "search":
        raise UnknownForm("no search")
    found = body.get("web") or {"results": []}
    return _results_in_list(found.get("results", []) if isinstance(found, Mapping) else None, "description")


def _read_tavily(page: Page) -> Iterable[SearchResult]:
    return _results_in_list(_json(page).get("results"), "content")


def _read_duckduckgo(page: Page) -> Iterable[SearchResult]:
    text = page.body.decode(errors="replace")
    if _asks_for_proof(text):
        raise ToolError(PROOF)
    results = list(_duckduckgo_results(text))
    if not results and not re.search(r"no-results|no results", text, re.IGNORECASE):
        raise UnknownForm("a page without results, or one that has changed")
    return results


def _asks_for_proof(text: str) -> bool:
    return "anomaly" in text and "result__a" not in text


def _duckduckgo_results(text: str) -> Iterator[SearchResult]:
    """Yields the results of a page: a link of class `result__a` is a title, `result__snippet` after it the text."""
    found: list[_ResultInProgress] = []
    part: list[str] = []
    for token in tokens(text):
        if token.kind == "text":
            part.append(token.content)
        elif token.name in ("a", "div"):
            part = _part(token, found)
    return (one.read() for one in found if "/y.js" not in one.link)  # those are advertisements


@dataclass(slots=True)
class _ResultInProgress:
    link: str
    title: list[str] = field(default_factory=list)
    snippet: list[str] = field(default_factory=list)

    def read(self) -> SearchResult:
        title, snippet = (" ".join("".join(words).split()) for words in (self.title, self.snippet))
        return SearchResult(title, _target(self.link), snippet)


def _part(token: HtmlToken, found: list[_ResultInProgress]) -> list[str]:
    """Returns the list that collects the text after this tag; a throwaway one if the tag is no part of a result."""
    classes = token.attributes.get("class", "").split() if token.kind == "open" else ()
    if "result__a" in classes:
        found.append(_ResultInProgress(token.attributes.get("href", "")))
        return found[-1].title
    return found[-1].snippet if found and "result__snippet" in classes else []


def _target(link: str) -> str:
    """Returns the target of a link, without DuckDuckGo's redirect; "" if it is invalid."""
    absolute = f"https:{link}" if link.startswith("//") else link
    try:
        behind = parse_qs(urlsplit(absolute).query).get("uddg") if "duckduckgo.com/l/" in absolute else None
    except ValueError:
        return ""
    return behind[0] if behind else absolute


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _service_message(page: Page) -> str:
    """Returns the service's own message, cut to one line."""
    try:
        body = json.loads(page.body)
    except (ValueError, RecursionError):
        return ""
    for key in ("detail", "error", "message"):
        while isinstance(body, Mapping) and key in body:
            body = body[key]
    return body[:200] if isinstance(body, str) else ""


ENGINES: Mapping[str, SearchEngine] = {
    "brave": SearchEngine(
        "Brave", "https://api.search.brave.com", "/res/v1/web/search",
        lambda query, count, key: {
            "params": {"q": query, "count": count},
            "headers": {"X-Subscription-Token": key, "Accept": "application/json"},
        },
        _read_brave, lambda page: b"SUBSCRIPTION_TOKEN_INVALID" in page.body,
        "Brave refuses the key; check api_key.", needs_key=True,
    ),
    "tavily": SearchEngine(
        "Tavily", "https://api.tavily.com", "/search",
        lambda query, count, key: {"json": {"query": query, "max_results": count}, "headers": _bearer(key)},
        _read_tavily, method="POST", needs_key=True,
    ),
    # Its page for browsers without JavaScript: no key is needed, but frequent searches meet a captcha.
    "duckduckgo": SearchEngine(
        "DuckDuckGo", "https://html.duckduckgo.com", "/html/", lambda query, count, key: {"params": {"q": query}},
        _read_duckduckgo,
        lambda page: page.status in (202, 403, 418) or _asks_for_proof(page.body.decode(errors="replace")), PROOF,
    ),
    "searxng": SearchEngine(
        "SearXNG", "", "/search",
        lambda query, count, key: {
            "params": {"q": query, "format": "json"}, "headers": _bearer(key) if key else {},
        },
        _read_searxng, lambda page: page.status == 403,
        "This SearXNG does not answer in JSON; its settings.yml must have: search: {formats: [html, json]}",
    ),
}  # fmt: skip
