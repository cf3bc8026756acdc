"""Programs that look, write or talk beyond the workspace get nothing, change nothing and reach nobody."""

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Language, Program, Sandbox

from .cases import Case, cases
from .conftest import aimed, found_wrong, survivors
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


@pytest.mark.parametrize("file", ["secrets.txt", "files.txt", "network.txt"])
async def test_attacks(file: str, language: Language, sandbox: Sandbox, around: World) -> None:
    async def contained(case: Case, workspace: Path) -> None:
        _arm(workspace)
        outside = workspace.parents[1]
        with _sockets(outside):
            before = picture(outside, workspace)
            code = aimed(around.put_into(case.code), workspace)
            outcome = await sandbox.run(Program(language, code, _SECONDS), workspace)
            said = outcome.stdout + outcome.stderr.replace(code, "")
            assert not re.search("ESCAPED|SECRET|SyntaxError|NameError", said), said
            assert outcome.killed_because == "", said
            assert picture(outside, workspace) == before
        assert survivors(workspace) == []
        assert {name: (workspace / name).read_text() for name in _TRAPS} == _TRAPS

    visits = around.visits
    assert await found_wrong(cases(file, language), contained) == []
    assert around.visits == visits
