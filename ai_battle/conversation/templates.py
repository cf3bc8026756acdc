"""Templates of instructions: files with `$places`, packaged ones and those of a user's own folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ..core.errors import ConfigError
from ..core.plugins import near

OTHER_NAMES = {"ai_system_instructions": "ai_assistant_instructions"}
SUFFIX = ".md"
LARGEST = 100_000
"""Bytes of a file that is taken for a template."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates that a discussion knows by name: the files of `folder`, and the packaged ones behind them."""

    folder: Path | None = None

    @property
    def names(self) -> list[str]:
        own = self.folder.glob(f"*{SUFFIX}") if self.folder else ()
        return sorted({*packaged_templates(), *(path.stem for path in own if path.is_file())})

    def fill(self, name: str, params: Mapping[str, Any]) -> str:
        """The instructions; raises `ConfigError` that names what is unknown, missing or can't be read.

        Parameters that the template has no place for are left out; `without_place` names them.
        """
        template = self.read(name)
        places = template.get_identifiers()
        if missing := [place for place in places if place not in params]:
            given = f"; given: {', '.join(map(repr, params))}" if params else ""
            raise ConfigError(f"the template {name} needs the parameter {', '.join(map(repr, missing))}{given}")
        return template.substitute({place: str(params[place]) for place in places})

    def without_place(self, name: str, params: Iterable[str]) -> list[str]:
        """The parameters that a template does not use; raises `ConfigError` as `fill` does."""
        places = self.read(name).get_identifiers()
        return [param for param in params if param not in places]

    def read(self, name: str) -> Template:
        """The template of that name; raises `ConfigError` where there is none, or none that can be read."""
        if name in self.names:
            own = self.folder / f"{name}{SUFFIX}" if self.folder else None
            return _own_template(own) if own and own.is_file() else _packaged_template(name)
        if name in OTHER_NAMES:
            return self.read(OTHER_NAMES[name])
        raise ConfigError(f"there is no template {name!r}{near(name, self.names)}")


PACKAGED = Templates()


@cache
def packaged_templates() -> tuple[str, ...]:
    """The names of those that come with the package."""
    found = files(__package__).joinpath("prompts", "templates").iterdir()
    return tuple(sorted(each.name.removesuffix(SUFFIX) for each in found if each.name.endswith(SUFFIX)))


@cache
def _packaged_template(name: str) -> Template:
    return Template(files(__package__).joinpath("prompts", "templates", f"{name}{SUFFIX}").read_text("utf-8").strip())


def _own_template(path: Path) -> Template:
    """Read anew for each run, as its user may have changed it."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
        template = Template(text.decode("utf-8-sig").strip())
    except OSError as error:
        raise ConfigError(f"the template {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the template {path} is no text in UTF-8") from error
    if len(text) > LARGEST:
        raise ConfigError(f"the template {path} is larger than {LARGEST:,} bytes")
    if not template.template:
        raise ConfigError(f"the template {path} is empty")
    if not template.is_valid():
        raise ConfigError(f"the template {path} has a '$' that begins no parameter; write '$$' for a dollar")
    return template
