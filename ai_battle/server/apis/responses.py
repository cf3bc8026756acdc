"""OpenAI's Responses API."""

from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelRequest
from ...wire import responses
from ...wire.pairing import with_pairs
from ._common import flag, model_of, readable, with_sampling
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    model = model_of(body)
    return Asked(readable(with_pairs(responses.decode_request(body))), model, flag(body, "stream"))


def writer(asked: Asked, tokens: int) -> responses.StreamWriter:
    return responses.StreamWriter(asked.model, usage=asked.usage, input_tokens=tokens, request=asked.request)


def told(request: ModelRequest, headers: Mapping[str, str]) -> ModelRequest:
    return with_sampling(request)


API = Api("responses", decode, writer, responses.encode_error, told, refers=True)
