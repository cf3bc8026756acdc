"""Docker's own engine, where it is with its image. What is said to it is in test_arguments."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Program, Sandbox

from .conftest import a_workspace, appears, survivors, wait_until_gone

pytestmark = pytest.mark.slow
_WAITS = "import os, time; os.fork(); open('started', 'w').close(); time.sleep(60)"
_OWNER = f"""
import asyncio, sys
from pathlib import Path
from ai_battle.tools.sandbox import Program, choose
asyncio.run(choose("docker").run(Program("python", {_WAITS!r}, 60.0), Path(sys.argv[1])))
"""


async def test_a_container_runs_programs_by_its_own_python(engine: Sandbox) -> None:
    with a_workspace() as outer:
        workspace = outer / 'a "quoted", folder'
        (workspace / ".git" / "hooks").mkdir(parents=True)
        code = "import os; print(os.getcwd(), os.listdir('.')); open('new', 'w').write('kept')"
        outcome = await engine.run(Program("python", code), workspace)
        assert (outcome.stdout, outcome.stderr) == (f"{workspace} ['.git']\n", "")
        refused = "cat new; echo x > .git/hooks/pre-push || echo refused"
        assert (await engine.run(Program("bash", refused), workspace)).stdout == "keptrefused\n"


async def test_a_program_that_is_too_slow_leaves_no_container(engine: Sandbox, workspace: Path) -> None:
    outcome = await engine.run(Program("python", _WAITS, 2.0), workspace)
    assert outcome.killed_because == "time"
    assert survivors(workspace) == []


async def test_a_cancelled_run_leaves_no_container(engine: Sandbox, workspace: Path) -> None:
    task = asyncio.create_task(engine.run(Program("python", _WAITS, 60.0), workspace))
    await appears(workspace / "started")
    assert survivors(workspace)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(30):
            await task
    assert survivors(workspace) == []


async def test_no_container_outlives_its_owner(engine: Sandbox, workspace: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(workspace)])  # noqa: ASYNC220
    await appears(workspace / "started")
    owner.kill()
    owner.wait()
    await wait_until_gone(workspace)
