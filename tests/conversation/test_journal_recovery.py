"""What a crash, a full disk or a second process does to a journal: nothing that can't be gone on with."""

import errno
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.conversation.journal import Journal
from ai_battle.conversation.reading import messages, progress, read
from ai_battle.core.errors import JournalError
from ai_battle.core.events import Warned

from .runs import turn


async def journal_of(run_dir: Path, turns: int) -> Path:
    journal = Journal.create(run_dir)
    for number in range(1, turns + 1):
        await journal(turn(number, "ann", f"turn {number}"))
    await journal.close()
    return run_dir / "journal.jsonl"


def child(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs `script` in a process of its own, so that limits and users can be changed for it."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("torn", [b'{"v":1,"seq":3,"ti', b'{"v":1,"seq":3,"type":"warned"}', b"\0\0\0\0", b'{"v":1\n'])
async def test_a_torn_last_line_is_passed_over_and_cut_off_on_reopening(tmp_path: Path, torn: bytes) -> None:
    path = await journal_of(tmp_path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)

    assert [message.text for message in messages(tmp_path)] == ["turn 1", "turn 2", "turn 3"]
    journal = Journal.reopen(tmp_path)
    assert journal.warnings == (Warned(f"The journal ended in a half-written line; {len(torn)} bytes were cut off."),)
    assert path.read_bytes() == whole

    await journal(turn(4, "ann", "turn 4"))
    await journal.close()
    assert [record["seq"] for record, _ in read(tmp_path)] == [0, 1, 2, 3]


async def test_a_journal_can_be_read_wherever_its_growth_is_stopped(tmp_path: Path) -> None:
    path = await journal_of(tmp_path / "run", 3)
    whole = path.read_bytes()
    for size in range(0, len(whole) + 1, 7):
        path.write_bytes(whole[:size])
        assert len(messages(tmp_path / "run")) == whole[:size].count(b"\n")


async def test_lines_that_are_there_twice_count_once_and_are_told(tmp_path: Path) -> None:
    """A file that was put together by hand, or by a tool that copies what it has copied before."""
    path = await journal_of(tmp_path, 3)
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second + first + second + third + third + first)

    assert [message.text for message in messages(tmp_path)] == ["turn 1", "turn 2", "turn 3"]
    journal = Journal.reopen(tmp_path)
    told = [warning.message for warning in journal.warnings]
    await journal(turn(4, "ann", "turn 4"))
    await journal.close()
    assert [record["seq"] for record, _ in read(tmp_path)] == [0, 1, 2, 3]
    assert len(told) == 4
    assert told[0] == f"{path}:3: line 0 by its 'seq' is there already; this one is passed over."


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ((0, 2), "journal.jsonl:2: line 1 is missing before this one, which is line 2 by its 'seq'."),
        ((2,), "journal.jsonl:1: lines 0 to 1 are missing before this one"),
        ((1, 0, 2), "journal.jsonl:2: line 0 by its 'seq' is there already"),
    ],
)
async def test_lines_that_are_gone_are_told_with_their_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: tuple[int, ...], told: str
) -> None:
    path = await journal_of(tmp_path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in kept))

    assert messages(tmp_path)[-1].text == "turn 3"
    journal = Journal.reopen(tmp_path)
    await journal(turn(4, "ann", "turn 4"))
    await journal.close()

    assert told in "\n".join(caplog.messages)
    assert told in "\n".join(warning.message for warning in journal.warnings)
    assert messages(tmp_path)[-1].text == "turn 4"


async def test_a_malformed_line_in_the_middle_is_named_and_nothing_is_cut_off(tmp_path: Path) -> None:
    path = await journal_of(tmp_path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{broken\n" + lines[2])
    damaged = path.read_bytes()

    with pytest.raises(JournalError, match=r"journal\.jsonl:2: malformed line; repair or remove it"):
        list(read(tmp_path))
    with pytest.raises(JournalError, match=r"journal\.jsonl:2"):
        Journal.reopen(tmp_path)
    assert path.read_bytes() == damaged
    assert not (tmp_path / ".lock").exists()


async def test_a_run_that_died_before_its_first_event_can_be_reopened(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("discussion: {}\n")
    assert progress(tmp_path).started is None
    journal = Journal.reopen(tmp_path)
    await journal(turn(1, "ann", "Hello."))
    await journal.close()
    assert len(messages(tmp_path)) == 1


async def test_a_second_process_is_refused_at_once_and_told_who_holds_the_run(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path)
    second = child(
        """
        import sys; from pathlib import Path
        from ai_battle.conversation.journal import Journal
        Journal.reopen(Path(sys.argv[1]))
        """,
        tmp_path,
    )
    assert f"is in use by process {os.getpid()} on {os.uname().nodename}" in second.stderr
    with pytest.raises(JournalError, match=rf"is in use by process {os.getpid()} on"):
        Journal.reopen(tmp_path)
    await journal.close()

    again = Journal.reopen(tmp_path)
    await again.close()


async def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    killed = child(
        """
        import asyncio, os, signal, sys; from pathlib import Path
        from ai_battle.conversation.journal import Journal
        Journal.create(Path(sys.argv[1]))
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path,
    )
    assert killed.returncode == -9
    assert (tmp_path / ".lock").read_text().split()[1] == os.uname().nodename

    journal = Journal.reopen(tmp_path)
    assert (tmp_path / ".lock").read_text().split()[0] == str(os.getpid())
    await journal.close()
    assert not (tmp_path / ".lock").exists()


FILLS_UP = """
    import asyncio, resource, sys
    from pathlib import Path
    from ai_battle.conversation.journal import Journal
    from ai_battle.core.errors import JournalError
    from tests.conversation.runs import turn

    async def fill(run_dir, turns, limit):
        journal = Journal.create(run_dir) if not run_dir.exists() else Journal.reopen(run_dir)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        for number in range(1, turns + 1):
            try:
                await journal(turn(number, "ann", "x" * 3_000))
            except JournalError as error:
                print(number, error)
                break
        for attempt in ("again", "and again"):
            try:
                await journal(turn(number, "ann", "small"))
            except JournalError as error:
                print("refused", attempt)
        await journal.close()

    asyncio.run(fill(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
"""


async def test_a_file_size_limit_stops_the_run_and_leaves_a_valid_journal(tmp_path: Path) -> None:
    """EFBIG cuts a write in half: the half is taken back, later events are refused, and the run can be resumed."""
    stopped = child(FILLS_UP, tmp_path / "run", 100, 10_500)

    assert stopped.stdout.startswith("4 "), stopped.stderr
    assert (
        "journal.jsonl can't be written: File too large. Make room, then go on with: ai-battle resume" in stopped.stdout
    )
    assert "refused again\nrefused and again\n" in stopped.stdout
    assert (tmp_path / "run" / "journal.jsonl").read_bytes().endswith(b"\n")
    assert len(messages(tmp_path / "run")) == 3

    journal = Journal.reopen(tmp_path / "run")
    assert journal.warnings == ()
    await journal(turn(4, "ann", "there is room again"))
    await journal.close()
    assert [record["seq"] for record, _ in read(tmp_path / "run")] == [0, 1, 2, 3]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no small file system can be mounted here: {error}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)


async def test_a_full_disk_stops_the_run_and_leaves_a_valid_journal(small_disk: Path) -> None:
    stopped = child(FILLS_UP, small_disk / "run", 100, 0)
    number = int(stopped.stdout.split()[0])

    assert f"can't be written: {os.strerror(errno.ENOSPC)}. Make room" in stopped.stdout, stopped.stderr
    assert len(messages(small_disk / "run")) == number - 1
    make_room(small_disk)
    journal = Journal.reopen(small_disk / "run")
    await journal(turn(number, "ann", "there is room again"))
    await journal.close()
    assert len(messages(small_disk / "run")) == number


async def test_a_disk_that_is_full_already_refuses_the_run(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"x" * os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize)
    with pytest.raises(JournalError, match=f"can't be written: {os.strerror(errno.ENOSPC)}"):
        Journal.create(small_disk / "run")
    (small_disk / "ballast").unlink()
    await Journal.create(small_disk / "run").close()


async def test_a_directory_that_can_not_be_written_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"can't be written: Not a directory; name a directory .* --out DIR"):
        Journal.create(tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("begin", "way_out"), [("create", "name a directory that can with --out DIR"), ("reopen", "resume a copy of it")]
)
async def test_a_read_only_directory_is_refused(tmp_path: Path, begin: str, way_out: str) -> None:
    """As a user without privileges: root may write everywhere."""
    refused = child(
        """
        import os, sys; from pathlib import Path
        from ai_battle.conversation.journal import Journal
        os.chdir(sys.argv[1])  # others may not enter the folders above
        Path("config.yaml").touch()
        os.chmod(".", 0o555)
        if os.getuid() == 0:
            os.setuid(65534)
        getattr(Journal, sys.argv[2])(Path())
        """,
        tmp_path,
        begin,
    )
    assert "JournalError" in refused.stderr
    assert f"can't be written: Permission denied; {way_out}" in refused.stderr


SYNCING = """
    import asyncio, os, sys; from pathlib import Path
    from ai_battle.conversation.journal import Journal
    from tests.conversation.runs import turn

    async def main(folder):
        {}

    asyncio.run(main(Path(sys.argv[1])))
"""


def trace_syncs(folder: Path, *lines: str) -> list[str]:
    """Returns the kernel's own view of what a program does: turns that are written, syncs and acknowledgements."""
    if not (strace := shutil.which("strace")):
        pytest.skip("strace is not installed")
    program = textwrap.dedent(SYNCING.format("\n        ".join(lines)))
    trace = folder / "trace"
    command = [strace, "-f", "-o", str(trace), "-e", "trace=write,fdatasync", sys.executable, "-c", program]
    if subprocess.run([*command, str(folder / "run")], check=False).returncode:
        pytest.skip("strace may not trace here")
    calls = re.findall(r'write\(\d+, "(?:{\\"v\\"|(ACK))|(fdatasync)', trace.read_text())
    return [ack or sync or "turn" for ack, sync in calls]


def test_a_turn_that_is_synced_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    calls = trace_syncs(
        tmp_path,
        "journal = Journal.create(folder, 'every_turn')",
        "for number in (1, 2, 3):",
        "    await journal(turn(number, 'ann', 'Hello.'))",
        "    os.write(2, b'ACK')",
        "await journal.close()",
    )
    assert calls[:9] == ["turn", "fdatasync", "ACK"] * 3


def test_many_journals_sync_what_they_wrote_and_close_together(tmp_path: Path) -> None:
    calls = trace_syncs(
        tmp_path,
        "journals = [Journal.create(folder / str(number)) for number in range(50)]",
        "for journal in journals: await journal(turn(1, 'ann', 'Hello.'))",
        "await asyncio.gather(*(journal.close() for journal in journals))",
    )
    assert calls.count("turn") == 50
    assert calls[-50:] == ["fdatasync"] * 50


def test_what_nobody_waits_for_is_synced_within_seconds_too(tmp_path: Path) -> None:
    """The program ends, without closing its journal, once the system has been asked to sync."""
    calls = trace_syncs(
        tmp_path,
        "journal = Journal.create(folder)",
        "await journal(turn(1, 'ann', 'Hello.'))",
        "while 'fdatasync' not in (folder.parent / 'trace').read_text(): await asyncio.sleep(0.05)",
        "os._exit(0)",
    )
    assert calls == ["turn", "fdatasync"]
