"""`ai-battle validate`: every problem of discussion files, with its place and a way out."""

import json
from typing import Any

import click

from ._options import as_json


@click.command("validate")
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@as_json
def command(configs: tuple[str, ...], as_json: bool) -> int:
    """Check discussion files without running them; exit 2 when there is a problem."""
    reports = [_report(config) for config in configs]
    if as_json:
        click.echo(json.dumps(reports, indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _show(report)
    return 2 if any(report["problems"] for report in reports) else 0


def _report(config: str) -> dict[str, Any]:
    from ai_battle.config import ConfigProblems
    from ai_battle.conversation import checked
    from ai_battle.core.errors import ConfigError

    try:
        return {"config": config, "problems": [], "notes": list(checked(config).notes)}
    except ConfigProblems as error:
        return {"config": config, "problems": list(error.problems), "notes": []}
    except ConfigError as error:
        return {"config": config, "problems": [str(error)], "notes": []}


def _show(report: dict[str, Any]) -> None:
    for problem in report["problems"]:
        click.echo(problem)
    for note in report["notes"]:
        click.echo(f"{report['config']}: note: {note}")
    if not report["problems"]:
        click.echo(f"{report['config']}: {click.style('ok', fg='green')}")
