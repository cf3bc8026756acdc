"""`ai-battle show`: shows one turn of a run, or the request sent for it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from ..arbiter.verdict import Rating
from ..conversation.records import record, record_bytes, specs_to_json
from ..conversation.replay import Turn, find_turn, request_of
from ..conversation.run_config import plan_of
from ..core.events import Event, TurnFinished
from ..core.exchange import ModelRequest
from ..core.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from ..core.texts import printable
from ..reporting.account import account
from ..reporting.sentences import arguments, attachment, rating_words
from ..reporting.turn_view import TimelineEntry, turn_view
from ..wire.genai import message_to_json
from .arguments import run_dir
from .options import as_json
from .output import bill, print_json
from .tools import tool_descriptions


@click.command("show")
@run_dir
@click.argument("turn", type=click.IntRange(1))
@click.option("--request", "with_request", is_flag=True, help="Show the request: the system prompt and the messages.")
@as_json
def command(run_dir: Path, turn: int, with_request: bool, as_json: bool) -> None:
    """Show one TURN of the run in RUN_DIR. This includes its model, tokens and cost, and what led to the answer."""
    found, request = find_turn(run_dir, turn), None
    entries = [entry for entry in turn_view(run_dir, found).entries if entry.words]
    ratings = [each for verdict in account(run_dir).verdicts for each in verdict.ratings if each.turn == turn]
    if with_request:
        plan, redactor = plan_of(run_dir)
        request = redactor.value(request_of(run_dir, plan, found))
    if as_json:
        _print_turn(found, entries, ratings, request)
        return
    _show_turn(found)
    if request:
        _show_request(request)
        return
    _show_entries(entries)
    _show_answer(found)
    for rating in ratings:
        click.secho(f"◇ {printable(rating_words(rating))}", fg="yellow")


def _print_turn(
    turn: Turn, entries: Sequence[TimelineEntry], ratings: Sequence[Rating], request: ModelRequest | None
) -> None:
    """Prints one document, leaving out empty fields."""
    more = {
        "led_to_by": [_to_json(entry.event) for entry in entries],
        "ratings": [*map(asdict, ratings)],
        "request": request and _request_to_json(request),
    }
    print_json({**_to_json(turn), **{key: value for key, value in more.items() if value}})


def _to_json(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(record_bytes(record(event)))
    return data


def _request_to_json(request: ModelRequest) -> dict[str, Any]:
    return {
        "system": request.system,
        "messages": [message_to_json(message) for message in request.messages],
        "tools": specs_to_json(request.tools),
        "options": dict(request.options),
    }


def _show_turn(turn: Turn) -> None:
    took = bill(turn.usage)
    if isinstance(turn, TurnFinished):
        attempts = f", {turn.attempts} attempts" if turn.attempts > 1 else ""
        took = f"{printable(turn.model)}, {turn.seconds:.1f} s{attempts}, {took}"
    signals = (turn.signals or {}) if isinstance(turn, TurnFinished) else {}
    click.secho(f"Turn {turn.turn}, round {turn.round}: {printable(turn.speaker)} ({took})", bold=True)
    if signals:
        click.secho(" · ".join(f"{name} {value:.3g}" for name, value in signals.items()), dim=True)


def _show_entries(entries: Sequence[TimelineEntry]) -> None:
    """Shows what led to the answer: each sentence, with the texts indented under it."""
    for entry in entries:
        click.secho(f"◇ {printable(entry.words)}", fg="yellow")
        for title, text in entry.texts:
            click.secho(f"  {title}:\n{indent(printable(text), '  | ', lambda line: True)}", dim=True)


def _show_answer(turn: Turn) -> None:
    if isinstance(turn, TurnFinished):
        for step in turn.steps:
            click.secho(printable(_message_text(step)).rstrip(), fg="cyan")
        if thought := turn.message.thinking:
            click.secho(printable(thought), dim=True)
        click.echo(printable(turn.message.text))
    else:
        click.echo(f"No answer: {printable(turn.error)}\n{printable(turn.partial)}".rstrip())


def _show_request(request: ModelRequest) -> None:
    for name, value in request.options.items():
        click.echo(f"{name}: {value}")
    if request.tools:
        click.secho("\ntools", fg="cyan")
        click.echo("\n".join(tool_descriptions(request.tools)))
    parts = (("system", request.system), *((message.role, _message_text(message)) for message in request.messages))
    for role, text in parts:
        if text:
            click.secho(f"\n{role}", fg="cyan")
            click.echo(printable(text))


def _message_text(message: Message) -> str:
    """Returns the text, with a line for each part that has none."""
    return "".join(map(_part, message.parts))


def _part(part: Part) -> str:
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall(name):
            return f"(calls {name}: {arguments(part)})\n"
        case ToolResult(call):
            return f"({call.name} {'failed' if part.is_error else 'returned'})\n{''.join(map(_part, part.parts))}\n"
    return f"({attachment(part)})\n"
