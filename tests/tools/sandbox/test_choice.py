"""The strongest fence that works is taken; without one nothing runs, and what to do is said."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ai_battle.core.errors import ToolError
from ai_battle.tools.sandbox import (
    Bubblewrap,
    GuestPaths,
    HostPaths,
    NoFence,
    Program,
    choose,
    landlock_version,
    why_not,
)

from .conftest import Run, no_bubblewrap, write_docker_client

needs_bubblewrap = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
needs_landlock = pytest.mark.skipif(landlock_version() < 6, reason="this kernel has no Landlock 6")


@pytest.fixture
def fake_bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands before the real one on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    binary = folder / "bwrap"
    binary.touch(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return binary


@needs_bubblewrap
def test_bubblewrap_comes_first() -> None:
    sandbox = choose()
    assert sandbox.name == "bubblewrap"
    assert any("bubblewrap" in layer for layer in sandbox.layers)


@needs_landlock
def test_without_bubblewrap_landlock_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose("strict").name == "landlock"


@needs_landlock
def test_a_bubblewrap_that_is_refused_namespaces_is_passed_over(fake_bwrap: Path) -> None:
    fake_bwrap.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    assert choose().name == "landlock"
    assert why_not(Bubblewrap(str(fake_bwrap)), str(fake_bwrap)) == (
        "The fence could not be built: bwrap: setting up uid map: Permission denied"
    )


def test_a_fence_that_lets_a_forbidden_file_be_read_is_none(fake_bwrap: Path) -> None:
    """A binary that only looks like bubblewrap runs the program as it is."""
    fake_bwrap.write_text('#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    reason = why_not(_Open(str(fake_bwrap)), str(fake_bwrap))
    assert reason == "a trial program did not do what it should: read all the same"


class _Open(Bubblewrap):
    """Relies on the binary alone."""

    def inside(self, paths: HostPaths) -> GuestPaths:
        return replace(super().inside(paths), writable=(), program=str(paths.scratch / paths.program))


@needs_bubblewrap
def test_what_worked_is_not_tried_again() -> None:
    binary = shutil.which("bwrap") or ""
    assert why_not(Bubblewrap(binary), binary) == ""
    assert why_not(Bubblewrap("/nowhere"), binary) == ""
    assert why_not(Bubblewrap("/nowhere"), "/nowhere") != ""


@needs_bubblewrap
def test_what_worked_is_tried_anew_where_a_process_may_do_less() -> None:
    """As in a container that shares the home directory, and refuses user namespaces."""
    if "--disable-userns" not in subprocess.run(["bwrap", "--help"], capture_output=True, text=True).stdout:
        pytest.skip("this bubblewrap can't refuse user namespaces")
    show = "from ai_battle.tools.sandbox import choose; print(choose().name)"
    around = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--"]
    for command, expected in (([], "bubblewrap"), (around, "landlock"), ([], "bubblewrap")):
        run = subprocess.run([*command, sys.executable, "-c", show], capture_output=True, text=True)
        assert run.stdout.strip() == expected, run.stderr


def test_none_needs_both_keys() -> None:
    with pytest.raises(NoFence, match="--allow-unsandboxed"):
        choose("none")
    assert choose("none", allow_unsandboxed=True).name == "none"
    assert issubclass(NoFence, ToolError)


async def test_without_a_fence_the_limits_still_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "SECRET")
    sandbox = choose("none", allow_unsandboxed=True)
    outcome = await sandbox.run(Program("python", "import os; print(sorted(os.environ))\nwhile 1: pass", 0.5), tmp_path)
    assert (outcome.stdout, outcome.killed_because) == ("['HOME', 'LANG', 'PATH', 'TMPDIR']\n", "time")


async def test_a_workspace_that_is_not_there_is_named(run: Run, workspace: Path) -> None:
    shutil.rmtree(workspace)
    with pytest.raises(ToolError, match="is not a directory; make it first"):
        await run("print(1)")


async def test_a_home_directory_is_no_workspace() -> None:
    sandbox = choose("none", allow_unsandboxed=True)
    with pytest.raises(ToolError, match="holds the home directory"):
        await sandbox.run(Program("python", "print(1)"), Path.home())


def test_docker_without_its_engine_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon. Is it running?' >&2\nexit 1\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NoFence, match=r"Is it running.*\n.*docker pull python") as refusal:
        choose("docker")
    assert "Start its engine" in str(refusal.value)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoFence, match="no 'docker' is on the PATH"):
        choose("docker")


@needs_bubblewrap
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="there is no other Python for the container")
async def test_docker_runs_programs_by_the_python_of_its_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    write_docker_client(docker, python="/usr/bin/python3")
    monkeypatch.setenv("PATH", f"{docker.parent}:{os.environ['PATH']}")
    workspace = tmp_path / 'a "quoted", folder'
    (workspace / ".git" / "hooks").mkdir(parents=True)
    sandbox = choose("docker")
    assert sandbox.name == "docker"
    code = "import os; print(os.getcwd(), os.listdir('.')); os.chmod('.', 0o750); open('new', 'w').write('kept')"
    outcome = await sandbox.run(Program("python", code), workspace)
    assert (outcome.stdout, outcome.stderr) == (f"{workspace} ['.git']\n", "")
    assert (workspace / "new").read_text() == "kept"
    outcome = await sandbox.run(Program("bash", "cat new; echo x > .git/hooks/pre-push || echo refused"), workspace)
    assert outcome.stdout == "keptrefused\n"


@pytest.mark.skipif(sys.platform == "linux", reason="this is Linux")
def test_elsewhere_nothing_is_taken_unasked() -> None:
    for level in ("auto", "strict"):
        with pytest.raises(NoFence, match=r"no fence for this system; .* or use `sandbox: docker`"):
            choose(level)
