"""Providers are asked which models they have and what these can do, each in its own words."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ai_battle.core.errors import BadReply, ConfigError, ProviderError, Unreachable
from ai_battle.providers._capabilities import capabilities, list_models
from ai_battle.providers._names import ModelName
from ai_battle.testing import FakeProviders

WINDOW = 131_072


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
async def test_the_models_of_a_provider_are_listed_in_order(fakes: FakeProviders, provider: str) -> None:
    expected = {fake.name: fake.models for fake in fakes.all}[provider]
    assert [model.name for model in await list_models(provider)] == sorted(expected)


async def capabilities_of(provider: str, model: str, **settings: str) -> dict[str, object]:
    """The capabilities of a model that come from its server."""
    found = await capabilities(ModelName(provider, model), **settings)
    return {name: known.value for name, known in found.known.items() if known.source == "server"}


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "ollama"])
async def test_a_provider_tells_the_window_of_a_model(fakes: FakeProviders, provider: str) -> None:
    model = next(iter({fake.name: fake.models for fake in fakes.all}[provider]))
    assert (await capabilities_of(provider, model))["context_window"] == WINDOW
    assert await capabilities_of(provider, "a-model-of-nobody") == {}


async def test_ollama_tells_what_a_model_can_do_also_by_its_name_with_dashes(fakes: FakeProviders) -> None:
    fakes.ollama.models["gemma3:1b"] = next(iter(fakes.ollama.models.values()))
    expected = {"tools": True, "images": True, "reasoning": True, "context_window": WINDOW}
    assert await capabilities_of("ollama", "gemma3-1b") == await capabilities_of("ollama", "gemma3:1b") == expected


async def test_a_refused_key_names_its_variable_and_not_its_value(
    fakes: FakeProviders, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": "Incorrect API key provided", "code": "invalid"}}, status=401)

    app = web.Application()
    app.router.add_get("/v1/models", refuse)
    async with TestServer(app) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", str(server.make_url("/v1")))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value")
        with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
            await list_models("openai")
    assert caught.value.status == 401
    assert "sk-secret-value" not in str(caught.value)


async def test_a_server_that_is_not_there_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9.*ollama serve"):
        await list_models("ollama")


async def test_a_web_page_instead_of_a_list_is_recognised() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<html>Welcome</html>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/models", page)
    async with TestServer(app) as server:
        with pytest.raises(BadReply, match=r"is base_url right\?.*Welcome"):
            await list_models("mybox", base_url=str(server.make_url("")))


async def test_a_real_engine_tells_its_window(tmp_path: Path) -> None:
    engine = pytest.importorskip("tests.engine")
    with engine.serve_model(engine.write_model(tmp_path / "tiny.gguf")) as address:
        [model] = await list_models("llamacpp", base_url=f"{address}/v1")
    assert model.capabilities == {"context_window": engine.CONTEXT // 2, "images": False, "documents": False}


async def test_files_are_listed_and_tell_what_they_were_trained_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = pytest.importorskip("tests.engine")
    path = engine.write_model(tmp_path / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", os.fspath(tmp_path))

    assert [model.name for model in await list_models("gguf")] == [str(path)]
    assert await capabilities_of("gguf", "tiny") == {"context_window": engine.CONTEXT}


@pytest.mark.parametrize("provider", ["scripted", "replay"])
async def test_what_has_no_models_lists_none(provider: str) -> None:
    assert await list_models(provider) == ()
    assert await capabilities_of(provider, "any") == {}


async def test_a_provider_that_does_not_exist_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ConfigError, match="did you mean 'ollama'"):
        await list_models("olama")


Serve = Callable[[str, object], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts a server that answers a GET of one path; returns its address."""
    servers: list[TestServer] = []

    async def start(path: str, answer: object) -> str:
        async def respond(request: web.Request) -> web.Response:
            return web.json_response(answer)

        app = web.Application()
        app.router.add_get(path, respond)
        servers.append(TestServer(app))
        await servers[-1].start_server()
        return str(servers[-1].make_url(""))

    yield start
    for server in servers:
        await server.close()


async def test_openrouter_tells_what_a_model_takes(serve: Serve) -> None:
    row = {
        "id": "openai/gpt-4o",
        "context_length": 128_000,
        "supported_parameters": ["tools", "temperature", "structured_outputs"],
        "architecture": {"input_modalities": ["text", "image"]},
        "top_provider": {"max_completion_tokens": 16_384},
    }
    address = await serve("/models", {"data": [row, {"no": "name"}, "odd"]})
    (model,) = await list_models("openrouter", base_url=address)
    assert model.capabilities == {
        "context_window": 128_000,
        "max_output_tokens": 16_384,
        "images": True,
        "documents": False,
        "tools": True,
        "reasoning": False,
        "json_schema": True,
    }


async def test_anthropic_tells_capabilities_one_by_one(serve: Serve) -> None:
    row = {
        "id": "claude-opus-5",
        "max_input_tokens": 1_000_000,
        "max_tokens": 128_000,
        "capabilities": {"image_input": {"supported": True}, "thinking": {"supported": False}},
    }
    address = await serve("/v1/models/claude-opus-5", row)
    assert await capabilities_of("anthropic", "claude-opus-5", base_url=address) == {
        "context_window": 1_000_000,
        "max_output_tokens": 128_000,
        "images": True,
        "reasoning": False,
    }


@pytest.mark.parametrize("body", [{}, {"data": None}, {"data": "x"}, {"data": [None, 1, {}]}])
async def test_a_strange_answer_lists_nothing(serve: Serve, body: dict[str, object]) -> None:
    assert await list_models("mybox", base_url=await serve("/models", body)) == ()
