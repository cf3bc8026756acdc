"""A call of a tool in full, for a person to decide on: nothing in it is obeyed, hidden or cut."""

import json
from collections.abc import Iterator
from typing import Any

import click
from rich.cells import cell_len, chop_cells

from ai_battle.core.messages import ToolCall

TAB = "    "
BLANK_LETTERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"
"""They count as printable, and show nothing."""
NARROWEST = 20


def question(call: ToolCall, participant: str, width: int, *, colour: bool) -> Iterator[str]:
    """The lines of it, none of them wider than `width`; what the model wrote stands behind a bar in each of them."""
    who, tool = visible(participant, one_line=True), visible(call.name, one_line=True)
    bar = _styled("│ ", colour, fg="yellow")
    for number, row in enumerate(chop_cells(f"{who} wants to use {tool}", max(width - 2, NARROWEST))):
        yield _styled("│ " if number else "╭ ", colour, fg="yellow") + _styled(row, colour, bold=True)
    rows = [row for name, value in call.arguments.items() for row in _argument(name, value, width - 2, colour)]
    yield from (bar + row for row in rows or ["(without arguments)"])
    asked = f"May {who} use {tool}?"
    asked = asked if cell_len(asked) <= width - 2 else "May this be run?"
    yield _styled("╰ ", colour, fg="yellow") + _styled(asked, colour, bold=True)


def _argument(name: str, value: Any, width: int, colour: bool) -> Iterator[str]:
    """`name: value` on one line where that fits, else a block with numbered lines."""
    width = max(width, NARROWEST)
    shown = visible(name, one_line=True)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    lines = [visible(line, one_line=True) for line in text.removesuffix("\n").split("\n")]
    if len(lines) == 1 and cell_len(f"{shown}: {lines[0]}") <= width:
        yield f"{_styled(f'{shown}:', colour, fg='cyan')} {lines[0] or _styled('(empty)', colour, dim=True)}"
        return
    yield from (_styled(row, colour, fg="cyan") for row in chop_cells(f"{shown}:", width))
    yield from _numbered(lines, width, colour)


def _numbered(lines: list[str], width: int, colour: bool) -> Iterator[str]:
    digits = max(len(str(len(lines))), 2)
    for number, line in enumerate(lines, 1):
        rows = chop_cells(line, max(width - digits - 2, NARROWEST)) or [""]
        for gutter, row in zip((number, *[""] * (len(rows) - 1)), rows, strict=True):
            yield f"{_styled(f'{gutter:>{digits}}', colour, dim=True)}  {row}"


def visible(text: str, *, one_line: bool = False) -> str:
    """The text with a sign for each character that would steer the terminal, or not be seen."""
    if text.isprintable() and not any(letter in text for letter in BLANK_LETTERS):
        return text
    return "".join(_sign(character, one_line) for character in text)


def _sign(character: str, one_line: bool) -> str:
    if character == "\t":
        return TAB
    if character == "\n" and not one_line:
        return character
    if character.isprintable() and character not in BLANK_LETTERS:
        return character
    return chr(0x2400 + ord(character)) if character < " " else f"⟨U+{ord(character):04X}⟩"


def _styled(text: str, colour: bool, **style: Any) -> str:
    return click.style(text, **style) if colour else text
