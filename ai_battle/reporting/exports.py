"""A run in each format that it is kept or exported in, in pieces; the files that stand beside its journal."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pydantic_core import from_json, to_json

from ..conversation.journal import read
from ..conversation.rundir import REPORT, TRANSCRIPT
from ..core.errors import ConfigError, JournalError
from ..core.events import PromptGiven, TurnFinished
from ..core.exchange import ModelRequest
from ..core.files import lock_directory, write_private
from ..core.messages import Message
from ..core.plugins import near
from ..wire import openai
from ..wire.genai import message_to_json
from . import markdown
from .account import account, timeline
from .figures import colour
from .pages import page
from .sentences import HELP_HEADS

COLUMNS = (
    "turn", "round", "kind", "speaker", "model", "text", "seconds", "attempts", "stop",
    "input_tokens", "output_tokens", "cost_usd",
)  # fmt: skip
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def html(run_dir: Path) -> Iterator[str]:
    """One file that needs nothing else, runs nothing, and shows what models wrote as text."""
    run = account(run_dir)
    return page(
        "report.html",
        title=run.name,
        styles=("report.css",),
        run=run,
        colours={name: colour(n) for n, name in enumerate(run.participants)},
        events=timeline(run_dir),
        help_heads=HELP_HEADS,
        pictures=_PICTURES,
    )


def jsonl(run_dir: Path) -> Iterator[str]:
    """A message a line in the OpenTelemetry GenAI shape, those with tool calls and results included; without loss."""
    for message in _messages(run_dir):
        yield to_json(message_to_json(message)).decode() + "\n"


def openai_messages(run_dir: Path) -> Iterator[str]:
    """The `messages` of a chat completion: what participants said is of the assistant, under their names."""
    separator = "[\n"
    for message in _messages(run_dir):
        for body in from_json(openai.encode_request(ModelRequest((message,)), ""))["messages"]:
            yield separator + to_json(body).decode()
            separator = ",\n"
    yield "\n]\n" if separator != "[\n" else "[]\n"


def table(run_dir: Path) -> Iterator[str]:
    """A turn a row. A text that a spreadsheet would run as a formula gets an apostrophe before it."""
    yield csv_row(COLUMNS)
    for _, turn in read(run_dir):
        if not isinstance(turn, TurnFinished):
            continue
        usage = turn.usage
        said = (turn.speaker, turn.model, turn.message.text)
        used = (usage.input_tokens, usage.output_tokens, "" if usage.cost_usd is None else usage.cost_usd)
        first = (turn.turn, turn.round, turn.kind, *map(no_formula, said))
        yield csv_row((*first, round(turn.seconds, 3), turn.attempts, turn.stop, *used))


def _messages(run_dir: Path) -> Iterator[Message]:
    for _, event in read(run_dir):
        if isinstance(event, TurnFinished):
            yield from event.steps
        if isinstance(event, PromptGiven | TurnFinished):
            yield event.message


def no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_row(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


FORMATS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "md": markdown.render,
    "html": html,
    "jsonl": jsonl,
    "openai": openai_messages,
    "csv": table,
}


def export(run_dir: Path, format: str) -> Iterator[str]:  # noqa: A002 - the option's name
    """The run in one of `FORMATS`, in pieces."""
    if format not in FORMATS:
        raise ConfigError(f"There is no export format {format!r}{near(format, list(FORMATS))}")
    return FORMATS[format](run_dir)


def write_reports(run_dir: Path) -> tuple[Path, Path]:
    """Writes transcript.md and report.html into the run directory, each whole or not at all, under its lock."""
    lost = "The journal has all of it."
    with lock_directory(run_dir):
        write_whole(run_dir / TRANSCRIPT, markdown.render(run_dir), lost)
        write_whole(run_dir / REPORT, html(run_dir), lost)
    return run_dir / TRANSCRIPT, run_dir / REPORT


def write_whole(path: Path, pieces: Iterable[str], lost: str) -> None:
    """Raises `JournalError` where it can't be written; `lost` says what is kept all the same."""
    try:
        write_private(path, pieces)
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}. {lost}") from error
