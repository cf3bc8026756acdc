"""What is in the results stays there, and comes out as it went in."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ai_battle.benchmark.sample import AnswerScore, HelpRecord, Sample, SampleKey
from ai_battle.benchmark.store import FORMAT, NAME, Store
from ai_battle.benchmark.tasks import Recording, Task
from ai_battle.core.errors import JournalError
from ai_battle.core.exchange import ToolSpec, Usage

TASK = Task(
    "t1",
    "How many?",
    "42",
    tools=(ToolSpec("add", "adds", {"type": "object", "properties": {"a": {"type": "integer"}}}),),
    tests="assert f() == 1",
    options=("a", "b"),
    system="Be brief.",
    goal={"turns": 2},
    recorded={"small": Recording("41", 0.0, "phi4"), "large": Recording("42", None)},
    extra={"category": "sums"},
)
SAMPLE = Sample(
    "rescue",
    "t1",
    2,
    "42 \u20ac",
    AnswerScore(0.5, "half"),
    Usage(10, 5, 3, 2, 1, 0.25),
    1.5,
    True,
    Usage(4, 2, cost_usd=0.1),
    0.3,
    {"no_answer": 1.0},
    "no final answer",
    "41",
    "42",
    "",
    0.0,
    1.0,
    0.2,
    HelpRecord(2, 1, 0.15),
)


def test_a_task_and_a_sample_come_out_as_they_went_in(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "out")
    store.begin([TASK, Task("t2", "Why?")], {"rescue": {"model": "phi4", "threshold": 0.7}})
    store.add([SAMPLE, Sample("rescue", "t2", error="unreachable", usage=Usage())])
    store.close()

    store = Store.open(tmp_path / "out")
    assert list(store.tasks()) == [TASK, Task("t2", "Why?")]
    assert list(store.samples()) == [SAMPLE, Sample("rescue", "t2", error="unreachable", usage=Usage())]
    assert list(store.samples("other")) == []
    assert store.settings() == {"rescue": {"model": "phi4", "threshold": 0.7}}
    assert store.finished_keys() == {SampleKey("rescue", "t1", 2), SampleKey("rescue", "t2", 0)}
    assert store.finished_keys(with_failed=False) == {SampleKey("rescue", "t1", 2)}
    assert store.spent_dollars() == pytest.approx(0.2)
    store.close()


def test_two_processes_never_write_to_one_directory(tmp_path: Path) -> None:
    """The second one is told who is there; readers are let in."""
    first = Store.create(tmp_path)
    with pytest.raises(JournalError, match="is in use by process"):
        Store.open(tmp_path, to_write=True)
    Store.open(tmp_path).close()
    first.close()
    Store.open(tmp_path, to_write=True).close()


def test_a_directory_with_results_is_not_begun_anew(tmp_path: Path) -> None:
    Store.create(tmp_path).close()
    with pytest.raises(JournalError, match="already has results; continue them"):
        Store.create(tmp_path)


def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="file can't be used for results: File exists; name another"):
        Store.create(tmp_path / "file")


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (FORMAT + 1, rf"newer ai-battle \(format {FORMAT + 1}, this one reads {FORMAT}\)"),
        (FORMAT - 1, r"of an older ai-battle .*run the benchmark anew, into another folder"),
    ],
)
def test_results_of_another_version_are_left_alone(tmp_path: Path, version: int, words: str) -> None:
    Store.create(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / NAME)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(JournalError, match=words):
        Store.open(tmp_path)


def test_what_is_no_file_of_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="has no results"):
        Store.open(tmp_path)
    (tmp_path / NAME).write_bytes(b"this is no database, but long enough to look like one" * 20)
    with pytest.raises(JournalError, match=r"results\.sqlite can't be (read|opened)"):
        Store.open(tmp_path)


def test_results_that_are_damaged_are_told_with_the_way_to_save_what_is_left(tmp_path: Path) -> None:
    store = Store.create(tmp_path)
    store.add([Sample("s", f"t{number}", answer="x" * 1000) for number in range(200)])
    store.close()
    with (tmp_path / NAME).open("r+b") as file:
        file.seek(60_000)
        file.write(b"\xab" * 60_000)

    store = Store.open(tmp_path)
    with pytest.raises(JournalError, match=r"can't be read: .*malformed.*sqlite3 results\.sqlite \.recover"):
        list(store.samples())
    store.close()


FILLS_THE_DISK = """
import resource, signal, sys
from pathlib import Path
from ai_battle.benchmark.sample import Sample
from ai_battle.benchmark.store import Store
from ai_battle.core.errors import JournalError

store = Store.create(Path(sys.argv[1]))
store.add([Sample("s", "first")])
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    for number in range(100):
        store.add([Sample("s", f"t{number}", answer="x" * 10_000)])
        print(number, flush=True)
except JournalError as error:
    print(error, flush=True)
"""


def test_a_full_disk_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert "What is finished is kept" in shown[-1]
    assert f"bench resume {tmp_path}" in shown[-1]
    store = Store.open(tmp_path, to_write=True)
    assert store.finished_keys() >= {
        SampleKey("s", "first", 0),
        *(SampleKey("s", f"t{number}", 0) for number in shown[:-1]),
    }
    store.close()
