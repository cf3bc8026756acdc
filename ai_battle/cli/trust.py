"""Code that a YAML names runs only after its user said so, once for each content of the file and of the code."""

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from ai_battle.assembly import named_code
from ai_battle.config import Loaded
from ai_battle.config.documents import ConfigDocument
from ai_battle.core.errors import ConfigError
from ai_battle.core.files import make_private, open_private


def require_trust(loaded: Loaded, *, given: bool, ask: bool = True) -> None:
    """For the code that a discussion names."""
    require_trust_in(loaded, named_code(loaded), given=given, ask=ask)


def require_trust_in(loaded: ConfigDocument, code: Iterable[str], *, given: bool, ask: bool = True) -> None:
    """Asks on a terminal and remembers the answer; elsewhere a `ConfigError` says how to give it."""
    modules = ", ".join(code)
    digest = _digest(loaded, code)
    if not modules or given or digest in _trusted_digests():
        return
    if not ask or not sys.stdin.isatty():
        raise ConfigError(f"{loaded.shown} runs code of its own ({modules}). If you know it, say so: --trust")
    click.confirm(f"{loaded.shown} runs code of its own: {modules}. Do you trust it?", abort=True, err=True)
    _remember(digest)


def _digest(loaded: ConfigDocument, code: Iterable[str]) -> str:
    """Returns a digest of the file and of the Python files that it names: who changes one is asked again."""
    digest = hashlib.sha256(loaded.as_yaml().encode())
    for name in code:
        files = sorted(Path(name).glob("*.py")) if os.path.isdir(name) else map(loaded.base.joinpath, name.split())
        for file in (file for file in (Path(name), *files) if file.suffix == ".py" and os.path.isfile(file)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _file() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "ai-battle" / "trusted"


def _trusted_digests() -> list[str]:
    return _file().read_text(encoding="utf-8").split() if _file().is_file() else []


def _remember(digest: str) -> None:
    make_private(_file().parent)
    with open(_file(), "a", encoding="utf-8", opener=open_private) as file:
        file.write(f"{digest}\n")
