"""Several things at once, of which nothing stays behind."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def together(work: Sequence[Awaitable[T]]) -> list[T]:
    """All of it at once; when one fails, or the whole is cancelled, nothing is left running."""
    if len(work) == 1:
        return [await work[0]]
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        if left := [task for task in tasks if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
