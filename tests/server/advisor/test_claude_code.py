"""Claude Code as a client, as the page on advisors says to start it, without a terminal and without its telemetry."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProvider, FakeProviders, call, reply

from ... import pages
from ..serving import serving
from .conftest import Write
from .node import install, run

PACKAGE = "@anthropic-ai/claude-code@2.1.197"
PAGE = pages.DOCS / "how-to" / "advise.md"
QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}
ADDRESS = "http://127.0.0.1:8787"
LOOK = "Look at the loop, it has no end."
FOUND = "It is line 1."

pytestmark = pytest.mark.slow


def typed(section: str) -> tuple[dict[str, str], list[str]]:
    """The variables and the command of a section of the page."""
    heading = PAGE.read_text(encoding="utf-8")[: PAGE.read_text(encoding="utf-8").index(f"## {section}")].count("\n")
    blocks = (each for each in pages.blocks(PAGE, "sh") if each.line > heading)
    *exports, command = next(block for block in blocks if "claude" in block.text).text.splitlines()
    variables = dict(line.removeprefix("export ").split("=", 1) for line in exports)
    return variables, shlex.split(command)


SERVERS = [block.text for block in pages.blocks(PAGE, "yaml")]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its launcher for installations without install scripts."""
    folder = install(tmp_path_factory.mktemp("claude-code"), PACKAGE) / "node_modules"
    return folder / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"


@dataclass
class Session:
    """Claude Code before a server as the page has it, in a folder with a file to read."""

    program: Path
    folder: Path
    address: str
    local: FakeProvider
    cloud: FakeProvider

    async def say(self, words: str, variables: dict[str, str], *options: str) -> list[dict[str, Any]]:
        """The blocks of what it showed, and its result as the last."""
        led = {name: value.replace(ADDRESS, self.address) for name, value in variables.items()}
        shown = ("-p", words, "--output-format", "stream-json", "--verbose")
        out = await run("node", self.program, *shown, *options, cwd=self.folder, **QUIET, **led)
        told = [json.loads(line) for line in out.splitlines()]
        blocks = [block for each in told if each["type"] == "assistant" for block in each["message"]["content"]]
        return [*blocks, told[-1]]


def script(session: Session, worker: FakeProvider, advisor: FakeProvider) -> None:
    worker.says(
        reply("Let me ask.", calls=[call("advisor")]), call("Read", file_path=str(session.folder / "a.py")), FOUND
    )
    advisor.says(LOOK)


async def test_a_route_with_an_advisor_of_its_own(
    program: Path, fakes: FakeProviders, write: Write, tmp_path: Path
) -> None:
    """It shows the work of the route, and hears of no advice."""
    variables, (_, *options) = typed("Ollama with an advisor")
    (tmp_path / "a.py").write_text("while True: pass\n")
    async with serving(fakes, write(SERVERS[-1])) as address:
        session = Session(program, tmp_path, address, fakes.ollama, fakes.anthropic)
        script(session, session.local, session.cloud)
        *blocks, ended = await session.say("Find the fault in a.py.", variables, *options)

    assert [block["type"] for block in blocks] == ["tool_use", "text"]
    assert ended["result"] == FOUND
    assert LOOK in session.local.questions[1].raw.decode()
