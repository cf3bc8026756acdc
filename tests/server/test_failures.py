"""Errors as the bodies and statuses of each API."""

import json
from typing import Any

import pytest

from ai_battle.core.errors import (
    AIBattleError,
    BadReply,
    BudgetExceeded,
    ConfigError,
    ContextTooLong,
    ProviderError,
    RateLimited,
    Refused,
    TimedOut,
    ToolError,
    Unreachable,
)
from ai_battle.server.errors import client_failure
from ai_battle.wire import anthropic, responses
from ai_battle.wire.openai import served as openai


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (ConfigError("messages is missing."), 400, "invalid_request_error"),
        (ProviderError("bad tool", status=400), 400, "invalid_request_error"),
        (ProviderError("wrong key", status=401), 401, "authentication_error"),
        (ProviderError("not yours", status=403), 403, "permission_error"),
        (ProviderError("no such model", status=404), 404, "not_found_error"),
        (RateLimited("slow down", status=429), 429, "rate_limit_error"),
        (RateLimited("slow down"), 429, "rate_limit_error"),
        (RateLimited("no credit", status=402), 402, "billing_error"),
        (BudgetExceeded("spent"), 429, "rate_limit_error"),
        (ProviderError("broken", status=500), 500, "api_error"),
        (ProviderError("bad gateway", status=502), 502, "api_error"),
        (ProviderError("busy", status=529), 529, "overloaded_error"),
        (BadReply("no JSON"), 502, "api_error"),
        (Unreachable("refused"), 502, "api_error"),
        (TimedOut("too slow"), 504, "timeout_error"),
        (Refused("not this"), 400, "invalid_request_error"),
        (ToolError("broken"), 500, "api_error"),
        (ContextTooLong("8192 at most", status=413), 400, "invalid_request_error"),
    ],
    ids=str,
)
def test_an_error_has_the_status_and_the_type_of_the_messages_api(error: AIBattleError, status: int, kind: str) -> None:
    failed = client_failure(error)
    body = json.loads(anthropic.encode_error(failed.status, failed.message, failed.kind, "req_1"))

    assert failed.status == status
    assert (body["type"], body["error"]["type"], body["request_id"]) == ("error", kind, "req_1")
    assert str(error) in body["error"]["message"]


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ConfigError("messages is missing."), "invalid_request_error", None),
        (ProviderError("wrong key", status=401), "authentication_error", "invalid_api_key"),
        (ProviderError("no such model", status=404), "not_found_error", "model_not_found"),
        (RateLimited("slow down", again="always"), "rate_limit_error", "rate_limit_exceeded"),
        (RateLimited("the account's credit is used up"), "rate_limit_error", "insufficient_quota"),
        (BudgetExceeded("spent"), "rate_limit_error", "insufficient_quota"),
        (ProviderError("broken", status=500), "server_error", None),
        (ContextTooLong("8192 at most"), "invalid_request_error", "context_length_exceeded"),
    ],
    ids=str,
)
@pytest.mark.parametrize("wire", [openai, responses], ids=["chat", "responses"])
def test_an_error_has_the_type_and_the_code_of_openai(wire: Any, error: AIBattleError, kind: str, code: Any) -> None:
    failed = client_failure(error)
    said = json.loads(wire.encode_error(failed.status, failed.message, failed.kind))["error"]

    assert (said["type"], said["code"], said["param"]) == (kind, code, None)
    assert str(error) in said["message"]


@pytest.mark.parametrize("said", ["8192 tokens at most", "Prompt is too long: 9000 tokens"])
def test_d_ctxlen(said: str) -> None:
    """Worded so that agents compact their history, and not twice."""
    message = client_failure(ContextTooLong(said)).message.lower()

    assert message.startswith("prompt is too long: ")
    assert message.count("prompt is too long") == 1
