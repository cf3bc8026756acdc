"""Errors of the Responses API: before an answer as in Chat Completions, within one as a field of its response."""

from ..failures import Failed
from ..openai.errors import KINDS, encode_error

__all__ = ["encode_error", "error_in_response"]

CODES = {429: "rate_limit_exceeded", 503: "server_is_overloaded", 529: "server_is_overloaded"}


def error_in_response(failed: Failed) -> dict[str, str]:
    usual = "invalid_prompt" if failed.status < 500 else "server_error"
    return {"code": KINDS.get(failed.kind) or CODES.get(failed.status, usual), "message": failed.message}
