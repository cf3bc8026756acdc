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


def packaged_config(name: str) -> Path | None:
    """Returns the file of a packaged configuration by its name without `.yaml`."""
    return _FOLDER / f"{name}.yaml" if name in packaged_names() else None


def require_packaged(name: str) -> Path:
    """Returns the file of a packaged configuration. Raises `ConfigError` if there is none of that name."""
    if (path := packaged_config(name)) is None:
        raise ConfigError(f"There is no packaged discussion {name!r}{near(name, packaged_names())}")
    return path


def packaged_names() -> list[str]:
    """Returns all names that `packaged_config` knows."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def packaged_suite(name: str) -> Path | None:
    """Returns the file of a packaged benchmark by its name without `.yaml`."""
    return _FOLDER / "benchmarks" / f"{name}.yaml" if name in packaged_suites() else None


def packaged_suites() -> list[str]:
    """Returns all names that `packaged_suite` knows."""
    return sorted(path.stem for path in (_FOLDER / "benchmarks").glob("*.yaml"))


def packaged_rubric(name: str) -> Path | None:
    """Returns the file of a packaged rubric by its name without `.yaml`."""
    return next((path for path in (_FOLDER / "rubrics").glob("*.yaml") if path.stem == name), None)


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
