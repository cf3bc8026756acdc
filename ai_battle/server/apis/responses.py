"""OpenAI's Responses API."""

from collections.abc import Mapping
from typing import Any

from ...wire import responses
from ._common import flag, model_of
from .api import Api, Asked


def decode(body: Mapping[str, Any]) -> Asked:
    return Asked(responses.decode_request(body), model_of(body), flag(body, "stream"))


API = Api("responses", decode, responses.encode_response, responses.StreamWriter, responses.encode_error)
