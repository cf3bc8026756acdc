"""A program has no network but, where it has one of its own, its own loopback."""

import asyncio
import socket
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Language, Sandbox

from .conftest import Run

_LISTENS: dict[Language, str] = {
    "python": """
import os, socket, time
try:
    kept = []
    for family, address in ((socket.AF_INET, ("0.0.0.0", PORT)), (socket.AF_INET6, ("::", PORT + 1))):
        kept.append(socket.create_server(address, family=family))
    print("listens")
except OSError as error:
    print("refused", error)
open("ready", "w").close()
while not os.path.exists("tried"):
    time.sleep(0.01)
""",
    "javascript": """
const fs = require("fs");
const server = require("http").createServer(() => {});
const ready = (word) => { console.log(word); fs.writeFileSync("ready", ""); };
server.on("error", () => ready("refused"));
server.listen(PORT, "0.0.0.0", () => ready("listens"));
setInterval(() => fs.existsSync("tried") && process.exit(), 10);
""",
}
_TALKS = """
import asyncio, socket
async def answer(reader, writer):
    writer.write(b"you said " + await reader.readline())
    writer.close()
async def main():
    server = await asyncio.start_server(answer, "localhost", 0)
    reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
    writer.write(b"hello\\n")
    print((await reader.read()).decode().strip())
asyncio.run(main())
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as box:
    box.bind(("127.0.0.1", 0))
    box.sendto(b"a letter", box.getsockname())
    print(box.recv(100).decode())
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.mark.parametrize("language", _LISTENS)
async def test_nobody_can_reach_a_server_behind_the_fence(language: Language, run: Run, workspace: Path) -> None:
    port = _free_port()
    task = asyncio.create_task(run(_LISTENS[language].replace("PORT", str(port)), language))
    while not (workspace / "ready").exists():
        assert not task.done(), task.result()
        await asyncio.sleep(0.01)
    for family, address in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_INET6, ("::1", port + 1))):
        with socket.socket(family) as visitor, pytest.raises(OSError, match="refused"):
            visitor.connect(address)
    (workspace / "tried").touch()
    assert (await task).exit_code == 0


async def test_a_program_in_a_network_of_its_own_can_serve_itself(sandbox: Sandbox, run: Run) -> None:
    outcome = await run(_TALKS)
    if sandbox.name == "bubblewrap":
        assert (outcome.stdout, outcome.stderr) == ("you said hello\na letter\n", "")
    else:
        assert outcome.exit_code == 1, "without a network of its own, a server would be the machine's"
