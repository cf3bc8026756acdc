"""Anthropic's Messages API."""

from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelResponse
from ...wire import anthropic
from ...wire.anthropic.errors import encode_error
from ...wire.anthropic.writer import StreamWriter
from ...wire.pairing import with_pairs
from ._common import flag, model_of
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    return Asked(with_pairs(anthropic.decode_request(body)), model_of(body), flag(body, "stream"))


def encode(response: ModelResponse, asked: Asked) -> bytes:
    return anthropic.encode_response(response, asked.model)


def writer(asked: Asked, tokens: int) -> StreamWriter:
    return StreamWriter(asked.model, usage=asked.usage, input_tokens=tokens)


API = Api("messages", decode, encode, writer, encode_error)
