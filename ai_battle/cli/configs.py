"""`ai-battle configs`: the discussions that come with the package."""

import click

from ..config.packaged import description, in_brief, packaged_names, require_packaged
from ..conversation.templates import PACKAGED
from .arguments import ConfigName
from .options import as_json
from .output import print_json
from .tables import show_rows


@click.group("configs", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List and show the discussions that come with ai-battle."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@command.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List them, with what each shows and needs."""
    found = {name: description(_text(name)) for name in packaged_names()}
    if as_json:
        print_json(found)
        return
    show_rows(("config", "what it shows", "needs"), ((name, *in_brief(text)) for name, text in found.items()))
    click.echo("ai-battle run NAME runs one, ai-battle init NAME writes it here as a file of yours.", err=True)


@command.command("show")
@click.argument("name", type=ConfigName())
def show(name: str) -> None:
    """Print the YAML of NAME."""
    click.echo(_text(name), nl=False)


@command.command("templates")
@click.argument("name", required=False)
@as_json
def templates(name: str | None, as_json: bool) -> None:
    """List the templates of instructions, or print that of NAME. The list has their parameters."""
    if name:
        click.echo(PACKAGED.read(name).template)
        return
    found = {each: PACKAGED.read(each) for each in PACKAGED.names}
    if as_json:
        print_json({each: {"params": found[each].get_identifiers(), "text": found[each].template} for each in found})
        return
    rows = ((each, ", ".join(found[each].get_identifiers()), found[each].template.split("\n")[0]) for each in found)
    show_rows(("template", "params", "begins"), rows)


def _text(name: str) -> str:
    return require_packaged(name).read_text(encoding="utf-8")
