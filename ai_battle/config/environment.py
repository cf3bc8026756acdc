"""Expands `${NAME}` and `${NAME:-default}`, reads the `.env` next to a file, and tells which values are secrets."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from ..core.errors import ConfigError
from ..core.redaction import KEYS
from .problems import KeyPath, Problem, dotted_path
from .tree import Node, PlainScalar, resolve

SECRET_KEY = re.compile(r".*(api[-_]?key|token|password|secret|authorization)", re.IGNORECASE)
SECRET_VARIABLE = re.compile(
    r"(?:.*[-_])?(?:(?:api)?keys?|token|passw(?:or)?d|passphrase|secret|authorization|credentials?|pat)(?:[-_]?\d+)?",
    re.IGNORECASE,
)
PROMPTS = frozenset({"goal", "initial_prompt", "persona", "instructions", "established_facts", "outcome", "system"})
"""Values under these keys are sent to models unchanged."""
NO_OWNER = ("parameters", "headers", "env", "options")
IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
MANY_RUNS = 6
MIN_SECRET_LENGTH = 4
SHORTEST_PLAIN = 8
"""Numbers, and words in only small or only capital letters, occur in many texts by chance."""


def is_secret_key(step: str | int) -> bool:
    return isinstance(step, str) and SECRET_KEY.fullmatch(step) is not None


def is_secret(path: KeyPath) -> bool:
    """Checks whether the value at a path is a secret even if it is written in the file itself."""
    if path[:2] == ("server", "keys"):
        return path[-1] == "key" or isinstance(path[-1], int)
    in_settings = path[:1] in (("providers",), ("server",)) or path[:2] == ("discussion", "tools")
    return (in_settings or path[-2:-1] == ("options",)) and is_secret_key(path[-1])


def is_prompt(path: KeyPath) -> bool:
    return not PROMPTS.isdisjoint(path)


def is_shown(path: KeyPath) -> bool:
    """Checks whether a value is public, such as a prompt or a model's name, so that only API keys in it are secret."""
    return is_prompt(path) or path[-1:] == ("type",)


def can_be_hidden(value: str) -> bool:
    """Checks whether a value can be masked without damaging other texts; short values and numbers occur everywhere."""
    is_plain = not isinstance(resolve(value), str) or (value.isalpha() and (value.islower() or value.isupper()))
    return len(value) >= (SHORTEST_PLAIN if is_plain else MIN_SECRET_LENGTH)


def is_credential(name: str, value: str) -> bool:
    """Checks whether a variable holds a secret: by its name, or by a value that looks random."""
    if SECRET_VARIABLE.fullmatch(name) or KEYS.fullmatch(value):
        return True
    return not re.search(r"\s|://", value) and _looks_random(value)


def _looks_random(value: str) -> bool:
    """Checks for many short runs of letters and digits: `xk83hd72kq01`, but not `claude-3-5-sonnet`."""
    runs = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", value)
    digits = sum(run.isdigit() for run in runs)
    return len(runs) >= MANY_RUNS and (digits > 1 or len(runs) > MANY_RUNS + 1) and sum(map(len, runs)) <= 3 * len(runs)


def secrets_in_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns the secrets with their variables, found by the variables' names. Paths of files are not secrets."""
    secrets: dict[str, str] = {}
    for name, whole in variables.items():
        if SECRET_VARIABLE.fullmatch(name):
            values = whole.split(",") if name.lower().endswith("keys") else [whole]
            stripped = (value.strip() for value in values)
            secrets |= {value: name for value in stripped if can_be_hidden(value) and not _is_file(value)}
    return secrets


def _is_file(value: str) -> bool:
    return value[:1] in "/~." and os.path.exists(os.path.expanduser(value))


def passwords_in(text: str) -> list[str]:
    """Returns the passwords in the URLs of a text, as written."""
    return IN_URL.findall(text) if "://" in text else []


def variable_for(path: KeyPath) -> str:
    """Returns the variable for a secret that is written in the file, such as `OPENAI_API_KEY`."""
    owners = [step for step in path[:-1] if isinstance(step, str) and step not in NO_OWNER]
    return re.sub(r"\W+", "_", f"{owners[-1] if owners else ''}_{path[-1]}".upper().replace("-", "_")).strip("_")


def hide_values(text: str, taken: Mapping[str, str]) -> str:
    """Replaces values by the names of their variables; `taken` has the values by name."""
    # Longest first, so that a value inside a longer one does not spoil it.
    for name, value in sorted(taken.items(), key=lambda item: -len(item[1])):
        text = text.replace(value if can_be_hidden(value) else repr(value), f"${{{name}}}")
    return text


_REFERENCE = re.compile(r"(\$?)\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?")
_PLACEHOLDER = re.compile(r"\$\{([^{}]*)\}")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_MOST_VALUES = 100_000
_MOST_TEXT = 20_000_000


class UnsetVariable(Exception):
    """Raised for a variable that is not set and has no default, or for an invalid reference."""


class Expansion:
    """Replaces references by values and records which values came from the environment."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.taken: dict[str, str] = {}
        self.secrets: dict[str, str] = {}
        """The variable of each secret, by its value."""

    def value(self, text: str, *, is_shown: bool = False) -> str:
        """Expands the references in a text. In a text that anyone may see, only API keys become secrets."""
        if (whole := _PLACEHOLDER.fullmatch(text)) and not _REFERENCE.fullmatch(text):
            raise UnsetVariable(
                f"${{{whole[1]}}} is not a variable; write ${{NAME}} or ${{NAME:-default}}, or $${{ to mean it as it is"
            )
        for name in (match[2] for match in _REFERENCE.finditer(text) if self._is_taken(match)):
            value = self.variables[name]
            if not is_shown or is_credential(name, value):
                self.keep_secret(value, name)
        return _REFERENCE.sub(self._replace, text)

    def longest(self, text: str) -> int:
        """Returns an upper bound of the text's length after expansion."""
        references = _REFERENCE.finditer(text) if "${" in text else ()
        return len(text) + sum(len(self.variables.get(match[2] or "", "")) for match in references)

    def with_defaults(self, text: str) -> str:
        """Fills in defaults, but leaves `${NAME}` for values from the environment."""
        return _REFERENCE.sub(lambda match: f"${{{match[2]}}}" if self._is_taken(match) else self._default(match), text)

    def keep_secret(self, value: str, name: str) -> None:
        """Records a secret as written and, if it comes from a URL, decoded."""
        self.taken[name] = value
        for each in filter(can_be_hidden, (value, unquote(value))):
            self.secrets.setdefault(each, name)

    def hide(self, text: str) -> str:
        """Replaces values from the environment by their variables."""
        return hide_values(text, self.taken)

    def _is_taken(self, match: re.Match[str]) -> bool:
        return not match[1] and match[2] is not None and bool(self.variables.get(match[2]))

    def _default(self, match: re.Match[str]) -> str:
        return match[0] if match[1] or match[2] is None else match[3] or ""

    def _replace(self, match: re.Match[str]) -> str:
        escaped, name, default = match.groups()
        if escaped:
            return match[0][1:]
        if name is None:
            return match[0]
        if value := self.variables.get(name):
            self.taken[name] = value
            return value
        if default is None and name not in self.variables:
            raise UnsetVariable(
                f"the variable {name} is not set; set it, write ${{{name}:-default}}, or $${{{name}}} for that text"
            )
        return default or ""


class TreeExpander:
    """Turns a tree into plain values: expands references, and aliases within bounds.

    `problems` are references that can't be expanded, `prompts` the texts that models will be sent.
    """

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self._values = 0
        self._text = 0
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.prompts: list[tuple[KeyPath, str]] = []

    def expand(self, node: Node, path: KeyPath = ()) -> Any:
        self._make_room(values=1)
        match node.value:
            case dict():
                return {key: self.expand(child, (*path, key)) for key, child in node.value.items()}
            case list():
                return [self.expand(child, (*path, index)) for index, child in enumerate(node.value)]
            case str():
                return self._expand_text(node.value, path)
        return node.value

    def _make_room(self, *, values: int = 0, text: int = 0) -> None:
        """Checks the size before anything is expanded, since aliases can stand for more than memory holds."""
        self._values += values
        self._text += text
        if self._values > _MOST_VALUES or self._text > _MOST_TEXT:
            raise ConfigError(f"holds more than {_MOST_VALUES:,} values, or 20 MB of text, its aliases written out")

    def _expand_text(self, written: str, path: KeyPath) -> str:
        self._make_room(text=self.expansion.longest(written))
        text = self._replace(written, path) if "${" in written else written
        if text is written and "${" in written:  # not replaced: a problem says so, and a reference is no secret
            return text
        secrets = (text,) if text is written and text and is_secret(path) else passwords_in(text)
        for secret in secrets:
            self._keep(secret, path, is_written=secret in written)
        if is_prompt(path):
            self.prompts.append((path, text))
        return text

    def _keep(self, secret: str, path: KeyPath, *, is_written: bool) -> None:
        """Records a secret; one that is written in the file gets the name of the variable that it should be in."""
        name = variable_for(path if is_secret(path) else (*path[:-1], "password"))
        if secret not in self.expansion.secrets:
            self.expansion.keep_secret(secret, name)
            if is_written:
                better = f"a secret is better kept out of the file: ${{{name}}}"
                self.notes.append(f"{dotted_path(path)}: {better}; a run keeps only that name, so set it to resume one")

    def _replace(self, text: str, path: KeyPath) -> str:
        try:
            value = self.expansion.value(text, is_shown=is_shown(path))
        except UnsetVariable as unset:
            # A tool that lacks its key reports that itself; the discussion can start without it.
            if path[:3] == ("discussion", "tools", "registry"):
                self.notes.append(f"{dotted_path(path)}: {unset}")
                return ""
            self.problems.append(Problem(path, str(unset)))
            return text
        return PlainScalar(value) if isinstance(text, PlainScalar) else value


def with_dotenv(environment: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """Returns the environment with the variables of the folder's `.env`. Existing variables win."""
    path = folder / ".env"
    if not path.is_file():
        return environment
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path}: can't be read: {reason}") from None
    found = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {**{match[1]: _without_quotes(match[2]) for match in found if match}, **environment}


def _without_quotes(value: str) -> str:
    """Removes quotes and comments by the rules of shells."""
    for quote in "'\"":
        if value.startswith(quote) and (end := value.find(quote, 1)) > 0:
            inside = value[1:end]
            return inside.replace("\\n", "\n") if quote == '"' else inside
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip() if not value.startswith("#") else ""


_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029")
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_plain(dumper: yaml.SafeDumper, text: PlainScalar) -> yaml.Node:
    tag = dumper.resolve(yaml.ScalarNode, str(text), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(text))


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    """Quotes text that YAML would read otherwise: numbers, references to numbers, special line breaks."""
    if "${" in text or _OTHER_BREAKS & set(text) or not isinstance(resolve(text), str):
        style: str | None = '"'
    else:
        style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(PlainScalar, _represent_plain)
_Dumper.add_representer(str, _represent_text)


def portable_yaml(tree: Node, expansion: Expansion, base: Path) -> str:
    """Returns the tree as YAML with `${NAME}` for values from the environment.

    The text states the base of its relative paths, so that it can be stored elsewhere.
    """
    whole = {**_values_of(tree, expansion), "base_directory": str(base)}
    return yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def _values_of(node: Node, expansion: Expansion, path: KeyPath = ()) -> Any:
    match node.value:
        case dict():
            return {key: _values_of(child, expansion, (*path, key)) for key, child in node.value.items()}
        case list():
            return [_values_of(child, expansion, (*path, index)) for index, child in enumerate(node.value)]
        case str() if node.value and is_secret(path) and "${" not in node.value:
            return f"${{{variable_for(path)}}}"
        case str():
            return _without_passwords(node.value, expansion)
    return node.value


def _without_passwords(written: str, expansion: Expansion) -> str:
    """Returns the text with variables for environment values and for passwords in URLs."""
    text = expansion.with_defaults(written) if "${" in written else written
    if passwords := passwords_in(text):
        for name, value in expansion.taken.items():
            text = text.replace(f":{value}@", f":${{{name}}}@") if value in passwords else text
    return text if text is written else type(written)(text)
