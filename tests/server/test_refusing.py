"""When a client is told to come back."""

from typing import Any

import pytest

from ai_battle.core.errors import AIBattleError, BudgetExceeded, RateLimited, Unreachable
from ai_battle.server.errors import Denied, retry_headers, with_requested_name, without_addresses
from ai_battle.testing import FakeProvider, FakeProviders, fault

from .protocol.speaking import speaking
from .serving import connect, serving


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (RateLimited("slow", retry_after=7.0), {"retry-after": "7"}),
        (RateLimited("slow", retry_after=6.5), {"retry-after": "7", "retry-after-ms": "6500"}),
        (Unreachable("down", retry_after=0.0), {"retry-after": "0"}),
        (Denied(529, "busy", retry_after=1.0), {"retry-after": "1"}),
        (Unreachable("down"), {}),
        (RateLimited("used up"), {"x-should-retry": "false"}),
        (BudgetExceeded("used up"), {"x-should-retry": "false"}),
    ],
    ids=str,
)
def test_headers_say_when_and_whether_to_come_back(error: AIBattleError, headers: dict[str, str]) -> None:
    assert retry_headers(error) == headers


async def test_nobody_tries_again_where_the_credit_is_used_up(fakes: FakeProviders) -> None:
    fakes.openai.says(fault("insufficient_quota"), fault("http_429"))
    hello = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
    async with serving(fakes, BIG_MODEL="openai/large") as address, speaking(address) as client:
        used_up, busy = await client.post("chat", hello), await client.post("chat", hello)

    assert (used_up.status, used_up.headers.get("x-should-retry")) == (429, "false")
    assert (busy.status, busy.headers.get("x-should-retry")) == (429, None)
    codes = [answer.body["error"]["code"] for answer in (used_up, busy)]
    assert codes == ["insufficient_quota", "rate_limit_exceeded"]


UPSTREAMS = ("openai/large", "anthropic/claude-opus-4-1", "ollama/phi4", "gemini/gemini-2.5-pro")
SAYS_WHERE = ("http_400", "http_404", "html_502", "close_before_headers", "redirect_other_origin", "empty_body")


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("stream", [True, False])
async def test_no_answer_says_where_an_upstream_is_or_what_it_runs(
    fakes: FakeProviders, upstream: str, stream: bool
) -> None:
    fake: FakeProvider = getattr(fakes, upstream.partition("/")[0])
    fake.says(*map(fault, SAYS_WHERE))
    hello = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}], "stream": stream}
    async with serving(fakes, BIG_MODEL=upstream) as address, speaking(address) as client:
        answers = [await client.post("chat", hello) for _ in SAYS_WHERE]
        answers += [await client.post("chat", {}), await client.get("/nothing"), await client.get("/healthz")]

    assert [answer.status >= 400 for answer in answers] == [True] * (len(answers) - 1) + [False]
    for answer in answers:
        assert "127.0.0.1" not in str(answer.body)
        assert "localhost" not in str(answer.body)
        assert "Server" not in answer.headers


NO_HTTP = {
    "garbage": b"\x00\x01garbage\r\n\r\n",
    "version": b"GET / HTTP/9.9\r\n\r\n",
    "line": b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nhost: a\r\n\r\n",
    "length": b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: -5\r\n\r\n",
    "header": b"GET / HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n",
    "chunk": b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "expect": b"POST /v1/messages HTTP/1.1\r\nhost: a\r\nexpect: 9\r\nconnection: close\r\n\r\n",
    "method": b"CONNECT a:1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
async def test_an_answer_to_what_is_no_http_names_no_software_either(fakes: FakeProviders, sent: bytes) -> None:
    async with serving(fakes, BIG_MODEL="openai/large") as address, connect(address) as (reader, writer):
        writer.write(sent)
        answer = await reader.read()

    assert answer.startswith(b"HTTP/1.")
    assert b"server:" not in answer.lower()
    assert b"aiohttp" not in answer.lower()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("openai at http://10.1.2.3:80/v1: HTTP 400: no", "openai: HTTP 400: no"),
        ("openai at https://gw.corp.net/v1/: silent.", "openai: silent."),
        ("No route to gw.corp.net:443.", "No route to (an address of this server's)."),
        ("Connect to [fd00::7]:8080 failed", "Connect to (an address of this server's) failed"),
        ("502 Bad Gateway nginx/1.24.0", "502 Bad Gateway nginx"),
        ("Read https://docs.example.org/errors, please.", "Read https://docs.example.org/errors, please."),
        ("It was 12:30 in HTTP/1.1, 3/4 of org/model-4.", "It was 12:30 in HTTP/1.1, 3/4 of org/model-4."),
    ],
)
def test_words_about_an_upstream_lose_its_address_and_version_alone(words: str, told: str) -> None:
    assert without_addresses(words, {"gw.corp.net"}) == told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("openai/gpt-4o: HTTP 404: no model `gpt-4o`", "opus: HTTP 404: no model `opus`"),
        ("The call of ollama/phi4:latest, as gpt-4o-mini says.", "The call of opus, as gpt-4o-mini says."),
        ("The request is too large for openai/large.", "The request is too large for opus."),
    ],
)
def test_models_behind_a_route_are_told_under_the_name_that_was_asked_for(words: str, told: str) -> None:
    assert with_requested_name(words, {"openai/gpt-4o", "ollama/phi4:latest", "openai/large"}, "opus") == told


LOGPROBS = "message.output_text.logprobs"
VIDEO = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}


async def test_what_only_the_clients_api_has_a_name_for_is_named_before_another_api(fakes: FakeProviders) -> None:
    fakes.anthropic.says("Which film?")
    content = [{"type": "text", "text": "What is this film about?"}, VIDEO]
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    async with serving(fakes, BIG_MODEL="anthropic/claude-opus-4-1") as address, speaking(address) as client:
        partly = await client.post("chat", asked)
        wholly = await client.post("chat", {**asked, "messages": [{"role": "user", "content": [VIDEO]}]})

    assert (partly.status, partly.headers["x-ai-battle-left-out"]) == (200, "video_url")
    assert wholly.status == 400
    assert "nothing but 'video_url'" in str(wholly.body)
    assert len(fakes.anthropic.requests) == 1


async def test_a_model_that_speaks_the_clients_api_gets_all_of_it(fakes: FakeProviders) -> None:
    fakes.openai.says("A film.")
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": [VIDEO]}]}
    async with serving(fakes, BIG_MODEL="openai/large") as address, speaking(address) as client:
        answer = await client.post("chat", asked)

    assert answer.status == 200
    assert "x-ai-battle-left-out" not in answer.headers
    assert fakes.openai.requests[0].body["messages"][0]["content"] == [VIDEO]


@pytest.mark.parametrize(
    ("api", "fields", "left_out"),
    [
        ("chat", {"logprobs": True, "top_logprobs": 2, "user": "u"}, "logprobs, top_logprobs, user"),
        ("chat", {"logit_bias": {"5": 1}, "parallel_tool_calls": False}, "logit_bias, parallel_tool_calls"),
        ("chat", {"logprobs": False, "n": 1, "temperature": 0.5, "stream_options": None}, None),
        ("chat", {"service_tier": "auto", "verbosity": "medium", "modalities": ["text"]}, None),
        ("chat", {"frequency_penalty": 0, "presence_penalty": 0.0, "parallel_tool_calls": True}, None),
        ("responses", {"service_tier": "auto", "truncation": "disabled", "text": {"verbosity": "medium"}}, None),
        ("responses", {"truncation": "auto"}, "truncation"),
        ("messages", {"container": "c", "metadata": {"user_id": "u"}, "top_k": 5}, "container, metadata"),
        ("messages", {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}}, None),
        ("responses", {"service_tier": "flex", "store": False, "text": {"format": {"type": "text"}}}, "service_tier"),
        ("responses", {"text": {"verbosity": "low"}, "reasoning": {"summary": "auto"}}, "text.verbosity"),
        ("responses", {"include": ["reasoning.encrypted_content", LOGPROBS]}, LOGPROBS),
    ],
)
async def test_options_that_only_the_clients_api_has_are_named_before_another_api(
    fakes: FakeProviders, api: str, fields: dict[str, Any], left_out: str | None
) -> None:
    said = [{"role": "user", "content": "Who won?"}]
    asked = {"input": said} if api == "responses" else {"messages": said, "max_tokens": 9}
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        answer = await client.post(api, {**asked, **fields})

    assert (answer.status, answer.headers.get("x-ai-battle-left-out")) == (200, left_out)


@pytest.mark.parametrize(
    ("block", "left_out"),
    [
        ({"type": "container_upload", "file_id": "f"}, "container_upload"),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "document"),
        (
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "It rained."},
                "context": "of May",
                "citations": {"enabled": True},
                "cache_control": {"type": "ephemeral"},
            },
            "citations, context",
        ),
    ],
)
async def test_files_that_only_the_messages_api_reads_are_named_before_another_api(
    fakes: FakeProviders, block: dict[str, Any], left_out: str
) -> None:
    content = [{"type": "text", "text": "What is in it?"}, block]
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    models = {"BIG_MODEL": "ollama/phi4", "SMALL_MODEL": "anthropic/small"}
    async with serving(fakes, **models) as address, speaking(address) as client:
        lost = [await client.post("messages", asked) for _ in range(2)]
        passed = await client.post("messages", {**asked, "model": "haiku"})

    assert [answer.headers["x-ai-battle-left-out"] for answer in lost] == [left_out, left_out]
    assert "x-ai-battle-left-out" not in passed.headers


@pytest.mark.parametrize(
    ("api", "upstream", "left_out"),
    [
        ("chat", "anthropic/large", "detail, strict"),
        ("responses", "ollama/llava", "detail, strict"),
        ("chat", "openai/large", None),
        ("responses", "openai/large", None),
    ],
)
async def test_how_closely_to_look_and_to_obey_is_named_before_an_api_without_it(
    fakes: FakeProviders, api: str, upstream: str, left_out: str | None
) -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    tool = {"name": "paint", "strict": True, "parameters": {"type": "object"}}
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": picture, "detail": "high"}}]
    asked: dict[str, Any] = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}, *parts]}],
        "tools": [{"type": "function", "function": tool}],
    }
    if api == "responses":
        parts = [{"type": "input_image", "image_url": picture, "detail": "high"}]
        said = [{"role": "user", "content": [{"type": "input_text", "text": "Who?"}, *parts]}]
        asked = {"input": said, "tools": [{"type": "function", **tool}]}
    async with serving(fakes, BIG_MODEL=upstream) as address, speaking(address) as client:
        answer = await client.post(api, asked)

    assert (answer.status, answer.headers.get("x-ai-battle-left-out")) == (200, left_out)
    if upstream == "openai/large":
        assert fakes.openai.requests[-1].body["tools"][0]["function"]["strict"] is True


@pytest.mark.parametrize("upstream", ["anthropic/large", "ollama/phi4"])
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_search_that_openai_runs_is_named_and_not_offered_to_a_model_of_another_api(
    fakes: FakeProviders, api: str, upstream: str
) -> None:
    asked = {"input": "Who won?"} if api == "responses" else {"messages": [{"role": "user", "content": "Who won?"}]}
    async with serving(fakes, BIG_MODEL=upstream) as address, speaking(address) as client:
        answer = await client.post(api, {**asked, "tools": [{"type": "web_search"}, {"type": "openrouter:fusion"}]})

    assert (answer.status, answer.headers["x-ai-battle-left-out"]) == (200, "web_search, openrouter:fusion")
    assert not any("tools" in request.body for request in fakes.anthropic.requests + fakes.ollama.questions)


@pytest.mark.parametrize("upstream", ["openai/large", "ollama/phi4"])
async def test_a_tool_that_only_the_clients_api_runs_is_named_before_another_api(
    fakes: FakeProviders, upstream: str
) -> None:
    """Also a later version of one that this server runs itself."""
    tools = [{"type": "advisor_20990101", "name": "advisor"}, {"type": "web_search_20250305", "name": "web_search"}]
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "Who won?"}], "tools": tools}
    async with serving(fakes, BIG_MODEL=upstream) as address, speaking(address) as client:
        answer = await client.post("messages", asked)
        odd = await client.post("messages", {**asked, "tools": [{"type": "a\r\nset-cookie: b", "name": "a"}]})

    assert (answer.status, answer.headers["x-ai-battle-left-out"]) == (200, "advisor_20990101, web_search_20250305")
    assert (odd.status, odd.headers["x-ai-battle-left-out"]) == (200, "of no known type")
    assert "set-cookie" not in odd.headers
