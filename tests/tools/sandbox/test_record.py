"""Where a run is recorded can be in the workspace, and is out of reach for programs all the same."""

from pathlib import Path

import pytest

from ai_battle.core.errors import ToolError
from ai_battle.tools.builtin.code_execution import CodeExecutionTool
from ai_battle.tools.sandbox import Docker, Program, Sandbox, why_not

from .conftest import no_bubblewrap, write_docker_client

FORGING = """
import os, shutil
from pathlib import Path
def attempt(what, *arguments):
    try:
        return what(*arguments)
    except OSError as error:
        return type(error).__name__
record = Path("runs/2026/one")
print(attempt(os.listdir, record))
for forged in (record / "journal.jsonl", record / "new"):
    print(attempt(forged.write_text, "forged"))
for path in (record, *record.parents[:-1]):
    print(attempt(path.rename, "elsewhere"), attempt(shutil.rmtree, path))
Path("runs/2026/mine").write_text("mine")
"""
REFUSED = ("OSError", "PermissionError", "FileNotFoundError")


@pytest.fixture
def record(workspace: Path) -> Path:
    (folder := workspace / "runs" / "2026" / "one").mkdir(parents=True)
    (folder / "journal.jsonl").write_text("kept")
    return folder


def is_whole(record: Path) -> bool:
    return [(path.name, path.read_text()) for path in record.iterdir()] == [("journal.jsonl", "kept")]


async def test_a_program_neither_reads_nor_forges_the_record(sandbox: Sandbox, workspace: Path, record: Path) -> None:
    if sandbox.name == "landlock":
        with pytest.raises(
            ToolError, match=r"holds .*one', which landlock can't keep from programs; choose a workspace"
        ):
            await sandbox.run(Program("python", FORGING, 10), workspace, closed=record)
    else:
        outcome = await sandbox.run(Program("python", FORGING, 10), workspace, closed=record)
        listed, *tried = outcome.stdout.split("\n")
        assert (listed, outcome.stderr) == ("[]", "")
        assert {word for line in tried for word in line.split()} <= set(REFUSED)
        assert (workspace / "runs" / "2026" / "mine").read_text() == "mine"
    assert is_whole(record)


async def test_docker_keeps_it_too(workspace: Path, record: Path, tmp_path: Path) -> None:
    if reason := no_bubblewrap():
        pytest.skip(f"{reason}; it stands in for Docker")
    client = tmp_path / "docker"
    write_docker_client(client)
    fence = Docker(str(client))
    assert why_not(fence, str(client)) == ""
    outcome = await Sandbox(fence).run(Program("python", FORGING, 10), workspace, closed=record)
    assert outcome.stdout.startswith("[]\n")
    assert is_whole(record)


async def test_a_workspace_in_the_record_is_open(sandbox: Sandbox, workspace: Path) -> None:
    outcome = await sandbox.run(Program("bash", "echo here > mine", 10), workspace, closed=workspace.parent)
    assert (outcome.exit_code, (workspace / "mine").read_text()) == (0, "here\n")


async def test_the_tool_closes_the_record_of_its_run(workspace: Path, record: Path) -> None:
    if reason := no_bubblewrap():
        pytest.skip(reason)
    tool = CodeExecutionTool(workspace, run_dir=record)
    assert (await tool.execute({"language": "bash", "code": "ls runs/2026/one"}))["stdout"] == ""
    assert (await tool.execute({"language": "bash", "code": "echo x > runs/2026/one/x"}))["exit_code"] == 1
    assert is_whole(record)
