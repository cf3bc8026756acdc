"""Lists the files of a folder that match a pattern, within a limit on the entries that are looked at."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from ..core.errors import ConfigError
from . import pictures, video
from .texts import is_text

MOST_ENTRIES = 20_000
HEAD_BYTES = 1024
LISTED_NAMES = 3
TAKEN, HIDDEN = "taken", "hidden"
BINARY, OUTSIDE = "neither texts nor pictures", "links out of it or to nothing"


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The file names relative to the folder, sorted. Each of `notes` completes a sentence about what was left out."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def list_folder(folder: Path, pattern: str, most: int) -> FolderListing:
    """Returns the first `most` matching files; a pattern with a slash, such as `**/*.py`, also matches in subfolders.

    Hidden files, binary files, and links that lead out of the folder are left out. Raises `ConfigError`.
    """
    top, groups = os.path.realpath(folder), defaultdict[str, list[str]](list)
    try:
        for name in _names(top, deep="/" in pattern or pattern == "**"):
            groups[_group(top, name)].append(PurePosixPath(Path(name)).as_posix())
        matching = sorted(name for name in groups[TAKEN] if _matches(name.split("/"), pattern.split("/")))
        kept, groups[BINARY] = _sendable(top, matching, most)
    except OSError as error:
        raise ConfigError(f"{error.filename} can't be read: {error.strerror}") from error
    beyond = len(matching) - len(groups[BINARY]) > most
    notes = [f"has {len(matching)} files that match; the first {most} are sent (max_files)."] if beyond else []
    notes += [_omission_note(groups[words], words) for words in (HIDDEN, BINARY, OUTSIDE) if groups[words]]
    return FolderListing(tuple(kept), tuple(notes))


def _group(top: str, name: str) -> str:
    """Returns what a file is: taken, or why it is left out."""
    path = os.path.join(top, name)
    if os.path.basename(name).startswith("."):
        return HIDDEN
    if os.path.islink(path) and not (os.path.isfile(path) and os.path.realpath(path).startswith(os.path.join(top, ""))):
        return OUTSIDE
    return TAKEN if os.path.isfile(path) else "a device or a pipe"


def _names(top: str, *, deep: bool) -> Iterator[str]:
    """Yields the name of each file, relative to the folder. Raises `ConfigError` if there are too many entries."""
    left = MOST_ENTRIES
    for place, folders, names in os.walk(top, onerror=_raise):
        left -= len(folders) + len(names)
        if left < 0:
            raise ConfigError(f"the directory has more than {MOST_ENTRIES:,} entries; name a folder with fewer")
        folders[:] = [name for name in folders if deep and not name.startswith(".")]
        yield from (os.path.relpath(os.path.join(place, name), top) for name in names)


def _raise(error: OSError) -> None:
    raise error


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
