"""What several commands have: an option, and the console for tables."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 200

approve = click.option(
    "--approve",
    metavar="ask|allow|deny",
    default="",
    help="What becomes of calls of tools, and for single ones: ask,calculator=allow,code_execution=deny.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, all else on stderr.")


def show_table(table: "Table") -> None:
    """As wide as the terminal, without spaces at the ends of lines; what others say is never taken for markup."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else WIDE, highlight=False, markup=False, emoji=False)
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        click.echo(line.rstrip())
