"""A program that reads a PDF from standard input and writes its text as JSON; a hostile PDF harms nobody else."""

import json
import sys
from contextlib import suppress
from io import BytesIO
from typing import Any

from pypdf import PdfReader

with suppress(ImportError):  # there is none on Windows
    import resource

MEMORY, SECONDS, PAGES, CHARACTERS = 1 << 30, 30, 300, 400_000


def text_of(data: bytes) -> dict[str, Any]:
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return {"error": "it needs a password"}
    pages, length = [], 0
    for page in reader.pages[:PAGES]:
        pages.append(page.extract_text())
        length += len(pages[-1])
        if length > CHARACTERS:
            break
    title = str(reader.metadata.title or "") if reader.metadata else ""
    return {"title": title, "text": "\n\n".join(pages)[:CHARACTERS], "pages": len(reader.pages), "read": len(pages)}


def _limit() -> None:
    with suppress(NameError, ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    _limit()
    json.dump(text_of(sys.stdin.buffer.read()), sys.stdout)
