"""`${NAME}` and `${NAME:-default}` in the values of a configuration, and the `.env` beside it."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from ..core.errors import ConfigError
from ._secrets import can_be_hidden, hidden, is_credential

REFERENCE = re.compile(r"(\$?)\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?")
WHOLE = re.compile(r"\$\{([^{}]*)\}")
LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)


class Unset(Exception):
    """A variable that is not set and has no default, or no variable at all."""


class Expansion:
    """Replaces references by values and remembers which values came from the environment."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.taken: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        """What must not be shown, by its value, and its variable."""

    def value(self, text: str, *, is_shown: bool = False) -> str:
        """Of a text that is for anybody to see only keys are secret."""
        if (whole := WHOLE.fullmatch(text)) and not REFERENCE.fullmatch(text):
            raise Unset(
                f"${{{whole[1]}}} is no variable; write ${{NAME}} or ${{NAME:-default}}, or $${{ to mean it as it is"
            )
        for name in (match[2] for match in REFERENCE.finditer(text) if self._is_taken(match)):
            value = self.variables[name]
            if not is_shown or is_credential(name, value):
                self.keep_secret(value, name)
        return REFERENCE.sub(self._replaced, text)

    def written_back(self, text: str) -> str:
        """The text with defaults filled in, but what came from the environment still as `${NAME}`."""
        return REFERENCE.sub(lambda match: f"${{{match[2]}}}" if self._is_taken(match) else self._default(match), text)

    def keep_secret(self, value: str, name: str) -> None:
        """It is known as it is written and, out of an address, as it is meant."""
        self.taken[name] = value
        for each in filter(can_be_hidden, (value, unquote(value))):
            self.secrets.setdefault(each, name)

    def hide(self, text: str) -> str:
        """The text without values from the environment."""
        return hidden(text, self.taken)

    def _is_taken(self, match: re.Match[str]) -> bool:
        return not match[1] and match[2] is not None and bool(self.variables.get(match[2]))

    def _default(self, match: re.Match[str]) -> str:
        return match[0] if match[1] or match[2] is None else match[3] or ""

    def _replaced(self, match: re.Match[str]) -> str:
        escaped, name, default = match.groups()
        if escaped:
            return match[0][1:]
        if name is None:
            return match[0]
        if value := self.variables.get(name):
            self.taken[name] = value
            return value
        if default is None and name not in self.variables:
            raise Unset(
                f"the variable {name} is not set; set it, write ${{{name}:-default}}, or $${{{name}}} for that text"
            )
        return default or ""


def with_dotenv(environment: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """The environment and what the `.env` of a folder adds to it; variables that exist win."""
    path = folder / ".env"
    if not path.is_file():
        return environment
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path}: can't be read: {reason}") from None
    return {**dotenv(text), **environment}


def dotenv(text: str) -> dict[str, str]:
    """`NAME=value` lines; quotes, `export` and comments as shells have them."""
    found = (LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: _unquoted(match[2]) for match in found if match}


def _unquoted(value: str) -> str:
    for quote in "'\"":
        if value.startswith(quote) and (end := value.find(quote, 1)) > 0:
            inside = value[1:end]
            return inside.replace("\\n", "\n") if quote == '"' else inside
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip() if not value.startswith("#") else ""
