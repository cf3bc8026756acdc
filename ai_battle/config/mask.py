"""Keeps the values that came from the environment out of what is written, and puts them back when it is read."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from ..core.texts import each_text

SHORTEST = 4
_STRUCTURE = frozenset(
    {"v", "seq", "time", "type", "role", "kind", "status", "stop", "policy", "how", "digest", "asked"}
)


class Mask:
    """Replaces secret values by `${NAME}`; `secrets` maps each value to its name.

    Values under four characters are no secrets, and masking them would garble every text.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        longest_first = sorted((value for value in secrets if len(value) >= SHORTEST), key=len, reverse=True)
        self._names = {value: f"${{{secrets[value]}}}" for value in longest_first}
        self._encoded = tuple(to_json(value)[1:-1] for value in longest_first)

    def line(self, data: bytes) -> bytes:
        """The same JSON, without the secrets in its texts."""
        for secret in self._encoded:
            if secret in data:
                return to_json(each_text(from_json(data), self.text, but=_STRUCTURE))
        return data

    def text(self, text: str) -> str:
        for value, name in self._names.items():
            text = text.replace(value, name)
        return text

    def revealed(self, value: Any) -> Any:
        """A JSON value that was written by `line`, with the secrets in it again."""
        return each_text(value, self._reveal, but=_STRUCTURE)

    def _reveal(self, text: str) -> str:
        for value, name in self._names.items():
            text = text.replace(name, value)
        return text
