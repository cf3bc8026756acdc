"""Finds reasoning that a model writes into its answer, where no call is meant, and removes it."""

import re

_NAME = r"(?:\w+:)?(?:think|thinking|thought|reasoning|reflection|scratchpad)"
_CLOSING_TAG = re.compile(f"</{_NAME}>")
OPENING_TAG = re.compile(
    rf"<(?P<tag>{_NAME})>"
    r"|(?P<square>\[THINK\])|(?P<cohere><\|START_THINKING\|>)|(?P<gemma><\|channel>\s*thought)|(?P<kimi>◁think▷)"
)
CLOSING_TAG = re.compile(rf"</{_NAME}>|\[/THINK\]|<\|END_THINKING\|>|◁/think▷|\[BEGIN FINAL RESPONSE\]")
_CLOSERS = {
    "square": re.compile(r"\[/THINK\]"),
    "cohere": re.compile(r"<\|END_THINKING\|>"),
    "gemma": re.compile(r"<channel\|>"),
    "kimi": re.compile(r"◁/think▷"),
}
_LONGEST_TAG = 40  # characters


def closer(opened: re.Match[str]) -> re.Pattern[str]:
    """Returns the pattern that ends this reasoning. Any such tag does, as models mix up `think` and `thinking`."""
    return _CLOSERS.get(opened.lastgroup or "", _CLOSING_TAG)


class ThoughtFilter:
    """Removes the reasoning at the beginning of a streamed text."""

    def __init__(self) -> None:
        self._held = ""
        self._closer: re.Pattern[str] | None = None
        self._is_past = False

    def feed(self, text: str) -> str:
        if self._is_past:
            return text
        self._held = (self._held + text).lstrip()
        if not self._closer and (opened := OPENING_TAG.match(self._held)):
            self._closer = closer(opened)
        if not self._closer:  # a shorter text may still become an opening tag
            self._is_past = len(self._held) >= _LONGEST_TAG
            return self._held if self._is_past else ""
        closed = self._closer.search(self._held)
        self._held = self._held[closed.end() if closed else -_LONGEST_TAG :]
        self._is_past = closed is not None
        return self._held if closed else ""

    def rest(self) -> str:
        """Returns text that was held back in case it became reasoning. Unfinished reasoning is dropped."""
        return "" if self._is_past or self._closer else self._held


def without_thought(text: str) -> str:
    """Returns the text without the reasoning that it begins with; nothing of it if that has no end."""
    thoughts = ThoughtFilter()
    return thoughts.feed(text) + thoughts.rest()
