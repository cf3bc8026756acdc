"""OpenAI's Chat Completions."""

from collections.abc import Mapping
from typing import Any

from ...core.exchange import ModelRequest
from ...wire import openai
from ...wire.openai.errors import encode_error
from ...wire.openai.writer import StreamWriter
from ...wire.pairing import with_pairs
from ._common import flag, model_of, readable, with_sampling
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    options = body.get("stream_options")
    usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    model = model_of(body)
    return Asked(readable(with_pairs(openai.decode_request(body))), model, flag(body, "stream"), usage)


def writer(asked: Asked, tokens: int) -> StreamWriter:
    return StreamWriter(asked.model, usage=asked.usage, input_tokens=tokens)


def told(request: ModelRequest, headers: Mapping[str, str]) -> ModelRequest:
    return with_sampling(request)


API = Api("chat", decode, writer, encode_error, told)
