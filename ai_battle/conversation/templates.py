"""Loads templates of instructions with `$places`: packaged ones, and files in the user's folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ..core.errors import ConfigError
from ..core.files import prompt_template
from ..core.plugins import near

OTHER_NAMES = {"ai_system_instructions": "ai_assistant_instructions"}
SUFFIX = ".md"
MAX_BYTES = 100_000
"""The largest template, in bytes."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of a discussion by name: the files of `folder`, then the packaged ones."""

    folder: Path | None = None

    @property
    def names(self) -> list[str]:
        own = self.folder.glob(f"*{SUFFIX}") if self.folder else ()
        return sorted({*packaged_templates(), *(path.stem for path in own if path.is_file())})

    def fill(self, name: str, params: Mapping[str, Any]) -> str:
        """Returns the filled-in instructions. Raises `ConfigError` naming each parameter that is missing.

        Also raises it if the template is unknown or unreadable. Parameters without a place are ignored; `without_place`
        names them.
        """
        template = self.read(name)
        places = template.get_identifiers()
        if missing := [place for place in places if place not in params]:
            given = f"; given: {', '.join(map(repr, params))}" if params else ""
            raise ConfigError(f"the template {name} needs the parameter {', '.join(map(repr, missing))}{given}")
        return template.substitute({place: str(params[place]) for place in places})

    def without_place(self, name: str, params: Iterable[str]) -> list[str]:
        """Returns the parameters that a template does not use. Raises `ConfigError` like `fill`."""
        places = self.read(name).get_identifiers()
        return [param for param in params if param not in places]

    def read(self, name: str) -> Template:
        """Returns the template. Raises `ConfigError` if there is none, or if it can't be read."""
        if name in self.names:
            own = self.folder / f"{name}{SUFFIX}" if self.folder else None
            return _own_template(own) if own and own.is_file() else prompt_template(__package__, f"templates/{name}")
        if name in OTHER_NAMES:
            return self.read(OTHER_NAMES[name])
        raise ConfigError(f"there is no template {name!r}{near(name, self.names)}")


PACKAGED = Templates()


@cache
def packaged_templates() -> tuple[str, ...]:
    """Returns the names of the packaged templates."""
    found = files(__package__).joinpath("prompts", "templates").iterdir()
    return tuple(sorted(each.name.removesuffix(SUFFIX) for each in found if each.name.endswith(SUFFIX)))


def _own_template(path: Path) -> Template:
    """Reads a user's template. It is not cached, because its user may change it between runs."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)  # one byte more than allowed shows that the file is too large
        template = Template(text.decode("utf-8-sig").strip())
    except OSError as error:
        raise ConfigError(f"the template {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the template {path} is not UTF-8 text") from error
    if len(text) > MAX_BYTES:
        raise ConfigError(f"the template {path} is larger than {MAX_BYTES:,} bytes")
    if not template.template:
        raise ConfigError(f"the template {path} is empty")
    if not template.is_valid():
        raise ConfigError(f"the template {path} has a '$' that begins no parameter; write '$$' for a dollar")
    return template
