"""What the bodies of all APIs have in common."""

from collections.abc import Mapping
from typing import Any

from ...core.errors import ConfigError

LONGEST = 256
"""Characters of a model's name."""


def model_of(body: Mapping[str, Any]) -> str:
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise ConfigError("model must be the name of a model.")
    if len(model) > LONGEST:
        raise ConfigError(f"model must be the name of a model: at most {LONGEST} characters.")
    return model


def flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ConfigError(f"{name} must be true or false.")
