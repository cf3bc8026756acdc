"""Settings of a repository that a program has made: what describes it stays, what could run something goes."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

_FIRST = "# A program made this repository. Of its settings those are kept that can run nothing.\n"
_LEAST = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {}\n"
_LONGEST = 65_536  # bytes; nobody's settings are longer
_SECTION = re.compile(r'\[([A-Za-z][A-Za-z0-9-]*)(?: "([^-"\\\x00-\x1f\x7f][^"\\\x00-\x1f\x7f]{0,199})?")?\]')
_VARIABLE = re.compile(r'[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*([^"\\#;\x00-\x1f\x7f]{1,500})')
_WORD, _TEXT = re.compile(r"[A-Za-z0-9]+"), re.compile(r"[^-].*")
_NAME, _REFERENCES = re.compile(r"(?!-)[\w./-]+"), re.compile(r"(?!-)[+\w./*:-]+")
# Neither options for programs that git starts, nor `helper::address`, which names one.
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
    """Written anew from what is known to do no harm, so that what the file says otherwise doesn't matter."""
    kept = "".join(_kept_lines(_read(config)))
    if "repositoryformatversion" not in kept:
        kept = _LEAST.format(str(bare).lower()) + kept
    return (_FIRST + kept).encode()


def is_harmless(config: Path, *, bare: bool) -> bool:
    """And has been made so: nobody else begins a file like this."""
    text = _read(config)
    return text.startswith(_FIRST) and text.encode() == harmless(config, bare=bare)


def _kept_lines(text: str) -> Iterator[str]:
    section, said = "", ""
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            found = _SECTION.fullmatch(line.strip())
            section, said = (found[1].lower(), f"{found[0]}\n") if found else ("", "")
        elif (variable := _VARIABLE.fullmatch(line)) and _is_harmless(section, variable):
            yield f"{said}\t{variable[1]} = {variable[2].strip()}\n"
            said = ""


def _is_harmless(section: str, variable: re.Match[str]) -> bool:
    allowed = _HARMLESS.get(section, {}).get(variable[1].lower())
    return bool(allowed and allowed.fullmatch(variable[2].strip()))


def _read(config: Path) -> str:
    """Empty for what is no file of some length; a pipe does not block."""
    try:
        descriptor = os.open(config, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
            return ""
        return file.read(_LONGEST).decode(errors="replace")
