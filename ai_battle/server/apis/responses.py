"""OpenAI's Responses API."""

from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelResponse
from ...wire import responses
from ...wire.pairing import with_pairs
from ._common import flag, model_of, readable
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    model = model_of(body)
    return Asked(readable(with_pairs(responses.decode_request(body))), model, flag(body, "stream"))


def encode(response: ModelResponse, asked: Asked) -> bytes:
    return responses.encode_response(response, asked.model, asked.request)


def writer(asked: Asked, tokens: int) -> responses.StreamWriter:
    return responses.StreamWriter(asked.model, usage=asked.usage, input_tokens=tokens, request=asked.request)


API = Api("responses", decode, encode, writer, responses.encode_error)
