"""Settings that run code of their own accord are as they were, whatever a program did to them."""

import inspect
import os
import shutil
import sys
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Snapshot


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    folder = tmp_path / "workspace"
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (folder / ".git" / "hooks" / "pre-push").chmod(0o755)
    (folder / ".envrc").symlink_to("../outside/kept")
    return folder


def test_a_changed_hook_is_put_back_with_its_mode(workspace: Path) -> None:
    snapshot = Snapshot(workspace)
    hook = workspace / ".git" / "hooks" / "pre-push"
    hook.write_text("trap")
    hook.chmod(0o644)
    (workspace / ".git" / "hooks" / "post-commit").write_text("trap")
    snapshot.restore()
    assert hook.read_text() == "#!/bin/sh\n"
    assert hook.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in hook.parent.iterdir()] == ["pre-push"]


def test_what_was_not_there_is_taken_away(workspace: Path) -> None:
    snapshot = Snapshot(workspace)
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "tasks.json").write_text("trap")
    for name in (".mcp.json", ".exrc", ".nvim.lua", ".dir-locals.el"):
        (workspace / name).write_text("trap")
    for name in (".claude", ".cursor", ".idea", ".zed", ".devcontainer", ".husky"):
        (workspace / name).mkdir()
    snapshot.restore()
    assert sorted(path.name for path in workspace.iterdir()) == [".envrc", ".git"]


def test_a_link_in_the_place_of_a_folder_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    snapshot = Snapshot(workspace)
    (workspace / ".git").rename(workspace / "old")
    (workspace / ".git").symlink_to("../outside")
    (workspace / ".envrc").unlink()
    (workspace / ".envrc").mkdir()
    snapshot.restore()
    assert (workspace / ".git" / "config").read_text() == "[core]\n"
    assert (workspace / ".envrc").readlink() == Path("../outside/kept")
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["kept"]


def test_a_pipe_in_the_place_of_a_file_blocks_nobody(workspace: Path) -> None:
    snapshot = Snapshot(workspace)
    (workspace / ".git" / "config").unlink()
    os.mkfifo(workspace / ".git" / "config")
    snapshot.restore()
    assert (workspace / ".git" / "config").read_text() == "[core]\n"
    os.mkfifo(workspace / ".mcp.json")
    Snapshot(workspace).restore()


def test_a_new_repository_stays_but_runs_nothing(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / ".git" / "hooks" / "post-commit").write_text("trap")
    (tmp_path / ".git" / "config").write_text("[core]\n\tfsmonitor = trap\n")
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    snapshot.restore()
    assert "trap" not in (tmp_path / ".git" / "config").read_text()
    assert sorted(path.name for path in (tmp_path / ".git").iterdir()) == ["HEAD", "config"]


def test_a_new_repository_elsewhere_is_taken_away(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    (tmp_path / ".git").write_text("gitdir: ../elsewhere\n")
    snapshot.restore()
    assert list(tmp_path.iterdir()) == []


def test_a_rebase_that_the_program_has_begun_is_taken_away(workspace: Path) -> None:
    """Its list of steps may have commands in it, which git runs to go on."""
    snapshot = Snapshot(workspace)
    (workspace / ".git" / "rebase-merge").mkdir()
    (workspace / ".git" / "rebase-merge" / "git-rebase-todo").write_text("exec trap\n")
    (workspace / ".git" / "refs" / "heads").mkdir(parents=True)
    (workspace / ".git" / "index").write_text("work")
    snapshot.restore()
    assert sorted(path.name for path in (workspace / ".git").iterdir()) == ["config", "hooks", "index", "refs"]


def test_hooks_of_submodules_are_put_back_and_new_ones_taken_away(workspace: Path) -> None:
    inner = workspace / ".git" / "modules" / "libs" / "inner"
    (inner / "hooks").mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "config").write_text("[core]\n")
    snapshot = Snapshot(workspace)
    (inner / "hooks" / "post-checkout").write_text("trap")
    (inner / "config").write_text("trap")
    added = workspace / ".git" / "modules" / "added"
    (added / "hooks").mkdir(parents=True)
    (added / "HEAD").write_text("ref: refs/heads/main\n")
    snapshot.restore()
    assert list((inner / "hooks").iterdir()) == []
    assert (inner / "config").read_text() == "[core]\n"
    assert not added.exists()


def _deep(folder: Path) -> None:
    """Deeper than a program may recurse; something stands at the end."""
    folder.mkdir(parents=True)
    here = os.open(folder, os.O_DIRECTORY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("end", os.O_CREAT, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize("name", [".git/aa", ".git/modules/added", ".vscode"])
def test_no_depth_keeps_anything_from_being_put_back(name: str, workspace: Path) -> None:
    snapshot = Snapshot(workspace)
    _deep(workspace / name)
    hook = workspace / ".git" / "hooks" / "pre-push"
    hook.write_text("trap")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    try:
        snapshot.restore()
    finally:
        sys.setrecursionlimit(before)
    assert hook.read_text() == "#!/bin/sh\n"
    assert max(len(path.relative_to(workspace).parts) for path in workspace.rglob("*")) < 50


def test_rights_that_were_taken_away_keep_nothing_from_being_put_back(workspace: Path) -> None:
    snapshot = Snapshot(workspace)
    hook = workspace / ".git" / "hooks" / "pre-push"
    hook.write_text("trap")
    (workspace / ".vscode" / "inner").mkdir(parents=True)
    for path in (".vscode/inner", ".vscode", ".git/hooks", ".git", "."):
        (workspace / path).chmod(0)
    snapshot.restore()
    assert hook.read_text() == "#!/bin/sh\n"
    assert not (workspace / ".vscode").exists()


def test_what_a_program_has_put_there_is_not_read(workspace: Path) -> None:
    """A thousand files with holes would be more than there is memory."""
    snapshot = Snapshot(workspace)
    (workspace / ".git" / "holes").mkdir()
    for file in (workspace / ".git" / "config", *(workspace / ".git" / "holes" / str(n) for n in range(1_000))):
        file.touch()
        os.truncate(file, 1 << 40)
    snapshot.restore()
    assert (workspace / ".git" / "config").read_text() == "[core]\n"
    assert not (workspace / ".git" / "holes").exists()


def test_repositories_in_folders_run_nothing_either(workspace: Path) -> None:
    """The outer one's status asks them for theirs."""
    kept = workspace / "libs" / "kept" / ".git"
    (kept / "hooks").mkdir(parents=True)
    (kept / "HEAD").write_text("ref: refs/heads/main\n")
    (kept / "config").write_text("[core]\n")
    (workspace / "linked").mkdir()
    (workspace / "linked" / ".git").write_text("gitdir: ../libs/kept/.git\n")
    snapshot = Snapshot(workspace)
    (kept / "config").write_text("trap")
    (kept / "hooks" / "post-checkout").write_text("trap")
    (workspace / "linked" / ".git").write_text("gitdir: ../trap\n")
    for name in ("new", "by a link", "by a file"):
        (workspace / name).mkdir()
    (workspace / "new" / ".git" / "hooks").mkdir(parents=True)
    (workspace / "new" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (workspace / "new" / ".git" / "config").write_text("[core]\n\tfsmonitor = trap\n")
    (workspace / "by a link" / ".git").symlink_to("../trap")
    (workspace / "by a file" / ".git").write_text("gitdir: ../trap\n")
    snapshot.restore()
    assert (kept / "config").read_text() == "[core]\n"
    assert list((kept / "hooks").iterdir()) == []
    assert (workspace / "linked" / ".git").read_text() == "gitdir: ../libs/kept/.git\n"
    assert "trap" not in (workspace / "new" / ".git" / "config").read_text()
    assert sorted(path.name for path in (workspace / "new" / ".git").iterdir()) == ["HEAD", "config"]
    assert not os.path.lexists(workspace / "by a link" / ".git")
    assert not os.path.lexists(workspace / "by a file" / ".git")


def test_a_repository_in_a_folder_may_be_removed(workspace: Path) -> None:
    (workspace / "inner" / ".git" / "hooks").mkdir(parents=True)
    snapshot = Snapshot(workspace)
    (workspace / "inner").rename(workspace / "moved")
    shutil.rmtree(workspace / "moved")
    snapshot.restore()
    assert not (workspace / "inner").exists()


def test_nothing_is_put_back_through_a_link(workspace: Path, tmp_path: Path) -> None:
    """The program has put one where a folder was, and it leads to a repository of the user's."""
    for repository in (workspace / "far" / "inner" / ".git", workspace / ".git" / "modules" / "part"):
        (repository / "hooks").mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/main\n")
        (repository / "config").write_text("[core]\n")
    theirs = tmp_path / "outside" / "inner" / ".git"
    (theirs / "hooks").mkdir(parents=True)
    (theirs / "hooks" / "pre-push").write_text("theirs")
    (theirs / "config").write_text("theirs")
    part = tmp_path / "outside" / "part"
    part.mkdir()
    snapshot = Snapshot(workspace)
    for name in ("far", ".git/modules"):
        (workspace / name).rename(workspace / f"{Path(name).name} away")
        (workspace / name).symlink_to(tmp_path / "outside")
    snapshot.restore()
    assert (theirs / "config").read_text() == (theirs / "hooks" / "pre-push").read_text() == "theirs"
    assert list(part.iterdir()) == []
    assert (workspace / ".git" / "modules" / "part" / "config").read_text() == "[core]\n"


def test_a_repository_that_was_moved_away_with_its_submodules_runs_nothing(workspace: Path) -> None:
    inner = workspace / ".git" / "modules" / "libs" / "inner"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    snapshot = Snapshot(workspace)
    (workspace / ".git").rename(workspace / "old")
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "hooks" / "pre-push").write_text("trap")
    snapshot.restore()
    assert (workspace / ".git" / "hooks" / "pre-push").read_text() == "#!/bin/sh\n"
