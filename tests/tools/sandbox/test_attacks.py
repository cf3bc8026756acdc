"""Programs that look, write or talk beyond the workspace get nothing, change nothing and reach nobody."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from .cases import Case, cases
from .conftest import Run, survivors
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


@pytest.fixture
def outside(workspace: Path) -> Iterator[Path]:
    folder = workspace.parents[1]
    (folder / "empty").mkdir()
    with contextlib.ExitStack() as stack:
        for name, kind in (("host.sock", socket.SOCK_STREAM), ("datagrams.sock", socket.SOCK_DGRAM)):
            stack.enter_context(socket_at(folder / name, kind)).settimeout(0)
        yield folder


def _arm(workspace: Path) -> None:
    for name, content in _TRAPS.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(content)


ATTACKS = [case for file in ("secrets.txt", "files.txt", "network.txt") for case in cases(file)]


@pytest.mark.parametrize("case", ATTACKS, ids=str)
async def test_an_attack(case: Case, run: Run, around: World, outside: Path, workspace: Path) -> None:
    _arm(workspace)
    before, visits = picture(outside, workspace), around.visits
    outcome = await run(around.put_into(case.code), case.language, timeout=_SECONDS)
    said = outcome.stdout + outcome.stderr.replace(around.put_into(case.code), "")
    assert "ESCAPED" not in said
    assert "SECRET" not in said
    assert outcome.killed_because == "", said
    assert "SyntaxError" not in said
    assert "NameError" not in said
    assert picture(outside, workspace) == before
    assert around.visits == visits
    assert survivors(workspace) == []
    assert {name: (workspace / name).read_text() for name in _TRAPS} == _TRAPS
