"""What lives as long as the event loop: connection pools and shared states, closed and forgotten with it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    async def close(self) -> None: ...


T = TypeVar("T")
C = TypeVar("C", bound=Closable)

_kept: dict[asyncio.AbstractEventLoop, dict[Hashable, Any]] = {}


def loop_value(key: Hashable, make: Callable[[], T]) -> T:
    """The value of `key` in the running event loop, made when it is first asked for."""
    here = _of_this_loop()
    if key not in here:
        here[key] = make()
    value: T = here[key]
    return value


async def loop_resource(key: Hashable, opening: Callable[[], C]) -> C:
    """Returns what `opening()` opens, once per event loop; the loop closes it when it shuts down."""
    here = _of_this_loop()
    if key not in here:
        holder = _hold(opening())
        here[key] = (await anext(holder), holder)
    resource: C = here[key][0]
    return resource


async def _hold(resource: C) -> AsyncGenerator[C]:
    """Suspended while in use: `loop.shutdown_asyncgens()` (asyncio.run, pytest) ends it, which closes the resource."""
    try:
        yield resource
    finally:
        _kept.pop(asyncio.get_running_loop(), None)
        await resource.close()


def _of_this_loop() -> dict[Hashable, Any]:
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        for closed in [other for other in _kept if other.is_closed()]:
            del _kept[closed]
        _kept[loop] = {}
    return _kept[loop]
