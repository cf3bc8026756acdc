"""Edits lines typed at a terminal: history, several lines, pasted text, completion of commands."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ai_battle.conversation.person import COMMANDS, keyboard, read_in_thread
from ai_battle.core.files import make_private, open_private, state_directory

from .output import without_secrets

try:
    import readline
    import termios
except ImportError:  # Windows, and some builds of Python
    readline = termios = None  # type: ignore[assignment]

CONTINUED = "... "
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
        print(note)
    with _terminal_as_it_was():
        typed = await read_in_thread(lambda: _edit(prompt))
    _remember(typed or "")
    return typed


def _can_edit() -> bool:
    streams = (sys.stdin, sys.stdout)
    return bool(readline) and os.environ.get("TERM") != "dumb" and all(each and each.isatty() for each in streams)


def _edit(prompt: str) -> str | None:
    """Reads a line. Runs in a thread that may be abandoned, so it leaves nothing to clean up."""
    _prepare()
    try:
        typed = input(prompt)
        while typed.endswith("\\"):
            typed = f"{typed[:-1]}\n{input(CONTINUED)}"
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
