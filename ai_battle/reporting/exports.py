"""Exports a run in each format, in pieces, and writes the reports into its directory."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

from pydantic_core import from_json, to_json

from ..arbiter.verdict import Verdict
from ..conversation.reading import REPORT, TRANSCRIPT, read
from ..core.errors import ConfigError, JournalError
from ..core.events import Concluded, PhaseStarted, PromptGiven, TurnFinished
from ..core.exchange import ModelRequest, Usage
from ..core.files import lock_directory, write_private
from ..core.helping import HelpSummed
from ..core.messages import Document, Image, Message, Part, Text, Thinking
from ..core.plugins import near
from ..core.texts import about, cell, code_block, contain_markdown
from ..wire.genai import message_to_json
from ..wire.openai import encode_request
from .account import OVERHEAD, RunAccount, account
from .figures import colour, count, count_of, dollars, duration, moment
from .pages import fold_title, page
from .sentences import (
    HELP_HEADS,
    arguments,
    attachment,
    badges,
    ending_words,
    help_rows,
    outcome_markdown,
    phase_title,
    phase_words,
    rating_words,
    sentence,
    verdict_words,
)
from .training import examples, pairs
from .turn_view import TimelineEntry, ToolCard, TurnView, timeline

MEASURES = ("coherence", "repetition", "agreement", "drift", "formulaic")
COLUMNS = (
    "turn", "round", "kind", "speaker", "model", "text", "seconds", "attempts", "stop",
    "input_tokens", "output_tokens", "cost_usd", *MEASURES,
)  # fmt: skip
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def markdown(run_dir: Path) -> Iterator[str]:
    """Yields the document in pieces, so that memory does not grow with the run."""
    found = account(run_dir)
    yield _head(found)
    for each in timeline(run_dir):
        if section := _section(each):
            yield f"{section}\n\n"
    yield _table(found)
    if found.help:
        yield _help(found.help)
    yield from map(_verdict, found.verdicts)


def _head(found: RunAccount) -> str:
    ending = cell(ending_words(found.status, found.stop_reason))
    facts = (moment(found.begun), count_of(found.turns, "turn"), duration(found.seconds), ending)
    name = [] if found.name == found.title else [cell(found.name)]
    return f"# {cell(found.title)}\n\n{' · '.join((*name, *facts))}\n\n"


def _section(view: TurnView | TimelineEntry) -> str:
    match view:
        case TurnView(event=TurnFinished() as turn):
            return _turn(turn, view)
        case TurnView(event=failed):
            return "\n\n".join((*filter(None, map(_entry, view.entries)), f"> {cell(sentence(failed))}"))
        case TimelineEntry(event=PromptGiven() as prompt):
            return "\n\n".join(("## The prompt", *filter(None, map(_prompt_part, prompt.message.parts))))
        case TimelineEntry(event=PhaseStarted() as phase):
            return f"## {cell(phase_title(phase))}\n\n> {cell(phase_words(phase))}"
        case TimelineEntry(event=Concluded() as outcome) if outcome.text:
            return f"## The outcome\n\n{_entry(view)}\n\n{contain_markdown(outcome_markdown(outcome))}"
    return _entry(view)


def _turn(turn: TurnFinished, view: TurnView) -> str:
    unusual = ", ".join(badges(turn))
    pieces = (
        f"## {turn.turn}. {cell(turn.speaker)}",
        f"*{unusual}*" if unusual else "",
        *map(_entry, view.entries),
        *map(_part, view.parts),
    )
    return "\n\n".join(filter(None, pieces))


def _entry(entry: TimelineEntry) -> str:
    """Returns a sentence, with the texts shown and said folded under it."""
    texts = (_details(title, code_block(text)) for title, text in entry.texts)
    return "\n\n".join((f"> {cell(entry.words)}", *texts)) if entry.words else ""


def _part(part: Part | ToolCard) -> str:
    match part:
        case Text(text):
            return contain_markdown(text)
        case Thinking(text):
            return _details("thinking", contain_markdown(text)) if text else ""
        case ToolCard(call, result):
            returned = [code_block(result.text)] if result else []
            return _details(cell(part.title), "\n\n".join((code_block(arguments(call)), *returned)))
        case Image() | Document():
            return f"*[{cell(attachment(part))}]*"
    return ""


def _prompt_part(part: Part) -> str:
    title = fold_title(part)
    return _details(cell(title), _part(part)) if title else _part(part)


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def _table(found: RunAccount) -> str:
    rows = [
        _cells(cell(each.name), cell(each.model), count(each.turns), duration(each.seconds), each.usage)
        for each in found.participants.values()
    ]
    if found.overhead.total_tokens:
        rows.append(_cells(f"*{OVERHEAD}*", "", "", "", found.overhead))
    total = _cells("**all**", "", count(found.own_turns), duration(found.seconds), found.usage)
    head = "| | model | turns | time | tokens in | tokens out | cost |\n|---|---|--:|--:|--:|--:|--:|"
    judging = [_cells("*judging, apart*", "", "", "", found.judging)] if found.judging.total_tokens else []
    return "\n".join(("---", "", head, *rows, total, *judging, ""))


def _verdict(verdict: Verdict) -> str:
    head, *rows = map(_table_row, verdict.rows)
    remarks = (f"> {cell(words)}\n" for words in (verdict_words(verdict), *verdict.remarks))
    given = _details("each score", "\n".join(f"- {cell(rating_words(rating))}" for rating in verdict.ratings))
    return "\n".join(("", "", head, f"|---|{'--:|' * len(verdict.participants)}", *rows, "", *remarks, given, ""))


def _help(summed: HelpSummed) -> str:
    head, *rows = map(_table_row, (HELP_HEADS, *help_rows(summed)))
    head += "\n|---|---|--:|--:|--:|--:|--:|"
    return "\n".join(("", "", head, *rows, "")) if rows else ""


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(cell, cells))} |"


def _cells(name: str, model: str, turns: str, time: str, usage: Usage) -> str:
    mark = about(estimated=usage.estimated)
    used = (mark + count(usage.input_tokens), mark + count(usage.output_tokens), dollars(usage.cost_usd))
    return f"| {' | '.join((name, model, turns, time, *used))} |"


def html(run_dir: Path) -> Iterator[str]:
    """Yields a self-contained report that runs no code and shows what models wrote as text."""
    run = account(run_dir)
    return page(
        "report.html",
        title=run.title,
        styles=("report.css",),
        run=run,
        colours={name: colour(n) for n, name in enumerate(run.participants)},
        timeline=timeline(run_dir),
        help_heads=HELP_HEADS,
        overhead=OVERHEAD,
        pictures=PICTURES,
    )


def jsonl(run_dir: Path) -> Iterator[str]:
    """Yields each message as a line in the OpenTelemetry GenAI shape, with tool calls and results, without loss."""
    for message in _messages(run_dir):
        yield to_json(message_to_json(message)).decode() + "\n"


def openai_messages(run_dir: Path) -> Iterator[str]:
    """Yields the `messages` of a chat completion. Participants' messages are the assistant's, under their names."""
    separator = "[\n"
    for message in _messages(run_dir):
        for body in from_json(encode_request(ModelRequest((message,)), ""))["messages"]:
            yield separator + to_json(body).decode()
            separator = ",\n"
    yield "\n]\n" if separator != "[\n" else "[]\n"


def table(run_dir: Path) -> Iterator[str]:
    """Yields a CSV row for each turn. Texts that a spreadsheet would run as a formula get an apostrophe."""
    turns = (event for _, event in read(run_dir) if isinstance(event, TurnFinished))
    first_turn = [*islice(turns, 1)]  # read first, so that an unreadable run raises before a file is written
    yield csv_row(COLUMNS)
    for turn in chain(first_turn, turns):
        usage = turn.usage
        texts = (turn.speaker, turn.model, turn.message.text)
        used = (usage.input_tokens, usage.output_tokens, "" if usage.cost_usd is None else usage.cost_usd)
        first = (turn.turn, turn.round, turn.kind, *map(no_formula, texts))
        measures = [(turn.signals or {}).get(name, "") for name in MEASURES]
        yield csv_row((*first, round(turn.seconds, 3), turn.attempts, turn.stop, *used, *measures))


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
    "md": markdown,
    "html": html,
    "jsonl": jsonl,
    "openai": openai_messages,
    "csv": table,
    "finetune": examples,
    "dpo": pairs,
}


def export(run_dir: Path, format: str) -> Iterator[str]:  # noqa: A002 - the option's name
    """Yields the run in one of `FORMATS`, in pieces. Raises `ConfigError` if the format is unknown or impossible."""
    require_format(format)
    return FORMATS[format](run_dir)


def require_format(name: str) -> None:
    """Raises `ConfigError` for an unknown format."""
    if name not in FORMATS:
        raise ConfigError(f"There is no export format {name!r}{near(name, list(FORMATS))}")


def write_reports(run_dir: Path) -> tuple[Path, Path]:
    """Writes transcript.md and report.html into the run directory, atomically and under its lock."""
    lost = "The journal has all of it."
    with lock_directory(run_dir):
        write_whole(run_dir / TRANSCRIPT, markdown(run_dir), lost)
        write_whole(run_dir / REPORT, html(run_dir), lost)
    return run_dir / TRANSCRIPT, run_dir / REPORT


def write_whole(path: Path, pieces: Iterable[str], lost: str) -> None:
    """Writes a file atomically. Raises `JournalError` if that fails; `lost` says what is kept all the same."""
    try:
        write_private(path, pieces)
    except OSError as error:
        raise JournalError(f"{path} can't be written: {error.strerror}. {lost}") from error
