"""A run in one of several formats, in pieces."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ..core.errors import ConfigError
from ..core.plugins import near
from . import exports, html, markdown

FORMATS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "md": markdown.render,
    "html": html.render,
    "jsonl": exports.jsonl,
    "openai": exports.openai_messages,
    "csv": exports.table,
}


def export(run_dir: Path, format: str) -> Iterator[str]:  # noqa: A002 - the option's name
    """The run in one of `FORMATS`, in pieces."""
    if format not in FORMATS:
        raise ConfigError(f"There is no export format {format!r}{near(format, list(FORMATS))}")
    return FORMATS[format](run_dir)
