"""Measures how large the package is, and how far a reader walks through it: `python -m research.sizes`."""

import ast
import asyncio
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import requires
from pathlib import Path
from statistics import median, quantiles
from types import FrameType
from typing import Any

import aiohttp
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ai_battle
from ai_battle import ConversationManager, ModelRequest, ToolCapableClient, tool
from ai_battle.core.messages import user
from ai_battle.testing import FakeProviders, ScriptedClient, call

ROOT = Path(ai_battle.__file__).parent
BRANCHES = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler),
    *(ast.IfExp, ast.comprehension, ast.match_case, ast.BoolOp),
)
SERVED = """
server: {routes: {plain: gpt-4o, pair: {model: claude-sonnet-4-5, secondary: gpt-4o, strategy: boost}}}
"""
TWO_TURNS = {
    "discussion": {"turns": 1, "goal": "x", "models": {"A": {"type": "gpt-4o"}, "B": {"type": "gpt-4o"}}},
}


@dataclass(frozen=True)
class Size:
    """The lines and branches of one function. Each comprehension is a branch, too."""

    lines: int
    branches: int

    @classmethod
    def of(cls, node: ast.FunctionDef | ast.AsyncFunctionDef) -> "Size":
        end = node.end_lineno or node.lineno
        return cls(end - node.lineno + 1, 1 + sum(isinstance(child, BRANCHES) for child in ast.walk(node)))


@dataclass
class Walk:
    """The files and functions of the package that a call runs through, and the deepest stack of its frames."""

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


async def follow(work: Awaitable[object]) -> Walk:
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        await work
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


async def walks() -> AsyncIterator[tuple[str, Walk]]:
    """Yields the walks of a discussion over HTTP, a round of a tool, and the second request of two routes."""
    async with FakeProviders() as fakes:
        os.environ.update(fakes.environment)
        fakes.openai.always("GUIDANCE: answer it kindly.")
        fakes.anthropic.always("Hello.")
        with tempfile.TemporaryDirectory() as folder:
            discussion = ConversationManager.from_config
            yield "two turns over HTTP", await follow(_run(partial(discussion, TWO_TURNS, out=f"{folder}/run")))
            client = ToolCapableClient(ScriptedClient(call("add", a=1, b=2), "3"), [add])
            yield "a round of a tool", await follow(client.complete(ModelRequest((user("1 + 2?"),))))
            # Imported only now, so that what a discussion loads counts for the discussion.
            config, running = map(import_module, ("ai_battle.server.config", "ai_battle.server.running"))
            (file := Path(folder, "server.yaml")).write_text(SERVED)
            environment = {**os.environ, "XDG_STATE_HOME": folder}
            async with running.listening(config.ConfigSource(str(file), environment, {"port": 0}).load()) as (
                _,
                address,
            ):
                for route in ("plain", "pair"):
                    await _ask(address, route)
                    yield f"a request, {route}", await follow(_ask(address, route))


async def _run(make: Callable[[], ConversationManager]) -> None:
    await make().run_discussion()


async def _ask(address: str, route: str) -> None:
    body = {"model": route, "max_tokens": 50, "messages": [{"role": "user", "content": "Hello?"}]}
    key = {"x-api-key": os.environ.get("ANTHROPIC_API_KEY", "")}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{address}/v1/messages", json=body, headers=key) as said,
    ):
        said.raise_for_status()


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


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


def distributions(*names: str) -> set[str]:
    """Returns the names of distributions and of all that they require on this machine, without extras."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := canonicalize_name(waiting.pop())) not in found:
            found.add(name)
            needs = (Requirement(each) for each in requires(name) or ())
            waiting += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def _table(lines: Counter[str], files: Counter[str]) -> None:
    for room, count in lines.most_common():
        print(f"{room:20}{count:8,} lines{files[room]:5} files")
    print(f"{'all':20}{lines.total():8,} lines{files.total():5} files\n")


async def main() -> None:
    async for name, walk in walks():
        print(f"{name}: {len(walk.files)} files with {walk.lines:,} lines,", end=" ")
        print(f"{len(walk.functions)} functions, {walk.deepest} frames deep")


if __name__ == "__main__":
    sizes()
    of_sdks, all_ = distributions("anthropic", "ollama", "openai"), distributions("ai-battle") - {"ai-battle"}
    print(f"the base install: {len(all_)} distributions, of which the SDKs of three providers need {len(of_sdks)}")
    asyncio.run(main())
