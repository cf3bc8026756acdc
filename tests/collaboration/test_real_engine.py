"""A real engine whose answer is cut short stops generating: what is not read is not computed either."""

import asyncio
from collections.abc import Iterator

import aiohttp
import pytest

from ai_battle import create_client
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.helping import DraftDropped

from .acting import ADVICE, STRATEGIES, HelpLog, Judge, large, model_request

pytest.importorskip("xllamacpp", reason="the engine is an extra: pip install 'ai-battle[local]'")
engine = pytest.importorskip("tests.engine")
LONGEST = 40


class Brief:
    """Reads no more than so many characters."""

    def __init__(self) -> None:
        self.read = 0

    def feed(self, text: str) -> str:
        self.read += len(text)
        return "It rambles." if self.read > LONGEST else ""


class BriefJudge(Judge):
    def watch(self, request: ModelRequest, *, thinking: bool = False) -> Brief:
        return Brief()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with engine.serve_model(engine.write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")) as url:
        yield url


async def busy(address: str) -> bool:
    """Tells whether the engine is still at work, by its own count."""
    async with aiohttp.ClientSession() as session, session.get(f"{address}/metrics") as response:
        lines = (await response.text()).splitlines()
    return any(line.startswith("llamacpp:requests_processing") and not line.endswith(" 0") for line in lines)


async def test_the_engine_stops_where_nobody_reads_on(address: str) -> None:
    small = create_client("llamacpp/tiny", base_url=f"{address}/v1", headers={"connection": "close"})
    client = STRATEGIES["takeover"](small, large(ADVICE).client, stuck_detector=BriefJudge())
    request = model_request(options={"max_tokens": 30_000, "temperature": 0})
    response = await client.complete(request, heard := HelpLog())
    for _ in range(100):
        if not await busy(address):
            break
        await asyncio.sleep(0.02)
    await client.aclose()

    assert response.text == ADVICE
    [dropped] = heard.of(DraftDropped)
    assert 0 < dropped.usage.output_tokens < 2 * LONGEST
    assert dropped.saved_tokens > 29_000
    assert not await busy(address)
