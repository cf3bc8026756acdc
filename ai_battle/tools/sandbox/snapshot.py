"""Undoes dangerous changes of a program in its workspace, and removes folders of any depth and permissions.

Files in a workspace that other programs run unasked are restored. Git looks for settings and hooks in repositories,
their submodules and bare ones; editors look in the top folder. In a repository that the program has made, only harmless
settings are kept.
"""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from ..rooted import AUTORUN_NAMES


def is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def entries(folder: Path) -> list[Path]:
    """Returns the entries of a folder; nothing if it is not a folder."""
    if not is_folder(folder):
        return []
    make_usable(folder)
    return sorted(folder.iterdir())


def make_usable(folder: Path) -> None:
    """Gives the owner's permissions back, which a program may have removed."""
    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        folder.chmod(mode | stat.S_IRWXU)


def walk(folder: Path, but: str) -> Iterator[tuple[str, set[str]]]:
    """Yields the folder and those below, at any depth, with the names in them; folders named `but` are not entered."""
    waiting = [str(folder)]
    while waiting:
        here = waiting.pop()
        found = _scan(here)
        yield here, {entry.name for entry in found}
        waiting += [entry.path for entry in found if entry.name != but and entry.is_dir(follow_symlinks=False)]


def _scan(folder: str) -> list[os.DirEntry[str]]:
    """Returns the entries of a folder; nothing if its path is too long for the system."""
    try:
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            make_usable(Path(folder))
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def discard(folder: str | Path) -> None:
    """Deletes a folder with its content: quickly, and what that leaves over thoroughly."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        remove(Path(folder))


def remove(path: Path) -> None:
    """Deletes a file or folder. Inner folders are moved up first, so that no path gets too long."""
    if not is_folder(path):
        path.unlink(missing_ok=True)
        return
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for child in entries(folder):
            if is_folder(child):
                make_usable(child)
                waiting.append(child.rename(path.with_name(f".{secrets.token_hex(8)}")))
            else:
                child.unlink()
        os.rmdir(folder)


_HISTORIES = {".git", ".hg", ".svn"}  # too large to keep in memory; of git, only the settings are kept
PROTECTED = (".git", *sorted(AUTORUN_NAMES - _HISTORIES))

# What work in a repository changes and git never runs; everything else is restored, above all hooks and settings.
_HISTORY = frozenset((
    "COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "ORIG_HEAD", "annex", "index",
    "lfs", "logs", "modules", "objects", "packed-refs", "refs",
))  # fmt: skip
# A bare repository may hold any other files too; git acts on these.
_GIT_INPUTS = (
    "commondir", "config", "config.worktree", "hooks", "rebase-apply", "rebase-merge", "sequencer", "worktrees",
)  # fmt: skip
_MAX_DEPTH = 40  # folders below the first repository; anything deeper counts as the program's

# None for nothing, the target of a link, a file's bytes and mode, or a folder's entries.
_Copy: TypeAlias = "str | tuple[bytes, int] | Mapping[str, _Copy] | None"


def protected_paths(workspace: Path) -> list[Path]:
    """Returns the existing protected paths, for sandboxes that can make a part of the workspace read-only."""
    there = (path for name in PROTECTED if (path := workspace / name).exists() and not path.is_symlink())
    return [path for path in there if not (path.name == ".git" and is_programs_own(path))]


class Snapshot:
    """The protected state of a workspace at construction. Call `restore` when no process of the program is left."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._outer = workspace / ".git"
        inner, self._bare = _inner_repositories(workspace)
        folders = {*filter(is_folder, (self._outer, *inner))}
        self._roots = [path for path in folders if not is_programs_own(path)]
        self._repositories = [*chain.from_iterable(map(_repositories, self._roots))]
        self._outer_repositories = [each for each in self._repositories if each.is_relative_to(self._outer)]
        files = chain(
            {*inner, *map(workspace.joinpath, PROTECTED)} - folders,
            *map(_settings, self._repositories),
            *map(_settings_of_bare, self._bare),
        )
        self._before = {path: _copy(path) for path in files}

    def restore(self) -> None:
        make_usable(self._workspace)
        for repository in self._outer_repositories:
            self._restore_folders(repository)
        inner, bare = _inner_repositories(self._workspace)
        for path in (self._outer, *inner):
            self._protect(path)
        for path in bare:
            if path not in self._bare:
                self._before |= dict.fromkeys(_settings_of_bare(path)) | {path / "config": _new(path, bare=True)}
        for path, copy in self._before.items():
            if all(map(is_folder, self._folders_to(path.parent))) and not _matches(copy, path):
                _restore(path, copy)

    def _folders_to(self, folder: Path) -> list[Path]:
        """Returns the folders that lead to this one; if one of them has become a link, the path leads elsewhere."""
        upwards = [folder, *folder.parents]
        return upwards[upwards.index(self._workspace) :: -1]

    def _restore_folders(self, repository: Path) -> None:
        for folder in self._folders_to(repository):
            if not is_folder(folder):
                remove(folder)
                folder.mkdir()

    def _protect(self, path: Path) -> None:
        """Restores a `.git` that is there now. Git also looks in folders of the outer repository."""
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
        """Keeps a new repository, but not its hooks and settings, which the user's next git command would run."""
        self._before.pop(repository, None)
        self._repositories.append(repository)
        self._before[repository / "config"] = _new(repository, bare=False)


def _new(repository: Path, *, bare: bool) -> tuple[bytes, int]:
    return harmless(repository / "config", bare=bare), 0o644


def _copy(path: Path) -> _Copy:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if stat.S_ISDIR(mode):
        return {child.name: _copy(child) for child in path.iterdir()}
    return (path.read_bytes() if stat.S_ISREG(mode) else b""), mode


def _matches(copy: _Copy, path: Path) -> bool:
    """Compares without reading more than needed to see a difference, since a program may have put anything there."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return copy is None
    match copy:
        case str():
            return stat.S_ISLNK(status.st_mode) and os.readlink(path) == copy
        case Mapping():
            return _folder_matches(path, copy)
        case (content, mode) if mode == status.st_mode:
            return not stat.S_ISREG(mode) or (len(content) == status.st_size and path.read_bytes() == content)
    return False


def _folder_matches(folder: Path, copies: Mapping[str, _Copy]) -> bool:
    names = {child.name for child in entries(folder)}
    is_alike = is_folder(folder) and names == copies.keys()
    return is_alike and all(_matches(copy, folder / name) for name, copy in copies.items())


def _restore(path: Path, copy: _Copy) -> None:
    remove(path)
    if isinstance(copy, str):
        path.symlink_to(copy)
    elif isinstance(copy, Mapping):
        path.mkdir()
        for name, child in copy.items():
            _restore(path / name, child)
    elif copy is not None and stat.S_IFMT(copy[1]) in (0, stat.S_IFREG):
        path.write_bytes(copy[0])
        path.chmod(stat.S_IMODE(copy[1]))


def _inner_repositories(workspace: Path) -> tuple[list[Path], list[Path]]:
    """Returns every `.git` below the workspace, of any type, and folders that git takes for bare repositories."""
    dotted, bare = [], []
    for folder, names in walk(workspace, but=".git"):
        if ".git" in names and folder != str(workspace):
            dotted.append(Path(folder, ".git"))
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names):
            bare.append(Path(folder))
    return dotted, bare


def _repositories(found: Path) -> list[Path]:
    """Returns the repository and those of its submodules, which are inside it."""
    all_of_them, waiting = [], [found] if is_folder(found) else []
    while waiting:
        make_usable(folder := waiting.pop())
        deep = len(folder.parts) - len(found.parts) > _MAX_DEPTH
        if os.path.lexists(folder / "HEAD") or folder.name == ".git" or deep:
            all_of_them.append(folder)
            waiting += filter(is_folder, entries(folder / "modules"))
        else:
            waiting += filter(is_folder, entries(folder))
    return all_of_them


def _settings(repository: Path) -> Iterator[Path]:
    return (path for path in entries(repository) if path.name not in _HISTORY)


def _settings_of_bare(repository: Path) -> Iterator[Path]:
    return (repository / name for name in _GIT_INPUTS)


def is_programs_own(repository: Path) -> bool:
    """Returns whether the repository is as a program made it; with a user's settings or hooks it is the user's."""
    if not is_folder(repository) or not is_harmless(repository / "config", bare=False):
        return False
    return all(path.name == "config" for path in _settings(repository))


# The comment marks the file as ours; `is_harmless` looks for it.
_SETTINGS_HEADER = "# A program made this repository. Of its settings those are kept that can run nothing.\n"
_LEAST = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {}\n"
_MAX_SETTING_BYTES = 65_536  # bytes; real settings are shorter
_SECTION = re.compile(r'\[([A-Za-z][A-Za-z0-9-]*)(?: "([^-"\\\x00-\x1f\x7f][^"\\\x00-\x1f\x7f]{0,199})?")?\]')
_VARIABLE = re.compile(r'[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*([^"\\#;\x00-\x1f\x7f]{1,500})')
_WORD, _TEXT = re.compile(r"[A-Za-z0-9]+"), re.compile(r"[^-].*")
_NAME, _REFERENCES = re.compile(r"(?!-)[\w./-]+"), re.compile(r"(?!-)[+\w./*:-]+")
# Neither options for programs that git starts, nor `helper::address`, which names a program.
_ADDRESS = re.compile(r"(?!-)(?!.*(?:::|[/@]-))[\w.~/@:+%-]+")
_IDENTITY = {"name": _TEXT, "email": _TEXT}
_HARMLESS: dict[str, dict[str, re.Pattern[str]]] = {
    "core": dict.fromkeys(
        ("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
         "symlinks", "autocrlf", "eol", "quotepath"), _WORD),
    "extensions": {"objectformat": _WORD},
    "user": _IDENTITY, "author": _IDENTITY, "committer": _IDENTITY,
    "init": {"defaultbranch": _NAME},
    "pull": {"rebase": _WORD, "ff": _WORD},
    "push": {"default": _WORD, "autosetupremote": _WORD},
    "merge": {"ff": _WORD, "conflictstyle": _WORD},
    "remote": {"url": _ADDRESS, "fetch": _REFERENCES},
    "branch": {"remote": _NAME, "merge": _NAME, "rebase": _WORD},
}  # fmt: skip


def harmless(config: Path, *, bare: bool) -> bytes:
    """Rebuilds the file from an allow-list of harmless settings; everything else in it is dropped."""
    kept = "".join(_kept_lines(_read(config)))
    if "repositoryformatversion" not in kept:
        kept = _LEAST.format(str(bare).lower()) + kept
    return (_SETTINGS_HEADER + kept).encode()


def is_harmless(config: Path, *, bare: bool) -> bool:
    """Returns whether the file is exactly what `harmless` makes of it, including its first line."""
    text = _read(config)
    return text.startswith(_SETTINGS_HEADER) and text.encode() == harmless(config, bare=bare)


def _kept_lines(text: str) -> Iterator[str]:
    section, heading = "", ""
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            found = _SECTION.fullmatch(line.strip())
            section, heading = (found[1].lower(), f"{found[0]}\n") if found else ("", "")
        elif (variable := _VARIABLE.fullmatch(line)) and _is_harmless(section, variable):
            yield f"{heading}\t{variable[1]} = {variable[2].strip()}\n"
            heading = ""


def _is_harmless(section: str, variable: re.Match[str]) -> bool:
    allowed = _HARMLESS.get(section, {}).get(variable[1].lower())
    return bool(allowed and allowed.fullmatch(variable[2].strip()))


def _read(config: Path) -> str:
    """Returns the text of a regular file, "" if it is none or too long. A pipe does not block."""
    try:
        descriptor = os.open(config, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_SETTING_BYTES:
            return ""
        return file.read(_MAX_SETTING_BYTES).decode(errors="replace")
