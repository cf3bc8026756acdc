"""Addresses and keys: where they come from, what is said when they are missing, and that no key is ever told."""

from importlib import import_module
from typing import Any

import pytest
from aiohttp import web

from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers import anthropic, gemini, ollama, openai
from ai_battle.testing import FakeProviders, ModelCard, fault
from tests.tools.servers import serving

from .conftest import Way

KEY = "sk-very-secret-key-123456"
VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
}


def make_client(provider: str, **options: Any) -> Any:
    if provider in ("openai", "anthropic", "gemini", "ollama"):
        return import_module(f"ai_battle.providers.{provider}").create("some-model", **options)
    return openai.create("some-model", endpoint=provider, **options)


@pytest.mark.parametrize(("provider", "variable"), VARIABLES.items())
def test_a_missing_key_is_told_at_once_by_the_name_of_its_variable(provider: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"{provider} needs a key: set the environment variable {variable}"):
        make_client(provider, environment={})


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "vllm", "llamacpp", "mlx"])
def test_local_servers_need_no_key(provider: str) -> None:
    assert make_client(provider, environment={}).endpoint.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("said_in", ["the file", "the environment"])
async def test_a_server_on_this_machine_needs_no_key_whatever_api_it_speaks(
    way: Way, model_request: ModelRequest, said_in: str
) -> None:
    url = f"{way.fake.url}/v1" if way.wire == "openai" else way.fake.url
    variable = {"ollama": "OLLAMA_HOST"}.get(way.wire, f"{way.wire.upper()}_BASE_URL")
    options = {"base_url": url} if said_in == "the file" else {}

    client = way.client(environment={} if options else {variable: url}, **options)

    assert (await client.complete(model_request)).text
    sent = way.fake.questions[-1].headers
    assert not {"x-api-key", "x-goog-api-key"} & sent.keys() or sent.get("x-api-key") == "none"
    assert sent.get("authorization", "Bearer none") == "Bearer none"


def test_a_server_elsewhere_needs_its_key() -> None:
    for provider in ("openai", "anthropic", "gemini"):
        with pytest.raises(ConfigError, match="needs a key"):
            make_client(provider, environment={}, base_url="http://192.0.2.1:9/v1")


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "groq", "azure"])
def test_no_key_is_seen_in_a_repr(provider: str) -> None:
    client = make_client(provider, api_key=KEY, base_url="http://127.0.0.1:9", headers={"x-gateway": KEY})

    assert KEY not in f"{client!r} {client.transport.access!r} {vars(client)!r} {client.api!r}"


async def test_a_key_that_the_provider_repeats_is_taken_out(way: Way, model_request: ModelRequest) -> None:
    way.fake.says(lambda body: fault("http_401"))
    await_error = way.client(api_key="status", headers={"x-own": "The fake answers"})

    with pytest.raises(ProviderError) as told:
        await await_error.complete(model_request)

    assert "The fake answers" not in f"{told.value} {told.value.raw}"
    assert "status" not in f"{told.value} {told.value.raw}"


async def test_a_refused_key_is_named_by_its_variable(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.always(fault("http_401"))

    with pytest.raises(ProviderError, match="Is OPENAI_API_KEY right"):
        await openai.create("gpt-4o").complete(model_request)
    with pytest.raises(ProviderError, match="Is the api_key of openai right"):
        await openai.create("gpt-4o", api_key="another").complete(model_request)


async def test_a_key_that_google_refuses_with_400_is_named_as_one_refused_with_401(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    fakes.gemini.always(fault("wrong_key"))

    with pytest.raises(ProviderError, match=r"HTTP 400.*Is GEMINI_API_KEY right") as told:
        await gemini.create("gemini-2.5-pro").complete(model_request)
    assert told.value.status == 401


@pytest.mark.parametrize("said", ["API key not valid.", "API Key not found. Pass a valid one.", "API key expired."])
async def test_a_key_that_is_refused_with_400_in_words_alone_is_named_too(said: str) -> None:
    body = {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response(body, status=400)

    async with serving(refuse) as served:
        client = gemini.create("gemini-2.5-pro", base_url=served.url, api_key="another")
        with pytest.raises(ProviderError, match="Is the api_key of gemini right") as told:
            await client.complete(ModelRequest((user("Hello"),)))
    assert told.value.status == 401


async def test_an_unknown_model_brings_near_names(fakes: FakeProviders, model_request: ModelRequest) -> None:
    fakes.openai.always(fault("http_404"))
    fakes.ollama.always(fault("http_404"))

    with pytest.raises(ProviderError, match="did you mean 'gpt-4o'"):
        await openai.create("gpt-4oo").complete(model_request)
    with pytest.raises(ProviderError, match="ollama pull nosuch"):
        await ollama.create("nosuch").complete(model_request)


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_ollama_tells_what_it_has_instead(
    fakes: FakeProviders, model_request: ModelRequest, transport: str
) -> None:
    fakes.ollama.models = {name: ModelCard() for name in ("gemma3:1b", "phi4:latest")}
    fakes.ollama.always(fault("http_404"))

    with pytest.raises(ProviderError, match=r"There is no phi5; here: phi4, gemma3:1b\. Get it with: ollama"):
        await ollama.create("phi5", transport=transport).complete(model_request)


@pytest.mark.parametrize("transport", ["aiohttp", "sdk"])
async def test_a_local_server_tells_what_it_has_instead(
    fakes: FakeProviders, model_request: ModelRequest, transport: str
) -> None:
    fakes.openai.models = {name: ModelCard() for name in ("Qwen/Qwen3-8B", "google/gemma-3-1b-it")}
    fakes.openai.always(fault("http_404"))
    url = f"{fakes.openai.url}/v1"

    with pytest.raises(ProviderError, match="There is no 'Qwen/Qwen3-9B'; did you mean 'Qwen/Qwen3-8B'"):
        await openai.create("Qwen/Qwen3-9B", "vllm", base_url=url, transport=transport).complete(model_request)
    with pytest.raises(ProviderError, match="There is no 'phi'; there is Qwen/Qwen3-8B, google/gemma-3-1b-it"):
        await openai.create("phi", "vllm", base_url=url, transport=transport).complete(model_request)


async def test_where_nothing_is_listed_the_address_may_be_wrong(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    with pytest.raises(ProviderError, match="Is the model's name right, and base_url"):
        await openai.create("phi", "vllm", base_url=f"{fakes.ollama.url}/v2").complete(model_request)
    with pytest.raises(ProviderError, match=rf"Most servers have this API under /v1: {fakes.ollama.url}/v1\."):
        await openai.create("phi", "vllm", base_url=fakes.ollama.url).complete(model_request)
    with pytest.raises(ProviderError, match="Is the model's name right, and base_url"):
        await ollama.create("phi", base_url=fakes.openai.url).complete(model_request)


@pytest.mark.parametrize(
    ("client", "advice"),
    [
        (lambda: ollama.create("phi4", base_url="127.0.0.1:9"), "ollama serve"),
        (lambda: openai.create("m", "lmstudio", base_url="http://127.0.0.1:9/v1"), "lms server start"),
        (lambda: openai.create("m", "vllm", base_url="http://127.0.0.1:9/v1"), "vllm serve"),
        (lambda: openai.create("m", "llamacpp", base_url="http://127.0.0.1:9/v1"), "llama-server"),
        (lambda: openai.create("m", "mlx", base_url="http://127.0.0.1:9/v1"), "mlx_lm.server"),
        (lambda: openai.create("m", base_url="http://127.0.0.1:9/v1", api_key="k"), "connection refused"),
        (lambda: ollama.create("phi4", base_url="127.0.0.1:9", transport="sdk"), "ollama serve"),
        (lambda: openai.create("m", "vllm", base_url="http://127.0.0.1:9/v1", transport="sdk"), "vllm serve"),
        (lambda: anthropic.create("m", base_url="http://127.0.0.1:9", api_key="k", transport="sdk"), "refused"),
    ],
)
async def test_a_server_that_is_not_running_is_named_with_how_to_start_it(client: Any, advice: str) -> None:
    with pytest.raises(ProviderError, match=r"http://127\.0\.0\.1:9") as told:
        await client().complete(ModelRequest((user("hi"),)))

    assert advice in str(told.value)
    assert told.value.again == "always"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "ftp://x"}, "is not a URL"),
        ({"base_url": "api.openai.com"}, "is not a URL"),
        ({"base_url": "http://[bad"}, "is not a URL"),
        ({"base_url": "http://host:99999"}, "is not a URL"),
        ({"transport": "carrier pigeon"}, "there is no transport"),
        ({"base_ulr": "http://x"}, "did you mean 'base_url'"),
    ],
)
def test_wrong_settings_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        openai.create("gpt-4o", api_key="k", **options)


def test_an_endpoint_without_a_row_needs_only_a_base_url() -> None:
    client: Any = openai.create("m", endpoint="my-gateway", base_url="https://llm.example/v1")
    assert client.endpoint == "https://llm.example/v1"

    with pytest.raises(ConfigError, match="did you mean 'groq'"):
        openai.create("m", endpoint="grok")


def test_gemini_says_that_it_has_no_sdk() -> None:
    with pytest.raises(ConfigError, match="only the transport 'aiohttp', because Google's SDK builds and reads"):
        gemini.create("gemini-2.5-pro", api_key="k", transport="sdk")


@pytest.mark.parametrize(
    ("spelled", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("1.2.3.4:56789", "http://1.2.3.4:56789"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://1.2.3.4", "http://1.2.3.4:80"),
        ("https://example.com", "https://example.com:443"),
        ("https://example.com:56789/path/", "https://example.com:56789/path"),
        ("example.com/path", "http://example.com:11434/path"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:8080", "http://[::1]:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        (" localhost ", "http://localhost:11434"),
    ],
)
def test_ollamas_address_is_read_in_all_its_spellings(spelled: str, url: str) -> None:
    assert ollama.host_url(spelled) == url
    assert make_client("ollama", environment={"OLLAMA_HOST": spelled}).endpoint == url


@pytest.mark.parametrize("spelled", ["ftp://x", "host:notaport", "host:99999"])
def test_an_address_of_ollama_that_is_none_is_told(spelled: str) -> None:
    with pytest.raises(ConfigError, match="Ollama's address"):
        make_client("ollama", environment={"OLLAMA_HOST": spelled})


async def test_the_line_end_of_a_key_is_not_sent(fakes: FakeProviders, model_request: ModelRequest) -> None:
    await openai.create("gpt-4o", api_key="a-key\n", headers={"X-Own": " mine\n"}).complete(model_request)

    headers = fakes.openai.questions[-1].headers
    assert (headers["authorization"], headers["x-own"]) == ("Bearer a-key", "mine")


@pytest.mark.parametrize("bad", ["a-key\nAnd: more", "schlüssel", "a\x00b"])
def test_what_can_not_be_a_key_is_told_without_showing_it(bad: str) -> None:
    for options in (
        {"api_key": bad},
        {"environment": {"OPENAI_API_KEY": bad}},
        {"api_key": "k", "headers": {"x": bad}},
    ):
        with pytest.raises(ConfigError, match="characters that can't be sent") as told:
            openai.create("gpt-4o", **options)
        assert bad not in str(told.value)


@pytest.mark.parametrize("spelled", ["Authorization", "AUTHORIZATION"])
async def test_a_header_of_the_file_wins_over_the_key(
    fakes: FakeProviders, model_request: ModelRequest, spelled: str
) -> None:
    await openai.create("gpt-4o", headers={spelled: "Bearer of my gateway"}).complete(model_request)

    assert fakes.openai.questions[-1].headers["authorization"] == "Bearer of my gateway"


async def test_a_key_goes_before_the_name_and_password_of_a_url(
    fakes: FakeProviders, model_request: ModelRequest
) -> None:
    url = f"{fakes.openai.url}/v1".replace("http://", "http://me:my-password@")

    client = openai.create("gpt-4o", base_url=url)
    fakes.openai.says(fault("http_400"))
    with pytest.raises(ProviderError) as told:
        await client.complete(model_request)

    assert fakes.openai.questions[-1].headers["authorization"] == "Bearer test-key"
    assert "my-password" not in f"{told.value} {client!r}"
