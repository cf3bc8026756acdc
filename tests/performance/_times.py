"""What is noted of each turn of a discussion, the same for the loop and for the product."""

import time


class Times:
    """`cpu` are the CPU seconds of the whole turns, `first` the wall seconds to the first text of each."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.first: list[float] = []
        self._waiting = False

    def begin(self) -> None:
        self._begun = time.perf_counter()
        self._waiting = True
        if not self.cpu:
            self._before = time.process_time()

    def text(self) -> None:
        if self._waiting:
            self._waiting = False
            self.first.append(time.perf_counter() - self._begun)

    def end(self) -> None:
        """The next turn's CPU is counted from here on, so what happens in between is the turn's too."""
        now = time.process_time()
        self.cpu.append(now - self._before)
        self._before = now
