"""Whatever folders are called, the only writable mount of the machine's is the workspace."""

import csv
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.tools.sandbox import Bubblewrap, Docker, HostPaths, Landlock

BUBBLEWRAP, DOCKER = Bubblewrap("bwrap"), Docker("docker")
NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
PATHS_OF_RUNS = st.builds(
    lambda workspace, scratch, folders: HostPaths(Path(workspace), Path(scratch), "main.py", tuple(folders)),
    PATHS,
    PATHS,
    st.lists(PATHS, max_size=3),
)
_ONE_VALUE = {
    "--uid", "--gid", "--hostname", "--cap-drop", "--proc", "--dev", "--size", "--tmpfs", "--remount-ro", "--chdir",
}  # fmt: skip
_TWO_VALUES = {"--ro-bind", "--ro-bind-try", "--bind", "--dev-bind", "--symlink"}


def parse(arguments: list[str]) -> list[tuple[str, ...]]:
    """The options as bubblewrap reads them."""
    options = []
    while arguments[0] != "--":
        size = 2 if arguments[0] in _ONE_VALUE else 3 if arguments[0] in _TWO_VALUES else 1
        options.append(tuple(arguments[:size]))
        arguments = arguments[size:]
    assert arguments == ["--"]
    return options


@given(PATHS_OF_RUNS)
def test_bubblewrap_is_told_to_make_only_the_workspace_writable(paths: HostPaths) -> None:
    options = parse(list(BUBBLEWRAP.around(paths))[1:])
    assert [option for option in options if option[0] == "--bind"] == [("--bind", *2 * (str(paths.workspace),))]
    assert {option[0] for option in options} >= {"--unshare-all", "--unshare-user", "--die-with-parent"}
    assert ("--remount-ro", "/") in options
    assert {option[1] for option in options if option[0] == "--tmpfs"} == {"/tmp", "/dev/shm"}


def test_bubblewrap_is_told_to_close_the_folders_that_lead_to_a_workspace_in_tmp() -> None:
    paths = HostPaths(Path("/tmp/a/b/workspace"), Path("/tmp/c"), "main.py", ("/tmp/a/python",))
    options = parse(list(BUBBLEWRAP.around(paths))[1:])
    assert options.index(("--tmpfs", "/tmp/a")) < options.index(("--ro-bind", "/tmp/a/python", "/tmp/a/python"))
    assert options.index(("--bind", *2 * (str(paths.workspace),))) < options.index(("--remount-ro", "/tmp/a"))


def _mounts(arguments: list[str]) -> list[list[str]]:
    """As Docker reads them: lines of comma-separated values."""
    lines = [value for option, value in pairwise(arguments) if option == "--mount"]
    return [next(csv.reader(io.StringIO(line, newline=""))) for line in lines]


@given(PATHS_OF_RUNS)
def test_docker_is_told_to_make_only_the_workspace_writable(paths: HostPaths) -> None:
    arguments = list(DOCKER.around(paths))
    mounts = _mounts(arguments)
    writable = [mount for mount in mounts if "readonly" not in mount]
    assert writable == [["type=bind", f"source={paths.workspace}", f"target={paths.workspace}"]]
    assert "--read-only" in arguments
    assert arguments[arguments.index("--network") + 1] == "none"


def test_docker_is_told_to_close_what_is_the_users_and_is_led_to_its_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client needs to know where that is; programs do not."""
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")
    monkeypatch.setenv("API_KEY", "SECRET")
    docker = Docker("docker")
    arguments = list(docker.around(HostPaths(tmp_path, tmp_path, "main.py", ())))
    assert _mounts(arguments)[-1] == ["type=bind", f"source={tmp_path}/.git", f"target={tmp_path}/.git", "readonly"]
    assert docker.environment["DOCKER_HOST"] == "unix:///run/user/1000/docker.sock"
    assert "API_KEY" not in docker.environment


def test_landlock_is_told_to_make_only_the_workspace_and_the_scratch_folder_writable(tmp_path: Path) -> None:
    paths = HostPaths(tmp_path / "workspace", tmp_path, "main.py", ("/opt/python",))
    inside = Landlock().inside(paths)
    assert set(inside.writable) == {str(tmp_path / "workspace"), str(tmp_path / "tmp")}
    assert not any(path in ("/", "/etc", "/home", "/root", "/tmp", "/proc", "/dev") for path in inside.readable)
