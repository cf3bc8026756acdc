"""Folders as a program has left them: whatever their depth and their rights, they can be looked at and removed."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def entries(folder: Path) -> list[Path]:
    """Lists what it holds; nothing if it is no folder."""
    if not is_folder(folder):
        return []
    make_usable(folder)
    return sorted(folder.iterdir())


def make_usable(folder: Path) -> None:
    """A program may have taken its owner's rights away."""
    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(mode | stat.S_IRWXU)


def walk(folder: Path, but: str) -> Iterator[tuple[str, set[str]]]:
    """It and its folders at any depth, with the names in them; not those that are called `but`."""
    waiting = [str(folder)]
    while waiting:
        here = waiting.pop()
        found = _scan(here)
        yield here, {entry.name for entry in found}
        waiting += [entry.path for entry in found if entry.name != but and entry.is_dir(follow_symlinks=False)]


def _scan(folder: str) -> list[os.DirEntry[str]]:
    """Returns the entries of a folder; None where the path is longer than anybody could say it."""
    try:
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            make_usable(Path(folder))
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def discard(folder: str | Path) -> None:
    """Deletes a folder with all that is in it; what the quick way leaves goes the slow one."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        remove(Path(folder))


def remove(path: Path) -> None:
    """Deletes; folders inside are moved up before, so that none lies too deep to be reached."""
    if not is_folder(path):
        path.unlink(missing_ok=True)
        return
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for child in entries(folder):
            if is_folder(child):
                make_usable(child)
                waiting.append(child.rename(path.with_name(f".{secrets.token_hex(8)}")))
            else:
                child.unlink()
        os.rmdir(folder)
