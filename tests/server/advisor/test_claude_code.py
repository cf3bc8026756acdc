"""Claude Code as a client, as the page on advisors says to start it, without a terminal and without its telemetry."""

import json
import shlex
from collections.abc import AsyncIterator
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


def typed_command(section: str) -> tuple[dict[str, str], list[str]]:
    """The variables and the command of a section of the page."""
    heading = PAGE.read_text(encoding="utf-8")[: PAGE.read_text(encoding="utf-8").index(f"## {section}")].count("\n")
    blocks = (each for each in pages.blocks(PAGE, "sh") if each.line > heading)
    *exports, command = next(block for block in blocks if "claude" in block.text).text.splitlines()
    variables = dict(line.removeprefix("export ").split("=", 1) for line in exports)
    return variables, shlex.split(command)


SERVERS = [block.text for block in pages.blocks(PAGE, "yaml") if block.text.startswith("server:")]


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


@pytest.fixture
async def session(program: Path, fakes: FakeProviders, write: Write, tmp_path: Path) -> AsyncIterator[Session]:
    (tmp_path / "a.py").write_text("while True: pass\n")
    async with serving(fakes, write(SERVERS[0])) as address:
        yield Session(program, tmp_path, address, fakes.ollama, fakes.anthropic)


def script(session: Session, worker: FakeProvider, advisor: FakeProvider) -> None:
    worker.says(
        reply("Let me ask.", calls=[call("advisor")]), call("Read", file_path=str(session.folder / "a.py")), FOUND
    )
    advisor.says(LOOK)


def check(blocks: list[dict[str, Any]], worker: FakeProvider, advisor: FakeProvider) -> None:
    """Checks what it shows, what each model read, and that all of it came back with the next request."""
    *shown, ended = blocks
    assert [block["type"] for block in shown] == ["text", "server_tool_use", "advisor_tool_result", "tool_use", "text"]
    assert shown[2]["content"]["text"] == LOOK
    assert (ended["subtype"], ended["result"]) == ("success", FOUND)
    assert "Find the fault in a.py" in advisor.questions[0].raw.decode()
    last = worker.questions[-1].raw.decode()
    assert [words for words in ("Let me ask.", LOOK, "while True: pass") if words not in last] == []


async def test_a_local_worker_with_a_cloud_advisor(session: Session) -> None:
    variables, (_, *options) = typed_command("Claude Code with a local worker")
    script(session, session.local, session.cloud)
    blocks = await session.say("Find the fault in a.py.", variables, *options)

    check(blocks, session.local, session.cloud)
    assert (len(session.local.questions), len(session.cloud.questions)) == (3, 1)


async def test_an_advisor_named_in_the_settings(session: Session) -> None:
    variables, _ = typed_command("Claude Code with a local worker")
    (session.folder / ".claude").mkdir()
    settings = next(pages.blocks(PAGE, "json")).text
    (session.folder / ".claude" / "settings.json").write_text(settings)
    script(session, session.local, session.cloud)
    blocks = await session.say("Find the fault in a.py.", variables, "--model", "local")

    check(blocks, session.local, session.cloud)


async def test_a_cloud_worker_with_a_local_advisor(session: Session) -> None:
    variables, (_, *options) = typed_command("Claude Code with a cloud worker")
    script(session, session.cloud, session.local)
    blocks = await session.say("Find the fault in a.py.", variables, *options)

    check(blocks, session.cloud, session.local)


async def test_a_second_session_goes_on_with_the_advice_of_the_first(session: Session) -> None:
    """`--continue` reads its own record, and sends the blocks again as they came."""
    variables, (_, *options) = typed_command("Claude Code with a local worker")
    script(session, session.local, session.cloud)
    await session.say("Find the fault in a.py.", variables, *options)
    session.local.always("You are welcome.")
    *_, ended = await session.say("Thank you.", variables, *options, "--continue")

    assert ended["result"] == "You are welcome."
    assert LOOK in session.local.questions[-1].raw.decode()


async def test_another_model_behind_the_advisor_that_it_names(
    program: Path, fakes: FakeProviders, write: Write, tmp_path: Path
) -> None:
    variables, (_, *options) = typed_command("Replace the advisor that a client names")
    (tmp_path / "a.py").write_text("while True: pass\n")
    async with serving(fakes, write(SERVERS[1])) as address:
        session = Session(program, tmp_path, address, fakes.ollama, fakes.ollama)
        fakes.ollama.says(LOOK, model="qwen3:32b")
        steps = reply("Let me ask.", calls=[call("advisor")]), call("Read", file_path=str(tmp_path / "a.py")), FOUND
        fakes.ollama.says(*steps, model="qwen3:8b")
        *shown, ended = await session.say("Find the fault in a.py.", variables, *options)

    assert [block["type"] for block in shown] == ["text", "server_tool_use", "advisor_tool_result", "tool_use", "text"]
    assert shown[2]["content"]["text"] == LOOK
    assert ended["result"] == FOUND
    assert [each.body["model"] for each in fakes.ollama.questions].count("qwen3:32b") == 1


async def test_a_route_with_an_advisor_of_its_own(
    program: Path, fakes: FakeProviders, write: Write, tmp_path: Path
) -> None:
    """It shows the work of the route, and hears of no advice."""
    variables, (_, *options) = typed_command("Ollama with an advisor")
    (tmp_path / "a.py").write_text("while True: pass\n")
    async with serving(fakes, write(SERVERS[-1])) as address:
        session = Session(program, tmp_path, address, fakes.ollama, fakes.anthropic)
        script(session, session.local, session.cloud)
        *blocks, ended = await session.say("Find the fault in a.py.", variables, *options)

    assert [block["type"] for block in blocks] == ["tool_use", "text"]
    assert ended["result"] == FOUND
    assert LOOK in session.local.questions[1].raw.decode()
