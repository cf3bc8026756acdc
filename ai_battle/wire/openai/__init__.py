"""Encodes and decodes OpenAI's Chat Completions API, which most servers speak."""

from ..errors import http_error as decode_error
from .answers import ChatReader as StreamReader
from .answers import ChatWriter as StreamWriter
from .answers import decode_response, decode_usage, encode_error, encode_response
from .messages import WIRE, Quirks
from .requests import (
    add_messages,
    decode_head,
    decode_request,
    encode_request,
    options_in,
    pass_request,
    unread_fields,
)

__all__ = [
    "WIRE", "Quirks", "StreamReader", "StreamWriter", "add_messages", "decode_error", "decode_head",
    "decode_request", "decode_response", "decode_usage", "encode_error", "encode_request", "encode_response",
    "options_in", "pass_request", "unread_fields",
]  # fmt: skip
