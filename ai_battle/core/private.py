"""Folders and files that nobody but their owner can read, whatever the umask of the process says."""

import os
from collections.abc import Iterable
from pathlib import Path

FOLDER, FILE = 0o700, 0o600


def make_private(folder: Path) -> None:
    """Makes the folder where it is not there; one that is keeps its rights."""
    try:
        folder.mkdir(FOLDER, exist_ok=True)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(FOLDER, exist_ok=True)


def private(path: str, flags: int) -> int:
    """Opens a file that is made with the rights of its owner alone: `open(path, "w", opener=private)`."""
    return os.open(path, flags, FILE)


def write_private(path: Path, pieces: Iterable[str]) -> None:
    """Writes the file whole or not at all: a reader, or a crash, never meets half of it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)  # what a crash left may have other rights
    try:
        with open(partial, "x", encoding="utf-8", newline="", opener=private) as file:
            file.writelines(pieces)
        os.replace(partial, path)
    except OSError as error:  # of a full disk the system does not say where
        error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)
