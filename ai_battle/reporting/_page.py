"""The frame of a page that needs nothing else: its policy lets in no more than what the page itself carries."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from ._markup import tag, void

END = "</body>\n</html>\n"


@cache
def file(name: str) -> str:
    """A style or a script that stands beside this module."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def head(title: str, style: str, *, script: str = "", pictures: bool = False) -> str:
    """All before the content: whatever stands there, only this style, this script and embedded pictures work."""
    allowed = (
        "default-src 'none'",
        f"style-src {_source(style)}",
        f"script-src {_source(script)}" if script else "",
        "img-src data:" if pictures else "",
        "base-uri 'none'",
        "form-action 'none'",
    )
    policy = void("meta", http_equiv="Content-Security-Policy", content="; ".join(filter(None, allowed)))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{policy}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"{tag('title', title)}\n<style>{style}</style>\n</head>\n<body>\n"
    )


def _source(said: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(said.encode()).digest()).decode()}'"
