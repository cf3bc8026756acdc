"""Markdown tables."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns that are empty in all rows; nothing when there is no row."""
    cells = [[_cell(text) for text in row] for row in rows]
    if not cells:
        return ""
    used = [number for number in range(len(heads)) if any(row[number] for row in cells)]
    lines = [
        [heads[number] for number in used],
        ["---"] * len(used),
        *([row[number] for number in used] for row in cells),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str]) -> str:
    return ", ".join(map(code, texts))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
