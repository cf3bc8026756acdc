"""The event loop of tests: they set its clock forward instead of waiting, and stop it where nothing may be late."""

import asyncio


class SettableLoop(asyncio.SelectorEventLoop):
    """Its time is that of the machine, or stands still, and `later` seconds."""

    later = 0.0
    stopped_at: float | None = None

    def time(self) -> float:
        return (super().time() if self.stopped_at is None else self.stopped_at) + self.later


def set_forward(seconds: float) -> None:
    _loop().later += seconds


def stop_clock() -> None:
    """Lets no time pass for the rest of the test, so that nothing ends too early on a slow machine."""
    loop = _loop()
    loop.stopped_at = loop.time() - loop.later


def _loop() -> SettableLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettableLoop)
    return loop
