"""Ollama's own API, `/api/chat`: bodies to values and back."""

from .request import decode_request, encode_request
from .response import decode_error, decode_response, decode_usage, encode_response
from .stream import StreamReader

__all__ = [
    "StreamReader",
    "decode_error",
    "decode_request",
    "decode_response",
    "decode_usage",
    "encode_request",
    "encode_response",
]
