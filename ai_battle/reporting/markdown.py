"""The transcript as Markdown: what was said, and a table of what it cost."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..core.events import Event, PromptGiven, TurnFinished
from ..core.exchange import Usage
from ..core.helping import HelpSummed
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ..core.texts import about, cell, code_block, contain_markdown
from .account import ParticipantStats, RunAccount, account, timeline
from .figures import count, count_of, dollars, duration, moment
from .sentences import HELP_HEADS, arguments, attachment, badges, call_title, help_rows, sentence

_UNDECIDED: Mapping[str, str] = {}


def render(run_dir: Path) -> Iterator[str]:
    """The document in pieces, so that the length of a run does not matter."""
    found = account(run_dir)
    yield _head(found)
    for event, decisions in timeline(run_dir):
        if section := _section(event, decisions):
            yield f"{section}\n\n"
    yield _table(found)
    if found.help:
        yield _help(found.help)


def _head(found: RunAccount) -> str:
    ending = f" ({cell(found.stop_reason)})" if found.stop_reason else ""
    facts = (moment(found.begun), count_of(found.turns, "turn"), duration(found.seconds), found.status + ending)
    return f"# {cell(found.name)}\n\n{' · '.join(facts)}\n\n"


def _section(event: Event, decisions: Mapping[str, str]) -> str:
    if isinstance(event, TurnFinished):
        return _turn(event, decisions)
    if isinstance(event, PromptGiven):
        return f"## The prompt\n\n{_message(event.message)}"
    words = sentence(event)
    return f"> {cell(words)}" if words else ""


def _turn(turn: TurnFinished, decisions: Mapping[str, str]) -> str:
    unusual = ", ".join(badges(turn))
    steps = (_message(step, decisions) for step in turn.steps)
    pieces = (
        f"## {turn.turn}. {cell(turn.speaker)}",
        f"*{unusual}*" if unusual else "",
        *steps,
        _message(turn.message),
    )
    return "\n\n".join(filter(None, pieces))


def _message(message: Message, decisions: Mapping[str, str] = _UNDECIDED) -> str:
    return "\n\n".join(filter(None, (_part(part, decisions) for part in message.parts)))


def _part(part: Part, decisions: Mapping[str, str]) -> str:
    match part:
        case Text(text):
            return contain_markdown(text)
        case Thinking(text):
            return _details("thinking", contain_markdown(text)) if text else ""
        case ToolCall():
            return _details(cell(call_title(part, decisions)), code_block(arguments(part)))
        case ToolResult(call):
            return _details(f"{cell(call.name)} {'failed' if part.is_error else 'returned'}", code_block(part.text))
        case Image() | Document():
            return f"*[{cell(attachment(part))}]*"


def _details(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def _table(found: RunAccount) -> str:
    rows = [_row(each) for each in found.participants.values()]
    if found.overhead.total_tokens:
        rows.append(_cells("*selecting and summarising*", "", "", "", found.overhead))
    total = _cells("**all**", "", count(found.turns), duration(found.seconds), found.usage)
    head = "| | model | turns | time | tokens in | tokens out | cost |\n|---|---|--:|--:|--:|--:|--:|"
    return "\n".join(("---", "", head, *rows, total, ""))


def _help(summed: HelpSummed) -> str:
    rows = [f"| {' | '.join(map(cell, row))} |" for row in help_rows(summed)]
    head = f"| {' | '.join(HELP_HEADS)} |\n|---|---|--:|--:|--:|--:|--:|"
    return "\n".join(("", "", head, *rows, "")) if rows else ""


def _row(each: ParticipantStats) -> str:
    return _cells(cell(each.name), cell(each.model), count(each.turns), duration(each.seconds), each.usage)


def _cells(name: str, model: str, turns: str, time: str, usage: Usage) -> str:
    mark = about(estimated=usage.estimated)
    used = (mark + count(usage.input_tokens), mark + count(usage.output_tokens), dollars(usage.cost_usd))
    return f"| {' | '.join((name, model, turns, time, *used))} |"
