"""Verifies answers: runs the program that a prompt asks about, or that of an answer on its examples; computes its sum.

Programs are hostile by assumption: each runs behind a fence, without network, in an empty folder, and in bounds.
`python -m ai_battle.tools.verifying FILE` writes what the programs in the prompts of a recording (`.jsonl.gz`) come to.
"""

import asyncio
import gzip
import json
import secrets
import sys
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from ..core.events import Emit
from ..core.helping import AnswerChecked
from ..signals.asked_programs import AskedProgram, asked_program
from ..signals.asked_sums import asked_values
from ..signals.cleaning import cleaned
from ..signals.examples import Example, examples, program_for
from ..signals.final_answers import final_answer
from ..signals.outcomes import ProgramOutcome, confirms, literal
from ..signals.quantities import is_shown, shown
from ._threads import in_thread
from .sandbox import Level, NoFence, Outcome, Program, Sandbox, SandboxLimits, choose

SECONDS, KEPT, AT_ONCE, SHOWN = 5.0, 256, 2, 200
LIMITS = SandboxLimits(memory=256 << 20, tasks=16, disk=8 << 20, inodes=200, file_size=4 << 20)
BY = "verification"
_HARNESS = """\
import contextlib, io, json
source, expressions, mark = json.loads({given!r})
names, results = {{"__name__": "__main__"}}, []
with contextlib.redirect_stdout(io.StringIO()) as printed:
    exec(compile(source, "<program>", "exec"), names)
for expression in expressions:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            results.append([repr(eval(expression, names)), said.getvalue()])
        except (NameError, ImportError, OSError):
            results.append([None, ""])
        except Exception as error:
            results.append([None, type(error).__name__])
print(mark + json.dumps([printed.getvalue(), results]), flush=True)
"""
Verdict = tuple[bool, str]
"""Whether an answer holds, and what came out, in words."""
T = TypeVar("T")


async def _same(*runs: Awaitable[T]) -> T | None:
    """What all runs come to; None where it is something else each time."""
    first, *others = await asyncio.gather(*runs)
    return first if all(first == other for other in others) else None


class Verification:
    """A check of answers that costs time and no tokens; what a program came to is kept for the answers that follow.

    Where no fence works here it verifies nothing; one that is `required` says so, by raising `NoFence`.
    """

    def __init__(self, level: Level = "auto", *, required: bool = False) -> None:
        self._level: Level = level if level != "none" else "auto"
        self._required = required
        self._fence: Sandbox | None = None
        self._reason = ""
        self._outcomes: OrderedDict[AskedProgram, ProgramOutcome | None] = OrderedDict()
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, prompt: str, answer: str, emit: Emit) -> tuple[AnswerChecked, str, str] | None:
        """What running shows of an answer, the words of a refutation, and what they say of the prompt itself.

        None where there is nothing to run, and where nothing can be told.
        """
        asked = asked_program(prompt)
        found = _by_sum(prompt, answer)
        if found is None:
            found = await self._by_outcome(asked, answer) if asked else await self._by_examples(prompt, answer)
        if found is None:
            return None
        holds, words = found
        if holds:
            return AnswerChecked(BY, {"verified": 1.0}, f"verified: {words}"), "", ""
        return AnswerChecked(BY, {"refuted": 1.0}, f"refuted: {words}"), words, words if asked else ""

    async def outcome(self, asked: AskedProgram) -> ProgramOutcome | None:
        """What the program comes to; None where it fails, takes too much, or comes to something else each time."""
        if asked not in self._outcomes:
            self._outcomes[asked] = await _same(self._run_asked(asked), self._run_asked(asked))
            while len(self._outcomes) > KEPT:
                self._outcomes.popitem(last=False)
        return self._outcomes[asked]

    async def _by_outcome(self, asked: AskedProgram, answer: str) -> Verdict | None:
        outcome = await self.outcome(asked)
        holds = confirms(answer, outcome) if outcome else None
        if outcome is None or holds is None or not (holds or asked.is_all):
            return None
        what = f"{asked.expression} is" if asked.expression and not outcome.is_printed else "the program prints"
        return holds, f"{_excerpt(what)} {_excerpt(outcome.text.strip())}, as running it shows"

    async def _by_examples(self, prompt: str, answer: str) -> Verdict | None:
        wanted = examples(prompt)
        program = program_for(answer, prompt, wanted) if wanted else ""
        calls = [example.call for example in wanted]
        ran = await _same(self._run(program, calls), self._run(program, calls)) if program else None
        if ran is None:
            return None
        missed = [each for each in zip(wanted, ran[1], strict=True) if not _is_met(*each)]
        if not missed:
            return True, f"its program meets {len(wanted)} of {len(wanted)} examples of the prompt"
        refuting = [each for each in missed if not _is_unsure(*each)]
        if not refuting:
            return None
        example, (value, said) = refuting[0]
        came = f"is {value}" if value is not None else f"raises {said}"
        return False, f"{_excerpt(example.call)} {_excerpt(came)}, and must be {_excerpt(example.expected)}"

    async def _run_asked(self, asked: AskedProgram) -> ProgramOutcome | None:
        if asked.language != "python":
            ran = await self._fenced(Program(asked.language, asked.source, SECONDS))
            return ProgramOutcome(ran.stdout, is_printed=True) if ran and not ran.exit_code and ran.stdout else None
        found = await self._run(asked.source, [asked.expression] if asked.expression else [])
        if found is None:
            return None
        printed, results = found
        if not results:
            return ProgramOutcome(printed, is_printed=True) if printed.strip() else None
        ((value, said),) = results
        if value == "None" and said.strip():
            return ProgramOutcome(said, is_printed=True)
        return ProgramOutcome(value) if value is not None and (value == "None" or literal(value) is not None) else None

    async def _run(self, source: str, expressions: list[str]) -> tuple[str, list[list[Any]]] | None:
        """What a Python program prints, and what expressions come to after it; None where it does not get that far."""
        mark = secrets.token_hex(16)
        code = _HARNESS.format(given=json.dumps([source, expressions, mark]))
        ran = await self._fenced(Program("python", code, SECONDS))
        line = next((line for line in (ran.stdout if ran else "").splitlines() if line.startswith(mark)), "")
        try:
            printed, results = json.loads(line.removeprefix(mark)) if line else ("", [])
        except ValueError:
            return None
        return (printed, results) if line and len(results) == len(expressions) else None

    async def _fenced(self, program: Program) -> Outcome | None:
        fence = await self._chosen()
        if fence is None:
            return None
        async with self._gate:
            with tempfile.TemporaryDirectory(prefix="ai-battle-", ignore_cleanup_errors=True) as folder:
                return await fence.run(program, Path(folder), LIMITS)

    async def _chosen(self) -> Sandbox | None:
        """The fence, found when it is first needed; never none at all."""
        if self._fence is None and not self._reason:
            try:
                self._fence = await in_thread(choose, self._level)
            except NoFence as problem:
                self._reason = str(problem)
        if self._reason and self._required:
            raise NoFence(self._reason)
        return self._fence


async def outcome_lines(path: Path) -> AsyncIterator[str]:
    """For each line with an `id` and a `prompt` that asks about a program, what that comes to."""
    verification = Verification(required=True)
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            asked = asked_program(row["prompt"])
            if asked and (outcome := await verification.outcome(asked)):
                yield json.dumps({"id": row["id"], **asdict(outcome)})


async def _write(path: Path) -> None:
    async for line in outcome_lines(path):
        print(line, flush=True)


def _by_sum(prompt: str, answer: str) -> Verdict | None:
    """Whether an answer is the one sum that a prompt asks for; that it is another number, the detector sees."""
    values = asked_values(prompt)
    final = final_answer(cleaned(answer).text, prompt, "number") if values else None
    if final is None or not any(is_shown(value, shown(final.key)) for value in values):
        return None
    return True, f"what the prompt asks for comes to {final.key}"


def _is_met(example: Example, result: list[Any]) -> bool:
    value = result[0]
    return isinstance(value, str) and ProgramOutcome(value).is_same(example.expected)


def _is_unsure(example: Example, result: list[Any]) -> bool:
    """Whether a miss may be no fault of the program: the fence keeps things from it, and examples are rounded."""
    value, said = result
    return not said if value is None else ProgramOutcome(value).is_rounded(example.expected)


def _excerpt(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1])))
