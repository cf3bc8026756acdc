"""Lists the files of a folder that match a pattern, within a limit on the entries that are looked at."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path, PurePosixPath

from ..core.errors import ConfigError
from . import pictures, video
from .texts import is_text

MOST_ENTRIES = 20_000
HEAD_BYTES = 1024
LISTED_NAMES = 3


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The file names relative to the folder, sorted. Each of `notes` completes a sentence about what was left out."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _FolderWalk:
    """One walk through a folder; skipped files are collected in `hidden` and `outside`."""

    top: str
    deep: bool
    hidden: list[str]
    outside: list[str]

    def names(self) -> Iterator[str]:
        """Yields every regular file that is not hidden. Raises `ConfigError` if there are too many entries."""
        left, folders = MOST_ENTRIES, [""]
        while folders:
            inside = folders.pop()
            with os.scandir(os.path.join(self.top, inside)) as listed:
                entries = [*islice(listed, left + 1)]
            left -= len(entries)
            if left < 0:
                raise ConfigError(f"the directory has more than {MOST_ENTRIES:,} entries; name a folder with fewer")
            for entry in entries:
                name = os.path.join(inside, entry.name)
                if self.deep and entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    folders.append(name)
                if self._is_taken(entry, name):
                    yield PurePosixPath(Path(name)).as_posix()

    def _is_taken(self, entry: "os.DirEntry[str]", name: str) -> bool:
        try:
            is_file = entry.is_file()
        except OSError:  # a link to itself, or into a folder without permission
            self.outside.append(name)
            return False
        if not is_file:
            return False
        if entry.name.startswith("."):
            self.hidden.append(name)
            return False
        is_inside = not entry.is_symlink() or os.path.realpath(entry.path).startswith(os.path.join(self.top, ""))
        if not is_inside:
            self.outside.append(name)
        return is_inside


def list_folder(folder: Path, pattern: str, most: int) -> FolderListing:
    """Returns the first `most` matching files; a pattern with a slash, such as `**/*.py`, also matches in subfolders.

    Hidden files, binary files, and links that lead out of the folder are left out. Raises `ConfigError`.
    """
    walk = _FolderWalk(os.path.realpath(folder), "/" in pattern or pattern == "**", [], [])
    try:
        matching = sorted(name for name in walk.names() if _matches(name.split("/"), pattern.split("/")))
        kept, binary = _sendable(walk.top, matching, most)
    except OSError as error:
        raise ConfigError(f"{error.filename} can't be read: {error.strerror}") from error
    beyond = len(matching) - len(binary) > most
    notes = [f"has {len(matching)} files that match; the first {most} are sent (max_files)."] if beyond else []
    for names, words in (
        (walk.hidden, "hidden"),
        (binary, "neither texts nor pictures"),
        (walk.outside, "links out of it or to nothing"),
    ):
        notes += [_omission_note(names, words)] if names else []
    return FolderListing(tuple(kept), tuple(notes))


def _sendable(top: str, names: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """Returns the first names of files that can be sent, and those before them that can't."""
    kept: list[str] = []
    binary: list[str] = []
    for name in names:
        if len(kept) == most:
            break
        with open(os.path.join(top, name), "rb", opener=open_at_once) as file:
            head = file.read(HEAD_BYTES) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"\0"
        known = pictures.media_type(head) or video.media_type(head) or b"%PDF-" in head
        (kept if known or is_text(head) else binary).append(name)
    return kept, binary


def open_at_once(path: str, flags: int) -> int:
    """Opens a file without blocking, since opening a pipe without a writer would wait forever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _omission_note(names: Sequence[str], words: str) -> str:
    some = ", ".join(sorted(names)[:LISTED_NAMES])
    return f"has files that are left out, as they are {words}: {some}{', ...' if len(names) > LISTED_NAMES else ''}"


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not names
    if pattern[0] == "**":
        return _matches(names, pattern[1:] or ["*"]) or (bool(names) and _matches(names[1:], pattern))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:])
