"""Every text inside of a JSON value."""

from collections.abc import Callable
from typing import Any


def each_text(value: Any, change: Callable[[str], str], but: frozenset[str] = frozenset()) -> Any:
    """The same JSON value with every text in it changed, except the keys and what stands under the keys of `but`."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [each_text(item, change, but) for item in value]
        case dict():
            return {key: item if key in but else each_text(item, change, but) for key, item in value.items()}
    return value
