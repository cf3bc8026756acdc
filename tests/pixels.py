"""A picture for tests: small, whole, and made without a library."""

import struct
from zlib import compress, crc32

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(width: int = 8, height: int = 8) -> bytes:
    """Black, in RGB."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = compress((b"\0" + b"\0\0\0" * width) * height)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc32(kind + body))
