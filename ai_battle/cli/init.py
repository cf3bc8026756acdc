"""`ai-battle init`: a starter YAML, for the models that this machine has or from a packaged discussion."""

from pathlib import Path

import click


@click.command("init")
@click.argument("template", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write; by default its own name.")
def command(template: str | None, output: Path | None) -> None:
    """Write a discussion to start from: TEMPLATE is the name of a packaged one; without it, one for your models."""
    from ai_battle.core.errors import ConfigError

    from ._starters import copied, starter

    path = output or Path(f"{template or 'discussion'}.yaml")
    if path.exists():
        raise ConfigError(f"{path} exists; name another file with --output.")
    written = copied(template, path) if template else starter(path)
    for one in written:
        click.echo(f"{one} written", err=True)
    click.echo(f"ai-battle run {path}")
