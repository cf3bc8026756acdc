"""Bubblewrap: namespaces in which there is nothing but the system's programs and the workspace."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

from ._fences import Fence, Inside, Site
from ._layers import ALWAYS, SETTINGS, TERMINALS, calls, landlock_layer
from ._protected import closed_to_programs

NOBODY = "65534"
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SEALED = ("--remount-ro", "/dev", "--remount-ro", "/proc")  # root could write to /proc/sys
_MASKED = ("/proc/keys", "/proc/cmdline", "/proc/timer_list", "/proc/sched_debug")
_PROGRAM = "/run/program"
_TRUST = ("ssl/certs", "pki")  # whom Debian's and Red Hat's libraries believe
_TEMPORARY = "/tmp"  # noqa: S108 - a private one
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a private one


class Bubblewrap(Fence):
    """`private_bytes` is the room in the private /tmp, and again in the private /dev/shm."""

    name = "bubblewrap"
    alone = True
    own_network = True

    def __init__(self, binary: str, private_bytes: int = 64 << 20) -> None:
        self._binary = binary
        self._size = str(private_bytes)
        self.calls = calls(alone=True)
        self.layers = (
            *ALWAYS,
            "bubblewrap: own users, processes, network and files; only the workspace and a private /tmp are writable",
            *landlock_layer(),
            *(("seccomp",) if self.calls else ()),
        )

    def around(self, site: Site) -> Sequence[str]:
        return (
            self._binary, *self._namespaces, *self._root,
            *_settings(), *(_trusted() if site.reaches else ()), *_passage("--tmpfs", site), *_bound(site.folders),
            "--ro-bind", str(site.scratch / site.program), f"{_PROGRAM}/{site.program}",
            "--bind", str(site.workspace), str(site.workspace), *_read_only(site.workspace),
            *_closed(site), *_SEALED, *_passage("--remount-ro", site), "--remount-ro", "/", "--chdir", "/", "--",
        )  # fmt: skip

    def inside(self, site: Site) -> Inside:
        writable = (str(site.workspace), _TEMPORARY, _SHARED_MEMORY)
        return Inside(f"{_PROGRAM}/{site.program}", _TEMPORARY, ("/",), writable, writable, devices=TERMINALS)

    @property
    def _namespaces(self) -> tuple[str, ...]:
        return (
            "--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox",
            "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--as-pid-1",
        )  # fmt: skip

    @cached_property
    def _root(self) -> tuple[str, ...]:
        return (
            "--ro-bind", "/usr", "/usr", *_system_folders(),
            "--proc", "/proc", "--dev", "/dev",
            *(part for path in _MASKED if os.path.exists(path) for part in ("--ro-bind", os.devnull, path)),
            "--size", self._size, "--tmpfs", _SHARED_MEMORY, "--size", self._size, "--tmpfs", _TEMPORARY,
        )  # fmt: skip


def _settings() -> tuple[str, ...]:
    return "--ro-bind", _settings_folder(), "/etc", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"


@lru_cache
def _settings_folder() -> str:
    """Copies, made once: each mount of its own would cost every program as much as all of them together."""
    folder = Path(tempfile.mkdtemp(prefix="ai-battle-etc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in SETTINGS:
        if os.path.isfile(f"/etc/{name}"):
            shutil.copyfile(f"/etc/{name}", folder / name)
    (folder / "passwd").write_text("nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")
    (folder / "group").write_text("nogroup:x:65534:\n")
    (folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (folder / "nsswitch.conf").write_text("hosts: files\n")
    for name in ("alternatives", *_TRUST):
        (folder / name).mkdir(parents=True)
    return str(folder)


def _trusted() -> Iterator[str]:
    for name in _TRUST:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _system_folders() -> Iterator[str]:
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    if Path("/nix/store").is_dir():
        yield from ("--ro-bind", "/nix/store", "/nix/store")


def _passage(option: str, site: Site) -> tuple[str, ...]:
    """Folders that lead to a workspace in /tmp; nobody could find what a program writes into these private ones."""
    for private in (_TEMPORARY, _SHARED_MEMORY):
        if private in map(str, site.workspace.parents[1:]):
            return option, str(Path(private, site.workspace.relative_to(private).parts[0]))
    return ()


def _bound(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        yield from ("--ro-bind", folder, folder)


def _read_only(workspace: Path) -> Iterator[str]:
    for path in map(str, closed_to_programs(workspace)):
        yield from ("--ro-bind", path, path)


def _closed(site: Site) -> Iterator[str]:
    """Mounts, as nobody can rename or remove those: on the way to it the folders themselves, there an empty one."""
    for path in map(str, site.way):
        yield from ("--bind", path, path)
    if site.closed:
        yield from ("--tmpfs", str(site.closed), "--remount-ro", str(site.closed))
