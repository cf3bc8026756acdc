"""Pictures: what kind one is, how large, whether it is whole, and a smaller one of the same kind."""

import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from zlib import crc32

from ..core import plugins
from ..core.errors import ConfigError, translate_errors

MOST_PIXELS = 89_000_000
K = 1024
EXTRA = "images"

_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}

Size = tuple[int, int]


def media_type(data: bytes) -> str:
    """Of a picture that models can be sent; empty for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), "")


def resolution(written: str) -> Size:
    """Of `1024x768`, or of `4K`, which is a square."""
    if written[-1] in "kK":
        return int(written[:-1]) * K, int(written[:-1]) * K
    width, height = written.lower().split("x")
    return int(width), int(height)


def size(data: bytes) -> Size | None:
    """Width and height, where the head of the file tells."""
    if data.startswith(b"\x89PNG") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data.startswith(b"GIF8") and len(data) >= 10:
        width, height = struct.unpack("<HH", data[6:10])
        return width, height
    if data[8:12] == b"WEBP":
        return _webp_size(data)
    return _jpeg_size(data) if data.startswith(b"\xff\xd8") else None


def is_larger(data: bytes, box: Size) -> bool:
    width, height = size(data) or (0, 0)
    return width > box[0] or height > box[1]


def lacking() -> str:
    """Why no picture can be scaled down here; empty when it can."""
    try:
        plugins.optional("PIL.Image", EXTRA)
    except ConfigError as error:
        return str(error)
    return ""


def scale_down(data: bytes, box: Size, name: str) -> bytes:
    """As large as fits into `box`: upright, in the same format, without what cameras add (EXIF).

    Raises `ConfigError` without Pillow, and for a picture that is damaged.
    """
    pillow, operations = (plugins.optional(module, EXTRA) for module in ("PIL.Image", "PIL.ImageOps"))
    with translate_errors(f"{name} can't be scaled down", ConfigError), pillow.open(BytesIO(data)) as picture:
        kind = picture.format
        smaller = operations.exif_transpose(_in_plain_colours(picture))
        smaller.thumbnail(box, pillow.Resampling.LANCZOS)
        smaller.info = {}
        written = BytesIO()
        smaller.save(written, kind)
        return written.getvalue()


def check_pixels(data: bytes, name: str) -> None:
    """Raises `ConfigError` for a small file that would fill the memory when it is open_journal."""
    width, height = size(data) or (0, 0)
    if width * height > MOST_PIXELS:
        most = f"{MOST_PIXELS / 1e6:.0f} million"
        raise ConfigError(f"{name} has {width}x{height} pixels; {most} are the most that can be scaled down")


def _in_plain_colours(picture: Any) -> Any:
    """A palette has no colours between its own, which a smaller picture needs."""
    if picture.mode not in ("1", "P", "PA"):
        return picture
    return picture.convert("RGBA" if "transparency" in picture.info or picture.mode == "PA" else "RGB")


def _webp_size(data: bytes) -> Size | None:
    head = data[:30]
    if len(head) < 30:
        return None
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack("<HH", head[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_size(data: bytes) -> Size | None:
    """From the frame header, which follows any number of other segments."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return None


PNG_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""Bits per sample, by colour type (PNG specification, table 11.1)."""

JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of segments that tell the size (ITU-T T.81, table B.1)."""
JPEG_SCAN = 0xDA

CUT = "it is cut off"


def damage(data: bytes, media_type: str) -> str:
    """What is wrong with a picture that begins like one of `media_type`; empty when nothing is."""
    return _CHECKS[media_type](data)


def _png(data: bytes) -> str:
    kinds: list[bytes] = []
    for kind, body, checksum in _chunks(data):
        header = "" if kinds else _png_header(kind, body)
        if fault := header or _chunk_fault(kind, body, checksum):
            return fault
        kinds.append(kind)
    if kinds[-1:] != [b"IEND"]:
        return CUT
    return "" if b"IDAT" in kinds else "it has no chunk IDAT, which holds the pixels"


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Kind, content and checksum of each, as far as there is something; IEND is the last, whatever follows."""
    place, kind = 8, b""
    while place < len(data) and kind != b"IEND":
        length, kind = int.from_bytes(data[place : place + 4]), data[place + 4 : place + 8]
        end = place + 8 + length
        yield kind, data[place + 8 : end], data[end : end + 4]
        place = end + 4


def _png_header(kind: bytes, body: bytes) -> str:
    if kind != b"IHDR" or len(body) != 13:
        return f"it begins with {_chunk_name(kind)} instead of a chunk IHDR"
    width, height, depth, colours = struct.unpack(">IIBB", body[:10])
    if depth not in PNG_DEPTHS.get(colours, ()):
        return f"its header tells of {depth} bits in colour type {colours}, which there is not"
    return _no_size(width, height)


def _chunk_fault(kind: bytes, body: bytes, checksum: bytes) -> str:
    """What can be left out, as its name begins with a small letter, may be damaged."""
    if len(checksum) < 4:
        return f"{CUT} in its chunk {_chunk_name(kind)}"
    if kind[:1].isupper() and crc32(kind + body) != int.from_bytes(checksum):
        return f"the checksum of its chunk {_chunk_name(kind)} is wrong"
    return ""


def _jpeg(data: bytes) -> str:
    place, found = 2, "it has no header that tells its size"
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4])
        if marker == JPEG_SCAN:
            return found or _end_fault(data, place)
        if marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9].ljust(4, b"\0"))
            found = _no_size(width, height)
        place += 1 if marker == 0xFF else 2 + length
    return CUT if place + 4 > len(data) else f"there is no segment where one should be, at byte {place}"


def _end_fault(data: bytes, scan: int) -> str:
    return "" if data.rfind(b"\xff\xd9") > scan else CUT


def _gif(data: bytes) -> str:
    if len(data) < 13:
        return CUT
    ends = data.rstrip(b"\0").endswith(b";")
    return _no_size(*struct.unpack("<HH", data[6:10])) or ("" if ends else f"{CUT}, as it has no end mark")


def _webp(data: bytes) -> str:
    kind = data[12:16]
    if kind not in (b"VP8 ", b"VP8L", b"VP8X"):
        return f"it begins with {_chunk_name(kind)} instead of a chunk of pixels"
    if len(data) < max(30, 8 + int.from_bytes(data[4:8], "little")):
        return CUT
    signed = {b"VP8 ": data[23:26] == b"\x9d\x01\x2a", b"VP8L": data[20] == 0x2F}.get(kind, True)
    return "" if signed else f"the mark at the start of its chunk {_chunk_name(kind)} is wrong"


def _no_size(width: int, height: int) -> str:
    return "" if width and height else f"its header tells of {width}x{height} pixels"


def _chunk_name(kind: bytes) -> str:
    return repr(kind.decode("latin-1").strip()) if kind.isascii() else f"the bytes {kind.hex(' ')}"


_CHECKS: dict[str, Callable[[bytes], str]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
