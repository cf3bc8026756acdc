"""Errors of the Messages API."""

from .._json import dumps

TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error",
    503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip


def encode_error(status: int, message: str, kind: str = "", request_id: str = "") -> bytes:
    """The body of an error; `kind` is that of a `Failure`. All that a client did wrong is `invalid_request_error`."""
    what = TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    body = {"type": "error", "error": {"type": what, "message": message}}
    return dumps(body | ({"request_id": request_id} if request_id else {}))
