"""The process that starts one program behind the fence, watches it, and ends it with everything it has started."""

import _socket
import gc
import marshal
import os
import select
import time

from . import _enter, _notices, _system, _tree, _way_out
from ._output import Output
from ._watchdog import Watchdog
from .orders import Orders

_LIFELINE, _ANSWER = 0, 1
_LINGER = 0.3  # how long output is still read when the program has ended but somebody holds its pipe
_CHUNK = 65536


def main(orders: Orders) -> None:
    """Stdin stays open as long as somebody wants the answer, that goes to stdout.

    Returns only in the process that is to run a Python program.
    """
    _system.prctl(_system.SET_CHILD_SUBREAPER, 1)
    _system.prctl(_system.SET_DUMPABLE, 0)
    if orders.gate >= 0:
        _way_out.opened(orders.gate)
    started = time.monotonic()
    watchdog = Watchdog(orders)
    child = _start(orders)
    if not child.pid:
        return
    _tell({"trouble": child.trouble} if child.trouble else _watched(_Run(orders, watchdog, child), started))
    os._exit(0)


def _tell(content: dict[str, object]) -> None:
    answer = marshal.dumps(content, 4)
    while answer:
        answer = answer[os.write(_ANSWER, answer) :]


def _watched(run: "_Run", started: float) -> dict[str, object]:
    run.watch(started)
    return {
        "stdout": run.outputs[0].kept(),
        "stderr": run.outputs[1].kept(),
        "status": run.status,
        "killed_because": run.verdict,
        "seconds": time.monotonic() - started,
    }


class _Run:
    """One program from its start to the end of its last descendant."""

    def __init__(self, orders: Orders, watchdog: Watchdog, child: "_Child") -> None:
        self._orders = orders
        self._watchdog = watchdog
        self.outputs = (Output(orders.output), Output(orders.output))
        self.status: int | None = None
        self.verdict = ""
        self._pid = child.pid
        self._streams = dict(zip(child.streams, self.outputs, strict=True))
        self._listener = child.listener
        self._ended = os.pidfd_open(self._pid) if _system.LINUX else -1
        self._poll = select.poll()
        for descriptor in (_LIFELINE, self._ended, *child.streams, child.listener):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    def watch(self, started: float) -> None:
        """Whatever happens, nobody is left."""
        try:
            self._watch(started)
        finally:
            self._end()

    def _watch(self, started: float) -> None:
        looked, until = started, started + self._orders.seconds
        while self._goes_on(until):
            was_running = self.status is None
            self._listen(min(self._watchdog.pause, max(0.0, until - time.monotonic())))
            if was_running and self.status is not None:
                until = min(until, time.monotonic() + _LINGER)
            if time.monotonic() - looked >= self._watchdog.pause:
                self._bury()  # the dead count for nothing
                self.verdict = self.verdict or self._watchdog.verdict()
                looked = time.monotonic()
        if not self.verdict and self.status is None:
            self.verdict = "time"

    def _goes_on(self, until: float) -> bool:
        return not self.verdict and time.monotonic() < until and bool(self._streams or self.status is None)

    def _listen(self, seconds: float) -> None:
        for descriptor, events in self._poll.poll(seconds * 1000):
            if descriptor == self._listener and not events & select.POLLIN:
                self._poll.unregister(descriptor)  # nobody is left who could call
            else:
                self._heed(descriptor)

    def _heed(self, descriptor: int) -> None:
        if descriptor == self._ended:
            self._poll.unregister(descriptor)
            self._bury()
        elif descriptor == _LIFELINE:
            self.verdict = "cancelled"
        elif descriptor == self._listener:
            self._answer_call()
        else:
            self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._streams[descriptor].feed(data)
        if not data:
            self._poll.unregister(descriptor)
            del self._streams[descriptor]
        elif sum(output.total for output in self.outputs) > self._orders.drain:
            self.verdict = "output"

    def _answer_call(self) -> None:
        if not _notices.answer_one(self._listener, self._orders):
            self._poll.unregister(self._listener)

    def _bury(self) -> None:
        died, _ = _tree.reap(self._pid)
        self.status = died if self.status is None else self.status

    def _end(self) -> None:
        died = _tree.sweep(self._pid)
        self.status = died if self.status is None else self.status
        for descriptor, output in self._streams.items():
            os.set_blocking(descriptor, False)
            try:
                output.feed(os.read(descriptor, _CHUNK))
            except BlockingIOError:
                continue


class _Child:
    """`pid` is 0 in the child itself; `trouble` is why it did not start."""

    def __init__(self, pid: int, streams: tuple[int, int] = (1, 2), trouble: str = "", listener: int = -1) -> None:
        self.pid = pid
        self.streams = streams
        self.trouble = trouble
        self.listener = listener


def _start(orders: Orders) -> _Child:
    (out, out_in), (err, err_in), (trouble, trouble_in) = os.pipe(), os.pipe(), os.pipe()
    post, post_in = _socket.socketpair()
    gc.freeze()  # what is not looked at is not copied for the child, which saves it milliseconds
    pid = os.fork()
    if not pid:
        _enter.become(orders, (out_in, err_in), trouble_in, post_in)
        return _Child(0)
    for descriptor in (out_in, err_in, trouble_in):
        os.close(descriptor)
    message = os.read(trouble, _CHUNK).decode(errors="replace")  # at its end when the program starts
    os.close(trouble)
    listener = _notices.received(post) if orders.calls and not message else -1
    return _Child(pid, (out, err), message, listener)
