"""What large files take of the memory of a run: little more than what is sent of them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader, PdfWriter

from .material import needs_ffmpeg, pdf, picture, video

MB = 1_000_000
MOST = 200 * MB
PROGRAM = """
import asyncio, json, os, resource, sys
from ai_battle import ConversationManager
from ai_battle.testing import FakeProviders

async def main(files):
    async with FakeProviders() as fakes:
        os.environ.update(fakes.environment)
        models = {"A": {"type": "gpt-4o"}, "B": {"type": "anthropic/claude-sonnet-4-5"}}
        talk = {"turns": 2, "goal": "Look.", "models": models, "input_files": files}
        result = await ConversationManager.from_config({"discussion": talk}).run_discussion()
        assert result.status == "done"
        return [len(question.raw) for question in fakes.openai.questions]

sent = asyncio.run(main(json.loads(sys.argv[1])))
# Not ru_maxrss of this process: that has what the one that started it had.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(json.dumps({"sent": sent, "own": int(peak.split()[1]) * 1024, "children": children}))
"""


def large_pdf(folder: Path) -> Any:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(pdf(*(f"Page {number}" for number in range(200))))))
    writer.add_attachment("raw.bin", os.urandom(40 * MB))
    writer.write(str(folder / "large.pdf"))
    return ["large.pdf"]


def many_pictures(folder: Path) -> Any:
    (folder / "shots").mkdir()
    data = picture(2400, 1800, quality=80)
    for number in range(300):
        (folder / "shots" / f"{number:03}.jpg").write_bytes(data)
    return {"directory": "shots", "max_files": 300}


def long_video(folder: Path) -> Any:
    video(folder / "long.mp4", seconds=300, size="1280x720")
    return ["long.mp4"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("make", [large_pdf, many_pictures, pytest.param(long_video, marks=needs_ffmpeg)])
def test_large_files_take_little_memory_and_are_bounded_on_the_wire(make: Callable[[Path], Any], here: Path) -> None:
    without, with_files = _measure([]), _measure(make(here))

    print(make.__name__, {name: with_files[name] for name in with_files}, "without", without["own"])
    assert with_files["own"] - without["own"] < MOST
    assert with_files["children"] < MOST
    first, *later = with_files["sent"]
    assert first < 20 * MB
    assert max(later) <= first + 10_000, "and what was said"


def _measure(files: Any) -> Any:
    made = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(files)], capture_output=True, text=True, check=True
    )
    return json.loads(made.stdout)
