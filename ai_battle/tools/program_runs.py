"""Runs programs of prompts and of answers behind a fence: in bounds, without network, and in turns that are fair."""

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from os import cpu_count
from pathlib import Path
from weakref import WeakKeyDictionary

from ..core.errors import ToolError
from ._tasks import in_thread
from .sandbox import Level, NoFence, Outcome, Program, Sandbox, SandboxLimits, choose

LIMITS = SandboxLimits(memory=256 << 20, tasks=16, disk=8 << 20, inodes=200, file_size=4 << 20)
# The program runs in a child whose output leads nowhere: only the parent writes what is read here, and it asks for the
# expressions once the program has run, under a word that is new each time. So a program that prints a result, or ends
# early, has come to none. Its own functions may still return constants: that is what calling them is for.
_HARNESS = """\
import contextlib, ctypes, io, json, marshal, os
source, expressions = json.loads({given!r})
def answer(names, printed, question, reply, eval=eval, repr=repr, load=marshal.load, dump=marshal.dump):
    dump("ready", reply)
    word, expressions = load(question)
    results = []
    for expression in expressions:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            try:
                results.append([repr(eval(expression, names)), said.getvalue()])
            except (NameError, ImportError, OSError):
                results.append([None, ""])
            except Exception as error:
                results.append([None, type(error).__name__])
    dump([word, printed.getvalue(), results], reply)
def relay(question, reply):
    if marshal.load(reply) == "ready":
        word = os.urandom(16)
        marshal.dump([word, expressions], question)
        said, printed, results = marshal.load(reply)
        if said == word:
            print(json.dumps([printed, results]), flush=True)
with contextlib.suppress(OSError, AttributeError):
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no other process opens what this one has open
(asked, asks), (replied, replies) = os.pipe(), os.pipe()
if os.fork():
    os.close(asked)
    os.close(replies)
    with contextlib.suppress(EOFError, OSError, TypeError, ValueError):
        relay(open(asks, "wb", buffering=0), open(replied, "rb"))
    os._exit(0)
nowhere = os.open(os.devnull, os.O_RDWR)
os.dup2(nowhere, 1)
os.dup2(nowhere, 2)
os.close(asks)
os.close(replied)
names = {{"__name__": "__main__"}}
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(compile(source, "<program>", "exec"), names)
answer(names, printed, open(asked, "rb"), open(replies, "wb", buffering=0))
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class PythonRun:
    """Holds what a Python program printed, and of each expression `repr` and output, or None and the error's name."""

    printed: str
    results: tuple[tuple[str | None, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    key: str
    turn: "asyncio.Future[None]"


@dataclass(slots=True)
class FairPlaces:
    """A bounded number of places, of which no single key takes all.

    A free place goes to the waiting key that has the fewest; within a key, and between equals, to who came first. A
    program may take `seconds`, and one that waits longer than `patience` is not run.
    """

    places: int = max(3, cpu_count() or 1)
    patience: float = 10.0
    seconds: float = 5.0
    _running: Counter[str] = field(default_factory=Counter)
    _queue: "list[_Waiting]" = field(default_factory=list)

    @asynccontextmanager
    async def place(self, key: str) -> AsyncIterator[None]:
        """Holds a place while the block runs. Raises `ToolError` where none gets free in time."""
        waiting = _Waiting(key, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._hand_out()
        try:
            await self._wait_for(waiting.turn)
            yield
        finally:
            if waiting in self._queue:
                self._queue.remove(waiting)
            else:
                self._running[key] -= 1
            self._hand_out()

    async def _wait_for(self, turn: "asyncio.Future[None]") -> None:
        try:
            async with asyncio.timeout(self.patience):
                await turn
        except TimeoutError:
            raise ToolError(f"no program could be run within {self.patience:g} s: others are running") from None

    def _hand_out(self) -> None:
        while self._running.total() < self.places and (following := self._next()):
            self._queue.remove(following)
            self._running[following.key] += 1
            following.turn.set_result(None)

    def _next(self) -> "_Waiting | None":
        most = max(1, self.places - 1)  # the last place is never for who has all the others
        ready = (each for each in self._queue if not each.turn.done() and self._running[each.key] < most)
        return min(ready, key=lambda each: self._running[each.key], default=None)


_places: "WeakKeyDictionary[asyncio.AbstractEventLoop, FairPlaces]" = WeakKeyDictionary()


def shared_places() -> FairPlaces:
    """Returns the places of this event loop, which all pairs of a server share."""
    return _places.setdefault(asyncio.get_running_loop(), FairPlaces())


class ProgramRunner:
    """Runs programs behind the fence of `level`, found when it is first needed; never behind none at all."""

    def __init__(self, level: Level = "auto") -> None:
        self._level: Level = level if level != "none" else "auto"
        self._fence: Sandbox | None = None
        self._lack: NoFence | None = None

    async def require_fence(self) -> Sandbox:
        """Returns the fence; raises `NoFence`, and looks for it only once."""
        if self._lack:
            raise self._lack
        if not self._fence:
            try:
                self._fence = await in_thread(choose, self._level)
            except NoFence as lack:
                self._lack = lack
                raise
        return self._fence

    async def run(self, program: Program) -> Outcome:
        """Run a program in an empty folder; raises `ToolError` where that can't be done."""
        fence = await self.require_fence()
        with tempfile.TemporaryDirectory(prefix="ai-battle-", ignore_cleanup_errors=True) as folder:
            return await fence.run(program, Path(folder), LIMITS)

    async def run_python(self, source: str, expressions: list[str]) -> PythonRun | None:
        """Run a Python program and evaluate expressions after it; None where it does not get that far."""
        code = _HARNESS.format(given=json.dumps([source, expressions]))
        ran = await self.run(Program("python", code, shared_places().seconds))
        try:
            printed, results = json.loads(ran.stdout)
        except ValueError:
            return None
        return PythonRun(printed, tuple((value, said) for value, said in results))
