"""Anthropic's Messages API: requests, answers, streams and errors, both ways."""

from .._errors import http_error as decode_error
from .blocks import WIRE
from .errors import encode_error
from .options import CLASSIC, CURRENT, clamped, unsupported
from .requests import decode_request, encode_request
from .responses import decode_response, decode_usage, encode_response
from .stream import StreamReader
from .writer import StreamWriter

__all__ = [
    "CLASSIC",
    "CURRENT",
    "WIRE",
    "StreamReader",
    "StreamWriter",
    "clamped",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_usage",
    "encode_error",
    "encode_request",
    "encode_response",
    "unsupported",
]
