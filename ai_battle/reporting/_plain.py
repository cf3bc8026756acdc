"""Text of models made safe to stand inside a Markdown document that others have written."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=\s)")
_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
DEEPEST = 6


def printable(text: str) -> str:
    """Without control characters (escape sequences of terminals are made of them); line ends are kept."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def cell(text: str) -> str:
    """For a table of Markdown."""
    return _inert(one_line(text)).replace("|", "\\|")


def contained(text: str, below: int = 3) -> str:
    """Markdown that stays in its place: no tags, no pictures to fetch, lower headings, every code fence closed."""
    lines: list[str] = []
    fence = ""
    for line in printable(text).strip("\n").split("\n"):
        marker = _FENCE.match(line)
        if not fence and not marker:
            lines.append(_lowered(line, below))
            continue
        lines.append(line)
        fence = "" if fence and _closes(line, fence) else fence or (marker[1] if marker else "")
    return "\n".join([*lines, fence] if fence else lines)


def code_block(text: str) -> str:
    """A fence that is longer than any within."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    return f"{'`' * (longest + 1)}\n{printable(text)}\n{'`' * (longest + 1)}"


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _lowered(line: str, below: int) -> str:
    line = _HEADING.sub(lambda found: found[1] + "#" * min(len(found[2]) + below, DEEPEST), line)
    spans = _CODE_SPAN.split(line)
    return "".join(span if n % 2 else _inert(span) for n, span in enumerate(spans))


def _inert(text: str) -> str:
    """Tags as text, and pictures as links: a viewer would fetch them, and so tell their address's owner."""
    return _TAG.sub("&lt;", text).replace("![", "!\\[")
