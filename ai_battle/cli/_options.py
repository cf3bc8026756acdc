"""What several commands have: an option, and the console for tables."""

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, all else on stderr.")


def console() -> "Console":
    """Prints tables as wide as the terminal; what others say is never taken for markup."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDE, highlight=False, markup=False, emoji=False)
