"""What was said, for other programs: GenAI messages, a list for chat completions, a table."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from pydantic_core import from_json, to_json

from ..conversation.journal import read
from ..core.events import PromptGiven, TurnFinished
from ..core.exchange import ModelRequest
from ..core.messages import Message
from ..wire import openai
from ..wire.genai import message_to_json

COLUMNS = (
    "turn", "round", "kind", "speaker", "model", "text", "seconds", "attempts", "stop",
    "input_tokens", "output_tokens", "cost_usd",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
    yield _row(COLUMNS)
    for _, turn in read(run_dir):
        if not isinstance(turn, TurnFinished):
            continue
        usage = turn.usage
        said = (turn.speaker, turn.model, turn.message.text)
        used = (usage.input_tokens, usage.output_tokens, "" if usage.cost_usd is None else usage.cost_usd)
        first = (turn.turn, turn.round, turn.kind, *map(no_formula, said))
        yield _row((*first, round(turn.seconds, 3), turn.attempts, turn.stop, *used))


def _messages(run_dir: Path) -> Iterator[Message]:
    for _, event in read(run_dir):
        if isinstance(event, TurnFinished):
            yield from event.steps
        if isinstance(event, PromptGiven | TurnFinished):
            yield event.message


def no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _row(cells: tuple[object, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
