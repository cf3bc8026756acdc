"""The report: one HTML file that needs nothing else, runs nothing, and shows what models wrote as text."""

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..conversation.journal import read
from ..core.events import Event, PromptGiven, TurnFinished
from ..core.exchange import Usage
from ..core.helping import HelpSummed
from ..core.messages import Document, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from ..core.texts import about
from . import _charts
from ._figures import count, counted, dollars, duration, moment
from ._markup import Html, tag, void
from ._page import END, file, head
from ._prose import prose
from .account import Account, Voice, account
from .decisions import NOTHING_DECIDED, Decisions, calls, with_decisions
from .helping import HEADS, table, told, without_repeats
from .remarks import arguments, attachment, badges, remark

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


def render(run_dir: Path) -> Iterator[str]:
    """The page in pieces, so that the length of a run does not matter."""
    found = account(run_dir)
    colours = {name: _charts.colour(n) for n, name in enumerate(found.voices)}
    yield head(found.name, file("report.css"), pictures=True)
    yield tag("header", tag("h1", found.name), _facts(found))
    yield tag("section", _table(found))
    if found.help and found.help.rows:
        yield tag("section", tag("p", told(found.help)), _help(found.help))
    yield tag("section", _charts.tokens(found), _charts.cost(found), _charts.growth(found.sizes))
    yield "<main>\n"
    for event, decisions in with_decisions(without_repeats(read(run_dir))):
        if shown := _event(event, colours, decisions):
            yield f"{shown}\n"
    yield f"</main>\n{END}"


def _facts(found: Account) -> Html:
    ending = tag("span", found.status, class_=f"status {found.status}")
    reason = tag("span", f"({found.stop_reason})") if found.stop_reason else Html("")
    facts = (
        moment(found.begun),
        counted(found.turns, "turn"),
        duration(found.seconds),
        about(estimated=found.usage.estimated) + counted(found.usage.total_tokens, "token"),
        f"cost {dollars(found.usage.cost_usd)}",
    )
    return tag("p", ending, reason, *(tag("span", fact) for fact in facts), class_="facts")


def _table(found: Account) -> Html:
    heads = ("participant", "model", "turns", "time", "tokens in", "out", "cost")
    rows = [_row(n, voice) for n, voice in enumerate(found.voices.values())]
    if found.overhead.total_tokens:
        rows.append(tag("tr", *_cells(("selecting and summarising", "", "", ""), found.overhead)))
    total = tag("tr", *_cells(("all", "", count(found.turns), duration(found.seconds)), found.usage))
    head = tag("thead", tag("tr", *(tag("th", head) for head in heads)))
    return tag("table", head, tag("tbody", *rows), tag("tfoot", total))


def _help(summed: HelpSummed) -> Html:
    head = tag("thead", tag("tr", *(tag("th", head) for head in HEADS)))
    rows = (tag("tr", *(tag("td", cell) for cell in row)) for row in table(summed))
    return tag("table", head, tag("tbody", *rows))


def _row(n: int, voice: Voice) -> Html:
    name = tag("b", voice.name, class_=f"name {_charts.colour(n)}")
    turns = count(voice.turns) + (f" (+{voice.failed_turns} failed)" if voice.failed_turns else "")
    return tag("tr", *_cells((name, voice.model, turns, duration(voice.seconds)), voice.usage))


def _cells(first: tuple[str, str, str, str], usage: Usage) -> Iterator[Html]:
    mark = about(estimated=usage.estimated)
    used = (mark + count(usage.input_tokens), mark + count(usage.output_tokens), dollars(usage.cost_usd))
    return (tag("td", cell) for cell in (*first, *used))


def _event(event: Event, colours: Mapping[str, str], decisions: Decisions) -> Html:
    if isinstance(event, TurnFinished):
        return _turn(event, colours.get(event.speaker, "nobody"), decisions)
    if isinstance(event, PromptGiven):
        return _prompt(event.message)
    sentence = remark(event)
    return tag("p", sentence, class_="remark") if sentence else Html("")


def _prompt(message: Message) -> Html:
    head = tag("h2", tag("span", "prompt", class_="badge"))
    return tag("article", head, *map(_part, message.parts), id="prompt", class_="nobody")


def _turn(turn: TurnFinished, colour: str, decisions: Decisions) -> Html:
    marks = (tag("span", badge, class_="badge") for badge in badges(turn))
    title = (tag("a", f"{turn.turn}", href=f"#turn-{turn.turn}", class_="number"), tag("b", turn.speaker))
    head = tag("h2", *title, *marks, tag("small", _cost(turn)))
    parts = (_part(part, decisions) for message in (*turn.steps, turn.message) for part in message.parts)
    return tag("article", head, *parts, id=f"turn-{turn.turn}", class_=colour)


def _cost(turn: TurnFinished) -> str:
    mark = about(estimated=turn.usage.estimated)
    used = f"{mark}{count(turn.usage.input_tokens)} → {count(turn.usage.output_tokens)} tokens"
    return " · ".join((turn.model, duration(turn.seconds), used, dollars(turn.usage.cost_usd)))


def _part(part: Part, decisions: Decisions = NOTHING_DECIDED) -> Html:
    match part:
        case Text(text):
            return tag("div", prose(text), class_="said", dir="auto")
        case Thinking(text):
            return _folded("thinking", prose(text))
        case ToolCall():
            return _folded(calls(part, decisions), tag("pre", arguments(part)))
        case ToolResult():
            return _result(part)
        case Image() | Document():
            return _file(part)


def _result(result: ToolResult) -> Html:
    shown = (tag("pre", each.text) if isinstance(each, Text) else _file(each) for each in result.parts)
    return _folded(f"{result.call.name} {'failed' if result.is_error else 'returned'}", *shown)


def _folded(title: str, *inside: Html) -> Html:
    return tag("details", tag("summary", title), *inside)


def _file(part: Image | Document) -> Html:
    caption = tag("figcaption", attachment(part))
    if part.media_type not in _SHOWN or not part.data:
        return tag("figure", caption)
    source = f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"
    return tag("figure", void("img", src=source, alt=attachment(part)), caption)
