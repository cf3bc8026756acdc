"""Remembers which configurations' code the user trusts, by the content of the file and of the code."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..config.documents import ConfigDocument
from ..core.files import make_private, open_private, state_directory


def trust_digest(loaded: ConfigDocument, code: Iterable[str]) -> str:
    """Returns a digest of the file and the Python files it names, so that the user is asked again after a change."""
    digest = hashlib.sha256(loaded.as_yaml().encode())
    for name in code:
        files = sorted(Path(name).glob("*.py")) if os.path.isdir(name) else map(loaded.base.joinpath, name.split())
        for file in (file for file in (Path(name), *files) if file.suffix == ".py" and os.path.isfile(file)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def is_trusted(digest: str) -> bool:
    return _file().is_file() and digest in _file().read_text(encoding="utf-8").split()


def remember_trust(digest: str) -> None:
    make_private(_file().parent)
    with open(_file(), "a", encoding="utf-8", opener=open_private) as file:
        file.write(f"{digest}\n")


def _file() -> Path:
    return state_directory() / "trusted"
