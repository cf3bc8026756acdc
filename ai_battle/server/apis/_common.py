"""What the bodies of all APIs have in common."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest
from ...core.messages import Part, Text, Thinking
from ...providers.anthropic import VERSION
from ...wire import anthropic

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


def readable(request: ModelRequest) -> ModelRequest:
    """The request, when there is something in it to answer. Raises `ConfigError`."""
    if request.system or any(_says_something(part) for message in request.messages for part in message.parts):
        return request
    raise ConfigError("There is nothing to answer: all messages are empty.")


def with_sampling(request: ModelRequest) -> ModelRequest:
    """The request in the version of Anthropic's API that hears all of its options, where the current one does not."""
    if anthropic.unsupported(request.options) == anthropic.unsupported(request.options, anthropic.CLASSIC):
        return request
    return replace(request, extra={**request.extra, VERSION: anthropic.CLASSIC})


def _says_something(part: Part) -> bool:
    """What only one API has a name for stands in `extra`."""
    match part:
        case Text(text, extra=extra):
            return bool(extra or text.strip())
        case Thinking():
            return False
    return True
