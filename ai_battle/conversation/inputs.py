"""Input files: what participants get to see with the first prompt. A file's content decides what it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import ConfigProblems, Loaded, Problem
from ..config.inputs import InputFile
from ..core.errors import ConfigError
from ..core.messages import Image, Part, Text
from . import pictures
from ._intact import damage

MIB = 1024 * 1024
LARGEST = 20 * MIB
LARGEST_TEXT = 2 * MIB
FENCE = "```"
KINDS = {"image/png": "a PNG", "image/jpeg": "a JPEG", "image/gif": "a GIF", "image/webp": "a WebP"}


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
    found = [(file, _found(loaded, path, file)) for path, file in _listed(loaded)]
    return Inputs(tuple(read.part for _, read in found), tuple(_warnings(found)))


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
        return _fitting(file, _read(file, loaded.base))
    except ConfigError as error:
        raise type(error)(loaded.located(Problem((*path, "path"), str(error)))) from None


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
    if media_type := pictures.media_type(data):
        if fault := damage(data, media_type):
            raise ConfigError(f"{file.path} begins like {KINDS[media_type]}, and is damaged: {fault}")
        if file.max_resolution:
            pictures.check_pixels(data, file.path)
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


def _is_video(data: bytes) -> bool:
    return (
        data[4:8] == b"ftyp" or data.startswith(b"\x1a\x45\xdf\xa3") or (data[:4] == b"RIFF" and data[8:12] == b"AVI ")
    )


def _fitting(file: InputFile, read: _Read) -> _Read:
    """A picture that is larger than it may be, scaled down where Pillow is there."""
    if not _is_too_large(file, read) or pictures.lacking():
        return read
    assert isinstance(read.part, Image)
    data = pictures.scaled_down(read.part.data, pictures.resolution(file.max_resolution or ""), file.path)
    return replace(read, part=Image(read.part.media_type, data))


def _is_too_large(file: InputFile, read: _Read) -> bool:
    box = pictures.resolution(file.max_resolution) if file.max_resolution else None
    return isinstance(read.part, Image) and box is not None and pictures.is_larger(read.part.data, box)


def _warnings(found: Sequence[tuple[InputFile, _Read]]) -> Iterator[str]:
    for file, read in found:
        said = "text" if file.type == "code" else file.type
        if said and said != read.kind:
            yield f"{file.path} is {_a(read.kind)}, not {_a(said)} as the configuration says; it is sent as what it is."
    if large := [file.path for file, read in found if _is_too_large(file, read)]:
        yield f"Larger than max_resolution, and sent as they are: {', '.join(large)}. {pictures.lacking()}"


def _a(kind: str) -> str:
    return {"image": "an image", "text": "a text"}.get(kind, f"a {kind}")
