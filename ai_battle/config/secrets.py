"""Which values are secrets: by the key that they stand under, by the name of their variable, or by their looks."""

import os
import re
from collections.abc import Mapping

from ..core.redaction import KEYS
from .problems import KeyPath
from .tree import resolve

SECRET_KEY = re.compile(r".*(api[-_]?key|token|password|secret|authorization)", re.IGNORECASE)
SECRET_VARIABLE = re.compile(
    r"(?:.*[-_])?(?:(?:api)?keys?|token|passw(?:or)?d|passphrase|secret|authorization|credentials?|pat)(?:[-_]?\d+)?",
    re.IGNORECASE,
)
PROMPTS = frozenset({"goal", "initial_prompt", "persona", "instructions", "established_facts", "outcome", "system"})
"""What stands under these keys is sent to models as it is."""
NO_OWNER = ("parameters", "headers", "env", "options")
IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
MANY_RUNS = 6
SHORTEST = 4
SHORTEST_PLAIN = 8
"""Numbers, and words of small or of capital letters alone, stand in many texts by chance."""


def is_secret_key(step: str | int) -> bool:
    return isinstance(step, str) and SECRET_KEY.fullmatch(step) is not None


def is_secret(path: KeyPath) -> bool:
    """Says whether the value there is a secret even when it is written in the file itself."""
    if path[:2] == ("server", "keys"):
        return path[-1] == "key" or isinstance(path[-1], int)
    in_settings = path[:1] in (("providers",), ("server",)) or path[:2] == ("discussion", "tools")
    return (in_settings or path[-2:-1] == ("options",)) and is_secret_key(path[-1])


def is_prompt(path: KeyPath) -> bool:
    return not PROMPTS.isdisjoint(path)


def is_shown(path: KeyPath) -> bool:
    """Says whether anybody may see the value there, as of prompts and models' names, so that only a key is secret."""
    return is_prompt(path) or path[-1:] == ("type",)


def can_be_hidden(value: str) -> bool:
    """Says whether masking it leaves other texts alone: short texts, numbers and `true` are everywhere."""
    is_plain = not isinstance(resolve(value), str) or (value.isalpha() and (value.islower() or value.isupper()))
    return len(value) >= (SHORTEST_PLAIN if is_plain else SHORTEST)


def is_credential(name: str, value: str) -> bool:
    """Says whether a variable holds a secret: by its name, or as its value is no words, no version and no address."""
    if SECRET_VARIABLE.fullmatch(name) or KEYS.fullmatch(value):
        return True
    return not re.search(r"\s|://", value) and _looks_random(value)


def _looks_random(value: str) -> bool:
    """Many short runs of letters and digits: `xk83hd72kq01`, but not `claude-3-5-sonnet` or `TypeScript5`."""
    runs = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", value)
    digits = sum(run.isdigit() for run in runs)
    return len(runs) >= MANY_RUNS and (digits > 1 or len(runs) > MANY_RUNS + 1) and sum(map(len, runs)) <= 3 * len(runs)


def secrets_in_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Returns the secrets, each with its name, that are known by the names of their variables; files are none."""
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
    """Returns the passwords in the addresses of a text, as they are written."""
    return IN_URL.findall(text) if "://" in text else []


def variable_for(path: KeyPath) -> str:
    """Returns the variable in which a secret that is written in the file should be: `OPENAI_API_KEY`."""
    owners = [step for step in path[:-1] if isinstance(step, str) and step not in NO_OWNER]
    return re.sub(r"\W+", "_", f"{owners[-1] if owners else ''}_{path[-1]}".upper().replace("-", "_")).strip("_")


def hide_values(text: str, taken: Mapping[str, str]) -> str:
    """Returns the text with the names of variables in place of their values; `taken` has the values by name."""
    for name, value in sorted(taken.items(), key=lambda item: -len(item[1])):
        text = text.replace(value if can_be_hidden(value) else repr(value), f"${{{name}}}")
    return text
