"""The server's side of OpenAI's Responses API: decodes requests, encodes answers and streams."""

from ..openai.answers import encode_error
from .answers import ResponsesWriter as StreamWriter
from .items import WIRE
from .requests import CLIENT_TOOLS, decode_request, unread_fields

__all__ = ["CLIENT_TOOLS", "WIRE", "StreamWriter", "decode_request", "encode_error", "unread_fields"]
