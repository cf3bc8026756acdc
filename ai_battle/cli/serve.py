"""`ai-battle serve`: serves models, pairs, boost loops and cascades over HTTP."""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import click

from ..server.config import ConfigSource, ServerConfig
from ..server.running import serve, serve_as_worker, serve_with_workers
from ..server.workers import Worker, WorkerFailed
from .options import WithStrategies, require_trust_in, trust


@click.command("serve", cls=WithStrategies)
@click.argument("config", type=click.Path(path_type=str), default="", required=False)
@click.option("--host", help="Address to listen on; a public one needs keys.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 8787]")
@click.option("--workers", type=click.IntRange(1), help="Processes that answer, one for each core.  [default: 1]")
@click.option("--as-worker", hidden=True, default="")
@trust
def command(config: str, host: str | None, port: int | None, workers: int | None, as_worker: str, trust: bool) -> None:
    """Serve models as an Anthropic- and OpenAI-compatible server.

    CONFIG is a YAML file with a `server:` section. Without one, BIG_MODEL, MIDDLE_MODEL and SMALL_MODEL name the models
    for requests to opus, sonnet and haiku. Each request is logged as a line of JSON on stderr (LOG_LEVEL).
    """
    options = {"host": host, "port": port, "workers": workers}
    over = {key: value for key, value in options.items() if value is not None}
    source = ConfigSource(config, os.environ, over, partial(require_trust_in, given=trust))
    loaded = source.load()
    # A reload must not wait for an answer at the terminal.
    source = replace(source, trust=partial(require_trust_in, given=trust, ask=False))
    say = partial(click.echo, err=True)
    if as_worker:
        asyncio.run(serve_as_worker(source, loaded, say, _write, Worker.of(as_worker)))
    elif loaded.server.workers > 1:
        _run_workers(source, loaded, say, trust)
    else:
        asyncio.run(serve(source, loaded, say, _write))


def _run_workers(source: ConfigSource, loaded: ServerConfig, say: Callable[[str], None], trust: bool) -> None:
    over = [f"--{name}={value}" for name, value in source.over.items() if name != "workers"]
    options = [*over, *(("--trust",) if trust else ()), "--", *((source.file,) if source.file else ())]

    def command(worker: Worker) -> list[str]:
        return [sys.executable, "-m", "ai_battle", "serve", "--as-worker", str(worker), *options]

    try:
        asyncio.run(serve_with_workers(source, loaded, say, command))
    except WorkerFailed as failed:
        if not failed.code:
            raise
        sys.exit(failed.code)  # the worker has printed the reason


def _write(line: bytes) -> None:
    sys.stderr.buffer.write(line)
    sys.stderr.buffer.flush()
