"""The runs of this process: their drafts, their questions to a person, and how they end."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ..conversation.manager import RunResult
from ..conversation.visibility import VisibilityFilter
from ..core.errors import AIBattleError, ConfigError
from ..core.events import (
    AttemptFailed,
    DraftDelta,
    Event,
    RunResumed,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from ..core.helping import DraftDropped, StuckFound
from ..core.messages import ToolCall
from ..core.plugins import translate_errors
from ..core.texts import visible
from ..core.tooling import Answer, ToolCalled, ToolReturned
from ..reporting.exports import write_reports
from ..reporting.sentences import call_words, result_words, sentence

AS_OWN_ERRORS = translate_errors("This is an error in ai-battle itself; please report it", AIBattleError)
_numbers = count(1)


@dataclass(slots=True)
class AnswerDraft:
    """The answer that a speaker is giving. Its `number` changes whenever the text so far no longer counts.

    `tentative` text may never become the answer.
    """

    speaker: str
    turn: int
    notes: list[str] = field(default_factory=list)
    number: int = field(default_factory=lambda: next(_numbers))
    pieces: list[str] = field(default_factory=list)
    tentative: bool = False
    thinking: bool = False

    def restart(self, *, tentative: bool = False, thinking: bool = False) -> None:
        self.number, self.pieces = next(_numbers), []
        self.tentative, self.thinking = tentative, thinking

    def take(self, event: Event) -> None:
        match event:
            case TextDelta(text=text) | DraftDelta(text=text):
                tentative = isinstance(event, DraftDelta)
                if self.tentative != tentative or self.thinking:
                    self.restart(tentative=tentative)
                self.pieces.append(text)
            case ThinkingDelta(text=text) if text and not self.thinking:
                self.restart(thinking=True)
            case AttemptFailed() | StuckFound() | DraftDropped():
                self.restart()
        if words := _note(event):
            self.notes.append(words)


def _note(event: Event) -> str:
    match event:
        case ToolCalled(call=call):
            return call_words(call)
        case ToolReturned(result=result):
            return f"-> {result_words(result)}"
    return sentence(event)


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question to a person: `kind` is "line" for the next message, "approval" for a tool call."""

    number: int
    kind: str
    who: str
    about: Mapping[str, Any]
    answer: asyncio.Future[Any] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        return {"number": self.number, "kind": self.kind, "who": self.who, **self.about}


class LiveRun:
    """Listens to one run and passes its questions to the person at the page, waiting as long as that takes.

    `changed` is called whenever there is something new to show.
    """

    def __init__(self, changed: Callable[[], None], run_dir: Path | None = None) -> None:
        self.run_dir = run_dir
        self.draft: AnswerDraft | None = None
        self.questions: dict[int, PendingQuestion] = {}
        self.error = ""
        self._changed = changed
        self._visibility = VisibilityFilter()
        self._begun = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_active(self) -> bool:
        return self._task is not None and not self._task.done()

    async def begin(self, discussion: Awaitable[RunResult]) -> Path:
        """Returns the run's directory once it exists. Raises the error that kept the run from beginning."""
        self._task = asyncio.create_task(self._play(discussion))
        begun = asyncio.create_task(self._begun.wait())
        await asyncio.wait({self._task, begun}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if self._begun.is_set() and self.run_dir:
            return self.run_dir
        await self._task
        raise ConfigError(self.error)

    async def _play(self, discussion: Awaitable[RunResult]) -> None:
        """Plays the run. Raises errors from before its beginning; later ones are kept as `error`."""
        try:
            with AS_OWN_ERRORS:
                self.run_dir = (await discussion).run_dir
            self._begun.set()
        except AIBattleError as error:
            self.error = str(error)
            if not self._begun.is_set():
                raise
        finally:
            self.draft = None
            self.questions.clear()
            if self.run_dir and self._begun.is_set():
                with suppress(AIBattleError):  # reports can be written again from the journal at any time
                    await asyncio.to_thread(write_reports, self.run_dir)
            asyncio.get_running_loop().call_soon(self._changed)

    async def stop(self) -> None:
        """Stops the run so that it can be resumed. The unfinished turn is lost."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def hear(self, event: Event) -> None:
        if (shown := self._visibility.filter_event(event)) is None:
            return
        match shown:
            case RunStarted(run_dir=run_dir):
                self.run_dir = Path(run_dir)
                self._begun.set()
            case RunResumed():
                self._begun.set()
            case TurnStarted(speaker=speaker, turn=turn):
                self.draft = AnswerDraft(speaker, turn)
            case TurnFinished() | TurnFailed():
                self.draft = None
            case _ if self.draft:
                self.draft.take(shown)
        self._changed()

    async def ask(self, prompt: str) -> str | None:
        """Returns what a person says, or None if the person leaves."""
        note, _, label = prompt.rpartition("\n")
        line: str | None = await self._wait_for_answer("line", label.removesuffix("> "), {"note": note})
        return line

    async def approve(self, call: ToolCall, participant: str) -> Answer:
        about = {"tool": visible(call.name), "arguments": list(_shown_arguments(call))}
        answer: Answer = await self._wait_for_answer("approval", participant, about)
        return answer

    async def _wait_for_answer(self, kind: str, who: str, about: Mapping[str, Any]) -> Any:
        question = PendingQuestion(next(_numbers), kind, who, about, asyncio.get_running_loop().create_future())
        self.questions[question.number] = question
        self._changed()
        try:
            return await question.answer
        finally:
            self.questions.pop(question.number, None)
            self._changed()

    def answer(self, number: int, form: Mapping[str, Any]) -> None:
        """Answers a question. Raises `ConfigError` if it is answered already: the first answer counts."""
        question = self.questions.pop(number, None)
        if question is None or question.answer.done():
            raise ConfigError("This question is answered already, or the run is over.")
        if question.kind == "line":
            text = form.get("text")
            question.answer.set_result(text if isinstance(text, str) else None)
        else:
            is_allowed, for_good = form.get("allow") is True, form.get("for_good") is True
            question.answer.set_result(Answer(is_allowed, for_good, str(form.get("reason", ""))))
        self._changed()


def _shown_arguments(call: ToolCall) -> Iterator[tuple[str, list[str]]]:
    """Yields each argument with its lines, with invisible characters made visible."""
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
        yield visible(name), [visible(line) for line in text.split("\n")]


class LiveRuns:
    """All runs of this process, by the names of their directories. Every change wakes the listeners."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._listeners: set[asyncio.Event] = set()
        self.judging: set[str] = set()
        self.is_closed = False

    @contextmanager
    def mark_judging(self, name: str) -> Iterator[None]:
        """Marks the run as being judged. Raises `ConfigError` if it is already."""
        if name in self.judging:
            raise ConfigError("This run is being judged already.")
        self.judging.add(name)
        self.notify()
        try:
            yield
        finally:
            self.judging.discard(name)
            self.notify()

    def get(self, name: str) -> LiveRun | None:
        return self._runs.get(name)

    @property
    def active(self) -> Mapping[str, LiveRun]:
        return {name: run for name, run in self._runs.items() if run.is_active}

    async def begin(self, run: LiveRun, discussion: Awaitable[RunResult]) -> str:
        """Returns the name of the run once it has begun. Raises the error that keeps it from beginning."""
        name = (await run.begin(discussion)).name
        self._runs[name] = run
        self.notify()
        return name

    def listen(self) -> asyncio.Event:
        self._listeners.add(listener := asyncio.Event())
        return listener

    def forget(self, listener: asyncio.Event) -> None:
        self._listeners.discard(listener)

    def notify(self) -> None:
        for listener in self._listeners:
            listener.set()

    async def close(self) -> None:
        """Stops all runs, and lets the listeners end after they have received the endings."""
        await asyncio.gather(*(run.stop() for run in self.active.values()))
        self.is_closed = True
        self.notify()
