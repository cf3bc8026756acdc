"""Runs a program that prints a number, in a sandbox and as a plain process."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from ai_battle.tools.sandbox import Landlock, Program, Sandbox, SandboxLimits, choose

CODE = "print(1)"


def fences() -> dict[str, Sandbox]:
    """Returns the sandbox that is chosen on this machine, and the one without namespaces."""
    chosen = choose()
    return {found.name: found for found in (chosen, Sandbox(Landlock()))}


def run_fenced(sandbox: Sandbox) -> float:
    """Returns the milliseconds of the program in a sandbox."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as workspace:
        work = sandbox.run(Program("python", CODE), Path(workspace), SandboxLimits())
        started = time.perf_counter()
        assert asyncio.run(work).stdout == "1\n"
        return (time.perf_counter() - started) * 1e3


def plain() -> float:
    """Returns the milliseconds of the program as a plain process."""

    async def work() -> None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", CODE, stdout=-1, stderr=-1)
        assert (await process.communicate())[0] == b"1\n"

    started = time.perf_counter()
    asyncio.run(work())
    return (time.perf_counter() - started) * 1e3
