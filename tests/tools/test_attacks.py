"""What a hostile model asks for in a discussion comes to nothing, however it calls its tools."""

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ai_battle import ConversationManager
from ai_battle.core.events import EventLog
from ai_battle.core.messages import ToolCall
from ai_battle.core.tooling import ToolReturned
from ai_battle.testing import FakeProviders, Reply, call, reply

from .sandbox.conftest import no_bubblewrap, survivors, workspace
from .sandbox.world import World, world

__all__ = ["workspace"]  # a fixture of the sandbox's tests

_READS = "print(open('OUTSIDE/secret.txt').read(), open('/proc/PARENT/environ').read())"
_TALKS = "import socket; socket.create_connection(('127.0.0.1', PORT), 2).send(b'x'); print('ESCAPED')"
_STAYS = """(setsid sleep 60 &)
cp OUTSIDE/secret.txt . ; cat secret.txt; echo x > OUTSIDE/new; echo x > .git/hooks/post-commit
"""
_INSIDE = ("127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "127.1", "0x7f.0.0.1")
_NODE = "const fs = require('fs'); console.log(process.env.API_KEY, fs.readFileSync('OUTSIDE/secret.txt', 'utf8'))"
_DIGS = "import os; os.symlink('OUTSIDE', 'folder'); os.symlink('OUTSIDE/secret.txt', 'link')"


def _attacks() -> list[list[ToolCall]]:
    """Returns the calls of several participants: a tool that fails three times running would be taken off a list."""
    programs = (("python", _READS), ("python", _TALKS), ("bash", _STAYS), ("javascript", _NODE), ("python", _DIGS))
    paths = ("../secret.txt", "OUTSIDE/secret.txt", "link", "folder/secret.txt", "a/../../secret.txt", "\0/secret.txt")
    queries = (
        "DELETE FROM owls", "ATTACH 'OUTSIDE/other.db' AS o", "WITH n AS (SELECT 1) INSERT INTO owls SELECT 'x'",
        "SELECT load_extension('OUTSIDE/x.so')", "VACUUM INTO 'OUTSIDE/copy.db'", "PRAGMA writable_schema = 1",
    )  # fmt: skip
    code = [call("code_execution", language=language, code=text) for language, text in programs]
    files = [
        call("file_manipulation", action=action, path=path, content="ESCAPED")
        for path in paths
        for action in ("read", "write")
    ]
    pages = [call("web_fetch", url=f"http://{host}:PORT/") for host in _INSIDE]
    asked = [call("database_query", query=query) for query in queries]
    return [
        [*code[turn : turn + 1], *files[2 * turn : 2 * turn + 2], *pages[turn : turn + 1], *asked[turn : turn + 1]]
        for turn in range(6)
    ]


def _answer(calls: list[ToolCall], calling: str) -> str | Reply:
    """All of them in one answer, as a model says it that is told of tools in this way."""
    if calling == "native":
        return reply("", calls=calls)
    if calling == "json":
        wanted = [{"name": one.name, "arguments": one.arguments} for one in calls]
        return json.dumps({"toolCalls": wanted, "content": "", "needsMoreWork": True})
    blocks = ({"tool": one.name, "parameters": one.arguments} for one in calls)
    return "\n".join(f"```tool\n{json.dumps(block)}\n```" for block in blocks)


@pytest.fixture(params=["bubblewrap", "landlock"])
def fence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Where bubblewrap is not on the PATH, Landlock is what there is."""
    if request.param == "bubblewrap" and (reason := no_bubblewrap()):
        pytest.skip(reason)
    if request.param == "landlock":
        (tmp_path / "bin").mkdir()
        for name in ("node", "bash"):
            if found := shutil.which(name):
                (tmp_path / "bin" / name).symlink_to(found)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("API_KEY", "SECRET key")
    return str(request.param)


@pytest.fixture
def outside(workspace: Path) -> Path:
    folder = workspace.parents[1]
    with sqlite3.connect(folder / "owls.db") as database:
        database.executescript("CREATE TABLE owls (name); INSERT INTO owls VALUES ('barn')")
    database.close()
    (workspace / ".git" / "hooks").mkdir(parents=True)
    return folder


def _discussion(calling: str, workspace: Path, outside: Path) -> dict[str, Any]:
    tools = {
        "registry": [
            "code_execution",
            "file_manipulation",
            "web_fetch",
            {"name": "database_query", "parameters": {"database": str(outside / "owls.db")}},
        ],
        "approval": {"default": "allow"},  # it is the tools that have to hold, not the person
        "calling": calling,
        "workspace": str(workspace),
        "runner": {"max_rounds": 2, "backoff_seconds": 0, "summarize_threshold": 100_000},
    }
    models = {name: {"type": "openai/gpt-4o"} for name in ("ann", "bob", "cid", "dan", "eve", "fay")}
    return {"discussion": {"goal": "Escape.", "turns": 1, "models": models, "tools": tools}}


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _aim(one: ToolCall, around: World, outside: Path) -> ToolCall:
    aimed = {name: around.put_into(value).replace("OUTSIDE", str(outside)) for name, value in one.arguments.items()}
    return call(one.name, **aimed)


@pytest.mark.parametrize("calling", ["native", pytest.param("json", marks=pytest.mark.slow), "text"])
async def test_a_hostile_model_gets_nothing_out_of_its_tools(
    calling: str, fence: str, fakes: FakeProviders, workspace: Path, outside: Path
) -> None:
    with world() as around:
        turns = [[_aim(one, around, outside) for one in turn] for turn in _attacks()]
        fakes.openai.says(*(said for turn in turns for said in (_answer(turn, calling), "I give up.")))
        before = _files(outside)
        source = _discussion(calling, workspace, outside)
        result = await ConversationManager.from_config(source, out=outside / "runs").run_discussion(log := EventLog())

        returned = [event.result for event in log.events if isinstance(event, ToolReturned)]
        assert sorted(one.call.name for one in returned) == sorted(one.name for turn in turns for one in turn)
        assert result.status == "done"
        for one in returned:
            said = one.text.replace(json.dumps(one.call.arguments.get("code", "")), "")
            assert "SECRET" not in said, one
            assert "ESCAPED\\n" not in said, one
        assert _files(outside) == before
        assert around.visits == 0
    assert survivors(workspace) == []
    assert os.listdir(workspace / ".git" / "hooks") == []
    assert "SECRET key" not in (result.run_dir / "journal.jsonl").read_text()
