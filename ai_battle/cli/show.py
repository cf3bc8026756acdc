"""`ai-battle show` and `export`: one turn of a run, or all of it in other formats."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from ..arbiter.verdict import Rating
from ..conversation.reading import progress
from ..conversation.records import record, specs_to_json
from ..conversation.replay import Turn, find_turn, request_of
from ..conversation.run_config import plan_of
from ..core.errors import ConfigError
from ..core.events import Event, TurnFinished
from ..core.exchange import ModelRequest
from ..core.files import lock_directory
from ..core.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from ..core.texts import one_line, printable
from ..reporting.account import account
from ..reporting.exports import export, require_format
from ..reporting.sentences import arguments, attachment, rating_words
from ..reporting.turn_view import TimelineEntry, turn_view
from ..wire.bodies import dumps, loads
from ..wire.genai import message_to_json
from .arguments import run_dir
from .options import as_json
from .output import bill, print_json, without_secrets, write_file
from .tools import tool_descriptions


@click.command("show")
@run_dir
@click.argument("turn", type=click.IntRange(1), required=False, metavar="TURN")
@click.option("--request", "with_request", is_flag=True, help="Show the request: the system prompt and the messages.")
@as_json
def command(run_dir: Path, turn: int | None, with_request: bool, as_json: bool) -> None:
    """Show one TURN of the run in RUN_DIR. This includes its model, tokens and cost, and what led to the answer."""
    if turn is None:
        raise click.UsageError("Name a turn by its number; for the whole run: ai-battle export RUN_DIR.")
    found = find_turn(run_dir, turn)
    entries = [entry for entry in turn_view(run_dir, found).entries if entry.words]
    ratings = _ratings_of(run_dir, turn)
    request = _read_request(run_dir, found) if with_request else None
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


def _ratings_of(run_dir: Path, turn: int) -> Sequence[Rating]:
    return [each for verdict in account(run_dir).verdicts for each in verdict.ratings if each.turn == turn]


def _read_request(run_dir: Path, turn: Turn) -> ModelRequest:
    plan, redactor = plan_of(run_dir)
    request: ModelRequest = redactor.value(request_of(run_dir, plan, turn))
    return request


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
    data: dict[str, Any] = loads(dumps(record(event)))
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


WORDS = {"failed": "failed", "interrupted": "was interrupted"}
SUFFIXES = {"openai": "json", "finetune": "finetune.jsonl", "dpo": "dpo.jsonl"}


@click.command("export")
@run_dir
@click.option(
    "--format",
    "formats",
    default="md",
    show_default=True,
    help="md, html, jsonl, openai, csv, finetune, dpo; several: md,csv.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file, or a folder for several formats.")
def export_command(run_dir: Path, formats: str, output: Path | None) -> None:
    """Write the run of RUN_DIR in one or more formats. They go to standard output unless --output names a place."""
    wanted = [*dict.fromkeys(filter(None, map(str.strip, formats.split(","))))]
    if not wanted:
        raise ConfigError("--format names no format, such as md.")
    if output is None and len(wanted) > 1:
        raise ConfigError(f"{len(wanted)} formats don't fit on one output; name a folder with --output.")
    for name in wanted:  # nothing is written if one of them is unknown
        require_format(name)
    write = partial(_try_to_write, run_dir, output, several=len(wanted) > 1)
    errors = [*filter(None, map(write, wanted))]
    if len(errors) < len(wanted):
        _tell_of_ending(run_dir)
    if errors:
        raise ConfigError("\n".join(errors))


def _try_to_write(run_dir: Path, output: Path | None, name: str, *, several: bool) -> str:
    """Returns why there is nothing to write: of a run without drafts there are no pairs, but all other formats."""
    try:
        pieces = export(run_dir, name)
    except ConfigError as error:
        return str(error)
    if output is None:
        sys.stdout.writelines(pieces)
        return ""
    place = _place(output, run_dir, name, several=several)
    with lock_directory(run_dir) if place.absolute().is_relative_to(run_dir.absolute()) else nullcontext():
        write_file(place, pieces, "--output")
    click.echo(str(place), err=True)
    return ""


def _tell_of_ending(run_dir: Path) -> None:
    """Warns that an exported run did not come to its end."""
    ended = progress(run_dir).ended
    if ended is None:
        click.echo("The run has not ended; this is what there is of it so far.", err=True)
    elif ended.status in ("failed", "interrupted"):
        words = without_secrets(one_line(ended.stop_reason, 300))
        click.echo(f"The run {WORDS[ended.status]} ({words}); earlier turns are exported.", err=True)


def _place(output: Path, run_dir: Path, name: str, *, several: bool) -> Path:
    suffix = SUFFIXES.get(name, name)
    return output / f"{run_dir.name}.{suffix}" if several or output.is_dir() else output
