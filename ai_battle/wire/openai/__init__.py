"""OpenAI's Chat Completions, which most servers speak: bodies to values and back."""

from .quirks import Quirks
from .request import decode_request, encode_request
from .response import decode_error, decode_response, encode_response
from .stream import StreamReader

__all__ = [
    "Quirks",
    "StreamReader",
    "decode_error",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
]
