"""Pictures: what kind one is, how large, and a smaller one of the same kind."""

import struct
from io import BytesIO
from typing import Any

from ..core import plugins
from ..core.borders import foreign_code
from ..core.errors import ConfigError

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


def scaled_down(data: bytes, box: Size, name: str) -> bytes:
    """As large as fits into `box`: upright, in the same format, without what cameras add (EXIF).

    Raises `ConfigError` without Pillow, and for a picture that is damaged.
    """
    pillow, operations = (plugins.optional(module, EXTRA) for module in ("PIL.Image", "PIL.ImageOps"))
    with foreign_code(f"{name} can't be scaled down", ConfigError), pillow.open(BytesIO(data)) as picture:
        kind = picture.format
        smaller = operations.exif_transpose(_in_plain_colours(picture))
        smaller.thumbnail(box, pillow.Resampling.LANCZOS)
        smaller.info = {}
        written = BytesIO()
        smaller.save(written, kind)
        return written.getvalue()


def check_pixels(data: bytes, name: str) -> None:
    """Raises `ConfigError` for a small file that would fill the memory when it is opened."""
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
