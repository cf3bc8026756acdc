"""Options that several commands have."""

import click

as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, all else on stderr.")
