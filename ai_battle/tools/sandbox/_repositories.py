"""Where git looks for settings and hooks: repositories in a workspace, their submodules, and bare ones."""

import os
from collections.abc import Iterator
from pathlib import Path

from ._folders import is_folder, listed, make_usable, walked
from ._gitconfig import is_harmless

# What work in a repository changes and git never runs; all else in one is put back, hooks and settings above all.
_HISTORY = frozenset((
    "COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "ORIG_HEAD", "annex", "index",
    "lfs", "logs", "modules", "objects", "packed-refs", "refs",
))  # fmt: skip
# In a bare one anything may stand beside; these git acts on.
_ACTED_ON = (
    "commondir", "config", "config.worktree", "hooks", "rebase-apply", "rebase-merge", "sequencer", "worktrees",
)  # fmt: skip
_DEEPEST = 40  # folders below the first repository: what lies deeper is taken for one of the program's


def dotted_and_bare(workspace: Path) -> tuple[list[Path], list[Path]]:
    """Every `.git` in its folders, whatever it is, but not its own; and folders that git takes for repositories."""
    dotted, bare = [], []
    for folder, names in walked(workspace, but=".git"):
        if ".git" in names and folder != str(workspace):
            dotted.append(Path(folder, ".git"))
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
            bare.append(Path(folder))
    return dotted, bare


def repositories(found: Path) -> list[Path]:
    """It, and those of its submodules, which have theirs inside it."""
    all_of_them, waiting = [], [found] if is_folder(found) else []
    while waiting:
        make_usable(folder := waiting.pop())
        deep = len(folder.parts) - len(found.parts) > _DEEPEST
        if os.path.lexists(folder / "HEAD") or folder.name == ".git" or deep:
            all_of_them.append(folder)
            waiting += filter(is_folder, listed(folder / "modules"))
        else:
            waiting += filter(is_folder, listed(folder))
    return all_of_them


def settings(repository: Path) -> Iterator[Path]:
    return (path for path in listed(repository) if path.name not in _HISTORY)


def settings_of_bare(repository: Path) -> Iterator[Path]:
    return (repository / name for name in _ACTED_ON)


def is_programs_own(repository: Path) -> bool:
    """One that a program made here, as it was left then: who has added settings or hooks to it has made it theirs."""
    if not is_folder(repository) or not is_harmless(repository / "config", bare=False):
        return False
    return all(path.name == "config" for path in settings(repository))
