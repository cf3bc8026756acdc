"""`ai-battle validate`: reports every problem of configuration files, with its place and a way out."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..core.texts import printable
from .arguments import ConfigName
from .options import as_json
from .output import print_json

if TYPE_CHECKING:
    from ..config.problems import Located

SAMPLE_BYTES = 1_000_000


@click.command("validate")
@click.argument("configs", type=ConfigName(), nargs=-1, required=True, metavar="CONFIG...")
@as_json
def command(configs: tuple[str, ...], as_json: bool) -> int:
    """Check files of discussions, benchmarks, servers and rubrics. Nothing is run; exit code 2 means a problem."""
    reports = [_report(config) for config in configs]
    if as_json:
        print_json(reports)
    else:
        for report in reports:
            _show(report)
    return 2 if any(report["problems"] for report in reports) else 0


def _report(config: str) -> dict[str, Any]:
    from ..config.problems import ConfigProblems, Located
    from ..core.errors import ConfigError

    try:
        return {"config": config, "problems": [], "notes": _notes(config)}
    except ConfigProblems as error:
        return {"config": config, "problems": [_fields(each) for each in error.located], "notes": []}
    except ConfigError as error:
        return {"config": config, "problems": [_fields(Located(config, None, None, None, str(error)))], "notes": []}


def _fields(problem: "Located") -> dict[str, Any]:
    """Returns a problem as JSON; `text` is the line that is shown without --json, which begins with the file."""
    is_named = problem.message.startswith(problem.file)
    text = problem.message if is_named and problem.path is None and not problem.line else str(problem)
    return {**asdict(problem), "path": problem.path or "", "text": text}


def _notes(config: str) -> list[str]:
    """Returns notes on a valid file. Raises `ConfigError`."""
    match _kind(Path(config)):
        case "benchmark":
            from ..benchmark.loading import load

            return list(load(config).document.notes)
        case "server":
            return _server_notes(config)
        case "rubric":
            from ..config.judge import load_rubric

            load_rubric(config)
            return []
    from ..conversation.setup import load_checked, notes

    return list(notes(load_checked(config)))


def _server_notes(config: str) -> list[str]:
    """Builds the routes as the server would, unless that imports code of the file. Raises `ConfigError`."""
    from ..config.server import load_server
    from ..server.building import named_code
    from ..server.config import ConfigSource

    document = load_server(config, os.environ)
    if code := named_code(document):
        return [*document.notes, f"its routes are checked when it is served, as they run code: {', '.join(code)}"]
    ConfigSource(config, os.environ).load()
    return list(document.notes)


def _kind(path: Path) -> str:
    """Returns the kind of a file by its first section. An unreadable one is left to its loader, which reports why."""
    if not path.is_file():
        return "discussion"
    from ..config.documents import kind_of

    with path.open(encoding="utf-8", errors="replace") as file:
        return kind_of(file.read(SAMPLE_BYTES))


def _show(report: dict[str, Any]) -> None:
    for problem in report["problems"]:
        click.echo(printable(problem["text"]))
    for note in report["notes"]:
        click.echo(printable(f"{report['config']}: note: {note}"))
    if not report["problems"]:
        click.echo(f"{report['config']}: {click.style('ok', fg='green')}")
