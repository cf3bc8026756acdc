"""`python_tests`: the program in the answer passes the task's tests, inside the sandbox."""

import ast
import asyncio
import os
import re
import secrets
import tempfile
import warnings
from pathlib import Path

from ...core.errors import ConfigError
from ...tools.sandbox import Program, Sandbox
from ..sample import AnswerScore
from ..tasks import Task
from . import ScoredAnswer

MAX_SECONDS = 600.0
AT_ONCE = max(1, os.cpu_count() or 1)
PROGRAM = """\
import sys, types
answer = sys.modules["answer"] = types.ModuleType("answer")
exec(compile({code!r}, "answer.py", "exec"), answer.__dict__)
answer.__name__ = "__main__"
exec(compile({tests!r}, "tests.py", "exec"), answer.__dict__)
print({token!r})
"""
"""An answer is imported, as it were: what it does as a script, such as to read input, is not asked for."""
_OUTPUT_CHARACTERS = 200
LONGEST_ANSWER = 100_000
_BLOCK = re.compile(
    r"^[ \t]{0,8}(`{3,8}|~{3,8})[ \t]*(\w{0,20})[^\n]{0,200}\n(.*?)^[ \t]{0,8}\1", re.DOTALL | re.MULTILINE
)

_NAMINGS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
_DEFINITIONS = (*_NAMINGS, ast.Assign)


class PythonTests:
    """Runs the tests of tasks, as many programs at once as there are processors."""

    def __init__(self, sandbox: Sandbox, timeout: float) -> None:
        self._sandbox = sandbox
        self._timeout = timeout
        self._free = asyncio.Semaphore(AT_ONCE)

    def lacks(self, task: Task) -> str:
        if not task.tests.strip():
            return "tests"
        if not (statements := _statements(task.tests)):
            return "tests that are a Python program"
        # Any answer would pass what only defines test functions, as for pytest.
        is_run = not all(isinstance(each, _NAMINGS) for each in statements)
        return "" if is_run else "tests that also call the functions that they define"

    async def score(self, task: Task, answer: ScoredAnswer) -> AnswerScore:
        name = str(task.extra.get("entry_point", ""))
        code = code_of(answer.text, name)
        if not code.strip():
            return AnswerScore(None, "no program in the answer")
        if name and f"def {name}" not in code:
            code = f"{task.extra.get('begun', '')}{code}"
        async with self._free:
            return await self._run_tests(code, task.tests)

    async def _run_tests(self, code: str, tests: str) -> AnswerScore:
        """Runs the tests. Only a secret token at the end proves a pass, as a program may exit early."""
        token = secrets.token_hex(16)
        program = Program("python", PROGRAM.format(code=code, tests=tests, token=token), self._timeout)
        with tempfile.TemporaryDirectory(prefix="ai-battle-", ignore_cleanup_errors=True) as workspace:
            outcome = await self._sandbox.run(program, Path(workspace))
        if outcome.exit_code == 0 and token in outcome.stdout[-_OUTPUT_CHARACTERS:]:
            return AnswerScore(1.0)
        return AnswerScore(0.0, _failure_reason(outcome.killed_because, outcome.stderr))


def _failure_reason(killed_because: str, stderr: str) -> str:
    if killed_because:
        return f"used too much {killed_because}"
    last = stderr.strip().splitlines()[-1:]
    return last[0][:_OUTPUT_CHARACTERS] if last else "ended before its tests did"


def code_of(text: str, name: str = "") -> str:
    """Returns the Python program in an answer: the last block that defines `name`, or else all blocks.

    Blocks of helpers before it belong to it. Without blocks it is the whole text if that is a program, or "".
    """
    text = text[-LONGEST_ANSWER:]
    # A block without a language may be output, so it counts only if no block says Python.
    blocks = _blocks_in(text, ("python", "py", "python3")) or _blocks_in(text, ("",))
    if not blocks:
        return text if any(not isinstance(each, ast.Expr) for each in _statements(text)) else ""
    return _program_with(name, blocks) if name else "\n".join(blocks)


def _program_with(name: str, blocks: list[str]) -> str:
    """Returns the last block that defines a function and the helpers before it; all blocks if none defines it."""
    defines = re.compile(rf"^[ \t]*(?:async )?def {re.escape(name)}\b", re.MULTILINE)
    last = max((place for place, code in enumerate(blocks) if defines.search(code)), default=None)
    if last is None:
        return "\n".join(blocks)
    helpers = [code for code in blocks[:last] if not defines.search(code) and _only_defines(code)]
    return "\n".join((*helpers, blocks[last]))


def _blocks_in(text: str, languages: tuple[str, ...]) -> list[str]:
    return [code for _, language, code in _BLOCK.findall(text) if language.lower() in languages]


def _only_defines(code: str) -> bool:
    statements = _statements(code)
    return bool(statements) and all(isinstance(each, _DEFINITIONS) for each in statements)


def _statements(text: str) -> list[ast.stmt]:
    """Returns the statements of a program, none of other text. A word or a sentence may be an expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def create(sandbox: Sandbox, timeout: float = 10.0) -> PythonTests:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= MAX_SECONDS:
        raise ConfigError(f"python_tests: timeout is in seconds, up to {MAX_SECONDS:g}, not {timeout!r}")
    return PythonTests(sandbox, timeout)
