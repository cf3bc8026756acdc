"""`ai-battle serve`: models, pairs, boost loops and cascades behind an address."""

import asyncio
import os
import sys
from dataclasses import replace
from functools import partial

import click

from ai_battle.server.config import ConfigSource
from ai_battle.server.running import serve

from .options import WithStrategies, trust
from .trust import require_trust_in


@click.command("serve", cls=WithStrategies)
@click.argument("config", default="", required=False)
@click.option("--host", help="Address to listen on; a public one needs keys.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 8787]")
@trust
def command(config: str, host: str | None, port: int | None, trust: bool) -> None:
    """Serve models as an Anthropic- and OpenAI-compatible server.

    CONFIG is a YAML file with a `server:` section. Without one, BIG_MODEL, MIDDLE_MODEL and SMALL_MODEL say what
    answers to names with opus, sonnet and haiku. Each request is a line of JSON on stderr (LOG_LEVEL).
    """
    over = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    source = ConfigSource(config, os.environ, over, partial(require_trust_in, given=trust))
    loaded = source.load()
    source = replace(source, trust=partial(require_trust_in, given=trust, ask=False))  # nobody is asked while it serves
    asyncio.run(serve(source, loaded, partial(click.echo, err=True), _write))


def _write(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
