"""Writes the reference pages that are made from the code: `python -m docs.generate`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from .generating import codes, commands, events, keys, models, names

FOLDER = Path(__file__).parent / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "command-line.md": commands.page,
    "exit-codes.md": codes.page,
    "yaml.md": keys.page,
    "model-types.md": models.page,
    "events.md": events.page,
    "python.md": names.page,
}
MADE = "<!-- Made by `python -m docs.generate` (or `make docs`); change the code instead. -->\n\n"


def page(name: str) -> str:
    return f"{MADE}{PAGES[name]().strip()}\n"


def main() -> None:
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
        print(f"docs/reference/{name}")


if __name__ == "__main__":
    main()
