"""Files for tests, made without what they are to be read with, and what a fake provider was sent of them."""

import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg: apt install ffmpeg")


def pdf(*pages: str) -> bytes:
    """Each page with one line of text; none for an empty one, as of a scan."""
    words = [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b"" for text in pages]
    return pdf_of(*(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(each), each) for each in words))


def pdf_of(*contents: bytes) -> bytes:
    """One page for each stream of content."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    for content in contents:
        number = len(objects) + 1
        font = b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources %s >>"
            % (number + 1, font),
            content,
        ]
        kids.append(b"%d 0 R" % number)
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(contents), b" ".join(kids))
    return _join(objects)


def _join(objects: list[bytes]) -> bytes:
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return data + head + table + trailer


def picture(width: int = 64, height: int = 48, kind: str = "JPEG", **options: Any) -> bytes:
    """Of many colours, so that no format makes it very small."""
    written = BytesIO()
    Pillow.effect_noise((width, height), 90).convert("RGB").save(written, kind, **options)
    return written.getvalue()


def video(path: Path, seconds: int = 8, size: str = "320x240") -> Path:
    source = f"testsrc=duration={seconds}:size={size}:rate=5"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", str(path)], check=True
    )
    return path


def talk(files: Any, *types: str, **more: Any) -> dict[str, Any]:
    """A discussion of two, or of models of these types, about some files."""
    models = {f"M{number}": {"type": type_} for number, type_ in enumerate(types)}
    return {
        "discussion": {"turns": 1, "mode": "ai-ai", "goal": "Look.", "models": models, "input_files": files, **more}
    }
