"""What a model refused is remembered for a day, by every process of this machine's user."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ai_battle.core.files import cache_directory
from ai_battle.providers._capabilities import RefusalMemory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "refused"


def test_a_refusal_is_remembered_for_its_model_alone(path: Path) -> None:
    RefusalMemory.load(path).remember("https://a", "small", "seed")
    RefusalMemory.load(path).remember("https://a", "small", "of/mine")

    assert RefusalMemory.load(path).refuses("https://a", "small") == {"seed", "of/mine"}
    assert RefusalMemory.load(path).refuses("https://a", "large") == frozenset()
    assert RefusalMemory.load(path).refuses("https://b", "small") == frozenset()


def test_another_process_knows_it(path: Path) -> None:
    code = "import sys; from pathlib import Path; from ai_battle.providers._capabilities import RefusalMemory\n"
    remember = f"{code}RefusalMemory.load(Path(sys.argv[1])).remember('e', 'm', sys.argv[2])"
    RefusalMemory.load(path)
    writers = [subprocess.Popen([sys.executable, "-c", remember, str(path), f"option{n}"]) for n in range(2)]

    assert [writer.wait() for writer in writers] == [0] * 2
    assert RefusalMemory.load(path).refuses("e", "m") == {f"option{n}" for n in range(2)}


def test_it_is_forgotten_after_a_day(path: Path, tmp_path: Path) -> None:
    RefusalMemory.load(path).remember("e", "m", "seed")
    RefusalMemory.load(path).remember("e", "m", "of/mine")
    a_day_ago = time.time() - 24 * 3600 - 1
    old, new = sorted(path.iterdir())
    os.utime(old, (a_day_ago, a_day_ago))
    later = path.rename(tmp_path / "later")

    assert len(RefusalMemory.load(later).refuses("e", "m")) == 1
    assert [file.name for file in later.iterdir()] == [new.name]


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    path = tmp_path / "file" / "refused"
    RefusalMemory.load(path).remember("e", "m", "seed")

    assert RefusalMemory.load(path).refuses("e", "m") == {"seed"}


def test_the_place_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "ai-battle"
