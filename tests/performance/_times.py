"""Notes the times of each turn of a discussion, in the same way for the loop and the product."""

import time


class Times:
    """The CPU seconds of whole turns in `cpu`, and the wall seconds to the first text of each in `first`."""

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
        """Ends a turn. The next turn's CPU counts from here, so it includes what happens between the two."""
        now = time.process_time()
        self.cpu.append(now - self._before)
        self._before = now
