"""The kinds of sandbox: the command around the supervisor, and the paths by which a program sees its files."""

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from .inside.kernel import landlock_version
from .program import Language
from .snapshot import protected_paths
from .syscalls import SyscallFilter

LIMITED = (
    "clean environment, no inherited descriptors, own session",
    "limits of time, memory, tasks, disk, files and output, with a watchdog over all processes",
)
_MISSING_BEFORE = {2: "moving files between folders", 3: "truncation", 4: "TCP", 6: "signals and abstract sockets"}
# Files of /etc that programs read and that hold no secrets.
_SETTINGS = ("debian_version", "ld.so.cache", "localtime", "mime.types", "os-release", "services")
_PROGRAM = "/run/program"
_TEMPORARY, _SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - private ones


@dataclass(frozen=True, slots=True)
class HostPaths:
    """The paths of one run on this machine."""

    workspace: Path
    scratch: Path  # made for this run alone; holds the program's file
    program: str  # the file's name
    folders: tuple[str, ...]  # needed by the interpreter
    reaches_hosts: bool = False  # so it needs certificates
    closed: Path | None = None  # a folder in the workspace that is kept from the program

    @property
    def way_to_closed(self) -> tuple[Path, ...]:
        """The folders that a program must not rename, since it could put another folder in place of the closed one."""
        if not self.closed:
            return ()
        return tuple(path for path in reversed(self.closed.parents) if self.workspace in path.parents)


@dataclass(frozen=True, slots=True)
class GuestPaths:
    """The paths of the same run as the program sees them. If `writable` is empty, Landlock is not used."""

    program: str
    temporary: str
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    measured: Sequence[str] = ()
    devices: Sequence[str] = ()
    listed: Sequence[str] = ()


class Backend(ABC):
    """A way to build a sandbox. `layers` describes the protection for people; `isolated` says that it has namespaces.

    `python` runs the supervisor and Python programs. `has_network` says that programs can be restricted to some hosts,
    `can_close` that a folder of the workspace can be kept from them.
    """

    name: str
    python = sys.executable
    commands: Mapping[Language, tuple[str, ...]] = {}  # instead of this machine's
    environment: Mapping[str, str] = {}  # for the command around; never for the program
    isolated = False
    has_network = False
    can_close = True
    layers: tuple[str, ...] = LIMITED
    syscall_filter: bytes = b""

    def around(self, paths: HostPaths) -> Sequence[str]:
        """Returns the command to put in front of the supervisor's, if any."""
        return ()

    @abstractmethod
    def inside(self, paths: HostPaths) -> GuestPaths:
        """Creates what a run needs in its scratch folder, and returns the program's paths."""


class Unconfined(Backend):
    """No sandbox: within the limits, code can read and change whatever the user can."""

    name = "none"

    def inside(self, paths: HostPaths) -> GuestPaths:
        temporary = paths.scratch / "tmp"
        temporary.mkdir()
        program = str(paths.scratch / paths.program)
        return GuestPaths(program, str(temporary), measured=(str(paths.workspace), str(temporary)))


class Landlock(Backend):
    """Refuses access to the machine's files, signals and sockets without hiding them, if there are no namespaces."""

    name = "landlock"
    can_close = False  # permission for a folder covers everything in it

    def __init__(self) -> None:
        self.syscall_filter = _syscall_filter(isolated=False)
        self.layers = (*LIMITED, *landlock_layer(), "seccomp")

    def inside(self, paths: HostPaths) -> GuestPaths:
        temporary = paths.scratch / "tmp"
        temporary.mkdir()
        program = str(paths.scratch / paths.program)
        writable = (str(paths.workspace), str(temporary))
        readable = (*_READABLE, *git_settings(), *paths.folders, program)
        return GuestPaths(
            program, str(temporary), readable, writable, writable, ("/dev/ptmx",), listed=("/proc/self/task",)
        )


# Programs accept that a release file is missing, but not that it can't be read.
_DISTRIBUTIONS = ("alpine", "arch", "centos", "fedora", "lsb", "oracle", "redhat", "rocky", "system")
_READABLE = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
    *(f"/etc/{name}" for name in _SETTINGS), *(f"/etc/{name}-release" for name in _DISTRIBUTIONS), "/etc/alternatives",
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/protocols", "/etc/timezone",
    # Facts about the machine, and only the first process of the program itself, without its mounts and networks.
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/loadavg", "/proc/version",
    "/proc/filesystems", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/random",
    "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu", "/proc/self/fd", "/proc/self/status",
    "/proc/self/stat", "/proc/self/statm", "/proc/self/maps", "/proc/self/cmdline", "/proc/self/comm",
    "/proc/self/environ", "/proc/self/limits", "/proc/self/io",
)  # fmt: skip
# If this file exists but can't be read, git fails. Everybody can read it, but some put credentials in it.
_GIT_SETTINGS = Path("/etc/gitconfig")
_KEYS = re.compile(r"//[^/\s]*@|extraheader|password|token|secret", re.IGNORECASE)


def git_settings(path: Path = _GIT_SETTINGS) -> tuple[str, ...]:
    """Returns the path if a program may read it."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return () if _KEYS.search(text) else (str(path),)


class Namespaced(Backend):
    """Shows only the system's programs and the workspace; /tmp and /dev/shm are private."""

    def inside(self, paths: HostPaths) -> GuestPaths:
        writable = (str(paths.workspace), _TEMPORARY, _SHARED_MEMORY)
        program = f"{_PROGRAM}/{paths.program}"
        return GuestPaths(program, _TEMPORARY, ("/",), writable, writable, devices=("/dev/ptmx", "/dev/pts"))


class Bubblewrap(Namespaced):
    """`private_bytes` is the size of the private /tmp, and of the private /dev/shm."""

    name = "bubblewrap"
    isolated = True
    has_network = True

    def __init__(self, binary: str, private_bytes: int = 64 << 20) -> None:
        self._binary = binary
        self._size = str(private_bytes)
        self._devices = _own_devices()
        self.syscall_filter = _syscall_filter(isolated=True, keeps_metadata=bool(self._devices) or os.geteuid() > 0)
        self.layers = (
            *LIMITED,
            "bubblewrap: own users, processes, network and files; only the workspace and a private /tmp are writable",
            *landlock_layer(),
            *(("seccomp",) if self.syscall_filter else ()),
        )

    def around(self, paths: HostPaths) -> Sequence[str]:
        workspace = str(paths.workspace)
        return (
            self._binary, *_NAMESPACES, *self._root,
            "--ro-bind", _settings_folder(), "/etc", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
            *(part for name in _TRUST if paths.reaches_hosts
              for part in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")),
            *_way_to_workspace("--tmpfs", paths.workspace), *_same_place("--ro-bind", paths.folders),
            "--ro-bind", str(paths.scratch / paths.program), f"{_PROGRAM}/{paths.program}",
            "--bind", workspace, workspace, *_same_place("--ro-bind", map(str, protected_paths(paths.workspace))),
            # Mount points can't be renamed or removed, so each folder on the way to the closed one becomes a mount.
            *_same_place("--bind", map(str, paths.way_to_closed)),
            *(("--tmpfs", str(paths.closed), "--remount-ro", str(paths.closed)) if paths.closed else ()),
            *_READ_ONLY, *_way_to_workspace("--remount-ro", paths.workspace), "--remount-ro", "/", "--chdir", "/", "--",
        )  # fmt: skip

    @cached_property
    def _root(self) -> tuple[str, ...]:
        return (
            "--ro-bind", "/usr", "/usr", *_system_folders(),
            "--proc", "/proc", "--dev", "/dev", *self._devices,
            *(part for path in _MASKED if os.path.exists(path) for part in ("--ro-bind", os.devnull, path)),
            "--size", self._size, "--tmpfs", _SHARED_MEMORY, "--size", self._size, "--tmpfs", _TEMPORARY,
        )  # fmt: skip


_NOBODY_ID = "65534"
_NAMESPACES = (
    "--unshare-all", "--unshare-user", "--uid", _NOBODY_ID, "--gid", _NOBODY_ID, "--hostname", "sandbox",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--as-pid-1",
)  # fmt: skip
_MASKED = ("/proc/keys", "/proc/cmdline", "/proc/timer_list", "/proc/sched_debug")
_READ_ONLY = ("--remount-ro", "/dev", "--remount-ro", "/proc")  # root could write to /proc/sys
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9), "tty": (5, 0)}
_TRUST = ("ssl/certs", "pki")  # the certificate authorities of Debian and Red Hat


@lru_cache
def _settings_folder() -> str:
    """Returns a folder of copies, made once: a mount for each file would cost every program more than all of them."""
    folder = Path(tempfile.mkdtemp(prefix="ai-battle-etc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in _SETTINGS:
        if os.path.isfile(f"/etc/{name}"):
            shutil.copyfile(f"/etc/{name}", folder / name)
    (folder / "passwd").write_text("nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")
    (folder / "group").write_text("nogroup:x:65534:\n")
    (folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (folder / "nsswitch.conf").write_text("hosts: files\n")
    for name in ("alternatives", *_TRUST):
        (folder / name).mkdir(parents=True)
    return str(folder)


@lru_cache
def _own_devices() -> tuple[str, ...]:
    """Returns device nodes owned by nobody. As root, a program could change the mode of the machine's own ones."""
    if os.geteuid():
        return ()
    folder = Path(_settings_folder(), "devices")
    folder.mkdir()
    try:
        for name, numbers in _DEVICES.items():
            os.mknod(folder / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
            (folder / name).chmod(0o666)
            os.chown(folder / name, int(_NOBODY_ID), int(_NOBODY_ID))
        os.close(os.open(folder / "null", os.O_RDWR))
    except OSError:  # not allowed here, or not on this disk
        return ()
    return tuple(part for name in _DEVICES for part in ("--dev-bind", str(folder / name), f"/dev/{name}"))


def _system_folders() -> Iterator[str]:
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    if Path("/nix/store").is_dir():
        yield from ("--ro-bind", "/nix/store", "/nix/store")


def _way_to_workspace(option: str, workspace: Path) -> tuple[str, ...]:
    """Returns mounts of folders that lead to a workspace in /tmp; other files there would be lost with the sandbox."""
    for private in (_TEMPORARY, _SHARED_MEMORY):
        if private in map(str, workspace.parents[1:]):
            return option, str(Path(private, workspace.relative_to(private).parts[0]))
    return ()


def _same_place(option: str, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        yield from (option, path, path)


class Docker(Namespaced):
    """A container of a Python image, which is not pulled if missing. Languages that it lacks are not available."""

    name = "docker"
    # Not isolated, because the limit on processes would count all containers of a user.
    python = "python3"
    commands: Mapping[Language, tuple[str, ...]] = {"bash": ("/bin/bash",), "javascript": ("/usr/bin/env", "node")}

    def __init__(self, binary: str, image: str = "", private_bytes: int = 64 << 20) -> None:
        self._binary = binary
        self._image = image or DOCKER_IMAGE
        self._size = private_bytes
        self.environment = {name: os.environ[name] for name in _DOCKER_VARIABLES if name in os.environ}
        self.syscall_filter = _syscall_filter(isolated=True)
        self.layers = (
            *LIMITED, f"docker: a container of {self._image} without network, read-only but for the workspace"
        )  # fmt: skip

    def around(self, paths: HostPaths) -> Sequence[str]:
        mounts = [
            _mount(str(paths.scratch / paths.program), f"{_PROGRAM}/{paths.program}", "readonly"),
            _mount(str(paths.workspace), str(paths.workspace)),
            *(_mount(path, path, "readonly") for path in map(str, protected_paths(paths.workspace))),
            *(_mount(path, path) for path in map(str, paths.way_to_closed)),
            *([_csv("type=tmpfs", f"target={paths.closed}", "readonly")] if paths.closed else []),
        ]
        return (
            self._binary, "run", "--rm", "--interactive", "--pull", "never", "--network", "none", "--read-only",
            "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--ipc", "private",
            "--user", f"{os.getuid()}:{os.getgid()}",
            "--tmpfs", f"{_TEMPORARY}:size={self._size},mode=1777,exec", "--shm-size", str(self._size),
            "--workdir", "/", *(part for mount in mounts for part in ("--mount", mount)), self._image,
        )  # fmt: skip


DOCKER_IMAGE = "python:3.12-slim"
_DOCKER_VARIABLES = (
    "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
    "DOCKER_TLS_VERIFY",
)  # fmt: skip


def _mount(source: str, target: str, *more: str) -> str:
    return _csv("type=bind", f"source={source}", f"target={target}", *more)


def _csv(*parts: str) -> str:
    """Returns a line of comma-separated values, each in quotes, because paths may hold any character."""
    return ",".join('"' + part.replace('"', '""') + '"' for part in parts)


def landlock_layer() -> tuple[str, ...]:
    version = landlock_version()
    if not version:
        return ()
    missing = [what for since, what in _MISSING_BEFORE.items() if version < since]
    return (f"Landlock {version}" + (f" (without {', '.join(missing)})" if missing else ""),)


def _syscall_filter(*, isolated: bool, keeps_metadata: bool = True) -> bytes:
    return SyscallFilter(os.uname().machine, isolated, keeps_metadata).compile() if sys.platform == "linux" else b""
