"""Dollars come from the YAML or from genai-prices; what nobody knows is unknown, what is local is free."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import genai_prices
import pytest

from ai_battle.core.exchange import Usage
from ai_battle.providers._names import ModelName, parse
from ai_battle.providers._prices import FREE_PRICE, TokenPrice, context_window, price


@pytest.mark.parametrize(
    ("provider", "vendor", "model"),
    [
        ("openai", "openai", "gpt-4o"),
        ("openai", "openai", "gpt-6.1-sol"),
        ("anthropic", "anthropic", "claude-sonnet-4-5"),
        ("anthropic", "anthropic", "claude-haiku-5-5"),
        ("gemini", "google", "gemini-2.5-pro"),
        ("groq", "groq", "llama-3.3-70b-versatile"),
        ("openrouter", "openrouter", "anthropic/claude-opus-4.5"),
    ],
)
@pytest.mark.parametrize("tokens", [(1_000, 100, 0, 0), (900_000, 5_000, 200_000, 10_000)])
def test_the_cost_is_what_genai_prices_calculates(
    provider: str, vendor: str, model: str, tokens: tuple[int, int, int, int]
) -> None:
    usage = Usage(*tokens)
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
    }
    expected = genai_prices.calc_price(genai_prices.Usage(**counts), model, provider_id=vendor).total_price

    found = price(ModelName(provider, model))
    assert found
    assert found.cost(usage) == pytest.approx(float(expected))


def test_a_model_without_a_known_price_is_unknown_and_not_free() -> None:
    assert price(ModelName("openai", "my-own-finetune")) is None
    assert price(ModelName("mybox", "llama"), base_url="https://llm.example.org/v1") is None
    assert price(ModelName("vllm", "llama"), base_url="https://gpu.example.org/v1") is None
    assert price(ModelName("ollama", "gpt-oss:120b-cloud")) is None


@pytest.mark.parametrize("provider", ["ollama", "gguf", "llamacpp", "lmstudio", "vllm", "mlx", "scripted", "replay"])
def test_a_local_model_is_free(provider: str) -> None:
    assert price(ModelName(provider, "any"), base_url="http://127.0.0.1:8000/v1") == FREE_PRICE
    assert FREE_PRICE.cost(Usage(10, 10)) == 0.0


def test_a_vendor_is_recognised_by_its_address() -> None:
    assert price(ModelName("ds", "deepseek-chat"), base_url="https://api.deepseek.com/v1") is not None


@pytest.mark.parametrize("key", ["claude-3-sonnet", "anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"])
def test_the_yaml_overrides_prices_and_windows_under_any_spelling(key: str) -> None:
    name = parse("claude-3-sonnet")
    assert price(name, {key: {"input": 1, "output": 2}}) == TokenPrice(1, 2)
    assert context_window(name, {key: 1234}) == 1234


def test_cached_tokens_have_their_own_price() -> None:
    rate = TokenPrice(10.0, 20.0, cache_read=1.0, cache_write=12.0)
    assert rate.cost(Usage(1_000_000, 0, cache_read_tokens=1_000_000)) == 1.0
    assert rate.cost(Usage(1_000_000, 0, cache_write_tokens=1_000_000)) == 12.0
    assert TokenPrice(10.0).cost(Usage(1_000_000, 0, cache_read_tokens=500_000)) == 10.0


def test_the_context_window_is_known_where_the_vendor_states_it() -> None:
    assert context_window(parse("gpt-4o")) == 128_000
    assert context_window(parse("ollama/phi4")) is None
    assert context_window(parse("openai/my-own-finetune")) is None


def test_prices_are_loaded_when_they_are_first_asked_for() -> None:
    code = "import sys, ai_battle.providers._prices; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


_LOOKS = """
import sys
from ai_battle.providers._names import parse
from ai_battle.providers._prices import context_window, price
for name in ("gpt-4o", "claude-sonnet-4-5", "openai/gpt-nothing"):
    print(price(parse(name)), context_window(parse(name)))
print("genai_prices" in sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["", "[]", {"version": "0"}, {"models": {"x": 1}}], ids=repr)
def test_what_the_list_says_of_a_model_is_remembered_and_a_damaged_memory_is_none(
    tmp_path: Path, damage: str | dict[str, Any]
) -> None:
    """To load the list takes as long as half of a start."""

    def look() -> list[str]:
        own = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", _LOOKS], env=own, capture_output=True, text=True, check=True)
        return run.stdout.splitlines()

    *first, loaded = look()
    assert loaded == "True"
    assert look() == [*first, "False"]
    memory = tmp_path / "ai-battle" / "prices.json"
    damaged = damage if isinstance(damage, str) else json.dumps(json.loads(memory.read_text()) | damage)
    memory.write_text(damaged)
    assert look() == [*first, "True"]
