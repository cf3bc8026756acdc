"""Reads input files, which participants see with the first prompt, within limits for all files together."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from ..assembly.discussion import native_file_kinds
from ..config.discussion import InputFile, InputFiles
from ..config.documents import near_file
from ..config.loading import LoadedDiscussion
from ..config.problems import ConfigProblems, KeyPath, Problem
from ..core.errors import ConfigError
from ..core.messages import FILE_KINDS, Part
from ..files.folders import list_folder
from ..files.reading import LARGEST_PICTURE, MIB, FileContent, ReadingOptions, read_file
from ..files.texts import NothingToSend
from .prompting import part_size

MOST_PICTURE_BYTES, MOST_BYTES = 8 * MIB, 20 * MIB
"""Limits of all pictures together, which are shrunk to fit, and of all files as they are sent."""
TEXTS = ("text", "code", "csv", "json")
TYPES_IN_NAMES = {
    ".pdf": "pdf",
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp"), "image"),
    **dict.fromkeys((".mp4", ".mov", ".webm", ".mkv", ".avi"), "video"),
}
"""The types of files whose names promise more than text."""
_SHARED = ("max_resolution", "frames", "resend")
NATIVE_KINDS = FILE_KINDS - {"images"}


@dataclass(frozen=True, slots=True)
class Inputs:
    """The parts of all input files; `warnings` are for the user."""

    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _InputRead:
    """The result of reading a file or folder at a place in the configuration; `notes` are for the user."""

    place: KeyPath
    content: FileContent | None = None
    error: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _NamedFile:
    """A file that the configuration names, or one `found` in a folder that it names."""

    place: KeyPath
    file: InputFile
    found: bool = False


def read_all(loaded: LoadedDiscussion) -> Inputs:
    """Reads every input file of a discussion. Raises `ConfigError` with the places of unreadable files."""
    readings: list[_InputRead] = [*loaded.read] or _read_files(loaded)
    loaded.read.clear()  # the contents are large, and a later run has to read the files as they are then
    if wrong := [Problem(each.place, each.error) for each in readings if each.error]:
        raise ConfigProblems(map(loaded.location_of, wrong))
    parts = tuple(part for each in readings if each.content for part in each.content.parts)
    return Inputs(parts, tuple(dict.fromkeys(note for each in readings for note in each.notes)))


def problems(loaded: LoadedDiscussion) -> Iterator[Problem]:
    """Yields missing and unreadable files. What could be read is kept in `loaded` for the first run."""
    loaded.read[:] = _read_files(loaded)
    for each in loaded.read:
        if each.error:
            yield Problem(each.place, each.error)


def read_attachment(path: str, base: Path) -> Inputs:
    """Reads a file that a person names. Raises `ConfigError` if it can't be read or sent."""
    if not path:
        raise ConfigError("Name a file: /attach FILE.")
    file = _file_at(path)
    content = read_file(_path_of(file, base), path, ReadingOptions(native=NATIVE_KINDS))
    return Inputs(content.parts, _notes_on(file, content))


def _read_files(loaded: LoadedDiscussion) -> list[_InputRead]:
    found = [*_named_files(loaded)]
    if not found:
        return []
    named = [each for each in found if isinstance(each, _NamedFile)]
    options = _options(loaded, len(named))
    readings = [_read(each, loaded.base, options) if isinstance(each, _NamedFile) else each for each in found]
    sent = sum(part_size(part) for each in readings if each.content for part in each.content.parts)
    if sent > MOST_BYTES:
        words = f"{len(named)} files have {sent / MIB:.0f} MiB as they would be sent; {MOST_BYTES // MIB} are the most"
        return [_InputRead(named[-1].place[:2], error=f"{words}: name fewer, or a smaller max_resolution")]
    return readings


def _options(loaded: LoadedDiscussion, files: int) -> ReadingOptions:
    """Returns how to read the given number of files for the models that receive them."""
    kinds = [*native_file_kinds(loaded)]
    return ReadingOptions(
        most_bytes=min(LARGEST_PICTURE, MOST_PICTURE_BYTES // max(1, files)),
        native=NATIVE_KINDS.intersection(frozenset().union(*kinds)),
        plain=NATIVE_KINDS.difference(frozenset.intersection(*kinds)) if kinds else NATIVE_KINDS,
    )


def _named_files(loaded: LoadedDiscussion) -> Iterator[_NamedFile | _InputRead]:
    """Yields each file, the files of each folder, and notes on what was left out."""
    discussion = loaded.file.discussion
    if file := discussion.input_file:
        place: KeyPath = ("discussion", "input_file", "path")
        yield from _in_folder(place, _as_folder(file), loaded.base) if file.is_directory else [_NamedFile(place, file)]
    files = discussion.input_files or InputFiles()
    for number, file in enumerate(files.files):
        place = ("discussion", "input_files", "files", number, "path")
        file = _with_defaults(file, files)
        yield from _in_folder(place, _as_folder(file), loaded.base) if file.is_directory else [_NamedFile(place, file)]
    if files.directory:
        yield from _in_folder(("discussion", "input_files", "directory"), files, loaded.base)


def _as_folder(file: InputFile) -> InputFiles:
    """The same folder, as `input_files` would have it."""
    how = {key: getattr(file, key) for key in _SHARED}
    return InputFiles(directory=file.path, file_pattern=file.file_pattern).model_copy(update=how)


def _file_at(path: str) -> InputFile:
    """Builds an input file without validation, since the rules for written configurations don't apply to it."""
    return InputFile.model_construct(path=path)


def _with_defaults(file: InputFile, files: InputFiles) -> InputFile:
    """Fills the file's open settings from those that hold for all files."""
    left_open = {key: getattr(files, key) for key in _SHARED if getattr(file, key) is None}
    return file.model_copy(update=left_open)


def _in_folder(place: KeyPath, files: InputFiles, base: Path) -> Iterator[_NamedFile | _InputRead]:
    folder = _file_at(files.directory).resolve(base)
    try:
        if not os.path.isdir(folder):
            raise ConfigError(f"there is no directory {files.directory!r}")
        listing = list_folder(folder, files.file_pattern, files.max_files)
    except ConfigError as error:
        yield _InputRead(place, error=str(error))
        return
    notes = tuple(f"{files.directory} {note}" for note in listing.notes)
    if not listing.names:
        yield _InputRead(place, error="; ".join((f"has no file that matches {files.file_pattern!r}", *notes)))
        return
    for name in listing.names:
        yield _NamedFile(place, _with_defaults(_file_at(str(Path(files.directory, name))), files), found=True)
    yield _InputRead(place, notes=notes)


def _read(named: _NamedFile, base: Path, options: ReadingOptions) -> _InputRead:
    file = named.file
    options = ReadingOptions(
        file.type or "", file.max_resolution or "", options.most_bytes, options.native, options.plain,
        file.frames or options.frames, file.resend,
    )  # fmt: skip
    try:
        content = read_file(_path_of(file, base), file.path, options)
    except ConfigError as error:
        if named.found and isinstance(error, NothingToSend):
            return _InputRead(named.place, notes=(f"Left out: {error}.",))
        return _InputRead(named.place, error=str(error))
    return _InputRead(named.place, content, notes=_notes_on(file, content))


def _path_of(file: InputFile, base: Path) -> Path:
    path = file.resolve(base)
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError as error:
        raise ConfigError(f"{file.path!r} can't be read: {error.strerror}") from error
    except (OSError, ValueError) as error:  # ValueError: the name contains a null byte
        if path.is_symlink():
            raise ConfigError(f"{file.path!r} is a link that leads to no file") from error
        raise ConfigError(f"there is no file {file.path!r} in {base}{near_file(path)}") from error
    if is_directory:
        raise ConfigError(f"{file.path!r} is a directory; input_files takes one as 'directory'")
    return path


def _notes_on(file: InputFile, content: FileContent) -> tuple[str, ...]:
    return (*_type_mismatch(file, content), *(f"{note}." for note in content.notes))


def _type_mismatch(file: InputFile, content: FileContent) -> Iterator[str]:
    in_name = TYPES_IN_NAMES.get(PurePath(file.path).suffix.lower())
    stated = "text" if file.type == "code" else file.type or in_name
    says = "the configuration says" if file.type else "its name says"
    kind = "text" if content.kind in TEXTS else content.kind
    if stated and stated != kind:
        actual, wrong = _with_article(kind), _with_article(stated)
        yield f"{file.path} is {actual}, not {wrong} as {says}; it is sent as {actual}."


def _with_article(kind: str) -> str:
    return {"image": "an image", "pdf": "a PDF"}.get(kind, f"a {kind}")
