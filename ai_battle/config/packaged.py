"""The configurations, rubrics, benchmarks and drop-in tools that come with the package (`ai-battle run quickstart`)."""

from pathlib import Path

from ..core.errors import ConfigError
from ..core.plugins import near

_PACKAGE = Path(__file__).resolve().parent.parent


def _folder(installed: str, in_checkout: str) -> Path:
    """Returns a folder inside the installed package, or its source in a checkout."""
    there = _PACKAGE / installed
    return there if there.is_dir() else _PACKAGE.parent / in_checkout


_FOLDER = _folder("configs", "configs")
_DROP_INS = _folder("drop_ins", "tools")
_FOLDERS = {"benchmark": "benchmarks", "rubric": "rubrics"}
"""Where the files of a kind are; all others are beside these folders."""


def packaged_config(name: str, kind: str = "discussion") -> Path | None:
    """Returns a packaged file by its kind and its name without `.yaml`."""
    return _packaged_files(kind).get(name)


def require_packaged(name: str) -> Path:
    """Returns the file of a packaged discussion. Raises `ConfigError` if there is none of that name."""
    if (path := packaged_config(name)) is None:
        raise ConfigError(f"There is no packaged discussion {name!r}{near(name, packaged_names())}")
    return path


def packaged_names(kind: str = "discussion") -> list[str]:
    return [*_packaged_files(kind)]


def _packaged_files(kind: str) -> dict[str, Path]:
    found = (_FOLDER / _FOLDERS.get(kind, "")).glob("*.yaml")
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def packaged_tools() -> dict[str, Path]:
    """Returns the packaged drop-in tools by name."""
    return {path.stem: path for path in sorted(_DROP_INS.glob("*.py"))}


def description(text: str) -> str:
    """Returns the text of the comment at the top of a YAML file, without the line for editors."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(line for line in lines if line and not line.startswith("yaml-language-server:"))


def in_brief(text: str) -> tuple[str, str]:
    """Returns the first sentence of a description, and what it says that the file needs."""
    sentences = text.split(". ")
    needs = next((each.removeprefix("Needs ") for each in sentences if each.startswith("Needs ")), "")
    return sentences[0].rstrip("."), needs.rstrip(".")
