"""Errors of Chat Completions."""

from typing import Any

from .._json import dumps

CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 402: "insufficient_quota"}
KINDS = {
    "context": "context_length_exceeded", "budget": "insufficient_quota", "address": "unknown_url",
    "previous_response": "previous_response_not_found",
}  # fmt: skip
TYPES = {
    401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """The body of an error; `kind` is that of a `Failure`. This API tells the id of a request in a header alone."""
    return dumps({"error": error_object(status, message, kind)})


def error_object(status: int, message: str, kind: str = "") -> dict[str, Any]:
    what = TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"message": message, "type": what, "param": None, "code": KINDS.get(kind) or CODES.get(status)}
