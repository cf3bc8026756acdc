"""The text of a PDF, read by another process: one that takes too long or too much memory is ended."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from ...core import plugins
from ...core.errors import ToolError
from .._tasks import in_thread

PROGRAM = Path(__file__).with_name("pdf_text.py")


async def pdf_text(data: bytes, seconds: float) -> dict[str, Any]:
    """Its title, text and number of pages; raises `ToolError` for what can't be read."""
    await in_thread(plugins.optional, "pypdf", "web")
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(PROGRAM),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={},
    )  # fmt: skip
    try:
        async with asyncio.timeout(seconds):
            written, _ = await child.communicate(data)
    except TimeoutError as error:
        raise ToolError(f"The PDF could not be read within {seconds:g} s.") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    try:
        found: dict[str, Any] = json.loads(written)
    except ValueError as error:
        raise ToolError("The PDF can't be read: it is damaged, or needs too much memory.") from error
    if "error" in found:
        raise ToolError(f"The PDF can't be read: {found['error']}.")
    return found
