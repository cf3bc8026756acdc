"""Finds reasoning that a model writes into its answer, where no call is meant, and separates it from the answer."""

import re
from dataclasses import replace
from itertools import repeat

from ...core.exchange import Stop
from ...core.messages import Message, Text, Thinking

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


_MARKS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "◁think▷": "◁/think▷",
}
"""The marks of chat templates. Others, such as `<reasoning>`, are written because a prompt asks for them."""


class ThoughtSplitter:
    """Separates the reasoning at the beginning of a text, which may come in pieces, from the answer after it.

    `is_open` says that reasoning has begun and not ended, `is_past` that all further text belongs to the answer.
    """

    def __init__(self) -> None:
        self._held = self._closer = ""
        self._has_thought = self.is_past = False

    @property
    def is_open(self) -> bool:
        return bool(self._closer)

    def feed(self, text: str, *, is_last: bool = False) -> tuple[str, str]:
        """Returns the reasoning and the answer, as far as the text so far decides which is which."""
        if self.is_past:
            return "", text
        self._held += text
        begun = self._held.lstrip()
        if not self._closer and (opener := next(filter(begun.startswith, _MARKS), "")):
            self._held, self._closer = begun.removeprefix(opener).lstrip(), _MARKS[opener]
        if self._closer:
            return self._read_thought(is_last=is_last)
        if not is_last and any(map(str.startswith, _MARKS, repeat(begun))):
            return "", ""
        self.is_past = True
        return "", begun if self._has_thought else self._held

    def _read_thought(self, *, is_last: bool) -> tuple[str, str]:
        thought, closed, after = self._held.partition(self._closer)
        if closed:
            self._held, self._closer, self._has_thought = "", "", True
            more, answer = self.feed(after, is_last=is_last)
            return thought + more, answer
        self.is_past = is_last
        # The end may be the beginning of the closing mark.
        certain = len(thought) if is_last else max(len(thought) - len(self._closer) + 1, 0)
        self._held = thought[certain:]
        return thought[:certain], ""


def separate_thought(message: Message, stop: Stop) -> Message:
    """Returns the message with the reasoning at the beginning of its text as a part of its own.

    Reasoning without an end stays in the text, as the answer or a call is in it, unless a limit cut it.
    """
    place, first = next(((at, part) for at, part in enumerate(message.parts) if isinstance(part, Text)), (0, Text("")))
    splitter = ThoughtSplitter()
    thought, text = splitter.feed(first.text, is_last=True)
    if text == first.text or (splitter.is_open and stop != "length"):
        return message
    both: tuple[Thinking | Text, ...] = (Thinking(thought), replace(first, text=text))
    separated = (part for part in both if part.text.strip())
    return replace(message, parts=(*message.parts[:place], *separated, *message.parts[place + 1 :]))
