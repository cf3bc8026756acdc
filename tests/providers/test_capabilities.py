"""What a model can do is believed in this order: a refusal, the server, a table."""

import pytest

from ai_battle.providers._capabilities import ModelCapabilities, RefusalMemory, capabilities
from ai_battle.providers._names import parse
from ai_battle.testing import FakeProviders

CLOSED = {"base_url": "http://127.0.0.1:9"}


def statement_of(found: ModelCapabilities, name: str) -> tuple[object, str]:
    """A capability, and who says so."""
    return found.known[name].value, found.known[name].source


async def test_each_value_names_its_source() -> None:
    async with FakeProviders() as fakes:
        model = next(iter(fakes.ollama.models))
        name = parse(f"ollama/{model}")
        there = fakes.environment["OLLAMA_HOST"]
        RefusalMemory.load().remember(there, name.model, "reasoning")
        RefusalMemory.load().remember(there, name.model, "seed")
        found = await capabilities(name, base_url=there)

    assert statement_of(found, "reasoning") == (False, "learned")
    assert statement_of(found, "tools") == (True, "server")
    assert statement_of(found, "context_window") == (131_072, "server")
    assert found.refused == {"reasoning", "seed"}


async def test_when_the_server_is_silent_the_table_counts_and_a_note_says_why() -> None:
    found = await capabilities(parse("ollama/qwen3:8b"), **CLOSED)

    assert found["tools"] is True
    assert found.known["tools"].source.startswith("table of ")
    assert "127.0.0.1:9" in found.note


async def test_the_window_of_a_vendors_model_is_known_without_asking() -> None:
    found = await capabilities(parse("gpt-4o"), **CLOSED, api_key="k")
    assert statement_of(found, "context_window") == (128_000, "genai-prices")
    assert found["reasoning"] is False


async def test_what_nobody_knows_is_neither_yes_nor_no() -> None:
    assert (await capabilities(parse("ollama/own-model"), **CLOSED))["tools"] is None


async def test_without_a_key_the_rest_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = await capabilities(parse("gpt-4o"))

    assert found["tools"] is True
    assert "OPENAI_API_KEY" in found.note
