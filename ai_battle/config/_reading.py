"""Reads the text of a configuration file, bounded in size, or says why it can't be."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import ConfigError
from ..core.plugins import likely_names
from .problems import ConfigProblems, Located

LARGEST = 5_000_000
YAML = (".yaml", ".yml")


def read_text(path: Path, shown: str, others: Sequence[str] = ()) -> str:
    """The text of the file; `others` are names that may have been meant when there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise ConfigError(f"{shown}: there is no such file{near_file(path, YAML, others)}") from None
    except IsADirectoryError:
        raise ConfigError(f"{shown}: is a directory; name a YAML file in it{_yaml_in(path)}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{shown}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST:
        raise ConfigError(f"{shown}: is larger than 5 MB; long texts belong in files named by input_file")
    return _decoded(data, shown)


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        looks = "; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        message = f"is not UTF-8 text (byte 0x{data[error.start]:02x}){looks}; save it as UTF-8"
        raise ConfigProblems([Located(shown, line, None, None, message)]) from None


def near_file(path: Path, endings: tuple[str, ...] = ("",), others: Sequence[str] = ()) -> str:
    """The end of an error message: files beside `path`, or `others`, that may have been meant."""
    if not os.path.isdir(path.parent):
        return f", and no directory {str(path.parent)!r} either"
    names = [name for name in _names(path.parent) if name.endswith(endings)]
    likely = likely_names(path.name, [*names, *others])
    return f"; did you mean {' or '.join(map(repr, likely))}?" if likely else ""


def _yaml_in(folder: Path) -> str:
    names = [name for name in _names(folder) if name.endswith(YAML)]
    return f": {', '.join(names[:5])}" if names else ""


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
