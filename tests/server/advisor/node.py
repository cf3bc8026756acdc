"""Programs of the npm registry, installed into a folder of the test run, without their install scripts."""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest


def install(folder: Path, *packages: str) -> Path:
    """Returns the folder of the packages; the test is skipped, with a word, where they can't be had."""
    if not (npm := shutil.which("npm")) or not shutil.which("node"):
        pytest.skip("there is no Node.js with npm here")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    typed = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", *packages]
    try:
        done = subprocess.run(typed, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not get {', '.join(packages)} in four minutes")
    if done.returncode:
        pytest.skip(f"npm can't get {', '.join(packages)}: {done.stderr.strip().splitlines()[-1]}")
    return folder


async def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Returns what it prints, once it has ended well; it gets no variables of this process but PATH, and no input."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)  # what it has started would go on without it
            await process.wait()
    assert process.returncode == 0, (out + err).decode()
    return out.decode()
