"""`ai-battle doctor`: what is installed, reachable and usable here, each finding with the way to mend it."""

import sys
from typing import TYPE_CHECKING

import click

from ._options import as_json
from ._plain import print_json

if TYPE_CHECKING:
    from ._findings import Finding

MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("·", "yellow")}


@click.command("doctor")
@as_json
def command(as_json: bool) -> None:
    """Tell what this machine has for discussions, and how to get what it lacks."""
    from dataclasses import asdict

    from ._findings import findings

    found = findings()
    if as_json:
        print_json([asdict(finding) for finding in found])
        return
    _show(found)


def _show(found: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    from ._options import show_table

    table = Table.grid(padding=(0, 2))
    for finding in found:
        mark, colour = MARKS[finding.state]
        message = Text(finding.message).append(f"\n{finding.mend}" if finding.mend else "", style="dim")
        table.add_row(Text(_printable(mark), style=colour), finding.subject, message)
    show_table(table)


def _printable(mark: str) -> str:
    try:
        mark.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "*"
    return mark
