"""Providers are asked for the models of a suite, and only what would fail each time ends it before it begins."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ai_battle.benchmark.checking import require_models
from ai_battle.benchmark.loading import load
from ai_battle.core.errors import ConfigError
from ai_battle.testing import FakeProviders

from .suites import KNOWS, suite


@contextmanager
def lister(status: int, body: Mapping[str, Any]) -> Iterator[str]:
    """The address of a server that answers every question for models like this."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - its name there
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


async def ask(folder: Path, model: str, scorers: Sequence[Any] = ("numeric",), **provider: str) -> None:
    section = {"ollama" if model.startswith("ollama") else "openai": {"api_key": "a-key-of-nobody", **provider}}
    settings = ({"name": "knows", "model": KNOWS}, {"name": "x", "model": model})
    written = suite(folder, *settings, scorers=list(scorers), providers=section)
    await require_models(load(written, base=folder))


async def test_a_key_that_is_refused_ends_a_suite(tmp_path: Path) -> None:
    wrong = pytest.raises(ConfigError, match=r"settings\[1\]\.model: .*Incorrect API key")
    with lister(401, {"error": {"message": "Incorrect API key provided."}}) as url, wrong:
        await ask(tmp_path, "openai/gpt-4o", base_url=url)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": {"message": "Missing scopes: api.model.read"}}),
        (403, {"error": {"message": "This key may not list models."}}),
        (404, {"error": {"message": "Not found."}}),
        (500, {}),
        (200, {"data": []}),
        (200, {"data": [{"id": "something-else"}]}),
    ],
)
async def test_a_server_of_ones_own_is_believed_where_it_does_not_tell(
    tmp_path: Path, status: int, body: Mapping[str, Any]
) -> None:
    with lister(status, body) as url:
        await ask(tmp_path, "openai/gpt-4o", base_url=url)


async def test_a_model_of_ollama_goes_by_its_spellings(tmp_path: Path) -> None:
    with FakeProviders.in_thread() as fakes:
        await ask(tmp_path, "ollama-gemma3-1b", base_url=fakes.ollama.url)
        await ask(tmp_path, "ollama/phi4", base_url=fakes.ollama.url)
        with pytest.raises(ConfigError, match=r"settings\[1\].model: ollama has no model 'phi9'"):
            await ask(tmp_path, "ollama/phi9", base_url=fakes.ollama.url)
        judge = {"name": "judge", "model": "ollama/judge9"}
        with pytest.raises(ConfigError, match=r"benchmark\.scorers: ollama has no model 'judge9'"):
            await ask(tmp_path, "ollama/phi4", [judge], base_url=fakes.ollama.url)
