"""A program that reads a PDF from standard input and writes the texts of its pages as JSON.

A separate process, so that a hostile PDF harms nothing else. An optional argument is the number of pages to read.
"""

import json
import sys
from contextlib import suppress
from io import BytesIO
from typing import Any, BinaryIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

with suppress(ImportError):  # there is none on Windows
    import resource

MEMORY, SECONDS, PAGES, CHARACTERS = 1 << 30, 30, 300, 400_000


def text_of(file: BinaryIO, most: int = PAGES) -> dict[str, Any]:
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it needs a password; save it without one"}
        texts: list[str] = []
        for page in reader.pages[:most]:
            texts.append(page.extract_text())
            if sum(map(len, texts)) > CHARACTERS:
                texts[-1] = texts[-1][: CHARACTERS - sum(map(len, texts))]
                break
        title = str(reader.metadata.title or "") if reader.metadata else ""
        return {"title": title, "texts": texts, "pages": len(reader.pages)}
    except PyPdfError as error:
        return {"error": f"it is damaged ({error})"}


def _limit() -> None:
    with suppress(NameError, ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    _limit()
    source = sys.stdin.buffer
    found = text_of(source if source.seekable() else BytesIO(source.read()), *map(int, sys.argv[1:]))
    json.dump(found, sys.stdout)
