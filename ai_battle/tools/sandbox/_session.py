"""One supervisor process, from the orders it gets to the answer it gives."""

import asyncio
import marshal
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from ...core.errors import ToolError
from ._fences import Fence, Site
from ._parcel import opening, parcel
from .fence.orders import Orders

_PATIENCE = 10.0  # for a supervisor to start, and to end whatever the program has started
# The workspace is not at home here: an interpreter runs what it finds there before there is a fence.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent"}


async def supervise(fence: Fence, site: Site, orders: Orders) -> Mapping[str, Any]:
    """The supervisor's answer; `ToolError` when it gave none. A caller who is cancelled ends the program."""
    command = (*fence.around(site), fence.python, *opening(orders))
    process = await _start_whole(_started(command, fence.environment, (orders.gate,) if orders.gate >= 0 else ()))
    try:
        answer, trouble = await asyncio.wait_for(
            _exchange(process, parcel(orders, fence.python)), orders.seconds + _PATIENCE
        )
    except TimeoutError as error:
        raise ToolError("The supervisor of the program did not answer; the program was killed.") from error
    finally:
        await _ended(process)
    if not answer:
        raise ToolError(f"The fence could not be built: {_last_line(trouble)}")
    return _understood(answer)


async def _started(
    command: Sequence[str], environment: Mapping[str, str], handed_over: Sequence[int]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**_ENVIRONMENT, **environment},
            cwd="/",
            start_new_session=True,
            pass_fds=handed_over,
        )
    except OSError as error:
        raise ToolError(f"The fence could not be built: {error}") from error


async def _start_whole(start: Awaitable[asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """Starts a process; a caller who is cancelled meanwhile waits for it and ends it.

    To cancel asyncio while it connects the pipes of a process can wait for ever.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _ended(await starting)
        raise


async def _exchange(process: asyncio.subprocess.Process, content: bytes) -> tuple[bytes, bytes]:
    inlet, outlet, complaints = process.stdin, process.stdout, process.stderr
    assert inlet is not None
    assert outlet is not None
    assert complaints is not None
    inlet.write(content)
    answer, trouble = await asyncio.gather(outlet.read(), complaints.read())
    return answer, trouble


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Without its lifeline a supervisor ends everything; one that can't is killed, and a namespace dies with it."""
    assert process.stdin
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()


def _understood(answer: bytes) -> Mapping[str, Any]:
    content: Mapping[str, Any] = marshal.loads(answer)  # noqa: S302 - from our own supervisor, not from the program
    if "trouble" in content:
        raise ToolError(f"The fence could not be built: {content['trouble']}")
    return content


def _last_line(trouble: bytes) -> str:
    return (trouble.decode(errors="replace").strip().splitlines() or ["it ended without a word"])[-1]
