"""OpenAI's Chat Completions, which most servers speak: bodies to values and back."""

from .errors import encode_error
from .quirks import Quirks
from .request import decode_request, encode_request
from .response import decode_error, decode_response, decode_usage, encode_response
from .stream import StreamReader
from .writer import StreamWriter

__all__ = [
    "Quirks",
    "StreamReader",
    "StreamWriter",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_usage",
    "encode_error",
    "encode_request",
    "encode_response",
]
