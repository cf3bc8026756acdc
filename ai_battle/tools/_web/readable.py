"""The readable text of an HTML page: headings, paragraphs, lists, tables and code, without what frames them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import urljoin

from .tokens import Token, tokens

BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog",
        "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
        "header", "hr", "html", "li", "main", "nav", "ol", "option", "p", "pre", "section", "summary", "table",
        "tbody", "tfoot", "thead", "tr", "ul",
    )
)  # fmt: skip
# Navigation, controls and drawings: not what the page is about.
AROUND = frozenset(
    (
        "nav", "footer", "aside", "svg", "noscript", "template", "button", "select", "iframe", "canvas", "object",
        "dialog", "script", "style",
    )
)  # fmt: skip
MARKS = {"li": "-"} | {f"h{level}": "#" * level for level in range(1, 7)}
ENOUGH, MOST = 200, 300_000


@dataclass(frozen=True, slots=True)
class Readable:
    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()


def readable(html: str, url: str = "") -> Readable:
    """What a person would read: the article or main part when there is one, else all but the frame, else all."""
    found = list(islice(tokens(html), MOST))
    title = _title(found)
    for chosen in (_inside(found, ("article", "main")), found):
        page = _Page(url, AROUND).read(chosen)
        if len(page.text) >= ENOUGH:
            return Readable(title, page.text, tuple(page.links))
    page = _Page(url, frozenset(("script", "style", "template"))).read(found)
    return Readable(title, page.text, tuple(page.links))


def plain(html: str) -> str:
    """A line of HTML as text: what emphasises or escapes is gone."""
    return " ".join("".join(token.content for token in tokens(html) if token.kind == "text").split())


@dataclass(slots=True)
class _Page:
    """One walk through a page's tokens."""

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

    def read(self, found: Iterable[Token]) -> "_Page":
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

    def _tag(self, token: Token) -> None:
        name, opens = token.name, token.kind == "open"
        if name in self.leave_out or name == "title":
            self._hide(name, opens)
        if name == "a":
            self._end_link()
            self.link = token.attributes.get("href", "") if opens and not self.hidden else ""
        elif name in ("td", "th") and opens and self.line:
            self.line.append(" | ")
        elif name in BLOCKS and name not in self.leave_out:
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
        if words and (target := _target(self.url, self.link)):
            self.links.append((words, target))
        self.link_text.clear()


def _target(url: str, link: str) -> str:
    try:
        target = urljoin(url, link.strip())
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) and not link.startswith("#") else ""


def _title(found: list[Token]) -> str:
    for number, token in enumerate(found[:-1]):
        if token.kind == "open" and token.name == "title":
            return " ".join(found[number + 1].content.split())[:300]
    return ""


def _inside(found: list[Token], names: tuple[str, ...]) -> list[Token]:
    """The tokens inside of any of these elements."""
    kept: list[Token] = []
    depth = 0
    for token in found:
        if token.name in names:
            depth = max(0, depth + (1 if token.kind == "open" else -1))
        elif depth:
            kept.append(token)
    return kept
