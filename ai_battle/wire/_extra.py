"""Fields that only one API knows: kept where they are read, written back to the same API alone."""

from collections.abc import Mapping
from typing import Any

NOTHING: tuple[Any, ...] = (None, "", [], (), {})


def own(wire: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `extra` that belong to `wire`."""
    return dict(extra[wire]) if wire in extra else {}


def kept(wire: str, body: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields of `body` that this package has no name for, as an `extra`; empty ones say nothing."""
    if body.keys() <= known:
        return {}
    unknown = {key: value for key, value in body.items() if key not in known and value not in NOTHING}
    return {wire: unknown} if unknown else {}
