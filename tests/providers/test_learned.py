"""What a model refused is remembered for a day, by every process of this machine's user."""

import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ai_battle.core.files import cache_directory
from ai_battle.providers._capabilities import RefusalMemory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "refused.jsonl"


def test_a_refusal_is_remembered_for_its_model_alone(path: Path) -> None:
    RefusalMemory.load(path).remember("https://a", "small", "seed")

    assert RefusalMemory.load(path).refuses("https://a", "small") == {"seed"}
    assert RefusalMemory.load(path).refuses("https://a", "large") == frozenset()
    assert RefusalMemory.load(path).refuses("https://b", "small") == frozenset()


def test_another_process_knows_it(path: Path) -> None:
    code = "import sys; from pathlib import Path; from ai_battle.providers._capabilities import RefusalMemory\n"
    remember = f"{code}RefusalMemory.load(Path(sys.argv[1])).remember('e', 'm', sys.argv[2])"
    RefusalMemory.load(path)
    writers = [subprocess.Popen([sys.executable, "-c", remember, str(path), f"option{n}"]) for n in range(2)]

    assert [writer.wait() for writer in writers] == [0] * 2
    assert RefusalMemory.load(path).refuses("e", "m") == {f"option{n}" for n in range(2)}


def test_it_is_forgotten_after_a_day(path: Path) -> None:
    path.parent.mkdir()
    entry = {"endpoint": "e", "model": "m", "refuses": "seed", "at": time.time() - 24 * 3600 - 1}
    path.write_text(json.dumps(entry) + "\n")

    assert RefusalMemory.load(path).refuses("e", "m") == frozenset()


@pytest.mark.parametrize("damage", ["{", "[]", '{"endpoint": 1}', "\x00\x01", '"text"', "null"])
def test_a_damaged_file_is_ignored_with_one_warning(path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.mkdir()
    path.write_text(damage)
    with caplog.at_level(logging.WARNING):
        RefusalMemory.load(path).remember("e", "m", "seed")
        RefusalMemory.load(path)
    assert RefusalMemory.load(path).refuses("e", "m") == {"seed"}
    assert [record.getMessage().startswith(f"{path} is damaged") for record in caplog.records] == [True]


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    path = tmp_path / "file" / "refused.jsonl"
    RefusalMemory.load(path).remember("e", "m", "seed")

    assert RefusalMemory.load(path).refuses("e", "m") == {"seed"}


def test_a_large_file_is_made_small_again(path: Path) -> None:
    path.parent.mkdir()
    old = json.dumps({"endpoint": "e", "model": "m", "refuses": "old", "at": 1.0})
    new = json.dumps({"endpoint": "e", "model": "m", "refuses": "new", "at": time.time()})
    path.write_text("\n".join([*[old] * 10_000, new]))

    assert RefusalMemory.load(path).refuses("e", "m") == {"new"}
    assert len(path.read_text().splitlines()) == 1
    assert [file.name for file in path.parent.iterdir()] == ["refused.jsonl"]


def test_the_place_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "ai-battle"
