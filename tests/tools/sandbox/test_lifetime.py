"""A program lives no longer than somebody waits for it."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ai_battle.core.errors import ToolError
from ai_battle.tools.sandbox import Bubblewrap, GuestPaths, HostPaths, Program, Sandbox

from .conftest import Run, appears, no_bubblewrap, survivor_pids, survivors, wait_until_gone

_OWNER = """
import asyncio, sys
from pathlib import Path
from ai_battle.tools.sandbox import Program, choose
code = "import os, time; os.fork(); open('started', 'w').close(); time.sleep(60)"
asyncio.run(choose().run(Program("python", code, 60.0), Path(sys.argv[1])))
"""


async def test_a_cancelled_run_leaves_nobody(run: Run, workspace: Path) -> None:
    code = "import os, time; os.fork(); open('started', 'w').close(); time.sleep(60)"
    task = asyncio.create_task(run(code, timeout=60))
    await appears(workspace / "started")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(30):
            await task
    assert survivors(workspace) == []


async def test_who_is_cancelled_again_while_a_program_ends_leaves_nobody_either(run: Run, workspace: Path) -> None:
    code = "import os, time; os.fork(); open('started', 'w').close(); time.sleep(60)"
    task = asyncio.create_task(run(code, timeout=60))
    await appears(workspace / "started")
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert survivors(workspace) == []


async def test_when_its_owner_is_killed_a_program_ends(workspace: Path) -> None:
    command = [sys.executable, "-c", _OWNER, str(workspace)]
    own = {**os.environ, "TMPDIR": str(workspace.parents[1])}  # what a killed owner leaves goes with the test
    with subprocess.Popen(command, env=own) as owner:  # noqa: ASYNC220
        await appears(workspace / "started")
        owner.send_signal(signal.SIGKILL)
    await wait_until_gone(workspace)


async def test_a_supervisor_that_dies_is_an_error_that_says_so(run: Run, workspace: Path) -> None:
    task = asyncio.create_task(run("import time; open('started', 'w').close(); time.sleep(60)", timeout=60))
    await appears(workspace / "started")
    os.kill(_parent(survivor_pids(workspace)[0]), signal.SIGKILL)
    with pytest.raises(ToolError, match="ended without"):
        await task
    await wait_until_gone(workspace)


_HARD_TO_REMOVE = """
import os
for top in (os.environ["TMPDIR"], os.getcwd()):
    os.chdir(top)
    for _ in range(1_200):
        os.mkdir("d")
        os.chdir("d")
    open("file", "w").close()
    os.chmod(f"{top}/d/d", 0)
    os.chmod(f"{top}/d", 0)
print("done")
"""


_TIDYING = """
import asyncio, os, shutil, sys
from ai_battle.tools.builtin.code_execution import CodeExecutionTool
from ai_battle.tools.sandbox import Bubblewrap, Landlock, Program, Sandbox
def remaining():  # but for what the fence keeps as long as this process lives
    return [name for name in os.listdir(os.environ["TMPDIR"]) if not name.startswith("ai-battle-etc-")]
fence = Bubblewrap(shutil.which("bwrap")) if sys.argv[1] == "bubblewrap" else Landlock()
tool = CodeExecutionTool()
before = remaining()
outcome = asyncio.run(Sandbox(fence).run(Program("python", sys.argv[2]), tool.workspace))
print(outcome.stdout, outcome.stderr, end="")
print(len(before), remaining() == before)
del tool
print(remaining())
"""


def test_nothing_is_left_of_what_is_hard_to_remove(sandbox: Sandbox, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _TIDYING, sandbox.name, _HARD_TO_REMOVE],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (told.stdout, told.stderr) == ("done\n 1 True\n[]\n", "")
    assert os.listdir(tmp_path) == []


_SPEAKS_FOR_ITS_SUPERVISOR = """
import os, signal
for pid in {1, os.getppid()}:
    for number in (0, 1, 2):
        try:
            print("ESCAPED", os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY))
        except OSError:
            pass
os.kill(os.getppid(), signal.SIGKILL)
print("done")
"""


class _WithoutLandlock(Bubblewrap):
    def inside(self, paths: HostPaths) -> GuestPaths:
        return replace(super().inside(paths), writable=())


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_namespaces_alone_keep_a_program_from_its_supervisor(workspace: Path) -> None:
    """Who could write to its descriptors could answer in its place, and who could kill it would not be watched."""
    sandbox = Sandbox(_WithoutLandlock(shutil.which("bwrap") or ""))
    outcome = await sandbox.run(Program("python", _SPEAKS_FOR_ITS_SUPERVISOR), workspace)
    assert (outcome.stdout, outcome.exit_code) == ("done\n", 0)


def _parent(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("PPid:"))


async def test_many_programs_at_once(sandbox: Sandbox, workspace: Path) -> None:
    async def one(number: int) -> str:
        return (await sandbox.run(Program("python", f"print({number})", 20.0), workspace)).stdout

    assert await asyncio.gather(*map(one, range(12))) == [f"{number}\n" for number in range(12)]
