"""Input files: what participants get to see with the first prompt. A file's content decides what it is."""

import fnmatch
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import ConfigProblems, Loaded, Problem
from ..config.discussion import InputFile, InputFiles
from ..config.documents import near_file
from ..config.problems import KeyPath
from ..core.errors import ConfigError
from ..core.messages import Image, Part, Text
from . import pictures
from .pictures import damage

MIB = 1024 * 1024
LARGEST = 20 * MIB
LARGEST_TEXT = 2 * MIB
DIRECTORY = ("discussion", "input_files", "directory")
FENCE = "```"
KINDS = {"image/png": "a PNG", "image/jpeg": "a JPEG", "image/gif": "a GIF", "image/webp": "a WebP"}


@dataclass(frozen=True, slots=True)
class Inputs:
    """`warnings` are for the user."""

    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _InputRead:
    """A file as it is sent; without a part it is a video, which is left out."""

    file: InputFile
    kind: str
    part: Part | None = None


def read_all(loaded: Loaded) -> Inputs:
    """Every input file of a discussion; raises `ConfigError` for what can't be read, or can't be sent yet."""
    readings = [*_readings(loaded, _read_to_fit)]
    if wrong := [Problem(place, str(reading)) for place, reading in readings if isinstance(reading, ConfigError)]:
        raise ConfigProblems(map(loaded.location_of, wrong))
    found = [reading for _, reading in readings if isinstance(reading, _InputRead)]
    return Inputs(tuple(read.part for read in found if read.part), (*_beyond_most(loaded), *_warnings(found)))


def problems(loaded: Loaded) -> Iterator[Problem]:
    """Files that are missing or can't be read. What can't be sent yet is no mistake of the configuration."""
    for place, reading in _readings(loaded, _read):
        if isinstance(reading, ConfigError) and not isinstance(reading, NotSentYet):
            yield Problem(place, str(reading))


def notes(loaded: Loaded) -> Iterator[str]:
    """What the user should know of the files of a discussion that is right."""
    late = [(place, str(reading)) for place, reading in _readings(loaded, _read) if isinstance(reading, NotSentYet)]
    if not late:
        yield from read_all(loaded).warnings
    for place, words in late:
        yield f"this will not run: {loaded.with_place(Problem(place, words))}"


def read_part(path: str, base: Path) -> Part:
    """A text or a picture as it goes with a message; raises `ConfigError` for a file that can't be read or sent."""
    part = _read_to_fit(InputFile(path=path), base).part if path else None
    if part is None:
        raise NotSentYet(f"{path} is a video; videos can't be sent yet." if path else "Name a file: /attach FILE.")
    return part


class NotSentYet(ConfigError):
    """A file of a kind that participants can't be given yet."""


def _readings(
    loaded: Loaded, read: Callable[[InputFile, Path], _InputRead]
) -> Iterator[tuple[KeyPath, _InputRead | ConfigError]]:
    """Each file as it was read, or why it was not, with the place in the configuration that names it."""
    for place, file in _input_files(loaded):
        try:
            yield place, read(file, loaded.base)
        except ConfigError as error:
            yield place, error
    files = loaded.file.discussion.input_files
    if files and files.directory and not _in_directory(files, loaded.base):
        is_there = os.path.isdir(loaded.base / os.path.expanduser(files.directory))
        words = f"has no file that matches {files.file_pattern!r}"
        yield DIRECTORY, ConfigError(words if is_there else f"there is no directory {files.directory!r}")


def _input_files(loaded: Loaded) -> Iterator[tuple[KeyPath, InputFile]]:
    """Each file, and the place in the configuration that names it."""
    said = loaded.file.discussion
    if said.input_file:
        yield ("discussion", "input_file", "path"), said.input_file
    if files := said.input_files:
        for number, file in enumerate(files.files):
            smallest = file.max_resolution or files.max_resolution
            with_default = file.model_copy(update={"max_resolution": smallest})
            yield ("discussion", "input_files", "files", number, "path"), with_default
        for name in _in_directory(files, loaded.base)[: files.max_files]:
            yield DIRECTORY, InputFile(path=name, max_resolution=files.max_resolution)


def _in_directory(files: InputFiles, base: Path) -> Sequence[str]:
    """The files of the directory that match, by name; not those of its folders, and none that is hidden."""
    folder = base / os.path.expanduser(files.directory)
    if not files.directory or not os.path.isdir(folder):
        return ()
    names = (entry.name for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))
    return [str(Path(files.directory, name)) for name in sorted(fnmatch.filter(names, files.file_pattern))]


def _beyond_most(loaded: Loaded) -> Iterator[str]:
    files = loaded.file.discussion.input_files
    if files and len(found := _in_directory(files, loaded.base)) > files.max_files:
        yield f"{files.directory} has {len(found)} files that match; the first {files.max_files} are sent (max_files)."


def _read(file: InputFile, base: Path) -> _InputRead:
    if file.names_video:
        return _InputRead(file, "video")
    data = _bytes(file, base)
    if media_type := pictures.media_type(data):
        if fault := damage(data, media_type):
            raise ConfigError(f"{file.path} begins like {KINDS[media_type]}, and is damaged: {fault}")
        if file.max_resolution:
            pictures.check_pixels(data, file.path)
        return _InputRead(file, "image", Image(media_type, data))
    if data.startswith(b"%PDF-"):
        raise NotSentYet(f"{file.path} is a PDF; PDF files can't be sent yet: give its text, or pictures of its pages.")
    if _is_video(data):
        return _InputRead(file, "video")
    return _InputRead(file, "text", Text(_fence(file.path, _text(data, file.path))))


def _bytes(file: InputFile, base: Path) -> bytes:
    path = file.resolve(base)
    if os.path.isdir(path):
        raise ConfigError(f"{file.path!r} is a directory; input_files takes one as 'directory'")
    if not os.path.isfile(path):  # nor is what has a name that no file can have
        raise ConfigError(f"there is no file {file.path!r} in {base}{near_file(path)}")
    try:
        if (size := path.stat().st_size) <= LARGEST:
            return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file.path} can't be read: {error.strerror}") from error
    raise ConfigError(f"{file.path} has {size / MIB:.0f} MiB; an input file may have {LARGEST // MIB}")


def _text(data: bytes, shown: str) -> str:
    if len(data) > LARGEST_TEXT:
        raise ConfigError(f"{shown} has {len(data) / MIB:.1f} MiB of text; {LARGEST_TEXT // MIB} are the most")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown} is neither an image nor text in UTF-8 (byte {error.start})") from None
    if "\0" in text:
        raise ConfigError(f"{shown} is neither an image nor a text")
    if not text.strip():
        raise ConfigError(f"{shown} is empty")
    return text


def _fence(name: str, text: str) -> str:
    """The fence is longer than any in the text, so the file can't break out of it."""
    fence = FENCE
    while fence in text:
        fence += "`"
    return f"{Path(name).name}:\n{fence}{Path(name).suffix.lstrip('.')}\n{text.rstrip()}\n{fence}\n\n"


def _is_video(data: bytes) -> bool:
    return (
        data[4:8] == b"ftyp" or data.startswith(b"\x1a\x45\xdf\xa3") or (data[:4] == b"RIFF" and data[8:12] == b"AVI ")
    )


def _read_to_fit(file: InputFile, base: Path) -> _InputRead:
    """A picture that is larger than it may be is scaled down where Pillow is there."""
    read = _read(file, base)
    if not _is_too_large(read) or pictures.lacking():
        return read
    assert isinstance(read.part, Image)
    data = pictures.scale_down(read.part.data, pictures.resolution(file.max_resolution or ""), file.path)
    return replace(read, part=Image(read.part.media_type, data))


def _is_too_large(read: _InputRead) -> bool:
    box = pictures.resolution(read.file.max_resolution) if read.file.max_resolution else None
    return isinstance(read.part, Image) and box is not None and pictures.is_larger(read.part.data, box)


def _warnings(found: Sequence[_InputRead]) -> Iterator[str]:
    for read in found:
        path, said = read.file.path, "text" if read.file.type == "code" else read.file.type
        if not read.part:
            yield f"{path} is a video; videos can't be sent yet, so this runs without it. Pictures of it can be sent."
        elif said and said != read.kind:
            yield f"{path} is {_a(read.kind)}, not {_a(said)} as the configuration says; it is sent as what it is."
    if large := [read.file.path for read in found if _is_too_large(read)]:
        yield f"Larger than max_resolution, and sent as they are: {', '.join(large)}. {pictures.lacking()}"


def _a(kind: str) -> str:
    return {"image": "an image", "text": "a text"}.get(kind, f"a {kind}")
