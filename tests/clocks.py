"""The event loop of tests: they set its clock forward instead of waiting."""

import asyncio


class SettableLoop(asyncio.SelectorEventLoop):
    """Its time is that of the machine, and `later` seconds."""

    later = 0.0

    def time(self) -> float:
        return super().time() + self.later


def set_forward(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SettableLoop)
    loop.later += seconds
