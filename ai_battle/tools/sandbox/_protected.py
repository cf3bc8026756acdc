"""Files in a workspace that run code of the user's own accord: what a program makes of them is undone."""

import os
import stat
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from .._rooted import RUN_BY_OTHERS
from ._folders import is_folder, listed, make_usable, remove
from ._gitconfig import harmless
from ._repositories import dotted_and_bare, is_programs_own, repositories, settings, settings_of_bare

_HISTORIES = {".git", ".hg", ".svn"}  # too large to be kept in memory; of git's only the settings are
PROTECTED = (".git", *sorted(RUN_BY_OTHERS - _HISTORIES))

# Nothing, the target of a link, a file's bytes and mode, or a folder's content.
Picture: TypeAlias = "str | tuple[bytes, int] | Mapping[str, Picture] | None"


def closed_to_programs(workspace: Path) -> list[Path]:
    """What is there of it, for fences that can keep a program from writing in a part of the workspace."""
    there = (path for name in PROTECTED if (path := workspace / name).exists() and not path.is_symlink())
    return [path for path in there if not (path.name == ".git" and is_programs_own(path))]


class Protected:
    """Looks at the workspace when it is made; `restore` is for when no process of the program is left."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._outer = workspace / ".git"
        inner, self._bare = dotted_and_bare(workspace)
        folders = {*filter(is_folder, (self._outer, *inner))}
        self._roots = [path for path in folders if not is_programs_own(path)]
        self._repositories = [*chain.from_iterable(map(repositories, self._roots))]
        looked_at = chain(
            {*inner, *map(workspace.joinpath, PROTECTED)} - folders,
            *map(settings, self._repositories),
            *map(settings_of_bare, self._bare),
        )
        self._before = {path: _picture(path) for path in looked_at}

    def restore(self) -> None:
        make_usable(self._workspace)
        if self._outer in self._roots:
            for repository in filter(self._is_outer, self._repositories):
                self._make_way(repository)
        inner, bare = dotted_and_bare(self._workspace)
        for path in (self._outer, *inner):
            self._look_at(path)
        for path in bare:
            if path not in self._bare:
                self._before |= dict.fromkeys(settings_of_bare(path)) | {path / "config": _new(path, bare=True)}
        for path, picture in self._before.items():
            if all(map(is_folder, self._way(path.parent))) and not _is_as_in(picture, path):
                _put(path, picture)

    def _way(self, folder: Path) -> list[Path]:
        """The folders that lead to it: if one has become a link, it leads elsewhere."""
        upwards = [folder, *folder.parents]
        return upwards[upwards.index(self._workspace) :: -1]

    def _make_way(self, repository: Path) -> None:
        for folder in self._way(repository):
            _make_folder(folder)

    def _is_outer(self, repository: Path) -> bool:
        return repository.is_relative_to(self._outer)

    def _look_at(self, path: Path) -> None:
        """A `.git` that is there now: git looks into those in folders from the outer repository, too."""
        if not is_folder(path):
            self._before.setdefault(path, None)
            return
        if path not in self._roots and self._before.get(path) is None:
            self._allow_new(path)
        for repository in repositories(path):
            if repository not in self._repositories:
                remove(repository)
            else:
                self._before |= dict.fromkeys(set(settings(repository)) - set(self._before))

    def _allow_new(self, repository: Path) -> None:
        """A program may well make a repository; its hooks and settings would run at the user's next git command."""
        self._before.pop(repository, None)
        self._repositories.append(repository)
        self._before[repository / "config"] = _new(repository, bare=False)


def _new(repository: Path, *, bare: bool) -> tuple[bytes, int]:
    return harmless(repository / "config", bare=bare), 0o644


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
