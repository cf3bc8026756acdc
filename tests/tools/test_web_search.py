"""Each search service in the forms that its vendor documents: results, nothing, quota, refused keys, changed pages."""

import json
from typing import Any

import pytest
from aiohttp import web

from ai_battle.core.errors import ConfigError
from ai_battle.tools.builtin.web_search import WebSearchTool

from .conftest import Call
from .servers import Handler, Served, serving

KEY = "secret-key-of-the-user"
OWLS = [
    {"title": "Owls", "url": "https://example.org/owls", "snippet": "About owls & more."},
    {"title": "Barn owl", "url": "https://example.com/barn?a=1&b=2", "snippet": ""},
]

BRAVE = {
    "type": "search",
    "query": {"original": "owls", "more_results_available": True},
    "mixed": {"type": "mixed", "main": [{"type": "web", "index": 0, "all": False}]},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "<strong>Owls</strong>",
                "url": "https://example.org/owls",
                "is_source_local": False,
                "description": "About <strong>owls</strong> &amp; more.",
                "age": "May 2, 2026",
                "profile": {"name": "Example", "url": "https://example.org"},
            },
            {"title": "Barn owl", "url": "https://example.com/barn?a=1&b=2", "description": None},
        ],
    },
}
TAVILY = {
    "query": "owls",
    "answer": None,
    "images": [],
    "results": [
        {"title": "Owls", "url": "https://example.org/owls", "content": "About owls & more.", "score": 0.9},
        {
            "title": "Barn owl",
            "url": "https://example.com/barn?a=1&b=2",
            "content": "",
            "score": 0.5,
            "raw_content": None,
        },
    ],
    "response_time": 1.2,
    "request_id": "1",
}
SEARXNG = {
    "query": "owls",
    "number_of_results": 0,
    "results": [
        {"title": "Owls", "url": "https://example.org/owls", "content": "About owls & more.", "engine": "bing"},
        {
            "title": "Barn owl",
            "url": "https://example.com/barn?a=1&b=2",
            "content": "",
            "engines": ["bing"],
            "score": 1,
        },
    ],
    "answers": [],
    "corrections": [],
    "infoboxes": [],
    "suggestions": ["owl"],
    "unresponsive_engines": [["google", "CAPTCHA"]],
}
DUCKDUCKGO = """<!DOCTYPE html><html><body><div id="links" class="results">
<div class="result results_links results_links_deep result--ad"><h2 class="result__title">
<a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x">Buy owls</a></h2>
<a class="result__snippet" href="https://duckduckgo.com/y.js?x">Cheap owls</a></div>
<div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
<h2 class="result__title"><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fowls&amp;rut=abc">Owls</a></h2>
<div class="result__extras"><a class="result__url" href="//duckduckgo.com/l/?uddg=x">example.org/owls</a></div>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">About <b>owls</b> &amp; more.</a></div></div>
<div class="result web-result"><h2 class="result__title"><a rel="nofollow" class="result__a"
 href="https://example.com/barn?a=1&amp;b=2">Barn owl</a></h2></div>
</div></body></html>"""
NO_RESULTS = '<html><body><div class="no-results">No  results found for <b>xyzzy</b></div></body></html>'
PROOF = (
    '<html><body><form id="challenge-form"><div class="anomaly-modal__title">Unfortunately, bots</div></form></html>'
)


def answering(body: Any, status: int = 200, **headers: str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        if isinstance(body, str):
            return web.Response(text=body, status=status, content_type="text/html", headers=headers)
        return web.json_response(body, status=status, headers=headers)

    return answer


async def search(called: Call, backend: str, answer: Handler, **more: Any) -> tuple[dict[str, Any], Served]:
    async with serving(answer) as served:
        tool = WebSearchTool(KEY, backend=backend, base_url=served.url)
        output = await called(tool, **{"query": " owls ", **more})
        assert KEY not in json.dumps(output)
        return output, served


@pytest.mark.parametrize(
    ("backend", "body"),
    [("brave", BRAVE), ("tavily", TAVILY), ("searxng", SEARXNG), ("duckduckgo", DUCKDUCKGO)],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
async def test_results_have_one_shape_whoever_found_them(call_tool: Call, backend: str, body: Any) -> None:
    output, served = await search(call_tool, backend, answering(body))
    assert output == {"results": OWLS, "total": 2}
    assert len(served.requests) == 1
    assert (await search(call_tool, backend, answering(body), num_results=1))[0] == {"results": OWLS[:1], "total": 1}


async def test_each_service_is_asked_as_its_documentation_says(call_tool: Call) -> None:
    _, served = await search(call_tool, "brave", answering(BRAVE), num_results=7)
    asked = served.requests[0]
    assert (asked.method, asked.path, dict(asked.query)) == ("GET", "/res/v1/web/search", {"q": "owls", "count": "7"})
    assert asked.headers["x-subscription-token"] == KEY

    async def tavily(request: web.Request) -> web.StreamResponse:
        assert await request.json() == {"query": "owls", "max_results": 5}
        return web.json_response(TAVILY)

    output, served = await search(call_tool, "tavily", tavily)
    assert output["total"] == 2
    asked = served.requests[0]
    assert (asked.method, asked.path, asked.headers["authorization"]) == ("POST", "/search", f"Bearer {KEY}")
    _, served = await search(call_tool, "searxng", answering(SEARXNG))
    assert (served.requests[0].path, dict(served.requests[0].query)) == ("/search", {"q": "owls", "format": "json"})
    _, served = await search(call_tool, "duckduckgo", answering(DUCKDUCKGO))
    assert (served.requests[0].path, dict(served.requests[0].query)) == ("/html/", {"q": "owls"})
    assert "authorization" not in served.requests[0].headers


@pytest.mark.parametrize(
    ("backend", "body"),
    [
        ("brave", {"type": "search", "query": {"original": "xyzzy"}}),
        ("brave", {"type": "search", "web": {"type": "search", "results": []}}),
        ("tavily", {**TAVILY, "results": []}),
        ("searxng", {**SEARXNG, "results": [], "unresponsive_engines": []}),
        ("duckduckgo", NO_RESULTS),
    ],
)
async def test_nothing_found_is_an_answer(call_tool: Call, backend: str, body: Any) -> None:
    assert (await search(call_tool, backend, answering(body)))[0] == {"results": [], "total": 0}


LIMIT, REFUSED, STRANGE = "the limit of the plan or of its rate", "refuses the key", "is not understood"
FAULTS = [
    (
        "brave",
        429,
        {"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "Too fast", "status": 429}},
        LIMIT,
    ),
    ("brave", 402, {"type": "ErrorResponse", "error": {"code": "USAGE_LIMIT_EXCEEDED", "status": 402}}, LIMIT),
    ("brave", 422, {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The token is invalid"}}, REFUSED),
    ("brave", 500, "<html>Oops</html>", "Brave answered with the status 500"),
    ("brave", 200, "<html>Welcome</html>", STRANGE),
    ("brave", 200, {"hello": "world"}, STRANGE),
    ("brave", 200, {"type": "search", "web": {"results": "none"}}, STRANGE),
    ("brave", 200, [1], STRANGE),
    ("brave", 302, "", "redirects elsewhere"),
    ("tavily", 401, {"detail": {"error": "Unauthorized: missing or invalid API key."}}, REFUSED),
    ("tavily", 429, {"detail": {"error": "Your request has been blocked due to excessive requests."}}, LIMIT),
    (
        "tavily",
        432,
        {"detail": {"error": "This request exceeds your plan's set usage limit."}},
        "plan's set usage limit",
    ),
    ("tavily", 433, {"detail": {"error": "This request exceeds the pay-as-you-go limit."}}, LIMIT),
    ("tavily", 200, {"answers": []}, STRANGE),
    ("searxng", 403, "<html>Forbidden</html>", "settings.yml must have: search: {formats: [html, json]}"),
    ("searxng", 429, "Too Many Requests", LIMIT),
    ("searxng", 200, "<html>results</html>", STRANGE),
    ("searxng", 200, {**SEARXNG, "results": []}, "its engines did not answer: [['google', 'CAPTCHA']]"),
    ("duckduckgo", 202, PROOF, "asks for a proof"),
    ("duckduckgo", 200, PROOF, "asks for a proof"),
    ("duckduckgo", 403, "<html>Forbidden</html>", "asks for a proof"),
    ("duckduckgo", 200, "<html><body><article>New design</article></body></html>", STRANGE),
    ("duckduckgo", 500, "", "DuckDuckGo answered with the status 500"),
]


@pytest.mark.parametrize(("backend", "status", "body", "said"), FAULTS)
async def test_what_is_no_answer_is_told(call_tool: Call, backend: str, status: int, body: Any, said: str) -> None:
    headers = {"location": "http://127.0.0.1:1/"} if status == 302 else {}
    output, served = await search(call_tool, backend, answering(body, status, **headers))
    assert said in output["error"]
    assert len(served.requests) == 1


async def test_results_with_odd_addresses_are_left_out(call_tool: Call) -> None:
    results = [{"title": "x", "url": "javascript:alert(1)", "content": ""}, {"title": "y"}, 3, *TAVILY["results"]]  # type: ignore[misc]
    assert (await search(call_tool, "tavily", answering({"results": results})))[0]["total"] == 2


async def test_a_result_that_is_no_address_costs_no_other(call_tool: Call) -> None:
    broken = '<a class="result__a" href="//duckduckgo.com/l/?uddg=[">x</a><a class="result__a" href="http://[x">y</a>'
    broken += '<a class="result__a" href="//[duckduckgo.com/l/?uddg=x">z</a>'
    output, _ = await search(call_tool, "duckduckgo", answering(broken + DUCKDUCKGO))
    assert [one for one in output["results"] if one in OWLS] == OWLS


@pytest.mark.parametrize("web", [[1], "x", 5, {"results": 5}])
async def test_an_answer_of_another_form_is_told_as_that(call_tool: Call, web: Any) -> None:
    output, _ = await search(call_tool, "brave", answering({"web": web}))
    assert "in a form that is not understood" in output["error"]


@pytest.mark.parametrize("backend", ["brave", "tavily", "searxng"])
async def test_a_service_that_says_the_key_aloud_is_not_quoted(call_tool: Call, backend: str) -> None:
    output, _ = await search(call_tool, backend, answering({"error": f"bad key {KEY}"}, status=429))
    assert "bad key ***" in output["error"]


async def test_a_service_that_is_not_there_is_told(call_tool: Call) -> None:
    output = await call_tool(WebSearchTool(base_url="http://127.0.0.1:1"), query="owls")
    assert "was not fetched: no connection" in output["error"]


async def test_a_query_is_required() -> None:
    assert await WebSearchTool("key").execute({}) == {"error": "Query is required"}
    assert await WebSearchTool("key").execute({"query": " "}) == {"error": "Query is required"}


def test_what_is_given_says_which_service_is_meant() -> None:
    assert [WebSearchTool(**given).engine.name for given in (
        {"api_key": KEY}, {"base_url": "http://localhost:8888"}, {}, {"api_key": KEY, "backend": "tavily"},
    )] == ["Brave", "SearXNG", "DuckDuckGo", "Tavily"]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"backend": "gogle"}, "no backend 'gogle'"),
        ({"backend": "brave"}, "needs api_key"),
        ({"backend": "tavily"}, "needs api_key"),
        ({"backend": "searxng"}, "needs base_url"),
        ({"base_url": "localhost:8888"}, "must be http"),
        ({"base_url": "http://"}, "must be http"),
        ({"base_url": "http://[::1"}, "must be http"),
        ({"base_url": "http://localhost:99999"}, "must be http"),
    ],
)
def test_wrong_settings_are_told(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        WebSearchTool(**given)


def test_the_key_is_shown_nowhere() -> None:
    assert KEY not in repr(WebSearchTool(KEY).engine)
