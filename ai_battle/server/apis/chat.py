"""OpenAI's Chat Completions."""

from collections.abc import Mapping
from typing import Any

from ...wire import openai
from ...wire.openai.errors import encode_error
from ...wire.openai.writer import StreamWriter
from ._common import flag, model_of
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    options = body.get("stream_options")
    usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
    return Asked(openai.decode_request(body), model_of(body), flag(body, "stream"), usage)


API = Api("chat", decode, openai.encode_response, StreamWriter, encode_error)
