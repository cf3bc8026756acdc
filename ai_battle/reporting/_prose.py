"""What a model wrote, for a page: the everyday part of Markdown, and no tag or link of the model's own."""

import re
from collections.abc import Iterator
from itertools import groupby

from ._markup import Html, joined, tag, text

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_NUMBERED = re.compile(r"\s*\d")
_QUOTE = re.compile(r" {0,3}>\s?(.*)")
_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])")
_INLINE_TAGS = ("code", "strong", "em")


def prose(said: str) -> Html:
    return joined(*(_block(kind, lines) for kind, lines in _blocks(said)))


def _blocks(said: str) -> Iterator[tuple[str, list[str]]]:
    """Lines of one kind that follow each other; a fence is a block whatever is in it, also one that is never closed."""
    for kind, group in groupby(_classified(said), key=lambda each: each[0]):
        lines = [line for _, line in group]
        if kind.startswith("heading"):
            yield from (("heading", [line]) for line in lines)
        elif kind != "blank":
            yield kind, lines


def _classified(said: str) -> Iterator[tuple[str, str]]:
    fence, number = "", 0
    for line in said.strip("\n").split("\n"):
        marker = _FENCE.match(line)
        if fence:
            if marker and marker[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            else:
                yield f"code{number}", line
        elif marker:
            fence, number = marker[1], number + 1
            yield f"code{number}", ""
        else:
            yield _kind(line), line


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "numbers" if _NUMBERED.match(line) else "bullets"
    return "quote" if _QUOTE.match(line) else "paragraph"


def _block(kind: str, lines: list[str]) -> Html:
    match kind:
        case "heading":
            return tag("p", inline(_HEADING.sub(r"\1", lines[0])), class_="heading")
        case "bullets" | "numbers":
            items = (tag("li", inline(_ITEM.sub(r"\1", line))) for line in lines)
            return tag("ul" if kind == "bullets" else "ol", *items)
        case "quote":
            return tag("blockquote", _broken(_QUOTE.sub(r"\1", line) for line in lines))
        case "paragraph":
            return tag("p", _broken(lines))
    return tag("pre", "\n".join(lines[1:]))


def _broken(lines: "Iterator[str] | list[str]") -> Html:
    return Html("<br>\n".join(map(inline, lines)))


def inline(line: str) -> Html:
    """Code, strong and emphasis; all else is text."""
    pieces: list[Html] = []
    end = 0
    for found in _INLINE.finditer(line):
        pieces.append(text(line[end : found.start()]))
        pieces.append(tag(_INLINE_TAGS[(found.lastindex or 1) - 1], found[found.lastindex or 1]))
        end = found.end()
    return joined(*pieces, text(line[end:]))
