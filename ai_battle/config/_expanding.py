"""The tree of a configuration as plain values: references replaced, aliases written out within bounds."""

from typing import Any

from ..core.errors import ConfigError
from ._environment import Expansion, Unset
from ._nodes import Node
from ._scalars import Plain
from ._secrets import in_url, is_prompt, is_secret, is_shown, variable_for
from .problems import Path, Problem, dotted

MOST_VALUES = 100_000
MOST_TEXT = 20_000_000


class Expanding:
    """One walk over a tree; `problems` are the references that can't be replaced."""

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self._values = 0
        self._text = 0
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.prompts: list[tuple[Path, str]] = []
        """What models will be sent as it is."""

    def value(self, node: Node, path: Path = ()) -> Any:
        self._count(node)
        match node.value:
            case dict():
                return {key: self.value(child, (*path, key)) for key, child in node.value.items()}
            case list():
                return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
            case str():
                return self._string(node.value, path)
        return node.value

    def _string(self, written: str, path: Path) -> str:
        text = self._replaced(written, path) if "${" in written else written
        secrets = (text,) if text is written and text and is_secret(path) else in_url(text)
        for secret in secrets:
            self._keep(secret, path, is_written=secret in written)
        if is_prompt(path):
            self.prompts.append((path, text))
        return text

    def _keep(self, secret: str, path: Path, *, is_written: bool) -> None:
        """What is written in the file itself gets the name of a variable that it should be in."""
        name = variable_for(path if is_secret(path) else (*path[:-1], "password"))
        if secret not in self.expansion.secrets:
            self.expansion.keep_secret(secret, name)
            if is_written:
                self.notes.append(f"{dotted(path)}: a secret is better kept out of the file: ${{{name}}}")

    def _replaced(self, text: str, path: Path) -> str:
        try:
            value = self.expansion.value(text, is_shown=is_shown(path))
        except Unset as unset:
            return self._unset(text, path, str(unset))
        return Plain(value) if isinstance(text, Plain) else value

    def _unset(self, text: str, path: Path, message: str) -> str:
        """A tool without its key is a matter of that tool, and no reason not to talk."""
        if path[:3] == ("discussion", "tools", "registry"):
            self.notes.append(f"{dotted(path)}: {message}")
            return ""
        self.problems.append(Problem(path, message))
        return text

    def _count(self, node: Node) -> None:
        self._values += 1
        self._text += len(node.value) if isinstance(node.value, str) else 0
        if self._values > MOST_VALUES or self._text > MOST_TEXT:
            raise ConfigError(f"holds more than {MOST_VALUES:,} values, or 20 MB of text, its aliases written out")
