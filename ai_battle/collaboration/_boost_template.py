"""The text around a request to the boost model: packaged, from a file or given, with places that are filled safely."""

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ..core.errors import ConfigError
from ._prompts import excerpt

_PLACE = re.compile(
    r"\$(?P<name>loop|previous_attempts|request|tools)(?![A-Za-z0-9_])"
    r"|\{(?P<old>loop_count|previous_attempts|user_request|tools_text)\}"
)
HERE = Path()
_ELSEWHERE = "In the environment it is BOOST_WRAPPER_TEMPLATE."
_OLD = {
    "loop_count": "loop",
    "user_request": "request",
    "tools_text": "tools",
    "previous_attempts": "previous_attempts",
}


@dataclass(frozen=True, slots=True)
class Template:
    """A text with the places `$loop $previous_attempts $request $tools`, or in their older spelling.

    All other dollars and braces are text. Raises `ConfigError` when there is no place for the request.
    """

    text: str
    name: str = "The template of boost"

    def __post_init__(self) -> None:
        if "request" not in map(_name, _PLACE.finditer(self.text)):
            raise ConfigError(
                f"{self.name} has no place for the request; write $request (or {{user_request}}) where it belongs."
                f" {_ELSEWHERE}",
                "template",
            )

    def filled(self, **values: str) -> str:
        """The text with its places filled; what is filled in is not looked at again."""
        return _PLACE.sub(lambda place: values[_name(place)], self.text)


def template_of(stated: str, base: Path = HERE) -> Template:
    """The template that a text is, or a path (from `base`) leads to; the packaged one for an empty text.

    Raises `ConfigError`.
    """
    if not stated.strip():
        packaged = files(__package__).joinpath("prompts", "boost.md").read_text(encoding="utf-8")
        return Template(packaged.strip(), "prompts/boost.md")
    if "\n" in stated or _PLACE.search(stated):
        return Template(stated)
    try:
        return Template(
            (base / Path(stated).expanduser()).read_text(encoding="utf-8"), f"The template of boost, {stated},"
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"The template of boost is {excerpt(stated, 100)!r}: no text with a place for the request"
            f" ($request or {{user_request}}) and no file that can be read ({reason}). {_ELSEWHERE}",
            "template",
        ) from error


def _name(place: re.Match[str]) -> str:
    return place["name"] or _OLD[place["old"]]
