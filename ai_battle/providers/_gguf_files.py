"""Model files on this machine: where they lie and what they say about themselves."""

import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..core.errors import ConfigError
from ..core.plugins import near

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_FOLDERS = (".", "models", "~/models", "~/.lmstudio/models", "~/.cache/lm-studio/models", "~/.cache/huggingface/hub")
_LONGEST_STRING = 2**24


def find(model: str, base: Path = Path()) -> Path:
    """The file that a model type names: a path from `base` on, or the name of a file in one of the usual folders."""
    path = base / Path(model).expanduser()
    for candidate in (path, path.with_name(f"{path.name}.gguf")):
        if os.path.isfile(candidate):  # a name that can't be one is not there either
            return candidate.resolve()
    found = {file.stem: file for file in files()}
    if file := found.get(path.name.removesuffix(".gguf")):
        return file
    raise ConfigError(f"There is no model file {model!r} in {base.resolve()}{near(path.stem, list(found))}")


def files() -> Iterable[Path]:
    """All GGUF files in the usual folders; of a model in several parts only the first."""
    for folder in (Path(name).expanduser() for name in _FOLDERS):
        depth = "*.gguf" if folder == Path() else "**/*.gguf"
        for file in sorted(folder.glob(depth)):
            if file.is_file() and ("-of-" not in file.stem or "-00001-of-" in file.stem):
                yield file.resolve()


def metadata(path: Path) -> Mapping[str, Any]:
    """What the head of the file says, up to its vocabulary; raises `ConfigError` when it is not a GGUF file."""
    try:
        with path.open("rb") as file:
            return dict(_entries(file, path))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}.") from error
    except (struct.error, UnicodeDecodeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{path} is a damaged GGUF file; download it again.") from error


def context_length(described: Mapping[str, Any]) -> int | None:
    """How many tokens the model was trained for."""
    length = described.get(f"{described.get('general.architecture')}.context_length")
    return length if isinstance(length, int) else None


def _entries(file: BinaryIO, path: Path) -> Iterable[tuple[str, Any]]:
    if file.read(4) != _MAGIC:
        raise ConfigError(f"{path} is not a GGUF file.")
    _version, _tensors, count = _unpack(file, "IQQ")
    for _ in range(count):
        key = _string(file)
        if key.startswith("tokenizer."):
            return
        yield key, _value(file, *_unpack(file, "I"))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        element, length = _unpack(file, "IQ")
        return [_value(file, element) for _ in range(length)]
    return _unpack(file, _NUMBERS[kind])[0]


def _string(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    if length > _LONGEST_STRING:
        raise struct.error
    return file.read(length).decode()


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    packed = struct.Struct(f"<{form}")
    return packed.unpack(file.read(packed.size))
