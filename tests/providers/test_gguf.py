"""A model file is found, checked before anything runs, and loaded once for all who use it."""

import asyncio
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_battle.cli import run_command
from ai_battle.core.errors import ConfigError, ProviderError
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers import gguf, openai
from ai_battle.providers.gguf import GgufClient, context_length, file_metadata, find_model_file, model_files

engine = pytest.importorskip("tests.engine")

HELLO = ModelRequest((user("Hello!"),), options={"max_tokens": 5})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path: Path = engine.write_model(tmp_path / "tiny.gguf")
    return path


def test_a_file_is_found_by_its_path_and_in_the_folder_models(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    other = engine.write_model(tmp_path / "models" / "other.gguf")
    monkeypatch.chdir(tmp_path)

    assert find_model_file(str(model)) == find_model_file("tiny.gguf") == find_model_file("./tiny") == model
    assert find_model_file("other") == other
    assert {model, other} <= set(model_files())


def test_a_relative_path_starts_at_the_folder_of_the_yaml(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talks" / "files").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    model.rename(tmp_path / "talks" / "files" / "tiny.gguf")
    talk = "discussion: {goal: Talk., models: {A: {type: gguf/files/tiny.gguf}, B: {type: gguf/./files/tiny}}}\n"
    (tmp_path / "talks" / "talk.yaml").write_text(talk)
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert run_command(["validate", "../talks/talk.yaml"]) == 0, capsys.readouterr().out


def test_a_file_that_is_not_there_is_an_error_with_near_names(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = f"There is no model file 'tinny.gguf' in {tmp_path}; did you mean 'tiny'?"
    with pytest.raises(ConfigError, match=re.escape(message)):
        GgufClient("tinny.gguf")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"<html>", "is not a GGUF file"), (b"", "is not a GGUF file"), (b"GGUF\x03\x00", "is a damaged GGUF file")],
)
def test_a_file_that_is_something_else_is_an_error_before_the_run(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "page.gguf").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        GgufClient(str(tmp_path / "page.gguf"))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_damage_is_more_than_a_config_error(tmp_path_factory: pytest.TempPathFactory, damage: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(b"GGUF" + bytes(4) + b"\x01" * 16 + damage)
    with pytest.raises(ConfigError, match="is a damaged GGUF file"):
        file_metadata(path)


async def test_a_cut_off_download_is_an_error_of_the_model(model: Path) -> None:
    os.truncate(model, 300_000)
    with pytest.raises(ProviderError, match=r"llama\.cpp can't load .*tiny\.gguf: the file is damaged"):
        await GgufClient(str(model), threads=1).complete(HELLO)


def test_a_file_says_what_it_was_trained_for(model: Path) -> None:
    described = file_metadata(model)
    assert described["general.name"] == "tiny"
    assert context_length(described) == engine.CONTEXT


async def test_one_engine_serves_all_and_ends_with_the_last(model: Path) -> None:
    first, second = GgufClient(str(model), threads=1), GgufClient(str(model), threads=1)
    await asyncio.gather(first.complete(HELLO), second.complete(HELLO))
    assert [engine.users for engine in gguf._running.values()] == [2]

    await first.aclose()
    await first.aclose()
    assert (await second.complete(HELLO)).text
    await second.aclose()
    assert not gguf._running


async def test_a_closed_client_can_be_asked_again(model: Path) -> None:
    client = GgufClient(str(model), threads=1)
    await client.complete(HELLO)
    await client.aclose()
    assert (await client.complete(HELLO)).text
    await client.aclose()


async def test_whoever_is_cancelled_while_it_loads_leaves_no_engine(model: Path) -> None:
    asking = asyncio.create_task(GgufClient(str(model), threads=1).complete(HELLO))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    await asyncio.wrap_future(gguf._thread.submit(int))
    assert not gguf._running


async def test_the_context_is_what_the_request_asks_for_and_the_model_can(model: Path) -> None:
    for wanted, got in ((4096, 4096), (10**9, engine.CONTEXT)):
        client = GgufClient(str(model), num_ctx=wanted, threads=1)
        await client.complete(HELLO)
        assert [engine.wanted.context for engine in gguf._running.values()] == [got]
        await client.aclose()


async def test_the_engine_answers_on_loopback_to_who_has_its_key(model: Path) -> None:
    engine = await gguf.acquire(gguf.EngineSettings(model, 4096, threads=1))
    stranger = openai.create("tiny", endpoint="llamacpp", base_url=f"{engine.address}/v1")

    assert engine.address.startswith("http://127.0.0.1:")
    assert engine.key not in repr(engine)
    with pytest.raises(ProviderError) as caught:
        await stranger.complete(HELLO)
    assert caught.value.status == 401
    await gguf.release(engine)
