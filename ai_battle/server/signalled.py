"""What the operating system tells a server: to end, to end at once, to look at its file."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass, field

END = ("SIGINT", "SIGTERM")
AGAIN = ("SIGHUP",)  # not on every system


@dataclass(frozen=True, slots=True)
class Signalled:
    """Events that are set by signals from `listen` on; after `forget` a signal to end just ends the process."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    again: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self) -> None:
        for names, event in ((END, self.over), (AGAIN, self.again)):
            for number in _known(names):
                _on(number, event)

    def forget(self) -> None:
        for number in _known(END):
            with suppress(NotImplementedError):
                asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)


def _known(names: tuple[str, ...]) -> list[signal.Signals]:
    return [signal.Signals[name] for name in names if name in signal.Signals.__members__]


def _on(number: signal.Signals, event: asyncio.Event) -> None:
    """Windows' event loop knows no signals, but its Python does."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(number, event.set)
    except NotImplementedError:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(event.set))
