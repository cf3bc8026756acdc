"""Asks the user before running code that a YAML names, once for each version of the file and the code."""

import sys
from collections.abc import Iterable

import click

from ..assembly.discussion import named_code
from ..assembly.trust import is_trusted, remember_trust, trust_digest
from ..config.documents import ConfigDocument
from ..config.loading import LoadedDiscussion
from ..core.errors import ConfigError


def require_trust(loaded: LoadedDiscussion, *, given: bool, ask: bool = True) -> None:
    """Asks for trust in the code that a discussion names."""
    require_trust_in(loaded, named_code(loaded), given=given, ask=ask)


def require_trust_in(loaded: ConfigDocument, code: Iterable[str], *, given: bool, ask: bool = True) -> None:
    """Asks on a terminal and remembers the answer. Elsewhere raises a `ConfigError` saying how to give it."""
    modules = ", ".join(code)
    digest = trust_digest(loaded, code)
    if not modules or given or is_trusted(digest):
        return
    if not ask or not sys.stdin.isatty():
        raise ConfigError(f"{loaded.shown} runs code of its own ({modules}). If you know it, say so: --trust")
    click.confirm(f"{loaded.shown} runs code of its own: {modules}. Do you trust it?", abort=True, err=True)
    remember_trust(digest)
