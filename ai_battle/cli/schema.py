"""`ai-battle schema`: the JSON Schema of the YAML formats, for editors."""

import json

import click

from ..config.editors import SCHEMAS, json_schema
from ..providers._endpoints import packaged_providers


@click.command("schema")
@click.argument("kind", type=click.Choice([*SCHEMAS]), default="discussion")
def command(kind: str) -> None:
    """Print the JSON Schema of a YAML format, for editors."""
    click.echo(json.dumps(json_schema(kind, packaged_providers()), indent=2, ensure_ascii=False))
