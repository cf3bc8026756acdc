"""`ai-battle models`: which models there are, and what is known of one, from whom."""

from typing import TYPE_CHECKING, Any

import click

from ._options import as_json
from ._plain import print_json

if TYPE_CHECKING:
    from ai_battle.providers._capabilities import ListedModel

    from ._survey import Found


@click.group("models")
def command() -> None:
    """List the models that can be reached, and show or probe what one can do."""


@command.command("list")
@click.argument("providers", nargs=-1, metavar="[PROVIDER...]")
@as_json
def list_(providers: tuple[str, ...], as_json: bool) -> int:
    """Ask PROVIDERs, by default all that are set up, for their models."""
    from ._survey import SURVEYED, survey

    found = survey(providers or SURVEYED)
    if as_json:
        print_json({one.provider: _to_json(one) for one in found})
        return 0
    for one in found if providers else filter(_has_models, found):
        _show_list(one)
    if not any(map(_has_models, found)):
        click.echo("No models were found; ai-battle doctor says what is missing.", err=True)
        return 1
    return 0


@command.command("show")
@click.argument("type_", metavar="TYPE")
@as_json
def show(type_: str, as_json: bool) -> None:
    """Show what is known of the model TYPE, such as gpt-4o or ollama/phi4, and which source says so."""
    import asyncio

    from ._knowledge import knowledge

    known = asyncio.run(knowledge(type_))
    if as_json:
        print_json(known.to_json())
        return
    click.secho(known.title, bold=True)
    for name, value, source in known.rows:
        click.echo(f"  {name:18} {value:24} {click.style(source, dim=True)}".rstrip())
    for note in known.notes:
        click.echo(f"  ! {note}")


@command.command("probe")
@click.argument("type_", metavar="TYPE")
@as_json
def probe(type_: str, as_json: bool) -> int:
    """Try streaming, tools and JSON output of the model TYPE for real; this calls the model three times."""
    import asyncio

    from ._probing import probe

    results = asyncio.run(probe(type_))
    if as_json:
        print_json([result.to_json() for result in results])
    else:
        for result in results:
            mark = click.style("works", fg="green") if result.works else click.style("fails", fg="red")
            click.echo(f"  {result.name:10} {mark}  {result.seconds:5.1f} s  {result.message}")
    return 0 if all(result.works for result in results) else 1


def _show_list(found: "Found") -> None:
    from rich.table import Table

    from ._options import show_table

    click.secho(f"{found.provider} ({len(found.models)})", bold=True)
    if found.message:
        click.echo(f"  {found.message}")
        return
    table = Table(box=None, padding=(0, 2), show_header=bool(found.models))
    for heading in ("  model", "window", "can"):
        table.add_column(heading, overflow="fold")
    for model in found.models:
        table.add_row(f"  {model.name}", str(model.says.get("context_window", "")), ", ".join(_abilities(model)))
    show_table(table)


def _has_models(found: "Found") -> bool:
    return bool(found.models)


def _abilities(model: "ListedModel") -> list[str]:
    return [name for name, value in model.says.items() if value is True]


def _to_json(found: "Found") -> dict[str, Any]:
    models = [{"name": model.name, **model.says} for model in found.models]
    return {"state": found.state, "message": found.message, "models": models}
