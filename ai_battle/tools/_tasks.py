"""Tasks that leave nothing behind, and daemon threads for blocking calls, so that none of them delays the exit."""

import asyncio
import contextvars
import inspect
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Thread
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
# A future can't hold the first. The others are not real interrupts in a thread, and would disturb the event loop.
FOREIGN_TO_FUTURES = (StopIteration, KeyboardInterrupt, GeneratorExit)


async def in_thread(function: Callable[Given, Made], *args: Given.args, **options: Given.kwargs) -> Made:
    """Runs `function` in a daemon thread with this context. If the caller is cancelled, the thread is left running."""
    made: Future[Made] = Future()

    def fail(kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error:
            made.set_exception(RuntimeError(type(error).__name__) if isinstance(error, FOREIGN_TO_FUTURES) else error)
        return True

    def work() -> None:
        with ExitStack() as stack:
            stack.push(fail)
            made.set_result(function(*args, **options))

    made.set_running_or_notify_cancel()
    Thread(target=contextvars.copy_context().run, args=(work,), name="ai-battle tool", daemon=True).start()
    return await asyncio.wrap_future(made)


async def call_function(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Returns what a function returns, `async` or not; one that is not runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **options)
    returned = await in_thread(function, *args, **options)
    return await returned if inspect.isawaitable(returned) else returned


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
