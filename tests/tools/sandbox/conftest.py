"""Every case runs behind each fence that this machine can build."""

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from pathlib import Path

import pytest

from ai_battle.core.errors import ToolError
from ai_battle.tools.sandbox import (
    Backend,
    Bubblewrap,
    Landlock,
    Language,
    Outcome,
    Program,
    Sandbox,
    SandboxLimits,
    choose,
    landlock_version,
    why_not,
)
from ai_battle.tools.sandbox.backends import DOCKER_IMAGE

from .cases import Case

MIB = 1 << 20
_AT_ONCE = 3  # most of them wait most of the time
USUAL = SandboxLimits()
TIGHT = SandboxLimits(
    memory=160 * MIB,
    tasks=40,
    disk=24 * MIB,
    inodes=400,
    file_size=16 * MIB,
    open_files=64,
    drain=4 * MIB,
)
Run = Callable[..., Coroutine[None, None, Outcome]]


def _bubblewrap() -> Backend:
    binary = shutil.which("bwrap") or ""
    if reason := no_bubblewrap():
        pytest.skip(reason)
    return Bubblewrap(binary, private_bytes=8 * MIB)


def no_bubblewrap() -> str:
    """Returns why this machine can't test with it."""
    if not (binary := shutil.which("bwrap")):
        return "bubblewrap is not installed (apt install bubblewrap)"
    plain = subprocess.run(
        [binary, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"], capture_output=True
    )
    return f"bubblewrap can't make namespaces here: {plain.stderr.decode().strip()}" if plain.returncode else ""


def _landlock() -> Backend:
    if not landlock_version():
        pytest.skip("this kernel offers no Landlock")
    return Landlock()


@pytest.fixture(scope="session", params=[_bubblewrap, _landlock], ids=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    fence: Backend = request.param()
    assert why_not(fence) == ""
    return Sandbox(fence)


@pytest.fixture(scope="session", params=[0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3))])
def quarter(request: pytest.FixtureRequest, sandbox: Sandbox) -> slice:
    """Returns which cases to run: every fourth one, others behind each fence; the slow run has all behind both."""
    return slice((request.param + 2 * (sandbox.name == "landlock")) % 4, None, 4)


@pytest.fixture(scope="session")
def engine() -> Sandbox:
    """Docker's own engine, where it is, with an image that has Python."""
    if not (binary := shutil.which("docker")):
        pytest.skip("Docker is not installed")
    if subprocess.run([binary, "image", "inspect", DOCKER_IMAGE], capture_output=True).returncode:
        pytest.skip(f"no engine of Docker that has {DOCKER_IMAGE} answers here (docker pull {DOCKER_IMAGE})")
    return choose("docker")


def write_docker_client(path: Path, python: str = sys.executable) -> None:
    """Writes a `docker` whose containers are made by bubblewrap (a first line can not quote a path with spaces)."""
    script = Path(__file__).with_name("docker_by_bwrap.py")
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} {shlex.quote(str(script))} "$@"\n')
    path.chmod(0o755)


def survivor_pids(workspace: Path) -> list[int]:
    """Processes that still stand in the workspace, or in a folder of it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(folder / "cwd")).is_relative_to(workspace):
                found.append(int(folder.name))
    return found


def survivors(workspace: Path) -> list[str]:
    """The commands of these processes."""
    found = []
    for pid in survivor_pids(workspace):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text())
    return found


async def appears(path: Path) -> None:
    until = time.monotonic() + 30
    while not os.path.exists(path):  # noqa: ASYNC240
        assert time.monotonic() < until, f"{path} did not appear"
        await asyncio.sleep(0.01)


async def wait_until_gone(workspace: Path) -> None:
    until = time.monotonic() + 30
    while survivors(workspace):
        assert time.monotonic() < until, survivors(workspace)
        await asyncio.sleep(0.02)


@contextlib.contextmanager
def a_workspace() -> Iterator[Path]:
    """As in a run directory, with things beside it that are nobody's business.

    Not in /tmp: behind bubblewrap there is another one, where programs may well write under the same names.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="ai-battle-", ignore_cleanup_errors=True) as outside:
        folder = Path(outside) / "run" / "workspace"
        folder.mkdir(parents=True)
        (Path(outside) / "run" / "journal.jsonl").write_text("SECRET journal")
        (Path(outside) / "secret.txt").write_text("SECRET file")
        yield folder


def aim(code: str, workspace: Path) -> str:
    return code.replace("WORKSPACE", str(workspace)).replace("OUTSIDE", str(workspace.parents[1]))


async def failing_cases(cases: Iterable[Case], check: Callable[[Case, Path], Coroutine[None, None, None]]) -> list[str]:
    """Runs several at once, each in a workspace of its own; what was not as it should be, with the name of the case."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(case: Case) -> str:
        async with room:
            with a_workspace() as workspace:
                try:
                    await check(case, workspace)
                except (AssertionError, ToolError) as error:
                    return f"{case}: {error}"
        return ""

    return [said for said in await asyncio.gather(*map(one, cases)) if said]


@pytest.fixture(params=["python", "javascript", "bash"])
def language(request: pytest.FixtureRequest) -> Language:
    if request.param == "javascript" and not shutil.which("node"):
        pytest.skip("node is not installed")
    found: Language = request.param
    return found


@pytest.fixture
def workspace() -> Iterator[Path]:
    with a_workspace() as folder:
        yield folder


@pytest.fixture
def run(sandbox: Sandbox, workspace: Path) -> Run:
    async def running(
        code: str, language: Language = "python", *, timeout: float = 10.0, limits: SandboxLimits = USUAL
    ) -> Outcome:
        if language == "javascript" and not shutil.which("node"):
            pytest.skip("node is not installed")
        return await sandbox.run(Program(language, aim(code, workspace), timeout), workspace, limits)

    return running
