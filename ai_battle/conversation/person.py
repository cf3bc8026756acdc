"""Lets a person take part at the keyboard like any model."""

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import TypeAlias, TypeVar

from ..core.client import ModelClient
from ..core.errors import ConfigError, ProviderError
from ..core.events import Emit, SpeakerSelected, TextDelta, ignore
from ..core.exchange import NOTHING_USED, ModelRequest, ModelResponse
from ..core.messages import Message, Part, assistant
from .inputs import read_attachment
from .participant import WITHOUT_WORDS, reason_without_words

Reader: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Shows a prompt, whose last line precedes the input, and returns the line typed; None at the end of the input."""

T = TypeVar("T")
COMMANDS = {
    "/ask NAME WORDS": "say the words, and let NAME speak next",
    "/attach FILE": "send a file with what you say next: a text, a picture, a PDF or a video",
    "/skip": "let your turn pass, as an empty line does",
    "/leave": "leave; the others go on",
    "/end": "end the discussion",
    "/help": "show this",
}
HELP = "\n".join(f"  {command:16} {meaning}" for command, meaning in COMMANDS.items())
_COMMAND = re.compile(r"/([a-zA-Z]+)(?:\s+(.*))?", re.DOTALL)


class PersonLeft(ProviderError):
    """The person closed the input; the others continue without them."""


class PersonEnded(ProviderError):
    """The person ended the discussion."""


_ERRORS: dict[str, type[ProviderError]] = {"skip": ProviderError, "leave": PersonLeft, "end": PersonEnded}


async def read_in_thread(read: Callable[[], T]) -> T:
    """Returns the result of `read`. Nothing joins its daemon thread, so Ctrl-C works in the middle of a line."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def deliver() -> None:
        try:
            settle = partial(result.set_result, read())
        except (OSError, ValueError) as error:
            settle = partial(result.set_exception, error)
        with suppress(RuntimeError):  # the loop may be closed by the time a line is typed
            loop.call_soon_threadsafe(lambda: None if result.done() else settle())

    Thread(target=deliver, daemon=True).start()
    return await result


class Keyboard:
    """Reads lines from standard input; returns None at its end.

    It bypasses Python's buffer, which would hold back lines that were typed ahead.
    """

    def __init__(self) -> None:
        self._rest = b""

    async def __call__(self, prompt: str) -> str | None:
        print(prompt, end="", file=sys.stderr, flush=True)
        typed: str | None = None
        try:
            typed = await read_in_thread(self._line)
        finally:
            if typed is None:  # the cursor is still on the prompt's line, since nobody pressed Enter
                print(file=sys.stderr, flush=True)
        return typed

    def _line(self) -> str | None:
        while b"\n" not in self._rest:
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                last, self._rest = self._rest, b""
                return last.decode(errors="replace") if last else None
            self._rest += data
        first, _, self._rest = self._rest.partition(b"\n")
        return first.decode(errors="replace")


keyboard = Keyboard()


class PersonClient(ModelClient):
    """Answers with what a person types. An empty line skips the turn; the end of the input leaves the discussion.

    A line that begins with a slash and a word is one of `COMMANDS`; `//word` says `/word`. `/ask` accepts the names in
    `others`; relative file names start at `base`. `secret` is shown before the first line.
    """

    def __init__(
        self,
        name: str,
        read: Reader = keyboard,
        others: Sequence[str] = (),
        base: Path = Path(),
        secret: str = "",
    ) -> None:
        self._name = name
        self._secret_note = f"Only you are told this: {secret.strip()}" if secret else ""
        self._read = read
        self._others = [other for other in others if other != name]
        self._base = base

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        files: dict[str, tuple[Part, ...]] = {}
        words, note, self._secret_note = None, self._secret_note, ""
        while words is None:
            line = await self._read(f"{note}\n{self._name}> " if note else f"{self._name}> ")
            if line is None:
                raise self._error("leave")
            words, note = await self._obey(line, files, emit)
        if not words.strip() and not files:
            raise self._error("skip")
        text = f"{words}\n\n(attached: {', '.join(files)})".strip() if files else words
        await emit(TextDelta(text))
        # Others receive whole only messages with the user role, so the files form a step of their own before the text.
        steps = (Message("user", tuple(chain.from_iterable(files.values()))),) if files else ()
        return ModelResponse(assistant(text), usage=NOTHING_USED, model="person", steps=steps)

    def _error(self, command: str) -> ProviderError:
        return _ERRORS[command](reason_without_words(self._name, command))

    async def _obey(self, line: str, files: dict[str, tuple[Part, ...]], emit: Emit) -> tuple[str | None, str]:
        """Returns the text to say; or None and a note to show before the next line."""
        found = _COMMAND.fullmatch(line.strip())
        if not found:
            return line[1:] if line.startswith("//") else line, ""
        command, rest = found[1].lower(), (found[2] or "").strip()
        if command in WITHOUT_WORDS:
            raise self._error(command)
        match command:
            case "ask":
                return await self._call_on(rest, emit)
            case "attach":
                return None, await self._attach(rest, files)
            case "help":
                return None, HELP
        return None, f"There is no command /{found[1]}; /help lists the commands, //{found[1]} says it literally."

    async def _call_on(self, rest: str, emit: Emit) -> tuple[str | None, str]:
        name, words = _split_name(rest, self._others)
        if not name:
            return None, f"Nobody here has that name; choose from {', '.join(self._others)}. You wrote: {rest}"
        await emit(SpeakerSelected(name, "called"))
        return words, ""

    async def _attach(self, path: str, files: dict[str, tuple[Part, ...]]) -> str:
        """Reads a file in a thread, so that a large one does not block participants who are speaking."""
        try:
            read = await asyncio.to_thread(read_attachment, path, self._base)
        except ConfigError as error:
            return str(error)
        files[path] = read.parts
        return " ".join((f"{path} goes with what you say next.", *read.warnings))


def _split_name(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Splits off the name that the text begins with, or a unique beginning of one; no name if none fits."""
    folded = text.casefold()
    for name in sorted(names, key=len, reverse=True):
        if folded.startswith(name.casefold()):
            return name, text[len(name) :].lstrip(" :,")
    first, _, rest = text.partition(" ")
    meant = [name for name in names if first and name.casefold().startswith(first.casefold())]
    return (meant[0], rest.strip()) if len(meant) == 1 else ("", text)
