"""`ask` and `run` for scripts and notebooks: they return when there is a result, also where a loop runs already."""

import asyncio
import contextvars
import os
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ..config.documents import Source
from ..config.loading import LoadedDiscussion
from ..core.events import Emit, ignore
from ..core.exchange import EVERYTHING, WHOLE_ANSWER, ModelResponse
from . import asking
from .manager import ConversationManager, RunResult

T = TypeVar("T")


def ask(
    question: str,
    model: str,
    *,
    helper: str = "",
    strategy: str = "rescue",
    system: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    describe_with: str = "",
    max_cost: float | None = None,
    emit: Emit = ignore,
) -> ModelResponse:
    """The answer of a model to one question; its `text` is what it says, its `usage` what all calls came to.

    `helper` is a larger model that is asked, in the way of `strategy`, where the answer looks poor. `files` go with
    the question, and `describe_with` is the model that describes pictures of them to one that sees none. `max_cost` is
    in dollars. Raises `ConfigError` and `ProviderError`.
    """
    how: dict[str, Any] = {"helper": helper, "strategy": strategy, "describe_with": describe_with}
    loaded = asking.question(question, model, files=files, max_cost=max_cost, **how)
    wants = WHOLE_ANSWER if emit is ignore else EVERYTHING
    return wait_for(asking.answer(loaded, emit, wants, system))


def run(
    source: Source | LoadedDiscussion, *, out: str | os.PathLike[str] | None = None, emit: Emit = ignore
) -> RunResult:
    """A discussion from its beginning to its end: of a YAML file, a packaged name, or a dictionary of that shape.

    `out` is the run directory, by default a new one under `runs/`. Raises `ConfigError` with all that is wrong.
    """
    return wait_for(ConversationManager.from_config(source, out=out).run_discussion(emit))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Waits for the coroutine and returns its result.

    Ctrl-C, or a notebook's stop button, cancels it and keeps what is done.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A loop can't wait for itself, so that of a notebook stands still while another one does the work.
    begun: list[asyncio.Task[Any]] = []

    async def begin() -> T:
        begun.extend(filter(None, [asyncio.current_task()]))
        return await work

    with ThreadPoolExecutor(1, "ai-battle") as thread:
        result = thread.submit(contextvars.copy_context().run, asyncio.run, begin())
        try:
            return result.result()
        except KeyboardInterrupt:
            for task in begun:
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
