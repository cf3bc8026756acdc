"""Files that can't be sent: each is refused before anything is spent, with its place and the way out."""

import json
import os
import struct
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import compressobj

import pytest
from pypdf import PdfReader, PdfWriter

from ..cli.conftest import Run
from ..pixels import SIGNATURE, chunk
from .material import needs_ffmpeg, pdf, pdf_of

Check = Callable[..., str]
SCRIPTED = {name: {"type": "scripted", "script": ["Hm."], "loop": True} for name in ("Ann", "Bob")}


@pytest.fixture
def refusal(ai_battle: Run, folder: Path) -> Check:
    """Returns what is wrong with the files of a discussion; `validate` and `run` say the same."""

    def check(files: Any, **models: Any) -> str:
        talk = {"goal": "Look.", "turns": 1, "models": {**SCRIPTED, **models}, "input_files": files}
        (folder / "talk.yaml").write_text(json.dumps({"discussion": talk}))
        checked, run = ai_battle("validate", "talk.yaml"), ai_battle("run", "talk.yaml")
        assert (checked.code, run.code) == (2, 2)
        assert checked.out.strip() in run.err
        assert not (folder / "runs").exists()
        return checked.out.strip()

    return check


def bomb() -> bytes:
    """A few bytes that claim 200 million pixels."""
    header = struct.pack(">IIBBBBB", 20_000, 10_000, 8, 2, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")


def locked_pdf() -> bytes:
    writer, written = PdfWriter(clone_from=PdfReader(BytesIO(pdf("Secret.")))), BytesIO()
    writer.encrypt("letmein", algorithm="RC4-128")
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("x.png", b"\x89PNG\r\n\x1a\nno picture at all", "x.png begins like a PNG, but is damaged"),
        ("x.png", bomb(), "x.png has 20000x10000 pixels; 89 million are the most that a picture may have"),
        ("x.bin", bytes(range(256)), "x.bin is not UTF-8 text (byte 128), and not a picture, PDF or video"),
        ("x.txt", b" \n", "x.txt is empty"),
        ("x.png", b"", "x.png is empty"),
        ("x.pdf", b"", "x.pdf is empty"),
        ("x.mp4", b"", "x.mp4 is empty"),
        ("odd \x1b[31m`name`\u2603.txt", b"", "odd \u241b[31m`name`\u2603.txt is empty"),
        ("x.csv", b"", "x.csv is empty"),
        ("x.csv", b"a,b\n1,\xff\n", "x.csv is not UTF-8 text"),
        ("x.csv", b"a,b\n" + b"1" * 200_000 + b",2\n", "x.csv:2 is not a row of a table"),
        ("x.pdf", locked_pdf(), "x.pdf is a PDF that can't be read: it needs a password; save it without one"),
        ("x.pdf", pdf("", ""), "x.pdf is a PDF without text (pictures of pages, as scanners make them)"),
        ("x.pdf", pdf("One.")[:-200], "x.pdf is a PDF that can't be read: it is damaged"),
        ("x.txt", b"x" * (3 << 20), "x.txt has 3.0 MiB; a text may have 2 MiB: make it smaller, or"),
        ("x.json", b"[" + b"1," * (3 << 20) + b"1]", "x.json has 6.0 MiB; a JSON file may have 4"),
    ],
)
def test_the_error_says_what_is_wrong_and_where(refusal: Check, folder: Path, name: str, data: bytes, why: str) -> None:
    (folder / name).write_bytes(data)
    said = refusal([name])
    assert said.startswith("talk.yaml:")
    assert f"discussion.input_files.files[0].path: {why}" in said


@pytest.mark.slow
def test_a_pdf_that_unfolds_to_much_more_than_it_has_is_not_read(refusal: Check, folder: Path) -> None:
    packed = compressobj()
    content = b"".join(packed.compress(b"(All work) Tj " * 75_000) for _ in range(120)) + packed.flush()
    assert len(content) < 1 << 20
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content)
    (folder / "report.pdf").write_bytes(pdf_of(stream))
    assert "report.pdf is a PDF that can't be read: it is damaged (Limit reached while" in refusal(["report.pdf"])


@needs_ffmpeg
def test_a_video_that_is_none(refusal: Check, folder: Path) -> None:
    (folder / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 5_000)
    assert "clip.mp4 is a video in which ffprobe finds no pictures: it is damaged or has only sound" in refusal(
        ["clip.mp4"]
    )


def test_a_video_without_ffmpeg_says_how_to_get_it(
    refusal: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 500)
    monkeypatch.setenv("PATH", str(folder))
    assert (
        "clip.mp4 is a video, and ffprobe, which takes pictures out of it, is not installed: apt install ffmpeg "
        "(or brew install ffmpeg); or give pictures of it" in refusal(["clip.mp4"])
    )


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes here")
@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_all_that_it_has_started(
    refusal: Check, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 500)
    (folder / "bin").mkdir()
    for name in ("ffprobe", "ffmpeg"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\nsleep 600 &\necho $! >> {folder}/started\nwait\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")

    said = refusal(["clip.mp4"])

    assert "clip.mp4 is a video that ffprobe can't process in time; shorten it, or give pictures of it" in said
    started = (folder / "started").read_text().split()
    end = time.monotonic() + 10  # the kernel may take a moment to end a process that is killed
    while alive := [number for number in started if _command_of(number)]:
        assert time.monotonic() < end, alive
        time.sleep(0.05)


def _command_of(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def test_a_pdf_without_pypdf_says_how_to_get_it(refusal: Check, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "report.pdf").write_bytes(pdf("One."))
    monkeypatch.setitem(sys.modules, "pypdf", None)
    said = refusal(["report.pdf"])
    assert "discussion.input_files.files[0].path: " in said
    assert "pip install 'ai-battle[pdf]'" in said


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_nobody_may_look_into_is_named(refusal: Check, folder: Path) -> None:
    (folder / "dark").mkdir()
    (folder / "dark" / "a.txt").write_text("Hidden.")
    (folder / "dark").chmod(0)
    try:
        assert "dark/ can't be read: Permission denied" in refusal({"directory": "dark"})
        assert "'dark/a.txt' can't be read: Permission denied" in refusal(["dark/a.txt"])
    finally:
        (folder / "dark").chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_and_a_device_are_not_waited_for(refusal: Check, folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    assert "pipe.txt is not a regular file but a pipe" in refusal(["pipe.txt"])
    assert "/dev/zero is not a regular file but a device or a socket" in refusal(["/dev/zero"])


def test_a_link_that_leads_nowhere_is_named_as_that(refusal: Check, folder: Path) -> None:
    (folder / "round.txt").symlink_to("round.txt")
    (folder / "gone.txt").symlink_to("not-there.txt")
    assert "'round.txt' is a link that leads to no file" in refusal(["round.txt"])
    assert "'gone.txt' is a link that leads to no file" in refusal(["gone.txt"])


@pytest.mark.slow
def test_a_folder_of_too_many_files_is_not_looked_through(refusal: Check, folder: Path) -> None:
    (folder / "many").mkdir()
    for number in range(20_001):
        (folder / "many" / f"{number}.txt").touch()
    assert "discussion.input_files.directory: the directory has more than 20,000 entries" in refusal(
        {"directory": "many"}
    )


def test_what_a_folder_has_beside_files_that_can_be_sent_is_left_out_and_told(ai_battle: Run, folder: Path) -> None:
    (folder / "src" / "deep" / ".git").mkdir(parents=True)
    (folder / "outside.py").write_text("password = 1\n")
    (folder / "src" / "link.py").symlink_to(folder / "outside.py")
    (folder / "src" / "inner.py").symlink_to("deep/b.py")
    (folder / "src" / "round.py").symlink_to("round.py")
    (folder / "src" / "around").symlink_to(folder / "src")
    for name in ("a.py", "deep/b.py", ".hidden.py", "deep/.git/c.py"):
        (folder / "src" / name).write_text(f"# this is {name}\n")
    (folder / "src" / "data.py").write_bytes(b"\0\1\2")
    (folder / "src" / "none.py").touch()
    talk = {
        "goal": "Look.",
        "turns": 1,
        "models": SCRIPTED,
        "input_files": {"directory": "src", "file_pattern": "**/*.py"},
    }
    (folder / "talk.yaml").write_text(json.dumps({"discussion": talk}))

    said = ai_battle("validate", "talk.yaml")
    sent = ai_battle("run", "talk.yaml", "--dry-run").out

    assert said.code == 0
    assert "src has files that are left out, as they are hidden: .hidden.py" in said.out
    assert "src has files that are left out, as they are neither texts nor pictures: data.py" in said.out
    assert "src has files that are left out, as they are links out of it or to nothing: link.py, round.py" in said.out
    assert "Left out: src/none.py is empty." in said.out
    assert ("this is a.py" in sent, "this is deep/b.py" in sent) == (True, True)
    assert all(name not in sent for name in ("password", "this is .hidden", "this is deep/.git"))


def test_files_that_are_too_much_together_are_told_before_they_are_sent(refusal: Check, folder: Path) -> None:
    for number in range(11):
        (folder / f"{number}.txt").write_text("x" * (2_000_000))
    said = refusal([f"{number}.txt" for number in range(11)])
    assert "discussion.input_files: 11 files have 21 MiB as they would be sent; 20 are the most" in said
