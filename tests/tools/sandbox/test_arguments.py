"""Whatever folders are called, the only writable mount of the machine's is the workspace."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ai_battle.tools.sandbox._bwrap import Bubblewrap
from ai_battle.tools.sandbox._docker import Docker
from ai_battle.tools.sandbox._fences import Site
from ai_battle.tools.sandbox._landlocked import Landlocked

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


@given(SITES)
def test_docker_is_told_to_make_only_the_workspace_writable(site: Site) -> None:
    arguments = list(DOCKER.around(site))
    mounts = [value for option, value in pairwise(arguments) if option == "--mount"]
    assert len([mount for mount in mounts if not mount.endswith(",readonly")]) == 1
    assert "--read-only" in arguments
    assert arguments[arguments.index("--network") + 1] == "none"


def test_landlock_is_told_to_make_only_the_workspace_and_the_scratch_folder_writable(tmp_path: Path) -> None:
    site = Site(tmp_path / "workspace", tmp_path, "main.py", ("/opt/python",))
    inside = Landlocked().inside(site)
    assert set(inside.writable) == {str(tmp_path / "workspace"), str(tmp_path / "tmp")}
    assert not any(path in ("/", "/etc", "/home", "/root", "/tmp", "/proc", "/dev") for path in inside.readable)
