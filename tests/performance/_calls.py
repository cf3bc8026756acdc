"""Counts the functions of Python that a turn calls, which are the same on every machine under any load."""

import asyncio
from collections.abc import Callable, Coroutine
from cProfile import Profile
from typing import Any

FEW, MANY = 20, 60


def counts(work: Callable[[int], Coroutine[Any, Any, Any]]) -> tuple[float, float]:
    """Returns the calls of a turn, and those of a run besides its turns.

    A first run, which is not counted, does what is done once in a process.
    """
    asyncio.run(work(FEW))
    few, many = _calls(work(FEW)), _calls(work(MANY))
    turn = (many - few) / (MANY - FEW)
    return turn, few - FEW * turn


def _calls(work: Coroutine[Any, Any, Any]) -> int:
    with Profile() as profile:
        asyncio.run(work)
    return sum(entry.callcount for entry in profile.getstats() if not isinstance(entry.code, str))
