"""Files of the workspace, and none outside of it, whatever a path or the workspace itself tries."""

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_battle.core.errors import ToolError
from ai_battle.tools.builtin.file_manipulation import FileManipulationTool
from ai_battle.tools.rooted import RootedFolder

from .conftest import Call

SECRET = "the secret of the user"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET, encoding="utf-8")
    (work := tmp_path / "work").mkdir()
    (work / "notes").mkdir()
    (work / "notes" / "plan.md").write_text("# Plan\nBuy milk.\nSell milk.\n", encoding="utf-8")
    (work / "main.py").write_text("print('hello')\n", encoding="utf-8")
    return work


@pytest.fixture
def files(workspace: Path) -> FileManipulationTool:
    return FileManipulationTool(workspace)


async def test_a_folder_is_listed(files: FileManipulationTool, call_tool: Call) -> None:
    listed = await call_tool(files, action="list")
    assert listed == {
        "entries": [
            {"path": "main.py", "type": "file", "size": 15},
            {"path": "notes", "type": "folder", "size": listed["entries"][1]["size"]},
        ],
        "total": 2,
    }
    everything = await call_tool(files, action="list", recursive=True, file_pattern="*.md")
    assert [entry["path"] for entry in everything["entries"]] == ["notes/plan.md"]


async def test_a_file_is_read_as_a_whole_or_by_lines(files: FileManipulationTool, call_tool: Call) -> None:
    assert await call_tool(files, action="read", path="notes/plan.md") == {
        "path": "notes/plan.md",
        "content": "# Plan\nBuy milk.\nSell milk.\n",
        "size": 28,
    }
    part = await call_tool(files, action="read", path="./notes//plan.md", first_line="2", line_count=1)
    assert (part["content"], part["lines"]) == ("Buy milk.", "2 to 2 of 4")


async def test_a_file_is_written_with_the_folders_that_lead_to_it(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    made = await call_tool(files, action="write", path="src/deep/a.txt", content="grüße\n")
    assert made == {"path": "src/deep/a.txt", "size": 8, "created": True}
    assert (workspace / "src/deep/a.txt").read_text(encoding="utf-8") == "grüße\n"
    assert (await call_tool(files, action="write", path="src/deep/a.txt", content=""))["created"] is False
    assert [path.name for path in (workspace / "src/deep").iterdir()] == ["a.txt"]


async def test_lines_beyond_the_end_are_an_error_that_says_where_it_is(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    output = await call_tool(files, action="read", path="notes/plan.md", first_line=9)
    assert output == {"error": "notes/plan.md has no line 9 to begin with: it has 4."}
    (workspace / "long.txt").write_text("x\n" * (1 << 20), encoding="utf-8")
    output = await call_tool(files, action="read", path="long.txt", first_line=900_000)
    assert "the first 1,048,576 of its 2,097,152 bytes have 524,289" in output["error"]


async def test_a_workspace_is_made_by_writing_and_not_by_looking(tmp_path: Path, call_tool: Call) -> None:
    files = FileManipulationTool(tmp_path / "new" / "work")
    assert await call_tool(files, action="list") == {"entries": [], "total": 0}
    assert await call_tool(files, action="search", query="x") == {"matches": []}
    assert "error" in await call_tool(files, action="read", path="a.txt")
    assert "error" in await call_tool(files, action="edit", path="a.txt", old_text="a", new_text="b")
    assert os.listdir(tmp_path) == []
    await call_tool(files, action="write", path="a.txt", content="")
    assert os.listdir(tmp_path / "new" / "work") == ["a.txt"]


async def test_the_record_of_the_run_is_closed_even_inside_of_the_workspace(workspace: Path, call_tool: Call) -> None:
    (record := workspace / "runs" / "one").mkdir(parents=True)
    (record / "journal.jsonl").write_text(SECRET, encoding="utf-8")
    (record / "workspace").mkdir()
    files = FileManipulationTool(workspace, run_dir=record)
    for path in ("runs/one/journal.jsonl", "runs/one/new.txt", "runs/one/workspace/a.txt"):
        for asked in ({"action": "read"}, {"action": "write", "content": ""}, {"action": "search", "query": "s"}):
            output = await call_tool(files, path=path, **asked)
            assert "where this run is recorded" in output["error"]
    assert await call_tool(files, action="search", query="secret") == {"matches": []}
    assert "error" in await call_tool(FileManipulationTool(record, run_dir=record), action="list")
    assert "error" not in await call_tool(FileManipulationTool(record / "workspace", run_dir=record), action="list")
    assert sorted(os.listdir(record)) == ["journal.jsonl", "workspace"]


async def test_a_read_only_file_stays_as_it_is(files: FileManipulationTool, workspace: Path, call_tool: Call) -> None:
    (workspace / "main.py").chmod(0o444)
    assert "read-only" in (await call_tool(files, action="write", path="main.py", content=""))["error"]
    edited = await call_tool(files, action="edit", path="main.py", old_text="hello", new_text="bye")
    assert "read-only" in edited["error"]
    assert (workspace / "main.py").read_text(encoding="utf-8") == "print('hello')\n"


async def test_half_a_character_is_not_written_as_another(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    output = await call_tool(files, action="write", path="a.txt", content="ab\ud83d")
    assert "half a character (at 2)" in output["error"]
    assert not (workspace / "a.txt").exists()


async def test_writing_keeps_the_mode_of_a_file(files: FileManipulationTool, workspace: Path, call_tool: Call) -> None:
    (workspace / "main.py").chmod(0o4755)
    await call_tool(files, action="write", path="main.py", content="")
    assert (workspace / "main.py").stat().st_mode & 0o7777 == 0o755


async def test_an_edit_replaces_the_one_place(files: FileManipulationTool, workspace: Path, call_tool: Call) -> None:
    edited = await call_tool(files, action="edit", path="notes/plan.md", old_text="Buy milk", new_text="Buy bread")
    assert edited == {"path": "notes/plan.md", "replaced": 1, "line": 2}
    assert (workspace / "notes/plan.md").read_text(encoding="utf-8") == "# Plan\nBuy bread.\nSell milk.\n"


async def test_an_edit_keeps_line_ends(files: FileManipulationTool, workspace: Path, call_tool: Call) -> None:
    (workspace / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await call_tool(files, action="edit", path="dos.txt", old_text="one\ntwo", new_text="1\n2")
    assert (workspace / "dos.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("milk", "bread", "old_text occurs 2 times in notes/plan.md; give more"),
        ("butter", "bread", "does not occur in notes/plan.md; read the file"),
        ("Buy  milk.\n Sell", "x", "It does but for white space."),
        ("", "x", "old_text is empty"),
        ("Buy milk.", "Buy milk.", "are the same"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(
    files: FileManipulationTool, workspace: Path, call_tool: Call, old: str, new: str, said: str
) -> None:
    before = (workspace / "notes/plan.md").read_bytes()
    assert said in (await call_tool(files, action="edit", path="notes/plan.md", old_text=old, new_text=new))["error"]
    assert (workspace / "notes/plan.md").read_bytes() == before


async def test_lines_that_hold_a_text_are_found(files: FileManipulationTool, call_tool: Call) -> None:
    found = await call_tool(files, action="search", query="MILK", file_pattern="*.md")
    assert found == {
        "matches": [
            {"path": "notes/plan.md", "line": 2, "text": "Buy milk."},
            {"path": "notes/plan.md", "line": 3, "text": "Sell milk."},
        ]
    }
    assert len((await call_tool(files, action="search", query="milk", path="notes/plan.md"))["matches"]) == 2
    assert await call_tool(files, action="search", query="milk", path="main.py") == {"matches": []}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"action": "delete"}, 'expected one of "list", "read", "write", "edit", "search", got "delete"'),
        ({"action": "write", "path": "a"}, "write needs content"),
        ({"action": "edit", "path": "a", "old_text": "b"}, "edit needs new_text"),
        ({"action": "search"}, "search needs query"),
        ({"action": "read"}, "A path of a file is needed"),
        ({"action": "read", "path": "notes"}, "notes is a folder, not a file"),
        ({"action": "read", "path": "missing/a"}, "missing: there is no such file or folder"),
        ({"action": "list", "path": "main.py"}, "main.py: this is not a folder"),
        ({"action": "write", "path": "main.py/a", "content": ""}, "main.py: this is not a folder"),
        ({"action": "write", "path": "notes", "content": ""}, "notes is a folder, not a file"),
        ({"action": "write", "path": "a" * 300, "content": ""}, "the name is too long"),
        ({"action": "search", "query": "x", "path": "missing"}, "there is no such file"),
    ],
    ids=str,
)
async def test_what_can_not_be_done_is_told(
    files: FileManipulationTool, call_tool: Call, given: dict[str, Any], said: str
) -> None:
    assert said in (await call_tool(files, **given))["error"]


OUTSIDE = [
    "../secret.txt",
    "notes/../../secret.txt",
    "notes/../main.py",
    "..",
    "./..",
    "/etc/passwd",
    "//etc/passwd",
    "~/.ssh/id_rsa",
    "~root/.bashrc",
    "..\\secret.txt",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "main.py\0.txt",
    "\ud800",
    "a/" * 100 + "b",
    "a" * 5000,
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: repr(path)[:40])
@pytest.mark.parametrize("action", ["list", "read", "write", "edit", "search"])
async def test_paths_that_lead_outside_are_refused(
    files: FileManipulationTool, workspace: Path, call_tool: Call, action: str, path: str
) -> None:
    more = {"content": "x", "old_text": "secret", "new_text": "known", "query": "secret"}
    output = await call_tool(files, action=action, path=path, **more)
    assert set(output) == {"error"}
    assert SECRET not in output["error"]
    assert (workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET
    assert sorted(one.name for one in workspace.parent.iterdir()) == ["secret.txt", "work"]


@pytest.mark.parametrize(
    "path", ["%2e%2e/secret.txt", "\uff0e\uff0e/secret.txt", "\u2024\u2024/secret.txt", "file:///etc/passwd", "..."]
)
async def test_what_only_looks_like_a_way_out_is_a_name_inside(
    files: FileManipulationTool, workspace: Path, call_tool: Call, path: str
) -> None:
    output = await call_tool(files, action="write", path=path, content="x")
    assert "error" not in output
    assert (workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET


@pytest.fixture
def linked_workspace(workspace: Path) -> Path:
    (workspace / "link.txt").symlink_to("../secret.txt")
    (workspace / "absolute.txt").symlink_to(workspace.parent / "secret.txt")
    (workspace / "up").symlink_to("..")
    (workspace / "root").symlink_to("/")
    (workspace / "dangling").symlink_to("../made.txt")
    (workspace / "inside").symlink_to("notes")
    (workspace / "loop").symlink_to("loop")
    (workspace / "fd").symlink_to("/proc/self/fd")
    return workspace


@pytest.mark.parametrize(
    "path",
    [
        "link.txt",
        "absolute.txt",
        "up/secret.txt",
        "root/etc/passwd",
        "dangling",
        "inside/plan.md",
        "loop",
        "loop/a",
        "fd/1",
    ],
)
@pytest.mark.parametrize("action", ["list", "read", "write", "edit", "search"])
async def test_links_are_not_followed(
    files: FileManipulationTool, linked_workspace: Path, call_tool: Call, action: str, path: str
) -> None:
    more = {"content": "x", "old_text": "secret", "new_text": "known", "query": "secret"}
    output = await call_tool(files, action=action, path=path, **more)
    assert "link" in output["error"]
    assert (linked_workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET
    assert not (linked_workspace.parent / "made.txt").exists()


async def test_listing_and_searching_do_not_follow_links_either(
    files: FileManipulationTool, linked_workspace: Path, call_tool: Call
) -> None:
    listed = await call_tool(files, action="list", recursive=True)
    assert {entry["type"] for entry in listed["entries"] if entry["path"] in ("up", "root", "link.txt")} == {"link"}
    assert not [entry for entry in listed["entries"] if entry["path"].startswith(("up/", "root/"))]
    assert await call_tool(files, action="search", query="secret of") == {"matches": []}


async def test_the_workspace_itself_may_be_a_link(workspace: Path, tmp_path: Path, call_tool: Call) -> None:
    (tmp_path / "alias").symlink_to(workspace)
    assert (
        "hello" in (await call_tool(FileManipulationTool(tmp_path / "alias"), action="read", path="main.py"))["content"]
    )


def test_a_folder_that_is_swapped_for_a_link_while_it_is_used_leads_nowhere(workspace: Path) -> None:
    """A second thread swaps `box` for a link to the parent and back, as fast as it can."""
    (workspace / "box").mkdir()
    (workspace / "box" / "secret.txt").write_text("decoy", encoding="utf-8")
    (workspace / "trap").symlink_to("..")
    stop = threading.Event()

    def swaps() -> None:
        """Writing makes folders that are missing, so a new box may stand in the way."""
        while not stop.is_set():
            for one, other in (("box", "aside"), ("trap", "box"), ("box", "trap"), ("aside", "box")):
                with suppress(OSError):
                    os.rename(workspace / one, workspace / other)
            with suppress(OSError):
                shutil.rmtree(workspace / "aside")

    swapper = threading.Thread(target=swaps)
    swapper.start()
    rooted, read, refused = RootedFolder(workspace), 0, 0
    try:
        while min(read, refused) < 50:
            try:
                rooted.write("box/secret.txt", b"decoy")
                assert rooted.read("box/secret.txt", 100)[0] == b"decoy"
                read += 1
            except ToolError:
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert (workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET


@pytest.fixture
def odd(workspace: Path) -> Iterator[Path]:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(workspace)
        listening.bind("socket")
        os.chdir(here)
        yield workspace


@pytest.mark.parametrize("path", ["pipe", "socket"])
@pytest.mark.parametrize("action", ["read", "write", "edit", "search"])
async def test_what_is_no_file_is_not_opened(
    files: FileManipulationTool, odd: Path, call_tool: Call, action: str, path: str
) -> None:
    """Opening a pipe would wait for ever."""
    more = {"content": "x", "old_text": "a", "new_text": "b", "query": "a"}
    assert f"{path} is a {path}, not a file" in (await call_tool(files, action=action, path=path, **more))["error"]
    assert (await call_tool(files, action="search", query="hello"))["matches"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
async def test_devices_are_not_opened(files: FileManipulationTool, workspace: Path, call_tool: Call) -> None:
    try:
        os.mknod(workspace / "zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this machine makes no devices")
    assert "not a file" in (await call_tool(files, action="read", path="zero"))["error"]


@pytest.mark.parametrize(
    "path",
    [".git/hooks/post-commit", "sub/.git/config", ".GIT/config", ".g\u200cit/config", "\uff0egit/config", ".git./x",
     ".vscode/tasks.json", ".idea/workspace.xml", ".mcp.json", ".envrc", ".devcontainer/devcontainer.json", ".git",
     ".zed/tasks.json", ".nvim.lua", ".dir-locals.el", "Shop.code-workspace"],
)  # fmt: skip
async def test_files_that_other_programs_run_are_not_written(
    files: FileManipulationTool, workspace: Path, call_tool: Call, path: str
) -> None:
    assert "is not written to" in (await call_tool(files, action="write", path=path, content="x"))["error"]
    assert sorted(os.listdir(workspace)) == ["main.py", "notes"]


async def test_ordinary_names_with_a_dot_are_written(files: FileManipulationTool, call_tool: Call) -> None:
    for path in (
        ".gitignore",
        ".github/workflows/ci.yml",
        "a.git",
        ".env.example",
        "..hidden",
        "a..b",
        "with space.txt",
    ):
        assert "error" not in await call_tool(files, action="write", path=path, content="x"), path


async def test_a_hard_link_to_a_file_outside_is_broken_by_writing(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    os.link(workspace.parent / "secret.txt", workspace / "hard.txt")
    await call_tool(files, action="write", path="hard.txt", content="mine")
    assert (workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET


async def test_a_sparse_file_of_a_terabyte_costs_nothing(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    (workspace / "sparse").write_bytes(b"begin\n")
    os.truncate(workspace / "sparse", 1 << 40)
    assert "not text" in (await call_tool(files, action="read", path="sparse"))["error"]
    assert (
        "can be edited" in (await call_tool(files, action="edit", path="sparse", old_text="a", new_text="b"))["error"]
    )
    assert await call_tool(files, action="search", query="begin") == {"matches": []}


async def test_contents_are_bounded(files: FileManipulationTool, call_tool: Call) -> None:
    assert "bytes" in (await call_tool(files, action="write", path="big", content="x" * (5 << 20)))["error"]
    await call_tool(files, action="write", path="long.txt", content="line\n" * 100_000)
    output = await call_tool(files, action="read", path="long.txt")
    assert "characters cut" in output["content"]
    assert len(output["content"]) < 40_000


async def test_a_folder_with_very_many_files_is_listed_in_part(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    for number in range(1_100):
        (workspace / "notes" / f"{number:04}").touch()
    output = await call_tool(files, action="list", path="notes")
    assert (output["total"], output["truncated"], len(output["entries"])) == (1_101, True, 300)


async def test_hostile_names_are_listed_without_harm(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    names = [b"\xff\xfe.txt", b"new\nline", b"\x1b[31mred", b"-rf", b"$(id)", b"a" * 255]
    for name in names:
        (workspace / os.fsdecode(name)).write_text("milk", encoding="utf-8")
    listed = await call_tool(files, action="list")
    assert len(listed["entries"]) == len(names) + 2
    assert "error" not in await call_tool(files, action="search", query="milk")


@pytest.mark.parametrize(
    "name", ["invoice\u202efdp.exe", "a\u2066b\u2069.txt", "pay\u200bpal", "⟨U+202E⟩", "new\nline"]
)
async def test_what_is_not_seen_of_a_name_is_listed_as_a_sign_and_opens_the_file(
    files: FileManipulationTool, workspace: Path, call_tool: Call, name: str
) -> None:
    (workspace / "notes" / name).write_text("milk", encoding="utf-8")
    entries = (await call_tool(files, action="list", path="notes"))["entries"]
    (shown,) = [entry["path"] for entry in entries if "plan" not in entry["path"]]

    assert shown.isprintable()
    assert shown != f"notes/{name}"
    assert (await call_tool(files, action="read", path=shown))["content"] == "milk"


@pytest.mark.parametrize("path", ["⟨U+002E⟩⟨U+002E⟩/secret.txt", "⟨U+002F⟩etc/passwd", "a⟨U+0000⟩", "⟨U+DC80⟩"])
async def test_a_sign_in_a_path_leads_nowhere_else(files: FileManipulationTool, call_tool: Call, path: str) -> None:
    assert set(await call_tool(files, action="read", path=path)) == {"error"}


async def test_binary_and_damaged_text_is_not_edited(
    files: FileManipulationTool, workspace: Path, call_tool: Call
) -> None:
    (workspace / "latin.txt").write_bytes(b"caf\xe9 milk")
    assert "damage" in (await call_tool(files, action="edit", path="latin.txt", old_text="milk", new_text="x"))["error"]
    assert (await call_tool(files, action="read", path="latin.txt"))["content"] == "caf\ufffd milk"


async def test_a_workspace_that_holds_the_home_directory_is_refused(
    tmp_path: Path, call_tool: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for workspace in (tmp_path, Path("/"), tmp_path / "home"):
        assert "home directory" in (await call_tool(FileManipulationTool(workspace), action="list"))["error"]


async def test_a_home_directory_behind_a_link_is_one(
    tmp_path: Path, call_tool: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "disk" / "ann").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk" / "ann")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert "home directory" in (await call_tool(FileManipulationTool(tmp_path / "disk"), action="list"))["error"]
    assert "error" not in await call_tool(FileManipulationTool(tmp_path / "disk" / "ann" / "work"), action="list")


async def test_files_may_be_given_for_reading_only(workspace: Path, call_tool: Call) -> None:
    files = FileManipulationTool(workspace, read_only=True)
    assert "may only be read" in (await call_tool(files, action="write", path="a", content="x"))["error"]
    assert "content" in await call_tool(files, action="read", path="main.py")
    assert not files.writes


def test_only_writing_actions_count_as_writing(files: FileManipulationTool) -> None:
    assert [files.changes({"action": action}) for action in ("list", "read", "search", "write", "edit")] == [
        False, False, False, True, True,
    ]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.lists(
        st.sampled_from(["..", ".", "", "a", "link.txt", "up", "~", "secret.txt", "\\", "\0", " ", "..."])
    ).map("/".join)
)
def test_no_path_reads_or_writes_outside(linked_workspace: Path, path: str) -> None:
    rooted = RootedFolder(linked_workspace)
    for action in (lambda: rooted.read(path, 100), lambda: rooted.write(path, b"x"), lambda: rooted.entries(path, 10)):
        with suppress(ToolError):
            assert SECRET not in str(action())
    assert sorted(one.name for one in linked_workspace.parent.iterdir()) == ["secret.txt", "work"]
    assert (linked_workspace.parent / "secret.txt").read_text(encoding="utf-8") == SECRET
