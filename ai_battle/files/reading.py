"""Reads one file within limits. Its type is determined by its content, and what was left out is reported."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.util import find_spec
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path, PurePath
from typing import IO, Any, Literal

from ..core import plugins
from ..core.errors import ConfigError
from ..core.messages import Document, Image, Part, Text, file_of
from . import pictures, texts, video
from .folders import open_at_once
from .texts import NothingToSend, decode, fence_text

Kind = Literal["image", "video", "pdf", "text", "code", "csv", "json"]

MIB = 1024 * 1024
LARGEST_TEXT = 2 * MIB
LARGEST: Mapping[Kind, int] = {
    "image": 20 * MIB, "video": 4096 * MIB, "pdf": 64 * MIB,
    "text": LARGEST_TEXT, "code": LARGEST_TEXT, "csv": 64 * MIB, "json": 4 * MIB,
}  # fmt: skip
"""The largest files that are read at all."""
LARGEST_PICTURE, LARGEST_NATIVE, MOST_PAGES = 3_750_000, 7 * MIB, 100
"""Limits for sending: APIs accept pictures of 5 MB in base64, 20 MB requests, PDFs of 100 pages (Gemini, Anthropic)."""
PICTURE_BOX, FRAME_BOX = "1568x1568", "768x768"
"""The box that a picture is fitted into: most models scale down anything larger, so it would only cost more."""
HEAD_BYTES = 1024
PDF_PROGRAM, PDF_SECONDS = Path(__file__).with_name("pdf_text.py"), 60
CODE = re.compile(
    r"\.(bash|c|cc|cpp|cs|css|go|h|hpp|html|java|jl|js|jsx|kt|lua|m|php|pl|ps1|py|r|rb|rs|scala|sh|sql|swift|ts|tsx|vue|zig)"
)
TITLES = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """Options for reading a file.

    `type` is the type that the user states. `resolution` is what its pictures are fitted into, `most_bytes` the limit
    for one. `native` are the kinds of files ("documents", "video") that some model of the run reads directly, `plain`
    those that some other does not; a kind in both is sent in both forms. `frames` is the number of pictures of a video.
    """

    type: str = ""
    resolution: str = ""
    most_bytes: int = LARGEST_PICTURE
    native: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset({"documents", "video"})
    frames: int = 16
    resend: bool | None = None


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file as it is sent. `about` is a short description, `notes` say what was cut."""

    name: str
    kind: Kind
    about: str
    parts: tuple[Part, ...] = field(repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _OpenFile:
    """An open regular file, under the name that models are told."""

    file: FileIO
    path: Path
    named: str
    size: int
    options: ReadingOptions
    kind: Kind

    def content(self, about: str, *parts: Part, notes: tuple[str, ...] = (), **known: Any) -> FileContent:
        """Returns the content, with the file's description in each part."""
        resend = {} if self.options.resend is None else {"resend": self.options.resend}
        file = {"name": self.shown, "kind": self.kind, "about": about, "digest": _digest(parts), **resend, **known}
        made = (type(part)(**_fields(part), extra={"file": {**file, **part.extra.get("file", {})}}) for part in parts)
        return FileContent(self.named, self.kind, about, tuple(made), notes)

    @property
    def shown(self) -> str:
        return shown_name(self.named)

    def read(self, most: int = 0) -> bytes:
        """Returns the whole file. Raises `ConfigError` if it has grown beyond its limit."""
        most = most or LARGEST[self.kind]
        self.file.seek(0)
        data = self.file.read(most + 1)
        if len(data) > most:
            raise ConfigError(f"{self.named} grew while it was read; {_a(self.kind)} may have {most // MIB} MiB")
        return data


def _digest(parts: Sequence[Part]) -> str:
    """Returns a part of the hash of what is sent, to tell apart files of the same name."""
    digest = sha256()
    for part in parts:
        digest.update(part.text.encode() if isinstance(part, Text) else getattr(part, "data", b""))
    return digest.hexdigest()[:16]


def _fields(part: Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__dataclass_fields__ if name != "extra"}


def read_file(path: Path, named: str, options: ReadingOptions = ReadingOptions()) -> FileContent:
    """Returns a file as parts of a message. Raises `ConfigError` if it can't be read or sent.

    `named` is the user's name for it. Nothing blocks for long: only regular files are read, and other programs that
    inspect the file have a time limit.
    """
    try:
        with open(path, "rb", buffering=0, opener=open_at_once) as file:  # other programs read from its descriptor
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{named} is not a regular file but {_special_kind(status.st_mode)}")
            kind = _kind(file.read(HEAD_BYTES), named, options.type)
            if status.st_size > LARGEST[kind]:
                raise ConfigError(_too_large(named, kind, status.st_size))
            return _READERS[kind](_OpenFile(file, path, named, status.st_size, options, kind))
    except OSError as error:
        raise ConfigError(f"{named} can't be read: {error.strerror}") from error


def shown_name(named: str) -> str:
    """Returns the name that models are told: the path relative to the configuration, without any folder above it."""
    path = PurePath(named)
    is_below = not path.is_absolute() and ".." not in path.parts and not named.startswith("~")
    return " ".join((path.as_posix() if is_below else path.name).split())


def _special_kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"


def _kind(head: bytes, named: str, type_: str) -> Kind:
    if pictures.media_type(head):
        return "image"
    if video.media_type(head):
        return "video"
    if b"%PDF-" in head:
        return "pdf"
    suffix = PurePath(named).suffix.lower()
    if type_ in ("text", "code"):
        return "code" if type_ == "code" else _TABLES.get(suffix, "text")
    return "code" if CODE.fullmatch(suffix) else _TABLES.get(suffix, "text")


_TABLES: Mapping[str, Kind] = {".csv": "csv", ".tsv": "csv", ".json": "json"}


def _too_large(named: str, kind: Kind, size: int) -> str:
    most = LARGEST[kind] // MIB
    return f"{named} has {size / MIB:.1f} MiB; {_a(kind)} may have {most} MiB: make it smaller, or attach a part of it"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _a(kind: str) -> str:
    return {"image": "an image", "pdf": "a PDF", "csv": "a table", "json": "a JSON file", "code": "a text"}.get(
        kind, f"a {kind}"
    )


def _read_image(opened: _OpenFile) -> FileContent:
    data, options = opened.read(), opened.options
    media_type = pictures.media_type(data)
    if fault := pictures.damage(data, media_type):
        raise ConfigError(f"{opened.named} begins like a {TITLES[media_type]}, but is damaged: {fault}")
    pictures.check_pixels(data, opened.named)
    notes: tuple[str, ...] = ()
    box = pictures.resolution(options.resolution or PICTURE_BOX)
    if pictures.is_larger(data, box) or len(data) > options.most_bytes or pictures.has_metadata(data):
        data, notes = _fit_picture(data, box, opened)
    about = f"{TITLES[pictures.media_type(data)]}, {'x'.join(map(str, pictures.size(data)))}"
    return opened.content(about, *_picture(f"{opened.shown}:\n", data), notes=notes)


def _fit_picture(data: bytes, box: pictures.Size, opened: _OpenFile) -> tuple[bytes, tuple[str, ...]]:
    """Returns the picture, scaled and without metadata; without Pillow unchanged, with a note for the user."""
    if not (lacking := pictures.lacking()):
        return pictures.fit(data, box, opened.options.most_bytes, opened.named), ()
    if len(data) > opened.options.most_bytes:
        most = f"{opened.options.most_bytes / 1e6:.2f} MB can be sent"
        raise ConfigError(
            f"{opened.named} has {len(data) / 1e6:.1f} MB, {most}, and it can't be scaled down: {lacking}"
        )
    return data, (f"{opened.named} is sent in its size and with its metadata: {lacking}",)


def _picture(label: str, data: bytes) -> tuple[Part, Part]:
    """Returns the picture after its name in words, since models see no name in it."""
    size = [*pictures.size(data)]
    return Text(label), Image(pictures.media_type(data), data, extra={"file": {"size": size} if all(size) else {}})


def _read_video(opened: _OpenFile) -> FileContent:
    options = opened.options
    native = "video" in options.native and opened.size <= LARGEST_NATIVE
    if not native:
        large = f"{opened.named} has {opened.size / MIB:.0f} MiB, too much to be sent as it is: pictures of it are"
        return _read_frames(opened, notes=(large,) if "video" in options.native else ())
    data = opened.read(LARGEST_NATIVE)
    whole = Document(video.media_type(data), data, name=opened.shown)
    if "video" not in options.plain:
        return opened.content("video", whole)
    shown = _read_frames(opened, form="plain")
    known = {key: file_of(shown.parts[0])[key] for key in ("digest", "seconds")}
    itself = opened.content(shown.about, whole, form="native", **known)
    return replace(shown, parts=(*itself.parts, *shown.parts))


def _read_frames(opened: _OpenFile, notes: tuple[str, ...] = (), **form: str) -> FileContent:
    options = opened.options
    box = pictures.resolution(options.resolution or FRAME_BOX)
    length, shown = video.frames(opened.path, opened.named, options.frames, box)
    parts = [part for frame in shown for part in _picture(f"{opened.shown} at {frame.time}:\n", frame.data)]
    about = f"video of {video.Frame(length, b'').time} min, {len(shown)} pictures of it"
    return opened.content(about, *parts, notes=notes, seconds=length, **form)


def _read_pdf(opened: _OpenFile) -> FileContent:
    options = opened.options
    native = "documents" in options.native and opened.size <= LARGEST_NATIVE
    if native and not _has_pdf_reader() and "documents" not in options.plain:
        return opened.content("PDF", _whole_pdf(opened))
    opened.file.seek(0)  # the other process shares the position of the descriptor
    found = _read_pages(opened.file, opened.named)
    pages: int = found["pages"]
    native = native and pages <= MOST_PAGES
    notes = (*_pdf_notes(opened, found["texts"], pages, native),)
    about = f"PDF, {_count(pages, 'page')}"
    text = fence_text(f"{opened.shown} ({about})", _text_of_pages(found["texts"]))
    if not native:
        return opened.content(about, Text(text), notes=notes)
    in_words = {"text": text} if "documents" in options.plain else {}
    return opened.content(about, _whole_pdf(opened), notes=notes, pages=pages, **in_words)


def _whole_pdf(opened: _OpenFile) -> Document:
    return Document("application/pdf", opened.read(LARGEST_NATIVE), name=opened.shown)


def _pdf_notes(opened: _OpenFile, texts: list[str], pages: int, native: bool) -> list[str]:
    """Returns notes about a PDF's text. Raises `NothingToSend` if no model could be sent anything of it."""
    if native and "documents" not in opened.options.plain:
        return []
    if not any(map(str.strip, texts)):
        words = "is a PDF without text (pictures of pages, as scanners make them)"
        if not native:
            raise NothingToSend(f"{opened.named} {words}: give pictures of its pages")
        return [f"{opened.named} {words}; models that can't read a PDF as it is see nothing of it"]
    notes = []
    if opened.options.native and not native:
        notes.append(f"{opened.named} is too large to be sent as it is: its text is")
    if len(texts) < pages:
        notes.append(f"{opened.named} has {pages} pages; the text of the first {len(texts)} is sent")
    return notes


def _has_pdf_reader() -> bool:
    """Returns whether text can be extracted from PDFs here."""
    return find_spec("pypdf") is not None


def _read_pages(file: IO[bytes], name: str) -> dict[str, Any]:
    """Returns `{"title", "texts", "pages"}` of an open file: the texts of its first pages, and how many it has.

    A separate process reads it, with a time limit. Raises `ConfigError` if the file can't be read.
    """
    if not _has_pdf_reader():
        plugins.optional("pypdf", "pdf")  # raises the error that names the extra; only the other process imports it
    try:
        ended = subprocess.run(  # noqa: S603 - our own program, and no shell
            [sys.executable, "-I", str(PDF_PROGRAM)],
            stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PDF_SECONDS, env={}, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{name} is a PDF that can't be read within {PDF_SECONDS} s") from error
    try:
        found: dict[str, Any] = json.loads(ended.stdout)
    except ValueError as error:
        why = "it is damaged, or takes too much time or memory; give its text, or pictures of its pages"
        raise ConfigError(f"{name} is a PDF that can't be read: {why}") from error
    if "error" in found:
        raise ConfigError(f"{name} is a PDF that can't be read: {found['error']}")
    return found


def _text_of_pages(texts: list[str]) -> str:
    """Returns the pages that have text, each after its number; "" if none has."""
    return "\n\n".join(f"[page {number}]\n{text.strip()}" for number, text in enumerate(texts, 1) if text.strip())


def _read_text(opened: _OpenFile) -> FileContent:
    text = decode(opened.read(), opened.named)
    lines = text.rstrip().splitlines()
    if opened.kind == "code":
        width = len(str(len(lines)))
        text = "\n".join(f"{number:>{width}}| {line}" for number, line in enumerate(lines, 1))
    about = f"{opened.kind}, {_count(len(lines), 'line')}"
    return opened.content(about, Text(fence_text(opened.shown, text, PurePath(opened.named).suffix.lstrip("."))))


def _read_csv(opened: _OpenFile) -> FileContent:
    opened.file.seek(0)
    try:
        with TextIOWrapper(BufferedReader(opened.file), "utf-8-sig", newline="") as text:
            return _table(opened, *texts.csv_text(text, opened.named))
    except UnicodeDecodeError:
        raise NothingToSend(f"{opened.named} is not UTF-8 text") from None


def _read_json(opened: _OpenFile) -> FileContent:
    text = decode(opened.read(), opened.named)
    try:
        return _table(opened, *texts.json_text(text))
    except (ValueError, RecursionError):
        note = f"{opened.named} is not valid JSON, so it is sent as text"
        return opened.content("text", Text(fence_text(opened.shown, text)), notes=(note,))


def _table(opened: _OpenFile, text: str, shape: str, cut: str) -> FileContent:
    if not text.strip():
        raise NothingToSend(f"{opened.named} is empty")
    heading = f"{opened.shown} ({shape}{f'; {cut}' if cut else ''})"
    return opened.content(
        shape, Text(fence_text(heading, text, opened.kind)), notes=(f"{opened.named}: {cut}",) if cut else ()
    )


_READERS: Mapping[Kind, Callable[[_OpenFile], FileContent]] = {
    "image": _read_image, "video": _read_video, "pdf": _read_pdf,
    "text": _read_text, "code": _read_text, "csv": _read_csv, "json": _read_json,
}  # fmt: skip
