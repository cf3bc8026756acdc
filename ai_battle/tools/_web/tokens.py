"""HTML as a run of tags and texts, in time that grows with its length and with nothing else."""

import html
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
NAME = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]{0,4000})"|'([^']{0,4000})'|([^\s"'>]{1,4000}))""")
# What stands in these is no markup, up to their end.
RAW = ("script", "style", "title", "textarea", "noembed", "noframes", "xmp")
EXTENSIONS, REACH, LONGEST_TAG = 3, 2_000, 10_000


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text, or a tag by its name in small letters; `content` is the text, or the tag's attributes unread."""

    kind: Literal["text", "open", "close"]
    name: str = ""
    content: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        found = ATTRIBUTE.finditer(self.content[:LONGEST_TAG])
        return {match[1].lower(): unescaped(match[2] or match[3] or match[4] or "") for match in found}


def tokens(text: str) -> Iterator[Token]:
    """What is not closed (a comment, a tag, a script) ends the text, as it does for a browser."""
    here = 0
    while found := MARKUP.search(text, here):
        tag = found.start()
        yield from _words(text[here:tag])
        if name := NAME.match(text, tag + 1):
            here = yield from _tag(text, name)
        else:
            here = _skipped(text, tag)
    yield from _words(text[here:])


def _words(text: str) -> Iterator[Token]:
    if text:
        yield Token("text", content=unescaped(text))


def _tag(text: str, name: re.Match[str]) -> Generator[Token, None, int]:
    """Returns where it ends, with what stands in an element without markup inside."""
    here = _tag_end(text, name.end())
    token = Token("close" if name[1] else "open", name[2].lower(), text[name.end() : max(here - 1, name.end())])
    yield token
    if token.kind == "open" and token.name in RAW and here < len(text):
        here, content = _raw(text, here, token.name)
        yield Token("text", content=unescaped(content) if token.name in ("title", "textarea") else "")
        yield Token("close", token.name)
    return here


def unescaped(text: str) -> str:
    """Entities as characters; a number of thousands of digits is none."""
    try:
        return html.unescape(text) if "&" in text else text
    except ValueError:
        return text


def _tag_end(text: str, start: int) -> int:
    """Behind the `>` that ends a tag; one inside of quotes does not, as far as quotes are closed nearby."""
    first = end = text.find(">", start)
    for _ in range(EXTENSIONS):
        if end < 0 or end - start > REACH or text.count('"', start, end) % 2 == 0:
            break
        end = text.find(">", end + 1, start + REACH)
    chosen = end if end >= 0 else first
    return chosen + 1 if chosen >= 0 else len(text)


def _raw(text: str, start: int, name: str) -> tuple[int, str]:
    """Behind the closing tag of an element without markup inside, and what stands in it."""
    closing = re.compile(rf"</{name}\b[^>]{{0,100}}>?", re.IGNORECASE).search(text, start)
    return (closing.end(), text[start : closing.start()]) if closing else (len(text), "")


def _skipped(text: str, start: int) -> int:
    """Behind a comment, a declaration or an instruction."""
    ending = "-->" if text.startswith("<!--", start) else ">"
    end = text.find(ending, start + 2)
    return end + len(ending) if end >= 0 else len(text)
