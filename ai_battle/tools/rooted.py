"""A folder that no path leads out of: each step is opened relative to its open parent, and links are not followed."""

import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Literal

from ..core.errors import ToolError
from ..core.texts import escaped_name, unescaped_name


def _flags(*names: str) -> int:
    """Returns the flags that this system has; Windows lacks some, and can't open relative to a folder at all."""
    return reduce(or_, (getattr(os, name, 0) for name in names))


ROOT = _flags("O_RDONLY", "O_DIRECTORY", "O_CLOEXEC")
STEP = ROOT | _flags("O_NOFOLLOW")
READ_FLAGS = _flags("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC")
CREATE = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC")
LONGEST, DEEPEST = 4_000, 64
CHUNK_BYTES = 1 << 20
ANY_MAY_WRITE = 0o222
OUTSIDE = re.compile(r"/|~|.:")  # an absolute path, a home directory, a drive
# Files and folders from which other programs run code, unasked, when the user next opens the workspace with them.
AUTORUN_NAMES = frozenset(
    (
        ".git", ".hg", ".svn", ".vscode", ".idea", ".zed", ".devcontainer", ".husky", ".mcp.json", ".envrc", ".direnv",
        ".cursor", ".claude", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el",
    )
)  # fmt: skip
TASKS = ".code-workspace"
KINDS: Mapping[int, "Kind"] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}
Kind = Literal["file", "folder", "link", "pipe", "socket", "device"]


@dataclass(frozen=True, slots=True)
class Entry:
    """Something in a folder. `path` starts from the root, with escapes for invisible characters."""

    path: str
    kind: Kind
    size: int


class RootedFolder:
    """Reads and writes files below `root` by relative paths, except in the folder `closed`.

    `root` is created at the first write.
    """

    def __init__(self, root: Path, closed: Path | None = None) -> None:
        self.root = root.expanduser().absolute()
        self._closed = closed and (closed.stat().st_dev, closed.stat().st_ino)

    def read(self, path: str, limit: int) -> tuple[bytes, int]:
        """Returns at most `limit` bytes from the start of a file, and its full size."""
        steps = parts(path)
        with self._open(steps[:-1]) as folder, _check_name(path):
            descriptor = _open(steps, folder)
            with open(descriptor, "rb", buffering=0) as file:
                return _read(file.fileno(), limit), os.fstat(file.fileno()).st_size

    def write(self, path: str, data: bytes) -> bool:
        """Writes a file atomically and creates its parent folders; returns whether the file is new."""
        steps = parts(path)
        _must_be_writable(steps)
        with self._open(steps[:-1], make=True) as folder, _check_name(path):
            before = _status(steps[-1] if steps else "", folder)
            if before and not stat.S_ISREG(before.st_mode):
                raise ToolError(f"{path} is a {kind_of(before.st_mode)}, not a file; it is not written to.")
            if before and not before.st_mode & ANY_MAY_WRITE:
                raise ToolError(f"{path} is read-only; it is not written to.")
            _replace(steps[-1], data, folder, stat.S_IMODE(before.st_mode) & 0o777 if before else None)
        return before is None

    def entries(self, path: str, most: int) -> list[Entry]:
        """Returns at most `most` entries of a folder, unsorted; none if the root does not exist yet."""
        steps = parts(path, folder=True)
        found: list[Entry] = []
        if not steps and not self.root.exists():
            must_not_hold_home(self.root)
            return found
        with self._open(steps) as folder, os.scandir(folder) as listed:
            for one in listed:
                with suppress(OSError):
                    status = one.stat(follow_symlinks=False)
                    path = escaped_name("/".join((*steps, one.name)))
                    found.append(Entry(path, kind_of(status.st_mode), status.st_size))
                if len(found) >= most:
                    break
        return found

    @contextmanager
    def _open(self, steps: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """Opens the folder that the steps lead to."""
        if os.open not in os.supports_dir_fd:
            raise ToolError("Files of a workspace need Linux or macOS, or WSL 2 on Windows.")
        with ExitStack() as opened:
            with _check_name(str(self.root)):
                must_not_hold_home(self.root)
                if make:
                    self.root.mkdir(parents=True, exist_ok=True)
                here = os.open(self.root, ROOT)
            # From here on all is opened relative to an open folder: a link put in its place meanwhile has no effect.
            opened.callback(os.close, here)
            self._must_be_open(here, str(self.root))
            for number, step in enumerate(steps):
                with _check_name("/".join(steps[: number + 1])):
                    here = _step(step, here, make)
                opened.callback(os.close, here)
                self._must_be_open(here, step)
            yield here

    def _must_be_open(self, folder: int, name: str) -> None:
        status = os.fstat(folder)
        # Compared by device and inode, since a folder can have several paths.
        if self._closed == (status.st_dev, status.st_ino):
            raise ToolError(f"{name} is where this run is recorded; it is not opened.")


def parts(path: str, *, folder: bool = False) -> tuple[str, ...]:
    """Returns the steps of a path, which may be escaped as in `Entry`. Raises `ToolError` if it leads outside."""
    path = unescaped_name(path) if isinstance(path, str) else path
    _must_be_relative(path)
    steps = tuple(step for step in path.split("/") if step not in ("", "."))
    if ".." in steps:
        raise ToolError(f"{path!r:.200} is outside: '..' is not allowed; paths start from the workspace.")
    if len(steps) > DEEPEST:
        raise ToolError(f"{path!r:.200} has more than {DEEPEST} steps.")
    if not steps and not folder:
        raise ToolError("A path of a file is needed, such as 'notes/plan.md'.")
    return steps


def _must_be_relative(path: str) -> None:
    if not isinstance(path, str) or len(path) > LONGEST or not _is_clean(path):
        raise ToolError("The path must be text without NUL, of at most 4,000 characters.")
    if OUTSIDE.match(path) or "\\" in path:
        raise ToolError(f"{path!r:.200} is outside: paths start from the workspace, as in 'notes/plan.md', with '/'.")


def kind_of(mode: int) -> Kind:
    return KINDS.get(stat.S_IFMT(mode), "device")


def _is_clean(path: str) -> bool:
    try:
        return b"\0" not in path.encode()
    except UnicodeEncodeError:
        return False


def must_not_hold_home(root: Path) -> None:
    """Raises `ToolError` for a workspace that tools would open the home directory with."""
    found, home = (os.path.realpath(path).rstrip(os.sep) for path in (root, os.path.expanduser("~")))
    if f"{home}{os.sep}".startswith(f"{found}{os.sep}"):
        raise ToolError(f"The workspace {str(root)!r} holds the home directory; choose a folder of its own.")


def _must_be_writable(steps: tuple[str, ...]) -> None:
    for step in steps:
        if (plain := _folded_name(step)) in AUTORUN_NAMES or plain.endswith(TASKS):
            raise ToolError(f"{'/'.join(steps)}: {step} is not written to, since other programs run what stands there.")


def _folded_name(name: str) -> str:
    """Returns a name as file systems compare it that ignore case, width and invisible characters."""
    seen = unicodedata.normalize("NFKC", name).casefold().rstrip(". ")
    return "".join(character for character in seen if unicodedata.category(character) != "Cf")


def _step(name: str, folder: int, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
    try:
        return os.open(name, STEP, dir_fd=folder)
    except OSError:
        _must_not_be_a_link(name, folder)
        raise


def _open(steps: tuple[str, ...], folder: int) -> int:
    """Opens a regular file; any other type is refused, if possible before it is opened."""
    # Opening a pipe or device can have effects, so it is checked first; the file may be swapped, so it is checked
    # again.
    before = _status(steps[-1], folder)
    if before and not stat.S_ISREG(before.st_mode):
        raise ToolError(f"{'/'.join(steps)} is a {kind_of(before.st_mode)}, not a file.")
    descriptor = os.open(steps[-1], READ_FLAGS, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolError(f"{'/'.join(steps)} is not a file.")
    return descriptor


def _must_not_be_a_link(name: str, folder: int) -> None:
    status = _status(name, folder)
    if status and stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "link")


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _read(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    while limit > 0 and (piece := os.read(descriptor, min(limit, CHUNK_BYTES))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _replace(name: str, data: bytes, folder: int, mode: int | None) -> None:
    """Writes to a new file and renames it: readers see all or nothing, and hard links keep the old content."""
    beside = f".{secrets.token_hex(8)}.tmp"
    descriptor = os.open(beside, CREATE, 0o666, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(OSError):  # after the rename it is gone
            os.unlink(beside, dir_fd=folder)


@contextmanager
def _check_name(path: str) -> Iterator[None]:
    """Turns errors of the system into sentences about that path."""
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        raise ToolError(f"{path}: {reason}.") from error


REASONS = {
    errno.ENOENT: "there is no such file or folder",
    errno.ELOOP: "this is a link, and links are not followed",
    errno.ENOTDIR: "this is not a folder",
    errno.EISDIR: "this is a folder",
    errno.EACCES: "access is not allowed",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOSPC: "the disk is full",
}
