"""Clients that need neither network nor fakes keep the contract too: a model file, a recording, and what records."""

import os
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import user
from ai_battle.providers.gguf import GgufClient
from ai_battle.providers.replay import Recorder, RecordingClient, create
from ai_battle.providers.scripted import ScriptedClient
from ai_battle.testing import contract
from ai_battle.testing.contract import Check, Subject

HELLO = ModelRequest((user("Hello?"),), system="Be brief.")


def of_a_file(folder: Path) -> Subject:
    engine = pytest.importorskip("tests.engine")
    whole, damaged = engine.write_model(folder / "tiny.gguf"), engine.write_model(folder / "damaged.gguf")
    os.truncate(damaged, 300_000)
    asked = ModelRequest(HELLO.messages, options={"max_tokens": 40, "seed": 1})
    return Subject(
        answers=lambda: GgufClient(str(whole), threads=1),
        fails=lambda: GgufClient(str(damaged), threads=1),
        request=asked,
    )


async def of_a_recording(folder: Path) -> Subject:
    good, empty = folder / "good.jsonl", folder / "empty.jsonl"
    with closing(Recorder(good)) as recorder, closing(Recorder(empty)):
        said = ScriptedClient({"think": "Hm.", "say": "An answer."})
        await RecordingClient(said, recorder, "scripted").complete(HELLO)
    return Subject(answers=lambda: create(str(good)), fails=lambda: create(str(empty)), request=HELLO)


@pytest.fixture
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    with closing(Recorder(tmp_path / "record.jsonl")) as recorder:
        match request.param:
            case "model file":
                yield of_a_file(tmp_path)
            case "recording":
                yield await of_a_recording(tmp_path)
            case "what records":
                yield contract.wrapper(lambda inner: RecordingClient(inner, recorder, "scripted"))


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("subject", ["model file", "recording", "what records"], indirect=True)
async def test_each_client_keeps_the_contract(subject: Subject, check: Check) -> None:
    await check(subject)
