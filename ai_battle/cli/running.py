"""Runs discussions in the foreground: shows them, writes their reports, and ends them on Ctrl-C."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from ..conversation.manager import RunResult
from ..core.events import Emit, Event, RunFinished, RunStarted, ignore
from ..core.exchange import EVERYTHING, WHOLE_ANSWER, Usage, Wants
from ..core.files import is_locked
from ..core.helping import HelpSummed
from ..core.object_store import shown_path
from ..core.telemetry import set_up_telemetry
from ..core.texts import one_line, printable
from ..executors import Executor
from ..reporting.account import ParticipantStats, account
from ..reporting.exports import write_reports
from ..reporting.figures import compact, count_of, dollars
from ..reporting.sentences import help_document, sentence, verdict_words
from ..wire.genai import message_to_json, usage_to_json
from . import DONE, FAILED, INTERRUPTED
from .live import LiveView, PlainLines, ViewOptions, view
from .output import bill, print_json, show_columns, without_secrets
from .screen import show_paragraph
from .terminal import TerminalPrompt

ENDINGS = {"done": "Done", "limit": "Stopped by a limit", "failed": "Failed", "interrupted": "Interrupted"}

Discuss = Callable[[Emit, Wants], Awaitable[RunResult]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Display:
    """How a run is shown: `quiet` without progress, `as_json` as one document at the end, else in the view.

    `person` answers questions meanwhile.
    """

    quiet: bool = False
    as_json: bool = False
    options: ViewOptions = field(default_factory=ViewOptions)
    person: TerminalPrompt = field(default_factory=TerminalPrompt)


class _RunNotes:
    """Forwards events and notes the run directory, which an interrupted run has to name, and how the run ended.

    If nobody reads the output any more (`| head`), the run is interrupted: further answers would be paid for and seen
    by nobody. Not so with `--json`, whose result is still to come.
    """

    def __init__(self, emit: Emit, *, as_json: bool) -> None:
        self.run_dir = ""
        self.ended: RunFinished | None = None
        self.help: HelpSummed | None = None
        self._emit = emit
        self._as_json = as_json

    async def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.run_dir = event.run_dir
        elif isinstance(event, HelpSummed):
            self.help = event
        elif isinstance(event, RunFinished):
            self.ended = event
        try:
            await self._emit(event)
        except BrokenPipeError:
            self._emit = ignore
            _discard_output(sys.stderr if self._as_json else sys.stdout)
            if not self._as_json:
                raise asyncio.CancelledError from None


def run(discuss: Discuss, display: Display, run_dir: str = "") -> int:
    """Plays a run and returns its exit code. Prints the run directory last."""
    result = play(discuss, display, run_dir)
    if result is None:
        return INTERRUPTED
    if display.as_json:
        print_json(document(result))
    elif result.status != "interrupted":
        print_summary(result, display)
    return exit_code(result.status)


def exit_code(status: str) -> int:
    return {"done": DONE, "interrupted": INTERRUPTED}.get(status, FAILED)


def play(discuss: Discuss, display: Display, run_dir: str = "") -> RunResult | None:
    """Plays a run and writes its reports. Returns None if it was interrupted before it began."""
    set_up_telemetry(os.environ, partial(click.echo, err=True))
    screen = _view(display)
    noted = _RunNotes(display.person.watch(screen), as_json=display.as_json)
    noted.run_dir = run_dir
    try:
        result = asyncio.run(interruptible(discuss(noted, EVERYTHING if screen else WHOLE_ANSWER)))
    except asyncio.CancelledError:
        # Close the view first: its status line would overwrite what is written before that.
        _close(screen)
        _say_how_to_go_on(noted.run_dir)
        return _partial_result(noted)
    finally:
        _close(screen)
    write_reports(result.run_dir)
    return result


def play_together(
    discussions: Sequence[Callable[[Emit, Wants], Awaitable[RunResult | None]]],
    executor: Executor,
    at_once: int,
    may_begin: Callable[[], bool],
    end: Callable[[int, RunResult | None], None],
) -> bool:
    """Plays at most `at_once` discussions at a time, without a view. Returns False after Ctrl-C.

    `end` receives the index of each and its result, None if it did not begin. Closes the executor after the last one.
    After Ctrl-C those that were begun are kept, and the rest is skipped.
    """
    set_up_telemetry(os.environ, partial(click.echo, err=True))

    async def play_one(gate: asyncio.Semaphore, place: int) -> None:
        async with gate:
            if not may_begin():
                return
            notes = _RunNotes(ignore, as_json=True)
            try:
                result = await discussions[place](notes, WHOLE_ANSWER)
                if result:
                    write_reports(result.run_dir)
                end(place, result)
            except asyncio.CancelledError:
                _say_how_to_go_on(notes.run_dir)
                end(place, _partial_result(notes))
                raise

    async def play_all() -> None:
        gate = asyncio.Semaphore(at_once)
        async with contextlib.aclosing(executor):
            tasks = [asyncio.create_task(play_one(gate, place)) for place in range(len(discussions))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    try:
        asyncio.run(interruptible(play_all()))
    except asyncio.CancelledError:
        return False
    return True


def _partial_result(noted: _RunNotes) -> RunResult | None:
    if not noted.ended:
        return None
    ended, run_dir = noted.ended, Path(noted.run_dir)
    return RunResult("interrupted", ended.stop_reason, ended.turns, ended.usage, run_dir, noted.help)


def _view(display: Display) -> LiveView | PlainLines | None:
    """Returns the view of a run, or None if the stream was closed from the start (`>&-`)."""
    out = sys.stderr if display.as_json else sys.stdout
    if display.quiet or out is None:
        return None
    return view(out, display.options)


async def interruptible(discussion: Awaitable[T]) -> T:
    """Runs until done. The first Ctrl-C (or SIGTERM) cancels, so that everything is saved; the second kills."""
    task = asyncio.ensure_future(discussion)
    with _on_signals(task):
        return await task


@contextlib.contextmanager
def _on_signals(task: asyncio.Future[Any]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
        task.cancel()

    with contextlib.suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
    yield


def _say_how_to_go_on(run_dir: str) -> None:
    if run_dir:
        if not is_locked(Path(run_dir)):  # else a node of a cluster may still be writing there
            write_reports(Path(run_dir))
        click.echo(
            f"Interrupted; every finished turn is kept. To go on: ai-battle resume {shown_path(Path(run_dir))}",
            err=True,
        )


def _discard_output(stream: TextIO) -> None:
    """Redirects a broken pipe to nowhere, as Python would report an error when it flushes it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _close(screen: LiveView | PlainLines | None) -> None:
    if screen:
        screen.close()


def print_summary(result: RunResult, display: Display) -> None:
    """Prints how the run ended. A failure's reason is not repeated on a terminal that has shown it."""
    how = ENDINGS[result.status]
    is_told = result.status == "failed" and not display.quiet and _one_place()
    reason = "" if is_told else f" ({one_line(result.stop_reason, 500)})"
    spent = bill(result.usage)
    show_paragraph(f"{how}{reason} after {count_of(result.turns, 'turn')}: {spent}.", err=result.status == "failed")
    if result.help:
        show_paragraph(sentence(result.help), err=result.status == "failed")
    if result.verdict:
        show_paragraph(printable(without_secrets(verdict_words(result.verdict))))
    if not display.quiet and sys.stdout and sys.stdout.isatty():
        show_participants(result.run_dir)
    if result.status == "failed":
        click.echo(f"To continue once that is fixed: ai-battle resume {shown_path(result.run_dir)}", err=True)
    click.echo(shown_path(result.run_dir))


def _one_place() -> bool:
    """Checks whether stdout and stderr are the same terminal or file."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return False


def document(result: RunResult) -> dict[str, Any]:
    """Returns the run as `--json` prints it."""
    helped = {"collaboration": help_document(result.help)} if result.help else {}
    return {
        "run": shown_path(result.run_dir),
        "status": result.status,
        "stop_reason": result.stop_reason,
        "turns": result.turns,
        "usage": usage_to_json(result.usage),
        **helped,
        **({"judgement": result.verdict.to_json()} if result.verdict else {}),
        "messages": [message_to_json(message) for message in result.messages],
    }


BAR = 12
LEVELS = "▁▂▃▄▅▆▇█"
LONGEST_NAME, MOST_BARS = 28, 60


def show_participants(run_dir: Path) -> None:
    """Shows a line for each participant, and the tokens of each turn as a row of bars."""
    run = account(run_dir)
    most = max((each.usage.total_tokens for each in run.participants.values()), default=0)
    heads = ("", "model", "turns", "in", "out", "cost", "seconds", "tokens".ljust(BAR))
    show_columns(heads, (_cells(each, most) for each in run.participants.values()))
    sizes = [sum(took[0] for took in bar.values()) for bar in run.bars.bars]
    if len(sizes) > 2:
        each = "turn" if run.bars.width == 1 else f"{run.bars.width} turns"
        label = f"tokens per {each}  "
        room = shutil.get_terminal_size().columns - len(label)
        click.echo(label + "".join(_bars(sizes[-max(1, min(MOST_BARS, room)) :])))


def _cells(each: ParticipantStats, most: int) -> tuple[str, ...]:
    usage = each.usage
    return (
        one_line(each.name, LONGEST_NAME),
        one_line(each.model, LONGEST_NAME),
        str(each.turns),
        compact(usage.input_tokens),
        compact(usage.output_tokens),
        dollars(usage.cost_usd) if usage != Usage() else "",
        f"{each.seconds:.1f}",
        ("▇" * max(round(BAR * usage.total_tokens / most), usage.total_tokens > 0) if most else "").ljust(BAR),
    )


def _bars(sizes: Sequence[int]) -> Iterator[str]:
    highest = max(sizes)
    for size in sizes:
        yield LEVELS[min(int(size / highest * len(LEVELS)), len(LEVELS) - 1)] if highest else LEVELS[0]
