"""`ai-battle ui` and `mcp`: serve this folder, to people as a page and to other assistants over MCP."""

import asyncio
import os
import socket
import sys
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_urlsafe
from threading import Thread
from typing import Any

import click

from ..core.errors import AIBattleError
from ..core.plugins import optional
from ..core.telemetry import set_up_telemetry
from ..ui.app import PageServer
from ..ui.serving import serve
from ..ui.workspace import Workspace
from . import DONE, INTERRUPTED
from .options import USD, allow_unsandboxed, require_trust, trust
from .running import interruptible

PAGE_PORT = 8790


@click.command("ui")
@click.option("--port", type=click.IntRange(0, 65535), default=PAGE_PORT, help="Port to listen on; 0 takes a free one.")
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


MCP_PORT = 8788


@click.command("mcp")
@click.option("--http", is_flag=True, help="Serve by HTTP on this machine instead of on standard input and output.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=MCP_PORT,
    help="Port for --http; 0 takes a free one.  [default: 8788]",
)
@click.option("--token", default="", help="The token that clients of --http have to send; by default a new one.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The folder of configurations and runs; clients can read nothing outside of it.  [default: this one]",
)
@click.option("--max-cost", type=USD, metavar="USD", help="The most that each call of a client may cost.")
@trust
@allow_unsandboxed
@click.option("--approve", type=click.Choice(["allow", "deny"]), help="Allow or deny all tool calls.")
def mcp_command(http: bool, port: int, token: str, folder: Path, **how: Any) -> int:
    """Serve discussions, questions and runs over MCP. The clients are other assistants."""
    optional("mcp.server", "mcp")
    from ..server import mcp, mcp_tools

    os.chdir(folder)
    set_up_telemetry(os.environ, partial(click.echo, err=True))
    tools = mcp_tools.FolderTools(Path.cwd().resolve(), partial(require_trust, given=how["trust"], ask=False), **how)
    if http:
        listening, token = _listen(port), token or token_urlsafe()
        click.echo(f"MCP server at http://127.0.0.1:{listening.getsockname()[1]}/mcp; Ctrl-C ends it.", err=True)
        click.echo(f"Clients send the header  Authorization: Bearer {token}", err=True)
        asyncio.run(mcp.serve_http(tools, listening, token))
        return DONE
    if sys.stdin.isatty():
        click.echo("This speaks MCP on standard input and output; it is started by a client.", err=True)
    try:
        asyncio.run(interruptible(mcp.serve_stdio(tools)))
    except asyncio.CancelledError:
        return INTERRUPTED
    return DONE


def _listen(port: int) -> socket.socket:
    """Raises `AIBattleError` if the port is taken."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise AIBattleError(f"Port {port} can't be used: {error.strerror}; choose another with --port.") from error
