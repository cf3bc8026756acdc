"""What only one provider does: versions and caching, contexts, deployments, and clients that a caller brings."""

from dataclasses import replace
from typing import Any

import anthropic as anthropic_sdk
import ollama as ollama_sdk
import openai as openai_sdk
import pytest
from aiohttp import web

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.events import EventLog, Warned
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Document, Message, Text, Thinking, ToolCall, ToolResult, assistant, user
from ai_battle.providers import anthropic, gemini, ollama, openai
from ai_battle.testing import FakeProviders, ModelCard

LONG = ModelRequest((user("one"), assistant("two"), user("three")), "system")


async def test_anthropic_speaks_its_newest_version_and_leaves_out_what_that_refuses(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    client = anthropic.create("claude-sonnet-4-5")
    log = EventLog()

    for _ in range(2):
        await client.complete(replace(model_request, options={"temperature": 0.5, "max_tokens": 99}), log)

    question = fakes.anthropic.questions[-1]
    assert question.headers["anthropic-version"] == "2026-10-21"
    assert question.headers["authorization"] == "Bearer test-key"
    assert "temperature" not in question.body
    assert question.body["max_tokens"] == 99
    (warned,) = [event.message for event in log.events if isinstance(event, Warned)]
    assert "'temperature' is left out" in warned


async def test_openai_is_sent_files_and_other_servers_of_its_api_may_be_sent_addresses(fakes: FakeProviders) -> None:
    report = Document("application/pdf", url="https://x.test/a.pdf")
    call = ToolCall("fetch", id="call_1")
    fetched = (Message("assistant", (call,)), Message("tool", (ToolResult(call, (report,)),)))

    for messages in ((Message("user", (report,)),), fetched):
        with pytest.raises(ConfigError, match=r"as bytes, not as URLs: download https://x.test/a.pdf first"):
            await openai.create("gpt-5").complete(ModelRequest(messages))
    await openai.create("qwen", "openrouter", base_url=f"{fakes.openai.url}/v1", api_key="k").complete(
        ModelRequest((Message("user", (report,)),))
    )
    assert fakes.openai.requests[-1].body["messages"][0]["content"][0]["file"]["file_data"] == report.url


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_anthropic_speaks_an_older_version_when_told(
    fakes: FakeProviders, model_request: ModelRequest, transport: str
) -> None:
    client = anthropic.create("claude-sonnet-4-5", api_version="2023-06-01", transport=transport)

    await client.complete(replace(model_request, options={"temperature": 0.5}), log := EventLog())

    question = fakes.anthropic.questions[-1]
    assert question.headers["anthropic-version"] == "2023-06-01"
    assert question.body["temperature"] == 0.5
    assert not any(isinstance(event, Warned) for event in log.events)


async def test_a_temperature_that_only_others_take_is_clamped_with_one_warning(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    client = anthropic.create("claude-sonnet-4-5", api_version="2023-06-01")
    log = EventLog()

    for _ in range(2):
        await client.complete(replace(model_request, options={"temperature": 1.4}), log)

    assert [question.body["temperature"] for question in fakes.anthropic.questions] == [1.0, 1.0]
    (warned,) = [event.message for event in log.events if isinstance(event, Warned)]
    assert warned == "'temperature' is sent as 1.0: claude-sonnet-4-5 takes no more."


async def test_what_gemini_does_not_take_is_left_out_with_one_warning(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    client = gemini.create("gemini-2.5-pro")
    log = EventLog()

    for _ in range(2):
        await client.complete(replace(model_request, options={"min_p": 0.1, "temperature": 0.5}), log)

    assert [question.body["generationConfig"] for question in fakes.gemini.questions] == [{"temperature": 0.5}] * 2
    (warned,) = [event.message for event in log.events if isinstance(event, Warned)]
    assert warned == "'min_p' is left out: gemini-2.5-pro does not take it."


async def test_a_conversation_with_anthropic_is_cached_unless_told_otherwise(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    await anthropic.create("claude-sonnet-4-5").complete(LONG)
    await anthropic.create("claude-sonnet-4-5").complete(model_request)
    await anthropic.create("claude-sonnet-4-5", cache=False).complete(LONG)

    assert [b"cache_control" in question.raw for question in fakes.anthropic.questions] == [True, False, False]


async def test_ollamas_context_grows_in_steps_and_never_shrinks(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    long = ModelRequest((user("word " * 4_000),))
    first, second = ollama.create("gemma3:1b"), ollama.create("gemma3:1b")

    for client, request in ((first, model_request), (first, long), (second, model_request)):
        await client.complete(request)

    sizes = [question.body["options"]["num_ctx"] for question in fakes.ollama.questions]
    assert sizes == [4096, 8192, 8192]


async def test_ollamas_context_is_not_larger_than_the_models(fakes: FakeProviders) -> None:
    fakes.ollama.models["tiny"] = ModelCard(context_window=2048)

    await ollama.create("tiny").complete(ModelRequest((user("word " * 10_000),)))

    assert fakes.ollama.questions[-1].body["options"]["num_ctx"] == 2048


async def test_what_the_user_says_of_the_context_counts(fakes: FakeProviders, model_request: ModelRequest) -> None:
    options = {"num_ctx": 3000, "keep_alive": "10m", "think": False}

    await ollama.create("gemma3:1b").complete(replace(model_request, options=options))

    body = fakes.ollama.questions[-1].body
    assert body["options"]["num_ctx"] == 3000
    assert (body["keep_alive"], body["think"]) == ("10m", False)


async def test_ollama_finds_the_tag_that_a_dashed_name_means(fakes: FakeProviders, model_request: ModelRequest) -> None:
    for _ in range(2):
        await ollama.create("gemma3-1b").complete(model_request)

    assert [question.body["model"] for question in fakes.ollama.questions] == ["gemma3:1b"] * 2
    assert len(fakes.ollama.requests) == 5


class Azure:
    """A server that tells what it was asked, in the form of an answer."""

    def __init__(self) -> None:
        self.asked: list[web.BaseRequest] = []
        self.bodies: list[dict[str, Any]] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.json())
        if "rawPredict" in request.path.replace("streamRawPredict", "rawPredict"):
            return web.json_response({
                "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Here."}],
                "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
            })  # fmt: skip
        message = {"role": "assistant", "content": "Here."}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


@pytest.fixture
async def azure() -> Any:
    serving = Azure()
    runner = web.ServerRunner(web.Server(serving.answer, access_log=None), shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield serving, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_azure_is_asked_for_a_deployment(
    azure: tuple[Azure, str], model_request: ModelRequest, transport: str
) -> None:
    server, url = azure
    options: dict[str, Any] = {"base_url": url, "api_key": "azure-key", "transport": transport}

    await openai.create("my-gpt", endpoint="azure", api_version="2025-03-01", **options).complete(model_request)
    await openai.create("my-gpt", endpoint="azure", **options).complete(model_request)

    older, newer = server.asked
    assert older.path_qs == "/openai/deployments/my-gpt/chat/completions?api-version=2025-03-01"
    assert newer.path_qs == "/openai/v1/chat/completions"
    assert older.headers["api-key"] == newer.headers["api-key"] == "azure-key"


@pytest.mark.parametrize(
    ("endpoint", "limit", "reasoning", "named"),
    [
        ("openai", "max_tokens", None, True),
        ("azure", "max_completion_tokens", None, True),
        ("openrouter", "max_tokens", "reasoning", True),
        ("groq", "max_completion_tokens", "reasoning", False),
        ("lmstudio", "max_tokens", None, True),
        ("vllm", "max_tokens", "reasoning", True),
        ("llamacpp", "max_tokens", None, True),
        ("mlx", "max_tokens", "reasoning_content", True),
    ],
)
async def test_each_endpoint_is_spoken_to_as_it_takes_it(
    azure: tuple[Azure, str], endpoint: str, limit: str, reasoning: str | None, named: bool
) -> None:
    server, url = azure
    mine = Message("assistant", (Thinking("Hm."), Text("Yes.")), "Ada")
    request = ModelRequest((user("Hi.", "Bob"), mine, user("And?")), options={"max_tokens": 9})

    await openai.create("m", endpoint, base_url=url, api_key="test-key").complete(request)

    (body,) = server.bodies
    said = {"role": "assistant", "content": "Yes."}
    name = {"name": "Ada"} if named else {}
    assert body["messages"][1] == said | ({reasoning: "Hm."} if reasoning else {}) | name
    assert {field: body[field] for field in body if field.startswith("max_")} == {limit: 9}
    assert body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("gpt-4o", "max_tokens"), ("gpt-4", "max_tokens"), ("gpt-4.1-mini", "max_tokens"), ("qwen3", "max_tokens"),
        ("gpt-oss:20b", "max_tokens"), ("phi-o1", "max_tokens"),
        ("gpt-5-mini", "max_completion_tokens"), ("openai/o3-mini", "max_completion_tokens"),
    ],
)  # fmt: skip
async def test_where_others_serve_the_older_limit_is_meant_but_for_models_that_refuse_it(
    azure: tuple[Azure, str], model_request: ModelRequest, model: str, limit: str
) -> None:
    server, url = azure

    await openai.create(model, base_url=url, api_key="k").complete(replace(model_request, options={"max_tokens": 9}))

    assert {name for name in server.bodies[0] if name.startswith("max_")} == {limit}


async def test_an_older_azure_is_not_asked_for_what_it_does_not_know(
    azure: tuple[Azure, str], model_request: ModelRequest
) -> None:
    server, url = azure
    client = openai.create("my-gpt", "azure", base_url=url, api_key="azure-key", api_version="2024-06-01")

    await client.complete(replace(model_request, options={"max_tokens": 9}))

    assert server.bodies[0]["max_tokens"] == 9
    assert "stream_options" not in server.bodies[0]


async def test_a_server_that_does_not_stream_is_understood(
    azure: tuple[Azure, str], model_request: ModelRequest
) -> None:
    _, url = azure

    response = await openai.create("m", "vllm", base_url=url).complete(model_request, log := EventLog())

    assert response.text == log.text == "Here."


async def test_a_client_that_the_caller_brings_is_used(fakes: FakeProviders, model_request: ModelRequest) -> None:
    url, key = f"{fakes.openai.url}/v1", "brought-key"
    async with openai_sdk.AsyncOpenAI(base_url=url, api_key=key, default_headers={"x-mine": "yes"}) as brought:
        await openai.create("gpt-4o", client=brought, environment={}).complete(model_request)
    async with anthropic_sdk.AsyncAnthropic(base_url=fakes.anthropic.url, api_key=key) as claude:
        await anthropic.create("claude-sonnet-4-5", client=claude, environment={}).complete(model_request)
    theirs = ollama_sdk.AsyncClient(host=fakes.ollama.url, headers={"x-mine": "yes"})
    await ollama.create("phi4", client=theirs, environment={}).complete(model_request)
    await theirs.close()  # type: ignore[no-untyped-call]

    (first,), (second,), (third,) = fakes.openai.questions, fakes.anthropic.questions, fakes.ollama.questions
    assert (first.headers["authorization"], first.headers["x-mine"]) == (f"Bearer {key}", "yes")
    assert second.headers["authorization"] == f"Bearer {key}"
    assert third.headers["x-mine"] == "yes"


async def test_variants_of_the_sdks_make_their_own_urls(azure: tuple[Azure, str], model_request: ModelRequest) -> None:
    server, url = azure
    entra = openai_sdk.AsyncAzureOpenAI(azure_endpoint=url, azure_ad_token="token", api_version="2025-03-01")
    vertex = anthropic_sdk.AsyncAnthropicVertex(
        region="europe", project_id="mine", access_token="token", base_url=f"{url}/v1"
    )
    async with entra, vertex:
        await openai.create("my-gpt", client=entra).complete(model_request)
        await anthropic.create("claude-sonnet-4-5", client=vertex).complete(model_request)

    assert [request.path_qs for request in server.asked] == [
        "/openai/deployments/my-gpt/chat/completions?api-version=2025-03-01",
        "/v1/projects/mine/locations/europe/publishers/anthropic/models/claude-sonnet-4-5:streamRawPredict",
    ]
    assert {request.headers["authorization"] for request in server.asked} == {"Bearer token"}


@pytest.mark.parametrize(
    "variant",
    [
        lambda url: anthropic_sdk.AsyncAnthropicBedrockMantle(api_key="k", aws_region="eu-west-1", base_url=url),
        lambda url: anthropic_sdk.AsyncAnthropicFoundry(api_key="k", base_url=url),
        lambda url: anthropic_sdk.AsyncAnthropicAWS(
            api_key="k", aws_region="eu-west-1", workspace_id="w", base_url=url
        ),
    ],
    ids=["Bedrock Mantle", "Foundry", "AWS"],
)
async def test_claude_is_reached_through_other_clouds(
    fakes: FakeProviders, model_request: ModelRequest, variant: Any
) -> None:
    fakes.anthropic.says("Here.")

    async with variant(fakes.anthropic.url) as brought:
        response = await anthropic.create("claude-sonnet-4-5", client=brought, environment={}).complete(model_request)

    assert response.text == "Here."


async def test_what_an_sdk_can_not_do_is_an_error_of_the_provider(model_request: ModelRequest) -> None:
    async def token() -> str:
        raise LookupError("no token for you")

    async with openai_sdk.AsyncAzureOpenAI(
        azure_endpoint="http://127.0.0.1:9", azure_ad_token_provider=token, api_version="2025-03-01"
    ) as entra:
        with pytest.raises(ProviderError, match=r"azure/my-gpt at http://127\.0\.0\.1:9/openai: .*no token for you"):
            await openai.create("my-gpt", endpoint="azure", client=entra).complete(model_request)
