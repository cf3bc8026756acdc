"""Input files: what participants get to see with the first prompt. A file's content decides what it is."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..config import ConfigProblems, Loaded, Problem
from ..config.inputs import InputFile
from ..core.errors import ConfigError
from ..core.messages import Image, Part, Text

MIB = 1024 * 1024
LARGEST = 20 * MIB
LARGEST_TEXT = 2 * MIB
FENCE = "```"
K = 1024

_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """`warnings` are for the user."""

    parts: tuple[Part, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Read:
    part: Part
    kind: str


def read_all(loaded: Loaded) -> Inputs:
    """Every input file of a discussion; raises `ConfigError` for what can't be read, or can't be sent yet."""
    if problems := [*loaded.missing_files(), *unreadable(loaded)]:
        raise ConfigProblems(loaded.located(problem) for problem in problems)
    if (files := loaded.file.discussion.input_files) and files.directory:
        place = ("discussion", "input_files", "directory")
        words = "can't be used yet; list the files in input_files.files."
        raise NotSentYet(loaded.located(Problem(place, words)))
    parts: list[Part] = []
    warnings: list[str] = []
    for path, file in _listed(loaded):
        read = _found(loaded, path, file)
        parts.append(read.part)
        warnings.extend(_warnings(file, read))
    return Inputs(tuple(parts), tuple(warnings))


def unreadable(loaded: Loaded) -> Iterator[Problem]:
    """Files that are there and can't be read. What can't be sent yet is no mistake of the configuration."""
    missing = {problem.path for problem in loaded.missing_files()}
    for path, file in _listed(loaded):
        if (place := (*path, "path")) in missing:
            continue
        try:
            _read(file, loaded.base)
        except NotSentYet:
            continue
        except ConfigError as error:
            yield Problem(place, str(error))


class NotSentYet(ConfigError):
    """A file of a kind that participants can't be given yet."""


def _found(loaded: Loaded, path: tuple[str | int, ...], file: InputFile) -> _Read:
    try:
        return _read(file, loaded.base)
    except NotSentYet as error:
        raise NotSentYet(loaded.located(Problem((*path, "path"), str(error)))) from None


def _listed(loaded: Loaded) -> Iterator[tuple[tuple[str | int, ...], InputFile]]:
    said = loaded.file.discussion
    if said.input_file:
        yield ("discussion", "input_file"), said.input_file
    if said.input_files:
        for number, file in enumerate(said.input_files.files):
            smallest = file.max_resolution or said.input_files.max_resolution
            with_default = file.model_copy(update={"max_resolution": smallest})
            yield ("discussion", "input_files", "files", number), with_default


def _read(file: InputFile, base: Path) -> _Read:
    path = file.resolve(base)
    data = _bytes(path, file.path)
    if media_type := _image_type(data):
        return _Read(Image(media_type, data), "image")
    if data.startswith(b"%PDF-"):
        raise NotSentYet(f"{file.path} is a PDF; PDF files can't be sent yet: give its text, or pictures of its pages.")
    if _is_video(data):
        raise NotSentYet(f"{file.path} is a video; videos can't be sent yet: give pictures of it.")
    return _Read(Text(_fenced(file.path, _text(data, file.path))), "text")


def _bytes(path: Path, shown: str) -> bytes:
    try:
        if (size := path.stat().st_size) <= LARGEST:
            return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown} can't be read: {error.strerror}") from error
    raise ConfigError(f"{shown} has {size / MIB:.0f} MiB; an input file may have {LARGEST // MIB}")


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


def _fenced(name: str, text: str) -> str:
    """The fence is longer than any in the text, so the file can't break out of it."""
    fence = FENCE
    while fence in text:
        fence += "`"
    return f"{Path(name).name}:\n{fence}{Path(name).suffix.lstrip('.')}\n{text.rstrip()}\n{fence}\n\n"


def _image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _IMAGES.items() if data.startswith(magic)), "")


def _is_video(data: bytes) -> bool:
    return (
        data[4:8] == b"ftyp" or data.startswith(b"\x1a\x45\xdf\xa3") or (data[:4] == b"RIFF" and data[8:12] == b"AVI ")
    )


def _warnings(file: InputFile, read: _Read) -> Iterator[str]:
    said = "text" if file.type == "code" else file.type
    if said and said != read.kind:
        yield f"{file.path} is {_a(read.kind)}, not {_a(said)} as the configuration says; it is sent as what it is."
    if isinstance(read.part, Image) and file.max_resolution and (size := _size(read.part.data)):
        width, height = _resolution(file.max_resolution)
        if size[0] > width or size[1] > height:
            yield f"{file.path} has {size[0]}x{size[1]} pixels, more than {width}x{height}; it is sent as it is."


def _a(kind: str) -> str:
    return {"image": "an image", "text": "a text"}.get(kind, f"a {kind}")


def _resolution(written: str) -> tuple[int, int]:
    if written[-1] in "kK":
        return int(written[:-1]) * K, int(written[:-1]) * K
    width, height = written.lower().split("x")
    return int(width), int(height)


def _size(data: bytes) -> tuple[int, int] | None:
    """Width and height, where the head of the file tells."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"GIF8") and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    return _jpeg_size(data) if data.startswith(b"\xff\xd8") else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """From the frame header, which follows any number of other segments."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None
