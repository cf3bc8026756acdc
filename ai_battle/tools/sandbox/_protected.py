"""Files in a workspace that run code of the user's own accord: what a program makes of them is undone."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

PROTECTED = (".git", ".vscode", ".mcp.json", ".envrc")
# What work in a repository changes and git never runs; all else in one is put back, hooks and settings above all.
_HISTORY = frozenset((
    "COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "ORIG_HEAD", "annex", "index",
    "lfs", "logs", "modules", "objects", "packed-refs", "refs",
))  # fmt: skip
_NEW_REPOSITORY = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"

# Nothing, the target of a link, a file's bytes and mode, or a folder's content.
Picture: TypeAlias = "str | tuple[bytes, int] | Mapping[str, Picture] | None"


class Protected:
    """Looks at the workspace when it is made; `restore` is for when no process of the program is left."""

    def __init__(self, workspace: Path) -> None:
        self._repository = workspace / ".git"
        self._had_repository = _is_folder(self._repository)
        names = [name for name in PROTECTED if name != ".git" or not self._had_repository]
        self._before = {workspace / name: _picture(workspace / name) for name in names}
        self._repositories = _repositories(self._repository)
        for repository in self._repositories:
            self._before |= {path: _picture(path) for path in _settings(repository)}

    def restore(self) -> None:
        for repository in self._repositories:
            _make_folder(repository)
        if not self._had_repository and self._before[self._repository] is None:
            self._disarm_new_repository()
        for repository in _repositories(self._repository):
            if repository not in self._repositories:
                _remove(repository)
            else:
                self._before |= dict.fromkeys(set(_settings(repository)) - set(self._before))
        for path, picture in self._before.items():
            if _picture(path) != picture:
                _put(path, picture)

    def _disarm_new_repository(self) -> None:
        """A program may well make a repository; its hooks and settings would run at the user's next git command."""
        if _is_folder(self._repository):
            del self._before[self._repository]
            self._repositories = [self._repository]
            self._before[self._repository / "config"] = _NEW_REPOSITORY, 0o644


def _repositories(found: Path) -> list[Path]:
    """It, and those of its submodules, which have theirs inside it."""
    if not _is_folder(found):
        return []
    if not os.path.lexists(found / "HEAD") and found.name != ".git":
        return [inner for child in _children(found) for inner in _repositories(child)]
    return [found, *(inner for child in _children(found / "modules") for inner in _repositories(child))]


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if _is_folder(folder) else []


def _settings(repository: Path) -> Iterator[Path]:
    return (path for path in repository.iterdir() if path.name not in _HISTORY)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _make_folder(path: Path) -> None:
    if not _is_folder(path):
        _remove(path)
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


def _put(path: Path, picture: Picture) -> None:
    _remove(path)
    if isinstance(picture, str):
        path.symlink_to(picture)
    elif isinstance(picture, Mapping):
        path.mkdir()
        for name, child in picture.items():
            _put(path / name, child)
    elif picture is not None and stat.S_IFMT(picture[1]) in (0, stat.S_IFREG):
        path.write_bytes(picture[0])
        path.chmod(stat.S_IMODE(picture[1]))


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
