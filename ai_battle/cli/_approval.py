"""Asks the person at the terminal whether a model may call a tool."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from typing import TextIO

import click

from ai_battle.conversation.person import Keyboard, keyboard
from ai_battle.core.events import Emit, Event, ignore
from ai_battle.core.messages import ToolCall
from ai_battle.tools.approval import Answer

from ._live import LiveView, PlainLines
from ._question import question

HINTS = ("  y yes · n no, n WHY tells the model why", "  always, never: for the whole run")
PROMPT = "  y/n/always/never> "
USUAL_WIDTH, WIDEST = 80, 120
YES, NO, ALWAYS, NEVER = ("y", "yes"), ("n", "no"), ("a", "always"), ("never",)


class AtTerminal:
    """One person at one terminal: is asked one thing at a time, and meanwhile nothing else is written there."""

    def __init__(self) -> None:
        self.watch(None)

    def watch(self, view: LiveView | PlainLines | None) -> Emit:
        """A run begins that is shown by `view`: who is to be told of its events."""
        self._view = view
        self._turn = asyncio.Lock()
        self._later: list[Event] | None = None
        return self._hear if view else ignore

    async def line(self, prompt: str) -> str | None:
        """What a participant types; None at the end of the input."""
        async with self._turn:
            return await keyboard(prompt)

    async def approve(self, call: ToolCall, participant: str) -> Answer | None:
        """What the person says to a call; None where there is no terminal."""
        async with self._turn:
            if (out := _terminal()) is None:
                return None
            async with self._silence(f"{participant} waits for your answer"):
                return await _answered(call, participant, out)

    async def _hear(self, event: Event) -> None:
        if self._later is not None:
            self._later.append(event)
        elif self._view:
            await self._view(event)

    @contextlib.asynccontextmanager
    async def _silence(self, doing: str) -> AsyncIterator[None]:
        """What happens meanwhile is shown afterwards."""
        later: list[Event] = []
        self._later = later
        if isinstance(self._view, LiveView):
            self._view.pause(doing)
        try:
            yield
        finally:
            if isinstance(self._view, LiveView):
                self._view.go_on()
            while later and self._view:
                await self._view(later.pop(0))
            self._later = None


async def _answered(call: ToolCall, participant: str, out: TextIO) -> Answer:
    """Asks until it is answered; the end of the input is a no. What was typed before the question is no answer."""
    colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    width = min(os.get_terminal_size(out.fileno()).columns or USUAL_WIDTH, WIDEST)
    hints = (click.style(hint, dim=True) if colour else hint for hint in HINTS)
    lines = (*question(call, participant, width, colour=colour), *hints)
    out.write("\n" + "\n".join(lines) + "\n")
    _forget_what_was_typed()
    while True:
        out.write(click.style(PROMPT, bold=True) if colour else PROMPT)
        out.flush()
        typed = await Keyboard()("")
        if typed is None:
            return Answer(False, reason="the input ended")
        if answer := understood(typed):
            return answer


def _forget_what_was_typed() -> None:
    with contextlib.suppress(ImportError):
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def understood(typed: str) -> Answer | None:
    """The answer in a line; None for one that is none, and for an empty one."""
    word, _, reason = typed.strip().partition(" ")
    word = word.lower().rstrip(",.:;")
    if word in NO:
        return Answer(False, reason=reason.strip())
    if reason or word not in (*YES, *ALWAYS, *NEVER):
        return None
    return Answer(word not in NEVER, for_good=word not in YES)


def _terminal() -> TextIO | None:
    """Where a question can be seen, if it can also be answered."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    return next((out for out in (sys.stderr, sys.stdout) if out is not None and out.isatty()), None)
