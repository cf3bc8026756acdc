"""Private files and folders, the lock of a run directory, copies of stores, our own folders, and packaged prompts."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from string import Template
from typing import TYPE_CHECKING

from .errors import ConfigError, JournalError

if TYPE_CHECKING:
    from .object_store import WorkingCopy


def cache_directory() -> Path:
    """Returns the folder for data that can be fetched or computed again."""
    if stated := os.environ.get("XDG_CACHE_HOME"):
        return Path(stated) / "ai-battle"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise ConfigError("There is no home directory; set XDG_CACHE_HOME to a folder that can be written.") from error
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ai-battle"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ai-battle" / "Cache"
    return home / ".cache" / "ai-battle"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder for data that can't be recreated."""
    stated = environment.get("XDG_STATE_HOME")
    return (Path(stated) if stated else Path.home() / ".local" / "state") / "ai-battle"


@cache
def prompt_template(package: str, name: str) -> Template:
    """Returns the file `prompts/<name>.md` of a package of ours."""
    return Template(files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip())


open_copies: "dict[Path, WorkingCopy]" = {}


def copy_of(path: Path) -> "WorkingCopy | None":
    """Returns the open copy of a folder of an object store that contains the path."""
    return next((copy for folder, copy in open_copies.items() if path == folder or folder in path.parents), None)


FOLDER, FILE = 0o700, 0o600


def make_private(folder: Path) -> None:
    """Creates the folder, if it is missing, for its owner alone; the permissions of an existing one stay."""
    try:
        folder.mkdir(FOLDER, exist_ok=True)
    except FileNotFoundError:
        # Its parents are not ours, so they get the usual permissions.
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(FOLDER, exist_ok=True)


LONGEST_NAME = 60


def make_dated(name: str, parent: Path) -> Path:
    """Creates a private folder named by the time; a random suffix separates those of one name in the same second."""
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:LONGEST_NAME] or "run"
    stem = taken = f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{slug}"
    while True:
        try:
            os.mkdir(parent / taken, FOLDER)  # atomic, so that two processes never share a name
        except FileNotFoundError:
            parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            taken = f"{stem}-{token_hex(3)}"
        else:
            return parent / taken


def sync_folders(*places: Path) -> None:
    """Waits until the files and folders that exist are on the disk; Windows has no such call for folders."""
    for path in places if os.name != "nt" else ():
        if path.exists():
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def open_private(path: str, flags: int) -> int:
    """Opens a file, creating it for its owner alone: `open(path, "w", opener=open_private)`."""
    return os.open(path, flags, FILE)


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Writes the file atomically: neither a reader nor a crash ever sees half of it. Its permissions stay."""
    _write_whole(path.resolve(), pieces, None)


def write_private(path: Path, pieces: Iterable[str]) -> None:
    """Writes the file atomically like `write_whole`, and makes it readable for its owner alone."""
    _write_whole(path, pieces, open_private)


def _write_whole(path: Path, pieces: Iterable[str], opener: Callable[[str, int], int] | None) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)  # a leftover of a crash may have other permissions
    try:
        with open(partial, "x", encoding="utf-8", newline="", opener=opener) as file:
            file.writelines(pieces)
        if opener is None and path.exists():
            shutil.copymode(path, partial)
        os.replace(partial, path)
    except OSError as error:  # when the disk is full, the system does not name the file
        error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".lock"


class RunLock:
    """A lock held from construction to `release`. Raises `JournalError` naming the process that holds it.

    The kernel releases the lock of a dead process, so a leftover lock file can be taken over.
    """

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / LOCK
        self._fd = _open_locked(self._path)
        try:
            os.truncate(self._fd, 0)
            os.write(self._fd, f"{os.getpid()} {socket.gethostname()}\n".encode())
        except OSError:
            os.close(self._fd)
            raise

    def release(self) -> None:
        # Removed while the lock is still held, so that nobody can have locked this file in between.
        with suppress(PermissionError):  # Windows keeps a file that is open; an empty lock file does no harm
            self._path.unlink(missing_ok=True)
        os.close(self._fd)


@contextmanager
def lock_directory(run_dir: Path) -> Iterator[None]:
    """Locks the directory against other writers. Raises `JournalError` if it is locked already."""
    try:
        lock = RunLock(run_dir)
    except OSError as error:
        raise JournalError(f"{run_dir} can't be written: {error.strerror}.") from error
    try:
        yield
    finally:
        lock.release()


def is_locked(run_dir: Path) -> bool:
    """Returns whether a process is writing into the directory; a lock file alone may be a leftover."""
    try:
        fd = os.open(run_dir / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        _lock(fd)
    except (BlockingIOError, PermissionError):
        return True
    finally:
        os.close(fd)  # releases the lock too
    return False


def _open_locked(path: Path) -> int:
    while True:
        fd = open_private(str(path), os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _lock(fd)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            raise JournalError(_refusal(path)) from None
        except OSError:
            os.close(fd)
            raise
        if _is_same_file(path, fd):
            return fd
        os.close(fd)


def _lock(fd: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_same_file(path: Path, fd: int) -> bool:
    """Returns whether the path still names the locked file: its last owner may have removed it in between."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _refusal(path: Path) -> str:
    try:
        pid, _, host = path.read_text(encoding="utf-8").strip().partition(" ")
    except OSError:
        pid, host = "", ""
    owner = f"process {pid} on {host}" if pid else "another process"
    return f"{path.parent} is in use by {owner}; wait until that run has ended, or stop it and resume."
