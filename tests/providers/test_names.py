"""A model type is read as people write it, and never falls back in silence."""

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_battle.core.errors import ConfigError
from ai_battle.providers._names import catalogue, is_local, nearest_tag, parse


@pytest.mark.parametrize(
    ("spelled", "read"),
    [
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("gpt-4o", "openai/gpt-4o"),
        ("gpt-4o-2024-08-06", "openai/gpt-4o-2024-08-06"),
        ("ollama-phi4", "ollama/phi4"),
        ("ollama-gemma3-1b", "ollama/gemma3-1b"),
        ("ollama-gpt-oss:120b", "ollama/gpt-oss:120b"),
        ("ollama:gemma3:1b", "ollama/gemma3:1b"),
        ("ollama/phi4-reasoning", "ollama/phi4-reasoning"),
        ("ollama-hf.co/someone/model:Q4", "ollama/hf.co/someone/model:Q4"),
        ("Ollama/phi4", "ollama/phi4"),
        ("openrouter/openai/gpt-4o", "openrouter/openai/gpt-4o"),
        ("openrouter/anthropic/claude-3-opus", "openrouter/anthropic/claude-3-opus"),
        ("groq/llama-3.3-70b-versatile", "groq/llama-3.3-70b-versatile"),
        ("lmstudio-qwen3", "lmstudio/qwen3"),
        ("mlx-community/Llama-3", "mlx/mlx-community/Llama-3"),
        ("gguf-./tiny.gguf", "gguf/./tiny.gguf"),
        ("gguf:/models/tiny.gguf", "gguf//models/tiny.gguf"),
        ("models/tiny.gguf", "gguf/models/tiny.gguf"),
        ("azure/my-deployment", "azure/my-deployment"),
        ("scripted", "scripted"),
        ("scripted/ada", "scripted/ada"),
        ("openai/my-own-finetune", "openai/my-own-finetune"),
        ("claude-haiku-4.5", "anthropic/claude-haiku-4-5"),
    ],
)
def test_each_spelling_is_understood(spelled: str, read: str) -> None:
    name = parse(spelled)
    assert (str(name), name.spelled, name.note) == (read, spelled, "")


@pytest.mark.parametrize(
    "spelled", ["claude", "sonnet", "haiku", "opus", "gemini", "gemini-pro", "anthropic/sonnet", "gemini/gemini-pro"]
)
def test_a_short_name_is_a_current_model(spelled: str) -> None:
    name = parse(spelled)
    assert name.model in catalogue().names[name.provider]
    assert name.note == ""


@pytest.mark.parametrize(
    "spelled",
    [
        "claude-3-sonnet",
        "claude-3-7",
        "claude-3-5-sonnet-20241022",
        "anthropic/claude-3-opus-latest",
        "gemini-2-pro",
        "gemini-2.5-pro-exp",
        "gemini-2.0-flash-exp",
        "gemini-2.5-flash-preview-04-17",
        "gemini-2.0-flash-thinking-exp",
        "gpt-4-turbo-2024-04-09",
        "gpt-3.5-turbo",
    ],
)
def test_a_retired_name_gives_its_successor_with_a_note(spelled: str) -> None:
    name = parse(spelled)
    assert name.model in catalogue().names[name.provider]
    assert f"{spelled.rpartition('/')[2]!r} is retired; its successor {name.model!r}" in name.note


@pytest.mark.parametrize(
    ("spelled", "level"),
    [
        ("claude-3-7-reasoning", "medium"),
        ("claude-3-7-reasoning-high", "high"),
        ("claude-3-7-extended-deep", "high"),
        ("anthropic/claude-opus-5-reasoning-none", "none"),
        ("o1-reasoning-high", "high"),
        ("gpt-5-reasoning-low", "low"),
        ("ollama-gpt-oss:120b-reasoning-low", "low"),
    ],
)
def test_a_suffix_becomes_the_reasoning_option(spelled: str, level: str) -> None:
    name = parse(spelled)
    assert name.options == {"reasoning": level}
    assert "reasoning" not in name.model


def test_a_provider_of_the_file_is_one_as_well() -> None:
    assert str(parse("mybox/llama:7b", custom=("mybox",))) == "mybox/llama:7b"
    assert str(parse("mybox", custom=("mybox",))) == "mybox"


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("gpt-4oo", "did you mean 'gpt-4o'"),
        ("sonet", "'sonnet'"),
        ("claude-3-sonet", "did you mean 'claude-3-sonnet'?"),
        ("claude-9", "name its provider, as in 'anthropic/claude-9'"),
        ("phi4", "model 'phi4'; name its provider, as in 'ollama/phi4'. To see what there is: ai-battle models list"),
        ("gemma3:1b", "written as 'ollama/gemma3:1b'"),
        ("gpt-oss:120b", "written as 'ollama/gpt-oss:120b'"),
        ("opnai/gpt-4o", "There is no provider 'opnai' for the model type 'opnai/gpt-4o'; did you mean 'openai'"),
        ("mybix/x", "did you mean 'mybox'"),
        ("lab/x", ", vllm. A server of your own needs its address in providers.lab.base_url."),
        ("http://10.0.0.7:8000/v1", "is an address; set providers.lab.base_url to it, and write 'lab/MODEL'."),
        ("openai", "names no model; write it as 'openai/MODEL'"),
        ("ollama/", "names no model; write it as 'ollama/MODEL'"),
        ("  ", "A model type is empty"),
    ],
)
def test_a_name_that_nobody_knows_is_an_error_with_a_way_out(spelled: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse(spelled, custom=("mybox",))


def test_an_installed_module_is_a_provider_by_its_dotted_name() -> None:
    assert str(parse("ai_battle.providers.scripted/ada")) == "ai_battle.providers.scripted/ada"
    with pytest.raises(ConfigError, match=r"There is no provider 'hf\.co'"):
        parse("hf.co/someone/model")


@settings(deadline=None)
@given(st.text(st.sampled_from("aegimopt34.:/-_ 5") | st.characters(), max_size=30))
def test_whatever_is_written_is_read_or_a_config_error(spelled: str) -> None:
    with suppress(ConfigError):
        assert parse(spelled).provider


def test_every_successor_and_every_short_name_leads_to_a_known_model() -> None:
    known = {name for names in catalogue().names.values() for name in names}
    assert {*catalogue().short.values(), *catalogue().retired.values()} <= known
    assert not known & {*catalogue().short, *catalogue().retired}


@pytest.mark.parametrize(
    ("name", "tag"),
    [("gemma3-1b", "gemma3:1b"), ("phi4", "phi4:latest"), ("GPT-OSS-120b", "gpt-oss:120b"), ("gemma3", None)],
)
def test_a_name_with_dashes_finds_the_tag_of_the_server(name: str, tag: str | None) -> None:
    assert nearest_tag(name, ["gemma3:1b", "phi4:latest", "gpt-oss:120b"]) == tag


def test_what_is_local_depends_on_the_address() -> None:
    assert is_local("ollama", "phi4")
    assert is_local("openai", "x", "http://127.0.0.1:8000/v1")
    assert is_local("mybox", "x", "http://[::1]:8000")
    assert not is_local("ollama", "gpt-oss:120b-cloud")
    assert not is_local("ollama", "glm-4.6:cloud", "http://127.0.0.1:11434")
    assert not is_local("vllm", "x", "https://gpu.example.org/v1")
    assert not is_local("openai", "gpt-4o")
