"""The ready configurations that come with the package: `ai-battle run quickstart`."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_INSTALLED = _PACKAGE / "configs"
_FOLDER = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "configs"
"""Inside an installed package, beside the package in a checkout."""


def packaged(name: str) -> Path | None:
    """The file of a packaged configuration, by its name without `.yaml`."""
    return _FOLDER / f"{name}.yaml" if name in packaged_names() else None


def packaged_names() -> list[str]:
    """All names that `packaged` knows."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def packaged_suite(name: str) -> Path | None:
    """The file of a packaged benchmark, by its name without `.yaml`."""
    return _FOLDER / "benchmarks" / f"{name}.yaml" if name in packaged_suites() else None


def packaged_suites() -> list[str]:
    """All names that `packaged_suite` knows."""
    return sorted(path.stem for path in (_FOLDER / "benchmarks").glob("*.yaml"))
