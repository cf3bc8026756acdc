"""Files in a workspace that run code of the user's own accord: what a program makes of them is undone."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from ._folders import found_below, is_folder, listed, make_usable, remove

PROTECTED = (".git", ".vscode", ".mcp.json", ".envrc")
# What work in a repository changes and git never runs; all else in one is put back, hooks and settings above all.
_HISTORY = frozenset((
    "COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "ORIG_HEAD", "annex", "index",
    "lfs", "logs", "modules", "objects", "packed-refs", "refs",
))  # fmt: skip
_NEW_REPOSITORY = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"

_DEEPEST = 40  # folders below the first repository: what lies deeper is taken for one of the program's

# Nothing, the target of a link, a file's bytes and mode, or a folder's content.
Picture: TypeAlias = "str | tuple[bytes, int] | Mapping[str, Picture] | None"


class Protected:
    """Looks at the workspace when it is made; `restore` is for when no process of the program is left."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._outer = workspace / ".git"
        inner = found_below(workspace, ".git")
        self._had_outer = is_folder(self._outer)
        self._roots = [path for path in (self._outer, *inner) if is_folder(path)]
        others = {*inner, *(workspace / name for name in PROTECTED)}.difference(self._roots)
        self._before = {path: _picture(path) for path in others}
        self._repositories = [repository for root in self._roots for repository in _repositories(root)]
        for repository in self._repositories:
            self._before |= {path: _picture(path) for path in _settings(repository)}

    def restore(self) -> None:
        make_usable(self._workspace)
        if self._had_outer:
            for repository in filter(self._is_outer, self._repositories):
                _make_folder(repository)
        for path in (self._outer, *found_below(self._workspace, ".git")):
            self._look_at(path)
        for path, picture in self._before.items():
            if is_folder(path.parent) and not _is_as_in(picture, path):
                _put(path, picture)

    def _is_outer(self, repository: Path) -> bool:
        return repository.is_relative_to(self._outer)

    def _look_at(self, path: Path) -> None:
        """A `.git` that is there now: git looks into those in folders from the outer repository, too."""
        if not is_folder(path):
            self._before.setdefault(path, None)
            return
        if path not in self._roots and self._before.get(path) is None:
            self._allow_new(path)
        for repository in _repositories(path):
            if repository not in self._repositories:
                remove(repository)
            else:
                self._before |= dict.fromkeys(set(_settings(repository)) - set(self._before))

    def _allow_new(self, repository: Path) -> None:
        """A program may well make a repository; its hooks and settings would run at the user's next git command."""
        self._before.pop(repository, None)
        self._repositories.append(repository)
        self._before[repository / "config"] = _NEW_REPOSITORY, 0o644


def _repositories(found: Path) -> list[Path]:
    """It, and those of its submodules, which have theirs inside it."""
    repositories, waiting = [], [found] if is_folder(found) else []
    while waiting:
        make_usable(folder := waiting.pop())
        deep = len(folder.parts) - len(found.parts) > _DEEPEST
        if os.path.lexists(folder / "HEAD") or folder.name == ".git" or deep:
            repositories.append(folder)
            waiting += filter(is_folder, listed(folder / "modules"))
        else:
            waiting += filter(is_folder, listed(folder))
    return repositories


def _settings(repository: Path) -> Iterator[Path]:
    return (path for path in listed(repository) if path.name not in _HISTORY)


def _make_folder(path: Path) -> None:
    if not is_folder(path):
        remove(path)
        path.mkdir()


def _picture(path: Path) -> Picture:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if stat.S_ISDIR(mode):
        return {child.name: _picture(child) for child in path.iterdir()}
    return (path.read_bytes() if stat.S_ISREG(mode) else b""), mode


def _is_as_in(picture: Picture, path: Path) -> bool:
    """What a program has put there is not read further than to see that it is something else."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return picture is None
    match picture:
        case str():
            return stat.S_ISLNK(status.st_mode) and os.readlink(path) == picture
        case Mapping():
            names = {child.name for child in listed(path)}
            return names == picture.keys() and all(_is_as_in(inner, path / name) for name, inner in picture.items())
        case (content, mode) if mode == status.st_mode:
            return not stat.S_ISREG(mode) or (len(content) == status.st_size and path.read_bytes() == content)
    return False


def _put(path: Path, picture: Picture) -> None:
    remove(path)
    if isinstance(picture, str):
        path.symlink_to(picture)
    elif isinstance(picture, Mapping):
        path.mkdir()
        for name, child in picture.items():
            _put(path / name, child)
    elif picture is not None and stat.S_IFMT(picture[1]) in (0, stat.S_IFREG):
        path.write_bytes(picture[0])
        path.chmod(stat.S_IMODE(picture[1]))
