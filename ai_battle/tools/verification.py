"""Verifies answers by running programs, of the prompt or on its examples, or by computing the sum that is asked for.

Programs are assumed to be hostile: each runs in a sandbox, without network, in an empty folder, and within limits.
"""

import ast
import asyncio
import json
import re
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import cpu_count
from pathlib import Path
from time import monotonic
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..core.client import run_together
from ..core.errors import ToolError
from ..core.events import Emit
from ..core.helping import VERIFICATION, AnswerChecked
from ..core.ledger import open_budgets
from ..signals.asked_programs import AskedProgram, asked_program, syntax_tree
from ..signals.cleaning import cleaned_answer
from ..signals.final_answers import final_answer
from ..signals.numbers import displayed_numbers, is_shown
from ..signals.outcomes import Example, ProgramOutcome, confirms, examples, literal, program_for
from ..signals.sums import asked_values
from ._tasks import in_thread
from .sandbox import Level, NoFence, Outcome, Program, Sandbox, SandboxLimits, choose

LIMITS = SandboxLimits(memory=256 << 20, tasks=16, disk=8 << 20, inodes=200, file_size=4 << 20)
# The program runs in a child process whose output is discarded. Only its parent writes what is read here. It sends the
# expressions after the program has run, with a new random word, so a program can't fake results by printing them or by
# exiting early. Its own functions may still return constants: calling them is the purpose.
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
    """The output of a Python program, and for each expression its `repr` and output, or None and the error's name."""

    printed: str
    results: tuple[tuple[str | None, str], ...]


@dataclass
class FairSemaphore:
    """A bounded number of places, of which no single key can take all: the last one is for others, who wait for it.

    A program may take `seconds`; one that waits longer than `queue_seconds` seconds is not run.
    """

    places: int = max(3, cpu_count() or 1)
    queue_seconds: float = 10.0
    seconds: float = 5.0
    _of_keys: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    @cached_property
    def _all(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(self.places)

    @asynccontextmanager
    async def place(self, key: str) -> AsyncIterator[None]:
        """Holds a place while the block runs. Raises `ToolError` if none becomes free in time."""
        async with AsyncExitStack() as held:
            try:
                await self._enter(held, key)
            except TimeoutError:
                late = f"no program could be run within {self.queue_seconds:g} s: others are running"
                raise ToolError(late) from None
            yield

    async def _enter(self, held: AsyncExitStack, key: str) -> None:
        """Enters the key's own places first: who waits for those does not stand in the way of others."""
        own = self._of_keys.setdefault(key, asyncio.Semaphore(max(1, self.places - 1)))
        async with asyncio.timeout(self.queue_seconds):
            for each in (own, self._all):
                await held.enter_async_context(each)


_places: "WeakKeyDictionary[asyncio.AbstractEventLoop, FairSemaphore]" = WeakKeyDictionary()


def shared_places() -> FairSemaphore:
    """Returns the places of this event loop, which all pairs of a server share."""
    return _places.setdefault(asyncio.get_running_loop(), FairSemaphore())


class ProgramRunner:
    """Runs programs in a sandbox of `level`, chosen at first use; never without one."""

    def __init__(self, level: Level = "auto") -> None:
        self._level: Level = level if level != "none" else "auto"
        self._fence: Sandbox | None = None
        self._lack: NoFence | None = None

    async def require_fence(self) -> Sandbox:
        """Returns the sandbox. Raises `NoFence` if there is none; the search is done only once."""
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
        """Runs a program in an empty folder. Raises `ToolError` if it can't be run."""
        fence = await self.require_fence()
        with tempfile.TemporaryDirectory(prefix="ai-battle-", ignore_cleanup_errors=True) as folder:
            return await fence.run(program, Path(folder), LIMITS)

    async def run_python(self, source: str, expressions: list[str]) -> PythonRun | None:
        """Runs a Python program and then evaluates expressions; returns None if it does not get that far."""
        code = _HARNESS.format(given=json.dumps([source, expressions]))
        ran = await self.run(Program("python", code, shared_places().seconds))
        try:
            printed, results = json.loads(ran.stdout)
        except ValueError:
            return None
        return PythonRun(printed, tuple((value, message) for value, message in results))


KEPT, SHOWN = 256, 200
RETRY_AFTER = 60.0
Verdict = tuple[bool, str]
"""True if an answer is right, and the finding in words."""
T = TypeVar("T")
_SURROUNDINGS = """\
    calendar ctypes email getpass glob inspect io locale logging multiprocessing os pathlib pkgutil platform pwd
    resource secrets shutil site socket subprocess sys sysconfig tempfile threading time traceback urllib uuid
    zoneinfo"""
_MODULES = frozenset(_SURROUNDINGS.split())
_NAMES = frozenset(
    ("now", "today", "utcnow", "fromtimestamp", "astimezone", "__file__", "__import__", "open", "dir", "vars")
)
_SCRIPTS = re.compile(
    r"\b(?:Date|Intl|process|require|import|performance|__dirname|__filename|toLocale\w+|date|pwd|ls|find|env|id|whoami"
    r"|hostname|uname|cat|stat|ps|which|RANDOM|SECONDS|HOME|PWD|USER|PATH|HOSTNAME|BASHPID|PPID)\b|\$[0$]|~"
)


class Verification:
    """Checks answers without using tokens. The outcome of a program is kept for later answers.

    Without a working sandbox nothing is verified; if `required`, `NoFence` is raised instead.
    """

    def __init__(self, level: Level = "auto", *, required: bool = False) -> None:
        self._required = required
        self._runner = ProgramRunner(level)
        self._outcomes: OrderedDict[AskedProgram, tuple[ProgramOutcome | None, float]] = OrderedDict()
        self._locks: WeakValueDictionary[AskedProgram, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, prompt: str, answer: str, emit: Emit) -> tuple[AnswerChecked, str, str] | None:
        """Returns the finding about an answer, the words of a refutation, and those of them that are about the prompt
        itself.

        None if there is nothing to run or no conclusion. Raises `ToolError` if the program could not be run.
        """
        program = asked_program(prompt)
        found = _by_sum(prompt, answer) or await self._by_running(program, prompt, answer)
        if found is None:
            return None
        holds, words = found
        signal = "verified" if holds else "refuted"
        objection = "" if holds else words
        return AnswerChecked(VERIFICATION, {signal: 1.0}, f"{signal}: {words}"), objection, objection if program else ""

    async def outcome(self, program: AskedProgram) -> ProgramOutcome | None:
        """Returns the outcome of the program; None if it fails, exceeds a limit, or has different outcomes.

        A missing outcome is remembered for a minute only, as a busy machine may have been the reason. Raises
        `ToolError` if it could not be run.
        """
        # One lock per program, so that equal answers that arrive at the same time run it once.
        async with self._locks.setdefault(program, asyncio.Lock()):
            found, until = self._outcomes.get(program, (None, 0.0))
            if found is None and until < monotonic():
                found = await _twice_the_same(lambda: self._run_asked(program))
                self._outcomes[program] = found, monotonic() + RETRY_AFTER
                while len(self._outcomes) > KEPT:
                    self._outcomes.popitem(last=False)
            return found

    async def _by_running(self, program: AskedProgram | None, prompt: str, answer: str) -> Verdict | None:
        try:
            return await (self._by_outcome(program, answer) if program else self._by_examples(prompt, answer))
        except NoFence:
            if self._required:
                raise
            return None
        except ToolError as problem:
            raise ToolError(f"the answer goes on unverified: {problem}") from problem

    async def _by_outcome(self, program: AskedProgram, answer: str) -> Verdict | None:
        outcome = await self.outcome(program)
        if outcome is None or (holds := confirms(answer, outcome)) is None:
            return None
        if not holds and (
            not program.is_all or reads_surroundings(program.language, program.source, program.expression)
        ):
            return None
        what = f"{program.expression} is" if program.expression and not outcome.is_printed else "the program prints"
        return holds, f"{_excerpt(what)} {_excerpt(outcome.text.strip())}, as running it shows"

    async def _by_examples(self, prompt: str, answer: str) -> Verdict | None:
        wanted = examples(prompt)
        if not (program := program_for(answer, prompt, wanted) if wanted else ""):
            return None
        calls = [example.call for example in wanted]
        ran = await _twice_the_same(lambda: self._runner.run_python(program, calls))
        if ran is None or len(ran.results) != len(wanted):
            return None
        return _verdict_by_examples(program, list(zip(wanted, ran.results, strict=True)))

    async def _run_asked(self, program: AskedProgram) -> ProgramOutcome | None:
        if program.language != "python":
            ran = await self._runner.run(Program(program.language, program.source, shared_places().seconds))
            return ProgramOutcome(ran.stdout, is_printed=True) if not ran.exit_code and ran.stdout else None
        found = await self._runner.run_python(program.source, [program.expression] if program.expression else [])
        return _outcome_of(found) if found else None


async def _twice_the_same(run: Callable[[], Awaitable[T | None]]) -> T | None:
    """Runs it twice in parallel in one place and returns the result; None if there is none or the two differ."""
    async with shared_places().place(next((budget.payer for budget in open_budgets()), "")):
        first, second = await run_together(run(), run())
        return first if first == second else None


def _outcome_of(ran: PythonRun) -> ProgramOutcome | None:
    if not ran.results:
        return ProgramOutcome(ran.printed, is_printed=True) if ran.printed.strip() else None
    ((value, printed),) = ran.results
    if value == "None" and printed.strip():
        return ProgramOutcome(printed, is_printed=True)
    return ProgramOutcome(value) if value is not None and (value == "None" or literal(value) is not None) else None


def reads_surroundings(language: str, *sources: str) -> bool:
    """Returns whether a program may behave differently elsewhere or later, even though two runs here agree."""
    if language != "python":
        return any(map(_SCRIPTS.search, sources))
    trees = [syntax_tree(source) for source in sources]
    return any(tree is None or any(map(_reads_surroundings, ast.walk(tree))) for tree in trees)


def _reads_surroundings(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(name.name.partition(".")[0] in _MODULES for name in names)
        case ast.ImportFrom(module=module):
            return (module or "").partition(".")[0] in _MODULES
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _NAMES
    return False


def _by_sum(prompt: str, answer: str) -> Verdict | None:
    """Checks whether the answer is the one sum that a prompt asks for. Refuting other numbers is up to the detector."""
    values = asked_values(prompt)
    final = final_answer(cleaned_answer(answer).text, prompt, "number") if values else None
    if final is None or not any(is_shown(value, displayed_numbers(final.key)) for value in values):
        return None
    return True, f"what the prompt asks for comes to {final.key}"


def _verdict_by_examples(program: str, results: list[tuple[Example, tuple[str | None, str]]]) -> Verdict | None:
    missed = [each for each in results if not _is_met(*each)]
    if not missed:
        return True, f"its program meets {len(results)} of {len(results)} examples of the prompt"
    refuting = [each for each in missed if not _is_unsure(*each)]
    if not refuting or reads_surroundings("python", program):
        return None
    example, (value, message) = refuting[0]
    came = f"is {value}" if value is not None else f"raises {message}"
    return False, f"{_excerpt(example.call)} {_excerpt(came)}, and must be {_excerpt(example.expected)}"


def _is_met(example: Example, result: tuple[str | None, str]) -> bool:
    value = result[0]
    return value is not None and ProgramOutcome(value).is_same(example.expected)


def _is_unsure(example: Example, result: tuple[str | None, str]) -> bool:
    """Returns whether a miss may not be the program's fault: the sandbox withholds things, and examples are rounded."""
    value, message = result
    return not message if value is None else ProgramOutcome(value).is_rounded(example.expected)


def _excerpt(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
