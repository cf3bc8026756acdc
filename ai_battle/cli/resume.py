"""`ai-battle resume`: continues an interrupted run after its last finished turn."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from ..conversation.manager import ConversationManager
from ..conversation.reading import messages
from ..conversation.run_config import of_run
from ..core.texts import printable
from ..reporting.account import account
from .arguments import run_dir_to_write
from .live import ViewOptions
from .options import for_tools, quiet
from .running import Display, run
from .screen import show_paragraph
from .terminal import with_approval
from .trust import require_trust

SHOWN, LONGEST = 3, 1_500
"""Messages that are shown before a run continues, and characters of each."""


@click.command("resume")
@run_dir_to_write
@click.option("--accept-changes", is_flag=True, help="Continue although config.yaml has changed since the start.")
@quiet
@for_tools
def command(run_dir: Path, accept_changes: bool, quiet: bool, approve: str, **how: bool) -> int:
    """Continue the run of RUN_DIR. Finished turns are not repeated, and a finished run stays as it is."""
    loaded = with_approval(of_run(run_dir), approve)
    require_trust(loaded, given=how["trust"])
    if not (quiet or how["as_json"]) and sys.stdout and sys.stdout.isatty():
        _show_last_messages(run_dir)
    options = replace(ViewOptions.of(loaded), spent=account(run_dir).usage)
    display = Display(quiet, how["as_json"], options)
    manager = ConversationManager.from_config(
        loaded,
        ask=display.person.line,
        allow_unsandboxed=how["allow_unsandboxed"],
        approve=display.person.approve,
    )
    return run(partial(manager.resume, run_dir, accept_changes=accept_changes), display, str(run_dir))


def _show_last_messages(run_dir: Path) -> None:
    """Shows the last messages, so that the user knows where the talk stopped; of a long message its end."""
    all_messages = messages(run_dir)
    for message in all_messages[-SHOWN:]:
        text = printable(message.text.strip())
        click.secho(f"{printable(message.speaker) or 'The topic'}:", bold=True)
        show_paragraph(f"[...] {text[-LONGEST:]}" if len(text) > LONGEST else text)
    if len(all_messages) > SHOWN:
        click.secho(f"These are the last {SHOWN} of {len(all_messages)} messages.", dim=True)
