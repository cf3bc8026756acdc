"""OpenAI's Responses API, the side of a server: requests to values, answers and streams back."""

from .errors import encode_error
from .requests import decode_request, expanded, keeps
from .writer import StreamWriter

__all__ = ["StreamWriter", "decode_request", "encode_error", "expanded", "keeps"]
