"""Asks the person at the terminal what to say, and whether a model may call a tool; `--approve` answers beforehand."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, get_args

import click
from rich.cells import cell_len, chop_cells

from ..config.loading import LoadedDiscussion
from ..config.tools import Tools, Verdict
from ..conversation.person import COMMANDS, Keyboard, keyboard, read_in_thread
from ..conversation.visibility import VisibilityFilter
from ..core.events import Emit, Event, ignore
from ..core.files import make_private, open_private, state_directory
from ..core.messages import ToolCall
from ..core.plugins import near
from ..core.texts import visible
from ..core.tooling import Answer
from .live import LiveView, PlainLines
from .output import without_secrets
from .screen import show_paragraph

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]
try:
    import readline
except ImportError:  # Windows, and some builds of Python
    readline = None  # type: ignore[assignment]

MIN_WIDTH = 20


def question(call: ToolCall, participant: str, width: int) -> Iterator[str]:
    """Yields the lines of the question, none wider than `width`. A bar marks each line that the model wrote."""
    who, tool = visible(participant), visible(call.name)
    bar = click.style("│ ", fg="yellow")
    for number, row in enumerate(chop_cells(f"{who} wants to use {tool}", max(width - 2, MIN_WIDTH))):
        yield click.style("│ " if number else "╭ ", fg="yellow") + click.style(row, bold=True)
    rows = [row for name, value in call.arguments.items() for row in _argument(name, value, width - 2)]
    yield from (bar + row for row in rows or ["(without arguments)"])
    text = f"May {who} use {tool}?"
    text = text if cell_len(text) <= width - 2 else "May this be run?"
    yield click.style("╰ ", fg="yellow") + click.style(text, bold=True)


def _argument(name: str, value: Any, width: int) -> Iterator[str]:
    """Yields `name: value` on one line if that fits, else a block with numbered lines."""
    width = max(width, MIN_WIDTH)
    shown = visible(name)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    lines = [visible(line) for line in text.removesuffix("\n").split("\n")]
    if len(lines) == 1 and cell_len(f"{shown}: {lines[0]}") <= width:
        yield f"{click.style(f'{shown}:', fg='cyan')} {lines[0] or click.style('(empty)', dim=True)}"
        return
    yield from (click.style(row, fg="cyan") for row in chop_cells(f"{shown}:", width))
    yield from _numbered_lines(lines, width)


def _numbered_lines(lines: list[str], width: int) -> Iterator[str]:
    digits = max(len(str(len(lines))), 2)
    for number, line in enumerate(lines, 1):
        rows = chop_cells(line, max(width - digits - 2, MIN_WIDTH)) or [""]
        for gutter, row in zip((number, *[""] * (len(rows) - 1)), rows, strict=True):
            yield f"{click.style(f'{gutter:>{digits}}', dim=True)}  {row}"


HINTS = "  y yes · n no, n WHY tells the model why\n  always, never: for the whole run"
PROMPT = "  y/n/always/never> "
USUAL_WIDTH, WIDEST = 80, 120
YES, NO, ALWAYS, NEVER = ("y", "yes"), ("n", "no"), ("a", "always"), ("never",)


class TerminalPrompt:
    """Asks one person at one terminal, one question at a time; nothing else is written there meanwhile."""

    def __init__(self) -> None:
        self.watch(None)

    def watch(self, view: LiveView | PlainLines | None) -> Emit:
        """Starts a run shown by `view`. Returns the listener for its events."""
        self._view = view
        self._visibility = VisibilityFilter()
        self._turn = asyncio.Lock()
        self._later: list[Event] | None = None
        return self._hear if view else ignore

    async def line(self, prompt: str) -> str | None:
        """Returns what a participant types, or None at the end of the input."""
        async with self._turn:
            return await read_line(prompt)

    async def approve(self, call: ToolCall, participant: str) -> Answer | None:
        """Asks the person about a call. Returns None if there is no terminal."""
        async with self._turn:
            if (out := _terminal()) is None:
                return None
            async with self._hold_events(f"{participant} waits for your answer"):
                return await _ask(call, participant, out)

    async def _hear(self, event: Event) -> None:
        if self._later is not None:
            self._later.append(event)
        else:
            await self._show(event)

    async def _show(self, event: Event) -> None:
        if self._view and (shown := self._visibility.filter_event(event)):
            await self._view(shown)

    @asynccontextmanager
    async def _hold_events(self, doing: str) -> AsyncIterator[None]:
        """Holds back events meanwhile and shows them afterwards."""
        later: list[Event] = []
        self._later = later
        if isinstance(self._view, LiveView):
            self._view.pause(doing)
        try:
            yield
        finally:
            if isinstance(self._view, LiveView):
                self._view.go_on()
            while later:
                await self._show(later.pop(0))
            self._later = None


async def _ask(call: ToolCall, participant: str, out: TextIO) -> Answer:
    """Asks until there is an answer; the end of the input means no. Discards what was typed before the question."""
    is_colourful = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    shown: Callable[[str], str] = str if is_colourful else click.unstyle
    width = min(os.get_terminal_size(out.fileno()).columns or USUAL_WIDTH, WIDEST)
    lines = (*question(call, participant, width), click.style(HINTS, dim=True))
    out.write(shown("\n" + "\n".join(lines) + "\n"))
    if termios:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    while True:
        out.write(shown(click.style(PROMPT, bold=True)))
        out.flush()
        typed = await Keyboard()("")
        if typed is None:
            return Answer(False, reason="the input ended")
        if answer := parse_answer(typed):
            return answer


def parse_answer(typed: str) -> Answer | None:
    """Returns the answer in a line, or None for an empty line and for anything else."""
    word, _, reason = typed.strip().partition(" ")
    word = word.lower().rstrip(",.:;")
    if word in NO:
        return Answer(False, reason=reason.strip())
    if reason or word not in (*YES, *ALWAYS, *NEVER):
        return None
    return Answer(word not in NEVER, for_good=word not in YES)


def _terminal() -> TextIO | None:
    """Returns the stream on which a question can be seen, if it can also be answered."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    return next((out for out in (sys.stderr, sys.stdout) if out is not None and out.isatty()), None)


VERDICTS = get_args(Verdict)


def with_approval(loaded: LoadedDiscussion, option: str) -> LoadedDiscussion:
    """Returns the discussion with the option merged into `tools.approval`. Raises `click.BadParameter`."""
    tools = loaded.file.discussion.tools
    if not option.strip():
        return loaded
    default, wanted = _parse(option, tools or Tools(enabled=False))
    if tools is None:
        return loaded
    return loaded.with_overrides(*_overrides(default, wanted, tools))


def _overrides(default: str, wanted: Mapping[str, str], tools: Tools) -> Iterator[str]:
    if default:
        yield f"discussion.tools.approval.default={default}"
    for word in VERDICTS if wanted else ():
        kept = [tool for tool in getattr(tools.approval, word) if tool not in wanted]
        named = [tool for tool, verdict in wanted.items() if verdict == word]
        yield f"discussion.tools.approval.{word}={json.dumps(kept + named, ensure_ascii=False)}"


def _parse(option: str, tools: Tools) -> tuple[str, dict[str, str]]:
    """Returns the verdict for all tools, and those for single tools."""
    wanted: dict[str, str] = {}
    for entry in option.split(","):
        tool, equals, word = (part.strip() for part in entry.rpartition("="))
        verdict = _verdict(word)
        if equals:
            _require_known(tool, tools)
        if tool in wanted:
            raise _bad_approval(f"{tool or 'the word for all tools'} is given twice")
        wanted[tool] = verdict
    return wanted.pop("", ""), wanted


def _verdict(word: str) -> str:
    if word.lower() not in VERDICTS:
        hint = near(word.lower(), [*VERDICTS]).partition("; there is")[0]
        raise _bad_approval(f"{word!r} is not one of {', '.join(VERDICTS)}{hint}")
    return word.lower()


def _require_known(tool: str, tools: Tools) -> None:
    """Raises for an unknown tool, unless files or servers bring tools: their names are known at the run only."""
    known = [entry.name for entry in tools.registry]
    if tool not in known and not tools.paths and not tools.mcp.servers:
        raise _bad_approval(f"this discussion has no tool {tool!r}{near(tool, known)}")


def _bad_approval(words: str) -> click.BadParameter:
    return click.BadParameter(words, param_hint="--approve")


CONTINUATION = "... "
REMEMBERED, LONGEST = 500, 2_000
PASTE_OFF = "\x1b[?2004l"
SETTINGS = (
    "set enable-bracketed-paste on",
    "set blink-matching-paren off",
    r'"\e\C-m": "\C-v\C-j"',  # Alt-Enter begins a new line: \C-v inserts the next character literally
    "tab: complete",
)


async def read_line(prompt: str) -> str | None:
    """Returns what a person types after the prompt, with an editor on a terminal, else plainly.

    Returns None at the end of the input. A line that ends in a backslash continues on the next one.
    """
    if not _can_edit():
        return await keyboard(prompt)
    note, _, prompt = prompt.rpartition("\n")
    if note:
        show_paragraph(note)
    with _terminal_as_it_was():
        typed = await read_in_thread(lambda: _edit(prompt))
    _remember(typed or "")
    return typed


def _can_edit() -> bool:
    streams = (sys.stdin, sys.stdout)
    is_capable = bool(readline and termios) and os.environ.get("TERM") != "dumb"
    return is_capable and all(each and each.isatty() for each in streams)


def _edit(prompt: str) -> str | None:
    """Reads a line. Runs in a thread that may be abandoned, so it leaves nothing to clean up."""
    _prepare()
    try:
        typed = input(prompt)
        while typed.endswith("\\"):
            typed = f"{typed[:-1]}\n{input(CONTINUATION)}"
    except EOFError:
        print(flush=True)
        return None
    return typed


def _prepare() -> None:
    """Sets up the editor once. Bytes that are not text become question marks instead of errors."""
    if readline.get_completer() is _complete:
        return
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    for setting in SETTINGS:
        readline.parse_and_bind(setting)
    readline.set_completer(_complete)
    readline.set_completer_delims(" ")
    readline.set_auto_history(False)
    with suppress(OSError, UnicodeDecodeError):
        for line in _history_file().read_text(encoding="utf-8").splitlines()[-REMEMBERED:]:
            readline.add_history(line)


def _complete(text: str, state: int) -> str | None:
    """Returns a command that begins like the first word, else None, and readline completes file names."""
    known = [command.partition(" ")[0] for command in COMMANDS]
    found = [f"{name} " for name in known if name.startswith(text)] if readline.get_begidx() == 0 and text else []
    return found[state] if state < len(found) else None


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """Restores the terminal even if nobody pressed Enter: the editor keeps waiting in its thread."""
    before, is_over = termios.tcgetattr(sys.stdin), False
    try:
        yield
        is_over = True
    finally:
        if not is_over:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
            print(PASTE_OFF, flush=True)


def _remember(typed: str) -> None:
    """Adds a line to the history. The history file gets only short lines, without secrets."""
    if not typed.strip():
        return
    readline.add_history(typed)
    if "\n" in typed or len(typed) > LONGEST:
        return
    with suppress(OSError):
        make_private(_history_file().parent)
        with open(_history_file(), "a", encoding="utf-8", opener=open_private) as file:
            file.write(f"{without_secrets(typed)}\n")


def _history_file() -> Path:
    return state_directory() / "history"
