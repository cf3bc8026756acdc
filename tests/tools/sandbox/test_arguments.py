"""Whatever folders are called, the only writable mount of the machine's is the workspace."""

import csv
import io
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_battle.tools.sandbox._bwrap import Bubblewrap
from ai_battle.tools.sandbox._docker import Docker
from ai_battle.tools.sandbox._fences import Site
from ai_battle.tools.sandbox._landlocked import Landlocked
from ai_battle.tools.sandbox._seatbelt import Seatbelt

BUBBLEWRAP, DOCKER = Bubblewrap("bwrap"), Docker("docker")
NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=12)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
SITES = st.builds(
    lambda workspace, scratch, folders: Site(Path(workspace), Path(scratch), "main.py", tuple(folders)),
    PATHS,
    PATHS,
    st.lists(PATHS, max_size=3),
)
_ONE_VALUE = {
    "--uid", "--gid", "--hostname", "--cap-drop", "--proc", "--dev", "--size", "--tmpfs", "--remount-ro", "--chdir",
}  # fmt: skip
_TWO_VALUES = {"--ro-bind", "--ro-bind-try", "--bind", "--symlink"}


def parsed(arguments: list[str]) -> list[tuple[str, ...]]:
    """The options as bubblewrap reads them."""
    options = []
    while arguments[0] != "--":
        size = 2 if arguments[0] in _ONE_VALUE else 3 if arguments[0] in _TWO_VALUES else 1
        options.append(tuple(arguments[:size]))
        arguments = arguments[size:]
    assert arguments == ["--"]
    return options


@given(SITES)
def test_bubblewrap_is_told_to_make_only_the_workspace_writable(site: Site) -> None:
    options = parsed(list(BUBBLEWRAP.around(site))[1:])
    assert [option for option in options if option[0] == "--bind"] == [("--bind", *2 * (str(site.workspace),))]
    assert {option[0] for option in options} >= {"--unshare-all", "--unshare-user", "--die-with-parent"}
    assert ("--remount-ro", "/") in options
    assert {option[1] for option in options if option[0] == "--tmpfs"} == {"/tmp", "/dev/shm"}


def test_bubblewrap_is_told_to_close_the_folders_that_lead_to_a_workspace_in_tmp() -> None:
    site = Site(Path("/tmp/a/b/workspace"), Path("/tmp/c"), "main.py", ("/tmp/a/python",))
    options = parsed(list(BUBBLEWRAP.around(site))[1:])
    assert options.index(("--tmpfs", "/tmp/a")) < options.index(("--ro-bind", "/tmp/a/python", "/tmp/a/python"))
    assert options.index(("--bind", *2 * (str(site.workspace),))) < options.index(("--remount-ro", "/tmp/a"))


def _mounts(arguments: list[str]) -> list[list[str]]:
    """As Docker reads them: lines of comma-separated values."""
    lines = [value for option, value in pairwise(arguments) if option == "--mount"]
    return [next(csv.reader(io.StringIO(line, newline=""))) for line in lines]


@given(SITES)
def test_docker_is_told_to_make_only_the_workspace_writable(site: Site) -> None:
    arguments = list(DOCKER.around(site))
    mounts = _mounts(arguments)
    writable = [mount for mount in mounts if "readonly" not in mount]
    assert writable == [["type=bind", f"source={site.workspace}", f"target={site.workspace}"]]
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
    arguments = list(docker.around(Site(tmp_path, tmp_path, "main.py", ())))
    assert _mounts(arguments)[-1] == ["type=bind", f"source={tmp_path}/.git", f"target={tmp_path}/.git", "readonly"]
    assert docker.environment["DOCKER_HOST"] == "unix:///run/user/1000/docker.sock"
    assert "API_KEY" not in docker.environment


def test_macos_puts_the_program_behind_its_fence_and_not_the_supervisor(tmp_path: Path) -> None:
    """Who could signal it would not be watched."""
    (tmp_path / "ö").mkdir()
    (tmp_path / "ö" / ".envrc").touch()
    site = Site(tmp_path / "ö", tmp_path, "main.py", ("/opt/python",))
    assert Seatbelt().around(site) == ()
    rules = Seatbelt().inside(site).profile
    assert f'(allow file-read* file-write* (subpath "{tmp_path}/ö") (subpath "{tmp_path}/tmp"))' in rules
    assert f'(deny file-write* (subpath "{tmp_path}/ö/.envrc"))' in rules
    assert ".git" not in rules


def test_landlock_is_told_to_make_only_the_workspace_and_the_scratch_folder_writable(tmp_path: Path) -> None:
    site = Site(tmp_path / "workspace", tmp_path, "main.py", ("/opt/python",))
    inside = Landlocked().inside(site)
    assert set(inside.writable) == {str(tmp_path / "workspace"), str(tmp_path / "tmp")}
    assert not any(path in ("/", "/etc", "/home", "/root", "/tmp", "/proc", "/dev") for path in inside.readable)
