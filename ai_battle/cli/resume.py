"""`ai-battle resume`: goes on with a run that was interrupted, after its last finished turn."""

from pathlib import Path

import click

from ai_battle.conversation.manager import ConversationManager

from .approval import with_approval
from .arguments import run_dir
from .live import ViewOptions
from .loading import of_run
from .options import allow_unsandboxed, approve, as_json, quiet, trust
from .running import Display, run
from .trust import require_trust


@click.command("resume")
@run_dir
@click.option("--accept-changes", is_flag=True, help="Go on although config.yaml was changed since the start.")
@quiet
@trust
@allow_unsandboxed
@approve
@as_json
def command(run_dir: Path, accept_changes: bool, quiet: bool, approve: str, **how: bool) -> int:
    """Go on with the run of RUN_DIR; nothing that is finished is done again, and a finished run stays as it is."""
    loaded = with_approval(of_run(run_dir), approve)
    require_trust(loaded, given=how["trust"])
    display = Display(quiet, how["as_json"], ViewOptions.of(loaded))
    manager = ConversationManager.from_config(
        loaded,
        ask=display.person.line,
        allow_unsandboxed=how["allow_unsandboxed"],
        approve=display.person.approve,
    )
    discuss = lambda emit, wants: manager.resume(run_dir, emit, wants, accept_changes=accept_changes)  # noqa: E731
    return run(discuss, display, str(run_dir))
