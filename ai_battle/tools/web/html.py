"""Extracts the readable text of HTML pages in linear time, however malformed they are."""

import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
from math import inf
from time import monotonic
from typing import Literal
from urllib.parse import urljoin

MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
NAME = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]{0,4000})"|'([^']{0,4000})'|([^\s"'>]{1,4000}))""")
# The content of these is not markup, up to their end tag.
RAW = ("script", "style", "title", "textarea", "noembed", "noframes", "xmp")
EXTENSIONS, REACH, LONGEST_TAG = 3, 2_000, 10_000
BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
        "header", "hr", "html", "li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table",
        "tbody", "tfoot", "thead", "tr", "ul",
    )
)  # fmt: skip
# Navigation, controls and drawings are not what the page is about.
AROUND_CONTENT = frozenset(
    (
        "nav", "footer", "aside", "svg", "noscript", "template", "button", "select", "iframe", "canvas", "object",
        "dialog", "script", "style", "title",
    )
)  # fmt: skip
MARKS = {"li": "-"} | {f"h{level}": "#" * level for level in range(1, 7)}
ENOUGH, MOST, CLOCK_CHECKS = 200, 300_000, 100


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A piece of text, or a tag by its lower-case name; `content` is the text, or the tag's unparsed attributes."""

    kind: Literal["text", "open", "close"]
    name: str = ""
    content: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        found = ATTRIBUTE.finditer(self.content[:LONGEST_TAG])
        return {match[1].lower(): _plain_text(match[2] or match[3] or match[4] or "") for match in found}


def tokens(text: str) -> Iterator[HtmlToken]:
    """Yields tags and text. Anything unclosed (a comment, a tag, a script) ends the text, as in a browser."""
    here = 0
    while found := MARKUP.search(text, here):
        tag = found.start()
        yield from _text_tokens(text[here:tag])
        if name := NAME.match(text, tag + 1):
            here = yield from _tag(text, name)
        else:
            here = _comment_end(text, tag)
    yield from _text_tokens(text[here:])


def _text_tokens(text: str) -> Iterator[HtmlToken]:
    if text:
        yield HtmlToken("text", content=_plain_text(text))


def _tag(text: str, name: re.Match[str]) -> Generator[HtmlToken, None, int]:
    """Yields the tag, and the content of an element without markup inside. Returns the end position."""
    here = _tag_end(text, name.end())
    token = HtmlToken("close" if name[1] else "open", name[2].lower(), text[name.end() : max(here - 1, name.end())])
    yield token
    if token.kind == "open" and token.name in RAW and here < len(text):
        here, content = _end_of_raw(text, here, token.name)
        yield HtmlToken("text", content=_plain_text(content) if token.name in ("title", "textarea") else "")
        yield HtmlToken("close", token.name)
    return here


def _plain_text(text: str) -> str:
    """Returns text with its entities decoded. A numeric one of thousands of digits can't be."""
    try:
        return unescape(text) if "&" in text else text
    except ValueError:
        return text


def _tag_end(text: str, start: int) -> int:
    """Returns the position after the `>` that ends a tag.

    A `>` inside quotes does not count, if the quotes are closed nearby.
    """
    first = end = text.find(">", start)
    for _ in range(EXTENSIONS):
        if end < 0 or end - start > REACH or text.count('"', start, end) % 2 == 0:
            break
        end = text.find(">", end + 1, start + REACH)
    chosen = end if end >= 0 else first
    return chosen + 1 if chosen >= 0 else len(text)


def _end_of_raw(text: str, start: int, name: str) -> tuple[int, str]:
    """Returns the position after the closing tag of an element without markup inside, and its content."""
    closing = re.compile(rf"</{name}\b[^>]{{0,100}}>?", re.IGNORECASE).search(text, start)
    return (closing.end(), text[start : closing.start()]) if closing else (len(text), "")


def _comment_end(text: str, start: int) -> int:
    """Returns the position after a comment, a declaration or an instruction."""
    ending = "-->" if text.startswith("<!--", start) else ">"
    end = text.find(ending, start + 2)
    return end + len(ending) if end >= 0 else len(text)


@dataclass(frozen=True, slots=True)
class ReadablePage:
    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()


def readable_page(html: str, url: str = "", ends: float = inf) -> ReadablePage:
    """Returns what a person would read: the article or main part if there is one, else all but the frame, or all.

    Raises `TimeoutError` at `ends`, by the monotonic clock: threads can't be stopped from outside.
    """
    found = list(_tokens_until(ends, islice(tokens(html), MOST)))
    title = _title(found)
    for chosen in (_tokens_inside(found, ("article", "main")), found):
        page = _PageText(url, AROUND_CONTENT).read(_tokens_until(ends, chosen))
        if len(page.text) >= ENOUGH:
            return ReadablePage(title, page.text, tuple(page.links))
    page = _PageText(url, frozenset(("script", "style", "template", "title"))).read(_tokens_until(ends, found))
    return ReadablePage(title, page.text, tuple(page.links))


def _tokens_until(ends: float, found: Iterable[HtmlToken]) -> Iterator[HtmlToken]:
    for number, token in enumerate(found):
        if number % CLOCK_CHECKS == 0 and monotonic() >= ends:
            raise TimeoutError
        yield token


def plain_line(html: str) -> str:
    """Returns a fragment of HTML as one line of text."""
    return " ".join("".join(token.content for token in tokens(html) if token.kind == "text").split())


@dataclass(slots=True)
class _PageText:
    """Collects the text of a page in one pass over its tokens."""

    url: str
    leave_out: frozenset[str]
    lines: list[str] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    verbatim: int = 0
    prefix: str = ""
    link: str = ""
    link_text: list[str] = field(default_factory=list)

    def read(self, found: Iterable[HtmlToken]) -> "_PageText":
        for token in found:
            if token.kind == "text":
                self._add(token.content)
            else:
                self._tag(token)
        self._end_line()
        return self

    @property
    def text(self) -> str:
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines)).strip()

    def _add(self, text: str) -> None:
        if self.hidden:
            return
        if self.link:
            self.link_text.append(text)
        if not self.verbatim:
            self.line.append(re.sub(r"\s+", " ", text))
            return
        first, *rest = text.split("\n")
        self.line.append(first)
        for line in rest:
            self._end_line()
            self.line.append(line)

    def _tag(self, token: HtmlToken) -> None:
        name, opens = token.name, token.kind == "open"
        if name in self.leave_out:
            self._hide(name, opens)
        if name == "a":
            self._end_link()
            self.link = token.attributes.get("href", "") if opens and not self.hidden else ""
        elif name in ("td", "th") and opens and self.line:
            self.line.append(" | ")
        elif name in BLOCKS - self.leave_out:
            self._block(name, opens)

    def _hide(self, name: str, opens: bool) -> None:
        depth = self.hidden.get(name, 0) + (1 if opens else -1)
        if depth > 0:
            self.hidden[name] = depth
        else:
            self.hidden.pop(name, None)

    def _block(self, name: str, opens: bool) -> None:
        self._end_line()
        if name == "pre":
            self.verbatim = max(0, self.verbatim + (1 if opens else -1))
        if opens and name in MARKS:
            self.prefix = f"{MARKS[name]} "
        if name not in ("li", "tr", "br", "option") and not self.hidden:
            self.lines.append("")

    def _end_line(self) -> None:
        text = "".join(self.line)
        text = text.rstrip() if self.verbatim else re.sub(r" {2,}", " ", text).strip()
        if text or self.verbatim:
            self.lines.append(self.prefix + text)
            self.prefix = ""
        self.line.clear()

    def _end_link(self) -> None:
        words = " ".join("".join(self.link_text).split())
        if words and (target := _link_target(self.url, self.link)):
            self.links.append((words, target))
        self.link_text.clear()


def _link_target(url: str, link: str) -> str:
    try:
        target = urljoin(url, link.strip())
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) and not link.startswith("#") else ""


def _title(found: list[HtmlToken]) -> str:
    for number, token in enumerate(found[:-1]):
        if token.kind == "open" and token.name == "title":
            return " ".join(found[number + 1].content.split())[:300]
    return ""


def _tokens_inside(found: list[HtmlToken], names: tuple[str, ...]) -> list[HtmlToken]:
    """Returns the tokens inside any of these elements."""
    kept: list[HtmlToken] = []
    depth = 0
    for token in found:
        if token.name in names:
            depth = max(0, depth + (1 if token.kind == "open" else -1))
        elif depth:
            kept.append(token)
    return kept
