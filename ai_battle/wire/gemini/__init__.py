"""Google's generateContent, streamed or not: requests, answers, streams and errors, both ways."""

from .._errors import http_error as decode_error
from .options import unsupported
from .parts import WIRE
from .requests import decode_request, encode_request
from .responses import decode_response, decode_usage, encode_response
from .stream import StreamReader

__all__ = [
    "WIRE",
    "StreamReader",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_usage",
    "encode_request",
    "encode_response",
    "unsupported",
]
