"""Anthropic's Messages API."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.errors import ConfigError
from ...core.exchange import ModelRequest
from ...providers.anthropic import HEADERS, VERSION
from ...wire import anthropic
from ...wire.anthropic.errors import encode_error
from ...wire.anthropic.writer import StreamWriter
from ...wire.pairing import with_pairs
from ._common import flag, model_of, readable, with_sampling
from .api import Api, Asked

PASSED_ON = ("anthropic-beta", VERSION)


def decode(body: Mapping[str, Any]) -> Asked:
    model = model_of(body)
    if body.get("max_tokens") is None:
        raise ConfigError("max_tokens is missing.")
    return Asked(readable(with_pairs(anthropic.decode_request(body))), model, flag(body, "stream"))


def writer(asked: Asked, tokens: int) -> StreamWriter:
    return StreamWriter(asked.model, usage=asked.usage, input_tokens=tokens)


def told(request: ModelRequest, headers: Mapping[str, str]) -> ModelRequest:
    """An upstream of the same API is spoken to as the client speaks."""
    passed = {name: headers[name] for name in PASSED_ON if name in headers}
    request = request if VERSION in passed else with_sampling(request)
    return replace(request, extra={**request.extra, HEADERS: passed})


API = Api("messages", decode, writer, encode_error, told)
