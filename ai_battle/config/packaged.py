"""The ready configurations that come with the package: `ai-battle run quickstart`."""

from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
FOLDERS = (HERE / "configs", HERE.parent / "configs")
"""Inside an installed package, and beside the package in a checkout."""


def packaged(name: str) -> Path | None:
    """The file of a packaged configuration, by its name without `.yaml`."""
    if not name.replace("-", "").replace("_", "").isalnum():
        return None
    return next((path for folder in FOLDERS if (path := folder / f"{name}.yaml").is_file()), None)


def packaged_names() -> list[str]:
    """All names that `packaged` knows."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.yaml")})
