"""Formats JSON, usage, tables and opening messages for people and programs, without control characters and secrets."""

import json
import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from ..core.errors import ConfigError
from ..core.exchange import Usage
from ..core.files import write_whole
from ..core.messages import Document, Image, Message, Part, Text
from ..core.redaction import Redactor
from ..core.texts import about, printable
from ..reporting.figures import compact, cost
from ..reporting.sentences import attachment


def _redactor() -> Redactor:
    """Returns a redactor for the secrets of the environment and of the `.env` here."""
    from ..config.documents import environment_redactor

    return environment_redactor(os.environ, Path.cwd())


def without_secrets(text: str) -> str:
    return _redactor().text(text)


def print_json(document: Any) -> None:
    """Prints one JSON document, escaping invisible characters."""
    text = json.dumps(_redactor().document(document), indent=2, ensure_ascii=False, default=str)
    click.echo(text if printable(text) == text else json.dumps(json.loads(text), indent=2))


def write_file(path: Path, pieces: Iterable[str], option: str) -> None:
    """Writes a file atomically and creates its folders. `option` is named in errors as the way to another place."""
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # such as /dev/stdout
            with path.open("w", encoding="utf-8") as file:
                file.writelines(pieces)
        else:
            write_whole(path, pieces)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}; name another place with {option}.") from error


def tokens(usage: Usage) -> str:
    """Formats numbers of tokens, with a mark if any of them are estimated."""
    mark = about(estimated=usage.estimated)
    return f"{mark}{compact(usage.input_tokens)} in, {compact(usage.output_tokens)} out"


def bill(usage: Usage) -> str:
    """Formats usage as tokens and dollars."""
    return f"{tokens(usage)}, {cost(usage.cost_usd)}"


LONG, SHOWN = 4_000, 1_000
"""Characters: an opening text over LONG is cut to SHOWN."""


def opening_text(message: Message) -> str:
    """Returns the text that opens the discussion, with attached files described; of a long one only the beginning."""
    return "".join(map(_opening_part, message.parts)).strip()


def _opening_part(part: Part) -> str:
    match part:
        case Text(text) if len(text) > LONG:
            return f"{text[:SHOWN].rstrip()}\n[... {len(text) - SHOWN:,} more characters]\n\n"
        case Text(text):
            return text
        case Image() | Document():
            return f"[{attachment(part)}]\n\n"
    return ""


if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 200
COLUMN_GAP = 2
MIN_NAME_WIDTH = 12
Column = Sequence[str]
"""The head, then a cell for each row."""


def show_columns(heads: Sequence[str], rows: Iterable[Iterable[str]], dim: Collection[int] = ()) -> None:
    """Prints rows that begin with their names, leaving out empty columns; `dim` holds the indices of dim rows.

    Columns without room continue below, beside the names again. Cells may be styled with `click.style`.
    """
    names, *columns = zip(heads, *rows, strict=True)
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    telling = [column for column in columns if set(column[1:]) != {"\N{EN DASH}"}]
    for number, part in enumerate(column_groups(names, telling, room)):
        if number:
            click.echo()
        _show(_table(names, part, dim))


def column_groups(names: Column, columns: Sequence[Column], room: int) -> Iterator[list[Column]]:
    """Groups columns that fit next to the names, then the next ones. Names that are too long wrap."""
    left = room - min(_width(names), max(MIN_NAME_WIDTH, room * 3 // 5))
    part: list[Column] = []
    taken = 0
    for column in columns:
        if part and taken + COLUMN_GAP + _width(column) > left:
            yield part
            part, taken = [], 0
        part.append(column)
        taken += COLUMN_GAP + _width(column)
    yield part


def _width(column: Column) -> int:
    return max(cell_len(click.unstyle(cell)) for cell in column)


def _table(names: Column, columns: Sequence[Column], dim: Collection[int]) -> "Table":
    """Returns the table of one group. Words stand on the left, figures on the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(names[0], overflow="fold", min_width=min(_width(names), MIN_NAME_WIDTH))
    for column in columns:
        is_words = 2 * sum(click.unstyle(cell)[:1].isalpha() for cell in column[1:]) > len(column) - 1
        table.add_column(column[0], justify="left" if is_words else "right", no_wrap=len(columns) > 1, overflow="fold")
    for place, cells in enumerate(zip(names[1:], *(column[1:] for column in columns), strict=True)):
        table.add_row(*map(Text.from_ansi, cells), style="dim" if place in dim else None)
    return table


def show_rows(heads: Sequence[str], rows: Iterable[Iterable[str]], *, err: bool = False, **options: Any) -> None:
    """Shows rows under `heads`, wrapping cells that are too long; `options` are passed to rich.

    Cells may be styled with `click.style`.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, **{"padding": (0, COLUMN_GAP, 0, 0), **options})
    for head in heads:
        table.add_column(head, overflow="fold")
    for cells in rows:
        table.add_row(*map(Text.from_ansi, cells))
    _show(table, err=err)


def _show(table: "Table", *, err: bool = False) -> None:
    """Prints a table as wide as the terminal, without trailing spaces or markup of cell texts."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False, emoji=False)
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        click.echo(line.rstrip(), err=err)
