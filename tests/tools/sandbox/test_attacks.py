"""Programs that look, write or talk beyond the workspace get nothing, change nothing and reach nobody."""

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Language, Program, Sandbox

from .cases import Case, cases
from .conftest import aim, failing_cases, survivors
from .world import World, picture, socket_at, world

_SECONDS = 15.0
_TRAPS = {
    ".git/config": "[core]\n\tbare = false\n",
    ".git/hooks/pre-commit": "#!/bin/sh\n",
    ".vscode/settings.json": "{}",
    ".envrc": "true",
    ".mcp.json": "{}",
}


@pytest.fixture(scope="module")
def around() -> Iterator[World]:
    with world() as made:
        yield made


@contextlib.contextmanager
def _sockets(folder: Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name, kind in (("host.sock", socket.SOCK_STREAM), ("datagrams.sock", socket.SOCK_DGRAM)):
            stack.enter_context(socket_at(folder / name, kind)).settimeout(0)
        yield


def _arm(workspace: Path) -> None:
    (workspace.parents[1] / "empty").mkdir()
    for name, content in _TRAPS.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(content)


FILES = ["secrets.txt", "files.txt", "network.txt"]
# What a container has of its own instead of nothing: settings of its image, the devices in its own folder, and what
# the kernel tells everyone, which Docker lets nobody cover.
_OF_A_CONTAINER = {
    "reads the machine's secrets", "finds the name of the machine and its users", "reads what the kernel tells root",
    "changes metadata outside",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
async def test_attacks(file: str, language: Language, sandbox: Sandbox, quarter: slice, around: World) -> None:
    await _assert_contained(cases(file, language)[quarter], sandbox, around)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "bash"])
@pytest.mark.parametrize("file", FILES)
async def test_attacks_in_a_container(file: str, language: Language, engine: Sandbox, around: World) -> None:
    programs = [case for case in cases(file, language) if case.name not in _OF_A_CONTAINER]
    await _assert_contained(programs, engine, around)


async def _assert_contained(programs: list[Case], sandbox: Sandbox, around: World) -> None:
    async def assert_case_contained(case: Case, workspace: Path) -> None:
        _arm(workspace)
        outside = workspace.parents[1]
        with _sockets(outside):
            before = picture(outside, workspace)
            code = aim(around.put_into(case.code), workspace)
            outcome = await sandbox.run(Program(case.language, code, _SECONDS), workspace)
            said = outcome.stdout + outcome.stderr.replace(code, "")
            assert not re.search("ESCAPED|SECRET|SyntaxError|NameError", said), said
            assert outcome.killed_because == "", said
            assert picture(outside, workspace) == before
        assert survivors(workspace) == []
        assert {name: (workspace / name).read_text() for name in _TRAPS} == _TRAPS

    visits = around.visits
    assert await failing_cases(programs, assert_case_contained) == []
    assert around.visits == visits
