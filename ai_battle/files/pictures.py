"""Pictures: their type, size and integrity, and how to scale them down.

The structure of a file is checked from its first byte to its last, without decoding any pixel.
"""

import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from zlib import crc32

from ..core import plugins
from ..core.errors import ConfigError
from ..core.plugins import translate_errors

MOST_PIXELS = 89_000_000
KIBI = 1024
EXTRA = "images"
PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""Bits per sample, by colour type (PNG specification, table 11.1)."""
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that hold the size (ITU-T T.81, table B.1)."""
JPEG_SCAN = 0xDA
JPEG_METADATA, PNG_METADATA = (0xE1, 0xED, 0xFE), (b"eXIf", b"tEXt", b"zTXt", b"iTXt")
WEBP_METADATA = 0b1100
QUALITY, SHRINKING, SMALLEST = 85, 0.9, 64
HOPELESS_FACTOR = 4
"""A picture this many times too large is not tried in its own format and size."""
BYTES_PER_PIXEL = 0.1
"""The low end of what is common for a JPEG."""
CUT_OFF = "it is cut off"
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}

Size = tuple[int, int]
Structure = tuple[Size, str]
"""Width and height as far as the file states them, and what is wrong with it."""
UNKNOWN_SIZE: Size = (0, 0)


def media_type(data: bytes) -> str:
    """Returns the media type of a picture that models accept; "" for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), "")


def damage(data: bytes, media_type: str) -> str:
    """Returns what is wrong with a picture that begins like one of `media_type`, or ""."""
    return _STRUCTURES[media_type](data)[1]


def size(data: bytes) -> Size:
    """Returns width and height of a picture, 0 if the file does not state them."""
    return _STRUCTURES[media_type(data)](data)[0]


def resolution(written: str) -> Size:
    """Returns the size for `1024x768`, or for `4K`, which means a square."""
    if written[-1] in "kK":
        return int(written[:-1]) * KIBI, int(written[:-1]) * KIBI
    width, height = written.lower().split("x")
    return int(width), int(height)


def is_larger(data: bytes, box: Size) -> bool:
    width, height = size(data)
    return width > box[0] or height > box[1]


def has_metadata(data: bytes) -> bool:
    """Returns whether a picture holds more than pixels, such as where and when it was taken (EXIF, XMP, comments)."""
    match media_type(data):
        case "image/jpeg":
            return any(marker in JPEG_METADATA for _, marker, _ in _segments(data))
        case "image/png":
            return any(kind in PNG_METADATA for kind, _, _ in _chunks(data))
        case "image/webp":
            return data[12:16] == b"VP8X" and bool(data[20] & WEBP_METADATA)
    return False


def check_pixels(data: bytes, name: str) -> None:
    """Raises `ConfigError` for a decompression bomb: a small file with too many pixels to decode."""
    width, height = size(data)
    if width * height > MOST_PIXELS:
        most = f"{MOST_PIXELS / 1e6:.0f} million"
        raise ConfigError(
            f"{name} has {width}x{height} pixels; {most} are the most that a picture may have: scale it down"
        )


def lacking() -> str:
    """Returns why pictures can't be scaled down here, or ""."""
    try:
        plugins.optional("PIL.Image", EXTRA)
    except ConfigError as error:
        return str(error)
    return ""


def fit(data: bytes, box: Size, most_bytes: int, name: str) -> bytes:
    """Returns the picture as large as fits into `box` and `most_bytes`, upright and without metadata (EXIF).

    It keeps its format, unless it is too long, in which case it becomes a JPEG. Raises `ConfigError` without Pillow,
    and for a damaged picture.
    """
    pillow, operations = (plugins.optional(module, EXTRA) for module in ("PIL.Image", "PIL.ImageOps"))
    with translate_errors(f"{name} can't be scaled down", ConfigError), pillow.open(BytesIO(data)) as picture:
        kind = picture.format
        is_hopeless = len(data) > HOPELESS_FACTOR * most_bytes
        if is_hopeless:
            side = int((most_bytes / BYTES_PER_PIXEL) ** 0.5)
            box = (min(box[0], side), min(box[1], side))
        picture.draft(None, box)  # a JPEG is decoded at about that size, which saves most of the memory
        smaller = operations.exif_transpose(_in_plain_colours(picture))
        smaller.thumbnail(box, pillow.Resampling.LANCZOS)
        written = data if is_hopeless else _encode(smaller, kind)
        side = max(smaller.size)
        while len(written) > most_bytes and side >= SMALLEST:
            written = _encode(_on_white(smaller, pillow), "JPEG")
            side = int(max(smaller.size) * min(SHRINKING, (most_bytes / len(written)) ** 0.5))
            smaller.thumbnail((side, side), pillow.Resampling.LANCZOS)
        return written


def _encode(picture: Any, kind: str) -> bytes:
    picture.info = {}
    written = BytesIO()
    picture.save(written, kind, **({} if kind in ("PNG", "GIF") else {"quality": QUALITY}))
    return written.getvalue()


def _on_white(picture: Any, pillow: Any) -> Any:
    """Returns the picture on a white ground, as JPEG has no transparency."""
    if "A" not in picture.getbands():
        return picture.convert("RGB")
    ground = pillow.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground


def _in_plain_colours(picture: Any) -> Any:
    """Returns the picture in true colour: scaling needs colours between those of a palette."""
    if picture.mode not in ("1", "P", "PA"):
        return picture
    return picture.convert("RGBA" if "transparency" in picture.info or picture.mode == "PA" else "RGB")


def _png(data: bytes) -> Structure:
    kinds: list[bytes] = []
    found, fault = UNKNOWN_SIZE, ""
    for kind, body, checksum in _chunks(data):
        if not kinds:
            found, fault = _png_header(kind, body)
        if fault := fault or _chunk_fault(kind, body, checksum):
            return found, fault
        kinds.append(kind)
    if kinds[-1:] != [b"IEND"]:
        return found, CUT_OFF
    return found, "" if b"IDAT" in kinds else "it has no chunk IDAT, which holds the pixels"


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yields type, content and checksum of each chunk; IEND is the last, whatever follows."""
    place, kind = 8, b""
    while place < len(data) and kind != b"IEND":
        length, kind = int.from_bytes(data[place : place + 4]), data[place + 4 : place + 8]
        end = place + 8 + length
        yield kind, data[place + 8 : end], data[end : end + 4]
        place = end + 4


def _png_header(kind: bytes, body: bytes) -> Structure:
    if kind != b"IHDR" or len(body) != 13:
        return UNKNOWN_SIZE, f"it begins with {_chunk_name(kind)} instead of a chunk IHDR"
    width, height, depth, colours = struct.unpack(">IIBB", body[:10])
    if depth not in PNG_DEPTHS.get(colours, ()):
        return (width, height), f"its header states {depth} bits in colour type {colours}, which does not exist"
    return (width, height), _size_fault(width, height)


def _chunk_fault(kind: bytes, body: bytes, checksum: bytes) -> str:
    """Returns what is wrong with a chunk.

    One whose name starts with a lower-case letter is ancillary and may be damaged.
    """
    if len(checksum) < 4:
        return f"{CUT_OFF} in its chunk {_chunk_name(kind)}"
    if kind[:1].isupper() and crc32(kind + body) != int.from_bytes(checksum):
        return f"the checksum of its chunk {_chunk_name(kind)} is wrong"
    return ""


def _jpeg(data: bytes) -> Structure:
    found, fault, place = UNKNOWN_SIZE, "it has no header that tells its size", 2
    for place, marker, start in _segments(data):
        if marker == JPEG_SCAN:
            is_whole = data.rfind(b"\xff\xd9") > place
            return found, fault or ("" if is_whole else CUT_OFF)
        if marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", start[1:5].ljust(4, b"\0"))
            found, fault = (width, height), _size_fault(width, height)
    return found, CUT_OFF if place + 4 > len(data) else f"there is no segment where one should be, at byte {place}"


def _segments(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields place, marker and first bytes of each segment; at last the place where there is none."""
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4])
        yield place, marker, data[place + 4 : place + 9]
        place += 1 if marker == 0xFF else 2 + length  # any number of fill bytes may precede a marker
    yield place, 0, b""


def _gif(data: bytes) -> Structure:
    if len(data) < 13:
        return UNKNOWN_SIZE, CUT_OFF
    width, height = struct.unpack("<HH", data[6:10])
    ends = data.rstrip(b"\0").endswith(b";")
    return (width, height), _size_fault(width, height) or ("" if ends else f"{CUT_OFF}, as it has no end mark")


def _webp(data: bytes) -> Structure:
    kind = data[12:16]
    if kind not in (b"VP8 ", b"VP8L", b"VP8X"):
        return UNKNOWN_SIZE, f"it begins with {_chunk_name(kind)} instead of a chunk of pixels"
    if len(data) < max(30, 8 + int.from_bytes(data[4:8], "little")):
        return UNKNOWN_SIZE, CUT_OFF
    if kind == b"VP8X":
        return (int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1), ""
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        width, height, is_marked = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, data[20] == 0x2F
    else:
        width, height = (side & 0x3FFF for side in struct.unpack("<HH", data[26:30]))
        is_marked = data[23:26] == b"\x9d\x01\x2a"
    return (width, height), "" if is_marked else f"the mark at the start of its chunk {_chunk_name(kind)} is wrong"


def _size_fault(width: int, height: int) -> str:
    return "" if width and height else f"its header states {width}x{height} pixels"


def _chunk_name(kind: bytes) -> str:
    return repr(kind.decode("latin-1").strip()) if kind.isascii() else f"the bytes {kind.hex(' ')}"


_STRUCTURES: dict[str, Callable[[bytes], Structure]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
