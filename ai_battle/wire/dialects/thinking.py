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
_TAGS = re.compile(r"</(?:\w+:)?(?:think|thinking|thought|reasoning|reflection|scratchpad)>")


def closer(opened: re.Match[str]) -> re.Pattern[str]:
    """What ends this reasoning; models confuse `think` with `thinking`, so any such tag does."""
    return _CLOSERS.get(opened.lastgroup or "", _TAGS)
