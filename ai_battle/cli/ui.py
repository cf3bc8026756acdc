"""`ai-battle ui`: opens a page on this machine to start, watch and compare runs."""

import asyncio
import os
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

import click

from ..core.telemetry import set_up_telemetry
from ..ui.app import PageServer
from ..ui.serving import serve
from ..ui.workspace import Workspace
from .options import allow_unsandboxed
from .running import interruptible

PORT = 8790


@click.command("ui")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, help="Port to listen on; 0 takes a free one.")
@click.option("--no-open", is_flag=True, help="Only print the address; open no browser.")
@allow_unsandboxed
def command(port: int, no_open: bool, allow_unsandboxed: bool) -> None:
    """Open a page to start, watch, search and compare runs. It shows this folder, to this machine only.

    The printed address holds a key that can be used once. Ctrl-C ends the page; runs that it has started are kept as
    far as they are, and can be resumed.
    """
    set_up_telemetry(os.environ, partial(click.echo, err=True))

    def say(address: str) -> None:
        click.echo(f"Open {address}")

    def open_page(address: str) -> None:
        say(address)
        click.echo("Ctrl-C ends the page and stops its runs, which can be resumed.", err=True)
        if not no_open:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()  # some wait until they are closed

    server = PageServer(Workspace(Path.cwd()), allow_unsandboxed=allow_unsandboxed)
    with suppress(asyncio.CancelledError):
        asyncio.run(interruptible(serve(server.app(), port, open_page, say)))
