"""How large the package is, and how far a reader walks through it: `python -m research.sizes`."""

import ast
import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from types import FrameType
from typing import Any

import ai_battle
from ai_battle import ConversationManager
from ai_battle.testing import FakeProviders

ROOT = Path(ai_battle.__file__).parent
BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler),
    *(ast.IfExp, ast.comprehension, ast.match_case, ast.BoolOp),
)
TWO_TURNS = {
    "discussion": {"turns": 1, "goal": "x", "models": {"A": {"type": "gpt-4o"}, "B": {"type": "gpt-4o"}}},
}


@dataclass(frozen=True)
class Size:
    """Lines and branches of one function; a branch is what may or may not be gone into, each comprehension included."""

    lines: int
    branches: int

    @classmethod
    def of(cls, node: ast.FunctionDef | ast.AsyncFunctionDef) -> "Size":
        end = node.end_lineno or node.lineno
        return cls(end - node.lineno + 1, 1 + sum(isinstance(child, BRANCHES) for child in ast.walk(node)))


@dataclass
class Walk:
    """The files and functions of the package that are gone through, and the deepest stack of its frames."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    deepest: int = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and _is_ours(frame):
            self.files.add(frame.f_code.co_filename)
            self.functions.add((frame.f_code.co_filename, frame.f_code.co_qualname))
            self.deepest = max(self.deepest, sum(map(_is_ours, _stack(frame))))

    @property
    def lines(self) -> int:
        return sum(Path(file).read_text(encoding="utf-8").count("\n") for file in self.files)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame:
        yield frame
        frame = frame.f_back


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return name.startswith(f"{ROOT}{os.sep}") and not name.startswith(f"{ROOT}{os.sep}testing")


async def walk_two_turns() -> Walk:
    """A discussion over HTTP that nobody watches."""
    walk = Walk()
    async with FakeProviders() as fakes:
        os.environ.update(fakes.environment)
        fakes.openai.always("Hello.")
        with tempfile.TemporaryDirectory() as folder:
            sys.setprofile(walk)
            try:
                await ConversationManager.from_config(TWO_TURNS, out=f"{folder}/run").run_discussion()
            finally:
                sys.setprofile(None)
    return walk


def sizes() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.rglob("*.py"))}
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    functions: list[Size] = []
    for path, text in texts.items():
        room = path.relative_to(ROOT).parts[0]
        lines[room] += text.count("\n")
        files[room] += 1
        nodes = ast.walk(ast.parse(text))
        functions += [Size.of(node) for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    _table(lines, files)
    each: Callable[[str], list[int]] = lambda name: [getattr(size, name) for size in functions]  # noqa: E731
    nine_tenths = quantiles(each("lines"), n=10)[-1]
    print(f"{len(functions):,} functions: median {median(each('lines')):g} lines, nine tenths within {nine_tenths:g},")
    print(f"longest {max(each('lines'))}; most branches {max(each('branches'))}")


def _table(lines: Counter[str], files: Counter[str]) -> None:
    for room, count in lines.most_common():
        print(f"{room:20}{count:8,} lines{files[room]:5} files")
    print(f"{'all':20}{lines.total():8,} lines{files.total():5} files\n")


if __name__ == "__main__":
    sizes()
    walked = asyncio.run(walk_two_turns())
    print(f"two turns over HTTP: {len(walked.files)} files with {walked.lines:,} lines,", end=" ")
    print(f"{len(walked.functions)} functions, {walked.deepest} frames deep")
