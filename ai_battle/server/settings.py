"""What a server is told: by its file, and by its environment where the file leaves something open."""

from collections.abc import Container, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from ..config._values import Section
from ..config.server import ServeKey, Server
from ..core.errors import ConfigError

FALLBACK = "ANTHROPIC_API_KEY"
HEADER = "CUSTOM_HEADER_"
VARIABLES = {
    "host": "HOST",
    "port": "PORT",
    "request_timeout": "REQUEST_TIMEOUT",
    "keys": "AI_BATTLE_SERVE_KEYS",
    "tiers.big": "BIG_MODEL",
    "tiers.middle": "MIDDLE_MODEL",
    "tiers.small": "SMALL_MODEL",
    "limits.max_tokens": "MAX_TOKENS_LIMIT",
}

S = TypeVar("S", bound=Section)


def settled(server: Server, environment: Mapping[str, str]) -> Server:
    """The section with what the environment adds; raises `ConfigError` that names the variable."""
    try:
        return _with(server, Server.model_validate(_said(environment)))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"] if isinstance(step, str))
        name = next((name for place, name in VARIABLES.items() if key.startswith(place)), key)
        raise ConfigError(f"The variable {name} can't be used: {first['msg']}.") from error


def headers(environment: Mapping[str, str]) -> dict[str, str]:
    """`CUSTOM_HEADER_X_TEAM=blue` is `X-TEAM: blue` on each request to an upstream."""
    found = ((name.removeprefix(HEADER), value) for name, value in environment.items() if name.startswith(HEADER))
    return {name.replace("_", "-"): value for name, value in found if name}


def keys(server: Server, environment: Mapping[str, str], providers: Container[str]) -> tuple[ServeKey, ...]:
    """What clients present: without any keys `ANTHROPIC_API_KEY`, unless it is needed to ask Anthropic itself."""
    fallback = environment.get(FALLBACK, "").strip()
    if server.keys or not fallback or "anthropic" in providers:
        return server.keys
    return (ServeKey(key=fallback, name=FALLBACK),)


def _said(environment: Mapping[str, str]) -> dict[str, Any]:
    section: dict[str, Any] = {}
    for place, name in VARIABLES.items():
        if value := environment.get(name, "").strip():
            head, _, key = place.partition(".")
            if key:
                section.setdefault(head, {})[key] = value
            else:
                section[head] = [each.strip() for each in value.split(",") if each.strip()] if head == "keys" else value
    return section


def _with(written: S, more: S) -> S:
    """`written` wins, section by section."""
    added = {key: getattr(more, key) for key in more.model_fields_set}
    for key in added.keys() & written.model_fields_set:
        mine = getattr(written, key)
        added[key] = _with(mine, added[key]) if isinstance(mine, Section) and isinstance(added[key], Section) else mine
    return written.model_copy(update=added)
