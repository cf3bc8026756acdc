"""OpenAI's Responses API, the side of a server: requests to values, answers and streams back."""

from ..openai.answers import encode_error
from .answers import ResponsesWriter as StreamWriter
from .requests import decode_request, expand_references, keeps

__all__ = ["StreamWriter", "decode_request", "encode_error", "expand_references", "keeps"]
