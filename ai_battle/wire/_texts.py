"""Texts that stood in parts of their own, as one text."""

from collections.abc import Iterable

from ..core.messages import ToolResult


def flowing(texts: Iterable[str]) -> str:
    """On lines of their own where they would run into one another."""
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and not (joined[-1][-1].isspace() or text[0].isspace()):
            joined.append("\n")
        joined.append(text)
    return "".join(joined)


def told_as_failure(result: ToolResult, words: str) -> str:
    """For the APIs that have no place for `is_error`; most failures say what they are."""
    if not result.is_error or "error" in words.lower():
        return words
    return f"Error: {words}" if words else "Error"
