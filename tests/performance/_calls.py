"""How many functions of Python a turn calls: the same on every machine, however busy it is."""

import asyncio
from collections.abc import Callable, Coroutine
from cProfile import Profile
from typing import Any

FEW, MANY = 20, 60


def per_turn(work: Callable[[int], Coroutine[Any, Any, Any]]) -> float:
    """Returns by how many calls a long discussion is beyond a short one; what runs only once has run before."""
    asyncio.run(work(FEW))
    few, many = _calls(work(FEW)), _calls(work(MANY))
    return (many - few) / (MANY - FEW)


def _calls(work: Coroutine[Any, Any, Any]) -> int:
    with Profile() as profile:
        asyncio.run(work)
    return sum(entry.callcount for entry in profile.getstats() if not isinstance(entry.code, str))
