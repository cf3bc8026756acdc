"""Anthropic's Messages API."""

from collections.abc import Mapping
from typing import Any

from ...wire import anthropic
from ...wire.anthropic.errors import encode_error
from ...wire.anthropic.writer import StreamWriter
from ._common import flag, model_of
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    return Asked(anthropic.decode_request(body), model_of(body), flag(body, "stream"))


API = Api("messages", decode, anthropic.encode_response, StreamWriter, encode_error)
