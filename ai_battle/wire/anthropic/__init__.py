"""Encodes and decodes requests, answers, streams and errors of Anthropic's Messages API."""

from ..errors import http_error as decode_error
from .answers import MessagesReader as StreamReader
from .answers import MessagesWriter as StreamWriter
from .answers import decode_response, decode_usage, encode_error, encode_response, encode_usage, stop_of
from .blocks import WIRE
from .requests import (
    CLASSIC,
    CURRENT,
    add_messages,
    clamped_options,
    decode_head,
    decode_request,
    encode_request,
    options_in,
    pass_request,
    sent_max_tokens,
    unread_fields,
    unsupported_options,
)

__all__ = [
    "CLASSIC", "CURRENT", "WIRE", "StreamReader", "StreamWriter", "add_messages", "clamped_options",
    "decode_error", "decode_head", "decode_request", "decode_response", "decode_usage", "encode_error",
    "encode_request", "encode_response", "encode_usage", "options_in", "pass_request", "sent_max_tokens", "stop_of",
    "unread_fields", "unsupported_options",
]  # fmt: skip
