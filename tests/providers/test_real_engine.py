"""Real answers of a real engine: llama.cpp, with a model whose weights are random."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ContextTooLong
from ai_battle.core.events import Event, EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import assistant, user
from ai_battle.providers import anthropic, gguf, openai

engine = pytest.importorskip("tests.engine")

SOME = {"max_tokens": 40, "seed": 1}
HELLO = ModelRequest((user("Hello!"),), system="Be brief.", options=SOME)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = engine.write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")
    return path


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with engine.serve_model(model) as url:
        yield url


@pytest.fixture(params=["openai", "anthropic", "gguf"])
async def client(request: pytest.FixtureRequest, address: str, model: Path) -> AsyncIterator[ModelClient]:
    client = {
        "openai": lambda: openai.create("tiny", endpoint="llamacpp", base_url=f"{address}/v1"),
        "anthropic": lambda: anthropic.create("tiny", base_url=address, api_key="none"),
        "gguf": lambda: gguf.create(str(model), threads=1),
    }[request.param]()
    yield client
    await client.aclose()


async def test_an_answer_is_streamed_with_its_usage(client: ModelClient) -> None:
    response = await client.complete(HELLO, log := EventLog())

    assert response.text
    assert log.text == response.text
    assert any(isinstance(event, TextDelta) for event in log.events)
    assert response.usage.input_tokens > 20
    assert 5 < response.usage.output_tokens <= 40
    assert response.stop in ("end", "length")


async def test_the_history_counts(client: ModelClient) -> None:
    longer = ModelRequest((user("Hello!"), assistant("Hi. " * 50), user("And now?")), options=SOME)
    short, long = [(await client.complete(request)).usage.input_tokens for request in (HELLO, longer)]
    assert long > short + 150


async def test_many_questions_at_once_have_an_answer_each(client: ModelClient) -> None:
    responses = await asyncio.gather(*(client.complete(HELLO) for _ in range(8)))
    assert all(response.text for response in responses)


async def test_a_history_that_does_not_fit_is_told_as_such(client: ModelClient) -> None:
    with pytest.raises(ContextTooLong):
        await client.complete(ModelRequest((user("word " * 20_000),), options=SOME))


async def test_a_cancelled_answer_ends_and_the_next_one_comes(client: ModelClient) -> None:
    async def listen(event: Event) -> None:
        answering.cancel()

    endless = ModelRequest((user("Go on."),), options={"max_tokens": 12_000})
    answering = asyncio.create_task(client.complete(endless, listen))
    with pytest.raises(asyncio.CancelledError):
        await answering

    async with asyncio.timeout(30):
        assert (await client.complete(HELLO)).text
