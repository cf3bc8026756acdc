"""Shows a run while it happens: streamed on a terminal, as plain lines elsewhere."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TextIO

import click

from ..config.loading import LoadedDiscussion
from ..core.errors import ConfigError
from ..core.events import (
    AttemptFailed,
    Concluded,
    DraftDelta,
    Event,
    ModelReplied,
    PromptGiven,
    RunFinished,
    RunResumed,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.exchange import NOTHING_USED, Usage, estimate_text
from ..core.helping import HintGiven
from ..core.ledger import Ledger
from ..core.texts import one_line, printable
from ..providers.person import NAME as PERSON
from ..reporting.figures import clock, cost
from ..reporting.sentences import STOPS, audience_text
from .output import opening_text, tokens
from .remarks import NOTICES, Remarks, is_wanted, text_said
from .screen import MarkdownStream, Screen

COLOURS = (31, 133, 28, 130, 63, 162)
REMARK_COLOUR = 130
"""Colours of the 256-colour palette that are legible on white and black: a contrast of at least 4 to both."""
TICK_SECONDS = 0.25
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
DRAFT_SHOWN = 40
YOUR_TURN = "your turn: Enter says it, an empty line passes, /help shows more"


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Options of a view: `turns` expected, `spent` before it, `notify_on` for the remarks to show.

    `verbose` also shows reasoning and everything that helpers said. `output_price` returns a model's price of one
    output token in dollars, or 0 if unknown. `typing` means that people type into the same terminal, which echoes that
    itself.
    """

    turns: int = 0
    colour: bool = True
    verbose: bool = False
    typing: bool = False
    notify_on: Collection[str] = NOTICES
    spent: Usage = NOTHING_USED
    output_price: Callable[[str], float] = lambda model: 0.0

    @classmethod
    def of(cls, loaded: LoadedDiscussion, *, verbose: bool = False) -> "ViewOptions":
        """Returns the options from the discussion file and this terminal."""
        discussion = loaded.file.discussion
        typing = sys.stdin is not None and sys.stdin.isatty()
        prices = cache(partial(_output_price, {name: price.model_dump() for name, price in loaded.file.prices.items()}))
        turns = discussion.turns_in_all
        return cls(turns, verbose=verbose, typing=typing, notify_on=discussion.timeouts.notify_on, output_price=prices)


def _output_price(stated: Mapping[str, Any], type_: str) -> float:
    """Returns a model's price of an output token. Called when it first speaks, as loading the price list is slow."""
    from ..providers._names import parse
    from ..providers._prices import price

    with suppress(ConfigError):
        found = price(parse(type_), stated)
        return found.cost(Usage(0, 1_000_000)) / 1e6 if found else 0.0
    return 0.0


class PlainLines:
    """Prints the speakers and their models, then a paragraph per finished turn, without colours or cursor movements."""

    def __init__(self, out: TextIO, options: ViewOptions) -> None:
        self._out = out
        self._options = options
        self._remarks = Remarks(full=options.verbose)
        self._people: set[str] = set()

    async def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted | RunResumed):
            self._people = {speaker for speaker, model in event.participants.items() if model == PERSON}
        if line := self._line(event):
            print(printable(line), file=self._out, flush=True)

    def close(self) -> None:
        self._out.flush()

    def _line(self, event: Event) -> str:
        match event:
            case RunStarted():
                return _heading(event)
            case PromptGiven(message=message):
                return opening_text(message)
            case TurnFinished():
                return _paragraph(event, thought=event.message.thinking if self._options.verbose else "")
            case Concluded(speaker=speaker, text=text) if text:
                return f"[outcome] {speaker}: {text}"
            case TurnFailed(speaker=speaker, error=error) if speaker in self._people:
                return error
        return self._remarks.line(event) if is_wanted(event, self._options.notify_on) else ""


class LiveView:
    """Shows coloured names, streamed text, and a status line with turn, tokens, cost, time and activity.

    A narrow terminal cuts the end off: the activity, or the figures while a person is asked something.
    """

    def __init__(self, out: TextIO, options: ViewOptions) -> None:
        self._screen = Screen(out)
        self._options = options
        self._remarks = Remarks(full=options.verbose)
        self._started = time.monotonic()
        self._ledger = Ledger(options.spent)
        self._models: dict[str, str] = {}
        self._turn = 0
        self._speaker = self._name = ""
        self._is_typed = False
        self._doing = "starting"
        self._drafted = self._unbooked = ""
        self._streamed = False
        self._waiting_since: float | None = None
        self._markdown = MarkdownStream()
        self._paused = False
        self._ticking: asyncio.Task[None] | None = None
        self._hear: dict[type, Callable[[Any], None]] = {
            TextDelta: self._say,
            ThinkingDelta: self._think,
            DraftDelta: self._draft,
            ModelReplied: self._book,
            AttemptFailed: self._discard,
            RunStarted: self._begin,
            RunResumed: self._go_on,
            PromptGiven: self._open,
            TurnStarted: self._head,
            TurnFinished: self._end,
            TurnFailed: self._fail,
            Concluded: self._conclude,
            RunFinished: self._finish,
        }

    async def __call__(self, event: Event) -> None:
        self._hear.get(type(event), self._remark)(event)

    def close(self) -> None:
        """Stops the clock and releases the terminal. May be called twice."""
        if self._ticking:
            self._ticking.cancel()
        self._screen.close()

    def pause(self, doing: str) -> None:
        """Leaves the terminal alone until `go_on`; the status line says what it waits for."""
        self._screen.end_line()
        before, self._doing = self._doing, doing
        self._show_status(asking=True)
        self._doing, self._paused = before, True

    def go_on(self) -> None:
        self._paused = False
        self._show_status()

    def _say(self, event: TextDelta) -> None:
        self._streamed, self._waiting_since = True, None
        self._unbooked += event.text
        if not self._is_typed:
            if self._doing == "thinking":
                self._screen.end_line()
            self._doing = f"{self._speaker} answers"
            self._stream(event.text)

    def _stream(self, text: str) -> None:
        """Shows a model's words. Without colours, their Markdown stays as it is written."""
        text = printable(text)
        self._screen.stream(self._markdown.feed(text) if self._options.colour else text)

    def _book(self, event: ModelReplied) -> None:
        self._unbooked = ""
        if event.role == "arbiter":  # judging is billed separately
            self._doing, self._waiting_since = "judging", time.monotonic()
            return
        self._ledger.book(event)

    def _think(self, event: ThinkingDelta) -> None:
        self._doing = "thinking"
        self._unbooked += event.text
        if self._options.verbose:
            self._screen.stream(self._style(printable(event.text), dim=True))

    def _draft(self, event: DraftDelta) -> None:
        """Shows the end of a draft in the status line, as it may never become an answer."""
        self._unbooked += event.text
        self._drafted = (self._drafted + event.text)[-DRAFT_SHOWN:]
        self._doing = f"drafting: …{one_line(self._drafted, DRAFT_SHOWN)}"

    def _discard(self, event: AttemptFailed) -> None:
        self._streamed, self._unbooked, self._waiting_since = False, "", time.monotonic()
        self._remark(event)

    def _remark(self, event: Event) -> None:
        """Prints a remark on a line. Hints and helpers' words are dim, with more lines if `verbose`."""
        if not is_wanted(event, self._options.notify_on):
            return
        self._screen.stream(self._markdown.flush())
        is_aside = isinstance(event, HintGiven) or text_said(event)
        style: dict[str, Any] = {"dim": True} if is_aside else {"fg": REMARK_COLOUR}
        for line in self._remarks.line(event).splitlines():
            self._screen.paragraph(_remark_line(line), lambda shown: self._style(shown, **style))

    def _begin(self, event: RunStarted) -> None:
        self._models = dict(event.participants)
        self._name = printable(event.name)
        self._screen.line(self._style(self._name, bold=True))
        self._ticking = asyncio.create_task(self._tick())

    def _go_on(self, event: RunResumed) -> None:
        self._models, self._turn = dict(event.participants), event.turn
        self._remark(event)
        self._ticking = asyncio.create_task(self._tick())

    def _head(self, event: TurnStarted) -> None:
        model = self._models.get(event.speaker, "")
        self._turn, self._streamed, self._is_typed = event.turn, False, self._options.typing and model == PERSON
        self._speaker = event.speaker
        self._drafted = self._unbooked = ""
        self._waiting_since = None if self._is_typed else time.monotonic()
        self._doing = YOUR_TURN if self._is_typed else f"{event.speaker} answers"
        self._screen.line()
        if not self._is_typed:  # else the prompt names the speaker
            name = self._style(printable(event.speaker), fg=self._colour_of(event.speaker), bold=True)
            about = printable(" · ".join(filter(None, (model, audience_text(event.heard_by)))))
            self._screen.line(f"{name} {self._style(about, dim=True)}")
        self._show_status()

    def _open(self, event: PromptGiven) -> None:
        opening = printable(opening_text(event.message))
        if opening != self._name:  # a short topic was shown as the name of the run
            self._screen.stream(opening)
            self._screen.end_line()

    def _end(self, event: TurnFinished) -> None:
        self._waiting_since = None
        if not self._streamed:
            self._stream(event.message.text)
        self._screen.stream(self._markdown.flush())
        self._screen.end_line()
        if event.stop in STOPS:
            self._screen.line(self._style(f"! {STOPS[event.stop]}", fg=REMARK_COLOUR))
        self._show_status()

    def _conclude(self, event: Concluded) -> None:
        if event.text:
            self._screen.line()
            self._screen.line(self._style(printable(f"Outcome, by {event.speaker}"), bold=True))
            self._screen.stream(printable(event.text))
            self._screen.end_line()

    def _fail(self, event: TurnFailed) -> None:
        """Shows a failed turn. A person who says nothing has not failed."""
        self._waiting_since = None
        if self._models.get(event.speaker) == PERSON:
            self._screen.line(self._style(printable(event.error), dim=True))
        else:
            self._remark(event)

    def _finish(self, event: RunFinished) -> None:
        self._screen.line()
        self.close()

    async def _tick(self) -> None:
        while True:
            self._show_status()
            await asyncio.sleep(TICK_SECONDS)

    def _show_status(self, *, asking: bool = False) -> None:
        if self._paused:
            return
        turn = f"turn {self._turn} of {self._options.turns}" if self._options.turns else f"turn {self._turn}"
        used, taken = self._usage, time.monotonic() - self._started
        figures = f"{tokens(used)} · {cost(used.cost_usd)} · {clock(taken)}"
        rest = (self._doing, figures) if asking or self._is_typed else (figures, self._doing_now)
        self._screen.status(f" {turn} · {' · '.join(rest)}")

    @property
    def _usage(self) -> Usage:
        """The booked usage, plus an estimate for text that is streaming and not booked yet."""
        if not self._unbooked:
            return self._ledger.usage
        output = estimate_text(self._unbooked)
        cost = output * self._options.output_price(self._models.get(self._speaker, ""))
        return self._ledger.usage + Usage(0, output, cost_usd=cost, estimated=True)

    @property
    def _doing_now(self) -> str:
        """The activity, with a spinner and seconds while waiting for text."""
        if self._waiting_since is None:
            return self._doing
        waited = time.monotonic() - self._waiting_since
        return f"{SPINNER[int(waited / TICK_SECONDS) % len(SPINNER)]} {self._doing}, {waited:.0f} s"

    def _colour_of(self, speaker: str) -> int:
        return COLOURS[list(self._models).index(speaker) % len(COLOURS)] if speaker in self._models else COLOURS[0]

    def _style(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self._options.colour else text


class StreamedText:
    """Streams text under the name of its speaker, for output without a cursor, such as a notebook."""

    def __init__(self, out: TextIO, options: ViewOptions) -> None:
        self._out = out
        self._whole = PlainLines(out, options)
        self._streamed = False

    async def __call__(self, event: Event) -> None:
        match event:
            case TurnStarted(speaker=speaker):
                self._streamed = False
                self._write(f"\n{speaker}: ")
            case TextDelta(text=text):
                self._streamed = True
                self._write(text)
            case TurnFinished(message=message):
                self._write("\n" if self._streamed else f"{message.text}\n")
            case _:
                await self._whole(event)

    def close(self) -> None:
        self._out.flush()

    def _write(self, text: str) -> None:
        self._out.write(printable(text))
        self._out.flush()


def _remark_line(line: str) -> str:
    """Shortens a line and removes control characters. Keeps the mark of quoted lines."""
    mark = "  | " if line.startswith("  | ") else ""
    return mark + one_line(line.removeprefix(mark), 2_000)


def _heading(event: RunStarted) -> str:
    return f"{event.name}: {', '.join(f'{speaker} ({model})' for speaker, model in event.participants.items())}"


def _paragraph(turn: TurnFinished, thought: str) -> str:
    to = audience_text(turn.heard_by)
    before = f"[thinking] {turn.speaker}: {thought.rstrip()}\n" if thought else ""
    line = f"{before}[{turn.turn}] {turn.speaker}{to and f' ({to})'}: {turn.message.text.strip()}"
    return f"{line}\n! {STOPS[turn.stop]}" if turn.stop in STOPS else line


def view(out: TextIO, options: ViewOptions = ViewOptions()) -> LiveView | PlainLines:
    """Returns the view that suits `out`: streaming on a terminal, plain lines for a pipe or a file."""
    if out.isatty() and os.environ.get("TERM") != "dumb":
        return LiveView(out, replace(options, colour=options.colour and not os.environ.get("NO_COLOR")))
    return PlainLines(out, options)


def live_view() -> LiveView | PlainLines | StreamedText:
    """Returns a listener that shows a run while it happens, for `run(..., emit=live_view())`.

    In a terminal it has a status line, in a notebook text streams, elsewhere each turn is a line.
    """
    in_notebook = "ipykernel" in sys.modules and not sys.stdout.isatty()
    return StreamedText(sys.stdout, ViewOptions()) if in_notebook else view(sys.stdout)
