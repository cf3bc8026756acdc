"""Tasks that leave nothing behind, and daemon threads for blocking calls, so that none of them delays the exit."""

import asyncio
import contextvars
import os
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
# A future can't hold the first. The others are not real interrupts in a thread, and would disturb the event loop.
FOREIGN_TO_FUTURES = (StopIteration, KeyboardInterrupt, GeneratorExit)


class _TaskOutcome:
    """Captures the result or the exception of a job, for whoever awaits it."""

    __slots__ = ("error", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        """Opens nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return True

    def settle(self, future: "asyncio.Future[Any]") -> None:
        if future.done():
            return
        if self.error is None:
            future.set_result(self.value)
        elif isinstance(self.error, FOREIGN_TO_FUTURES):
            future.set_exception(RuntimeError(type(self.error).__name__))
        else:
            future.set_exception(self.error)


Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]
Jobs = SimpleQueue[Job]
_idle: deque[Jobs] = deque()
if hasattr(os, "register_at_fork"):
    # A forked child has none of the threads of its parent.
    os.register_at_fork(after_in_child=_idle.clear)


async def in_thread(function: Callable[Given, Made], *args: Given.args, **options: Given.kwargs) -> Made:
    """Runs `function` in a daemon thread with this context. If the caller is cancelled, the thread is left running."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Made] = loop.create_future()
    jobs = _free_worker()
    jobs.put((partial(contextvars.copy_context().run, function, *args, **options), loop, future))
    return await future


def _free_worker() -> Jobs:
    with suppress(IndexError):
        return _idle.pop()
    jobs: Jobs = SimpleQueue()
    Thread(target=_work, args=(jobs,), name="ai-battle tool", daemon=True).start()
    return jobs


def _work(jobs: Jobs) -> None:
    while True:
        work, loop, future = jobs.get()
        with (outcome := _TaskOutcome()):
            outcome.value = work()
        # Idle before the caller is woken, so that its next call finds this thread.
        _idle.append(jobs)
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            loop.call_soon_threadsafe(outcome.settle, future)
        # A thread that waits for its next job must not keep the last one alive.
        del work, loop, future, outcome


async def start_process(*command: str, **options: Any) -> Process:
    """Starts a program. If the caller is cancelled meanwhile, waits for the start and kills the program.

    Cancelling asyncio while it connects the pipes of a process can hang forever.
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*command, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await finish(_discard(starting))
        raise


async def _discard(starting: "asyncio.Future[Process]") -> None:
    process = await starting
    process._transport.close()  # type: ignore[attr-defined] # kills it, and closes its pipes
    await process.wait()


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Waits until the work is done, however often the caller is cancelled meanwhile; then raises the cancellation.

    Use it for what must not be left half-done. Only the end of the event loop interrupts it.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled:
        raise cancelled
