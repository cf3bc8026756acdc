"""The pages of the documentation, taken apart: their links, headings, and blocks of code."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docs.generate import MADE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FRONT = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
PAGES = sorted((*FRONT, *DOCS.rglob("*.md"), *(ROOT / "research").rglob("*.md")))

_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`(ai-battle [^`]+)`")
_NAMED = re.compile(r"Save this as `([^`]+)`:\s*\Z")


@dataclass(frozen=True)
class Block:
    """Code on a page: `mark` is what stands after its language, `name` the file that the text before it asks for."""

    page: Path
    line: int
    language: str
    mark: str
    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """What is typed: the lines after `$`, or all where no line has one."""
        lines = self.text.splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")]
        return typed or [line for line in lines if line.strip()]

    @property
    def exchanges(self) -> list[tuple[str, list[str]]]:
        """Each command with the lines that it is to print."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def is_generated(page: Path) -> bool:
    return page.read_text(encoding="utf-8").startswith(MADE)


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        language, mark, code = match.groups()
        if not languages or language in languages:
            named = _NAMED.search(text[: match.start()])
            line = text.count("\n", 0, match.start()) + 1
            yield Block(page, line, language, mark.strip(), code, named[1] if named else "")


def every_block(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page, *languages)]


def links(page: Path) -> Iterator[str]:
    """Those that lead to files, not to other places of the web."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return (link for link in _LINK.findall(text) if "://" not in link)


def anchors(page: Path) -> set[str]:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def mentioned_commands(page: Path) -> Iterator[str]:
    """Commands of ours in the text, between backticks."""
    return (found[1] for found in _INLINE.finditer(_FENCED.sub("", page.read_text(encoding="utf-8"))))


def words(command: str) -> list[str]:
    """A command without its comment and without what becomes of its output."""
    found = shlex.split(command, comments=True)
    return found[: next((number for number, word in enumerate(found) if word in (">", "|", "&&")), len(found))]
