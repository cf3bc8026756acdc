"""What a program makes that git takes for a repository keeps its history, and runs nothing."""

import os
from pathlib import Path

import pytest

from ai_battle.tools.sandbox import Snapshot, protected_paths

_TRAP = "[core]\n\tworktree = ..\n\tfsmonitor = trap\n[include]\n\tpath = trap\n"


@pytest.mark.parametrize("place", [".", "folder", ".git/../deep/er"])
@pytest.mark.parametrize("names", [("objects", "refs"), ("commondir",)])
def test_what_git_takes_for_a_repository_without_files_runs_nothing(
    place: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    """Git finds these in the folder that it is called in."""
    snapshot = Snapshot(tmp_path)
    folder = (tmp_path / place).resolve()
    for name in ("hooks", *names):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(_TRAP)
    (folder / "mine.txt").write_text("mine")
    snapshot.restore()
    assert "trap" not in (folder / "config").read_text()
    assert not {"hooks", "commondir"} & {path.name for path in folder.iterdir()}
    assert (folder / "mine.txt").read_text() == "mine"
    before = (folder / "config").read_text()
    snapshot = Snapshot(tmp_path)
    (folder / "config").write_text(_TRAP)
    for name in ("hooks", *names):
        (folder / name).mkdir(exist_ok=True)
    snapshot.restore()
    assert (folder / "config").read_text() == before
    assert not (folder / "hooks").exists()


def test_a_new_repository_keeps_the_settings_that_run_nothing(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = trap\n\tworktree = /\n[user]\n\tname = Zoë Q. Example\n"
        '[remote "origin"]\n\turl = ../there.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tuploadpack = trap\n'
        '[remote "bad"]\n\turl = ext::trap\n[remote "-trap"]\n\turl = x\n[remote "o"]\n\turl = ssh://-otrap/x\n'
        '[alias]\n\tst = !trap\n[user] ; trap\n\temail = trap\n[include]\n\tpath = trap\n[user]\n\temail = "trap"\n'
        "[user]\n\tname = trap \\\n[pull]\n\trebase = false\n"
    )
    snapshot.restore()
    assert (tmp_path / ".git" / "config").read_text().splitlines()[1:] == [
        *("[core]", "\trepositoryformatversion = 0", "[user]", "\tname = Zoë Q. Example", '[remote "origin"]'),
        *("\turl = ../there.git", "\tfetch = +refs/heads/*:refs/remotes/origin/*", "[pull]", "\trebase = false"),
    ]


def test_a_repository_of_a_program_is_its_own_until_somebody_adds_to_it(tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / ".git" / "config").write_text("[user]\n\tname = a\n")
    assert protected_paths(tmp_path)
    snapshot.restore()
    assert not protected_paths(tmp_path)
    snapshot = Snapshot(tmp_path)
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write("[user]\n\temail = b\n[alias]\n\tst = !trap\n")
    snapshot.restore()
    assert "email" in (tmp_path / ".git" / "config").read_text()
    assert "trap" not in (tmp_path / ".git" / "config").read_text()
    (tmp_path / ".git" / "hooks").mkdir()
    assert protected_paths(tmp_path)
    (tmp_path / ".git" / "hooks").rmdir()
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write("[alias]\n\tst = status\n")
    assert protected_paths(tmp_path)


@pytest.mark.parametrize("size", [1 << 30, 70_000])
def test_settings_that_are_no_settings_are_not_read(size: int, tmp_path: Path) -> None:
    snapshot = Snapshot(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[user]\n\tname = a\n")
    os.truncate(tmp_path / ".git" / "config", size)
    (tmp_path / "other" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "other" / ".git" / "config")
    snapshot.restore()
    for folder in (tmp_path, tmp_path / "other"):
        assert (folder / ".git" / "config").read_text().endswith("bare = false\n")
