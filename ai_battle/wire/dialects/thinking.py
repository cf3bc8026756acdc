"""Reasoning that a model wrote into its answer: no call in it is meant."""

import re

OPEN = re.compile(
    r"<(?P<tag>(?:\w+:)?(?:think|thinking|thought|reasoning|reflection|scratchpad))>"
    r"|(?P<square>\[THINK\])|(?P<cohere><\|START_THINKING\|>)|(?P<gemma><\|channel>\s*thought)|(?P<kimi>◁think▷)"
)
CLOSE = re.compile(
    r"</(?:\w+:)?(?:think|thinking|thought|reasoning|reflection|scratchpad)>"
    r"|\[/THINK\]|<\|END_THINKING\|>|◁/think▷|\[BEGIN FINAL RESPONSE\]"
)
_CLOSERS = {
    "square": re.compile(r"\[/THINK\]"),
    "cohere": re.compile(r"<\|END_THINKING\|>"),
    "gemma": re.compile(r"<channel\|>"),
    "kimi": re.compile(r"◁/think▷"),
}
_LONGEST_TAG = 40
_TAGS = re.compile(r"</(?:\w+:)?(?:think|thinking|thought|reasoning|reflection|scratchpad)>")


def closer(opened: re.Match[str]) -> re.Pattern[str]:
    """Returns what ends this reasoning; models confuse `think` with `thinking`, so any such tag does."""
    return _CLOSERS.get(opened.lastgroup or "", _TAGS)


class ThoughtFilter:
    """Passes on what stands behind the reasoning that a text begins with; without any, all of it."""

    def __init__(self) -> None:
        self._held = ""
        self._closer: re.Pattern[str] | None = None
        self._is_past = False

    def feed(self, text: str) -> str:
        if self._is_past:
            return text
        self._held = (self._held + text).lstrip()
        if not self._closer and (opened := OPEN.match(self._held)):
            self._closer = closer(opened)
        if not self._closer:  # what is shorter may become reasoning
            self._is_past = len(self._held) >= _LONGEST_TAG
            return self._held if self._is_past else ""
        closed = self._closer.search(self._held)
        self._held = self._held[closed.end() if closed else -_LONGEST_TAG :]
        self._is_past = closed is not None
        return self._held if closed else ""

    def rest(self) -> str:
        """Returns what was held back as it might have become reasoning; reasoning without an end is never passed on."""
        return "" if self._is_past or self._closer else self._held
