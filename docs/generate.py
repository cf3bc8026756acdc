"""Writes what is made from the code: reference pages, and the schemas in the package (`python -m docs.generate`)."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from ai_battle.config.editors import json_schema
from ai_battle.providers._endpoints import packaged_providers

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


SCHEMAS = Path(__file__).parents[1] / "ai_battle" / "config" / "schemas"
KINDS = ("benchmark", "discussion", "server")


def schema(kind: str) -> str:
    """Returns the schema with one line for each section of the file, which is what changes together."""
    whole = json_schema(kind, packaged_providers())
    sections = ",\n".join(f"{_json(name)}: {_json(section)}" for name, section in whole.pop("$defs").items())
    rest = ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in whole.items())
    return f'{{\n{rest},\n"$defs": {{\n{sections}\n}}\n}}\n'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def page(name: str) -> str:
    return f"{MADE}{PAGES[name]().strip()}\n"


def main() -> None:
    for name in PAGES:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
        print(f"docs/reference/{name}")
    for kind in KINDS:
        (SCHEMAS / f"{kind}.json").write_text(schema(kind), encoding="utf-8")
        print(f"ai_battle/config/schemas/{kind}.json")


if __name__ == "__main__":
    main()
