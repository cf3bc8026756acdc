"""The server's side of OpenAI's Responses API: decodes requests, encodes answers and streams."""

from ..openai.answers import encode_error
from .answers import ResponsesWriter as StreamWriter
from .requests import READ, decode_request

__all__ = ["READ", "StreamWriter", "decode_request", "encode_error"]
