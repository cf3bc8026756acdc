"""Programs that are clients, run in a folder of the test."""

import asyncio
import os
from pathlib import Path


async def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Returns what it prints, once it has ended well; it gets no variables of this process but PATH, and no input."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, (out + err).decode()
    return out.decode()
