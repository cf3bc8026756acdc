"""`ai-battle export`: renders a run in other formats from its journal."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click

from ..conversation.reading import progress
from ..core.errors import ConfigError
from ..core.files import lock_directory
from ..core.texts import one_line
from ..reporting.exports import export, require_format
from .arguments import run_dir
from .output import without_secrets, write_file

WORDS = {"failed": "failed", "interrupted": "was interrupted"}
SUFFIXES = {"openai": "json", "finetune": "finetune.jsonl", "dpo": "dpo.jsonl"}


@click.command("export")
@run_dir
@click.option(
    "--format",
    "formats",
    default="md",
    show_default=True,
    help="md, html, jsonl, openai, csv, finetune, dpo; several: md,csv.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file, or a folder for several formats.")
def command(run_dir: Path, formats: str, output: Path | None) -> None:
    """Write the run of RUN_DIR in one or more formats. They go to standard output unless --output names a place."""
    wanted = [*dict.fromkeys(filter(None, map(str.strip, formats.split(","))))]
    if not wanted:
        raise ConfigError("--format names no format, such as md.")
    if output is None and len(wanted) > 1:
        raise ConfigError(f"{len(wanted)} formats don't fit on one output; name a folder with --output.")
    for name in wanted:  # nothing is written if one of them is unknown
        require_format(name)
    write = partial(_try_to_write, run_dir, output, several=len(wanted) > 1)
    errors = [*filter(None, map(write, wanted))]
    if len(errors) < len(wanted):
        _tell_of_ending(run_dir)
    if errors:
        raise ConfigError("\n".join(errors))


def _try_to_write(run_dir: Path, output: Path | None, name: str, *, several: bool) -> str:
    """Returns why there is nothing to write: of a run without drafts there are no pairs, but all other formats."""
    try:
        pieces = export(run_dir, name)
        if output is None:
            sys.stdout.writelines(pieces)
            return ""
        place = _place(output, run_dir, name, several=several)
        with lock_directory(run_dir) if place.absolute().is_relative_to(run_dir.absolute()) else nullcontext():
            write_file(place, pieces, "--output")
        click.echo(str(place), err=True)
    except ConfigError as error:
        return str(error)
    return ""


def _tell_of_ending(run_dir: Path) -> None:
    """Warns that an exported run did not come to its end."""
    ended = progress(run_dir).ended
    if ended is None:
        click.echo("The run has not ended; this is what there is of it so far.", err=True)
    elif ended.status in ("failed", "interrupted"):
        words = without_secrets(one_line(ended.stop_reason, 300))
        click.echo(f"The run {WORDS[ended.status]} ({words}); earlier turns are exported.", err=True)


def _place(output: Path, run_dir: Path, name: str, *, several: bool) -> Path:
    suffix = SUFFIXES.get(name, name)
    return output / f"{run_dir.name}.{suffix}" if several or output.is_dir() else output
