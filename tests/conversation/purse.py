"""A tool that pays, and one that reads; either can kill the process of the run.

`paid` has a line for each call; `kills` has the words of the calls that kill, each once, in order.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

from ai_battle import tool
from tests.nursery import note

KILLS, PAID, LOCK = Path("kills"), Path("paid"), Path("run/.lock")


def do(words: str) -> None:
    note(PAID, words)
    kills = KILLS.read_text().split()
    if kills[:1] == [words]:
        KILLS.write_text(" ".join(kills[1:]))
        os.kill(int(LOCK.read_text().split()[0]), signal.SIGKILL)
        time.sleep(60)  # a server that outlives it does not answer


@tool(writes=True)
def pay(to: str, memo: str = "") -> str:
    """Pays."""
    do(to)
    return f"{to} was paid"


@tool(writes=True)
async def pay_slowly(to: str) -> str:
    """Pays, in an hour."""
    await asyncio.sleep(3600)
    return f"{to} was paid"


@tool
def rate(of: str) -> str:
    """Reads a rate."""
    do(of)
    return "1.08"
