"""What a provider says instead of an answer is classified as the fault table demands."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic_core import to_json

from ai_battle.core.errors import (
    BadReply,
    ConfigError,
    ContextTooLong,
    ProviderError,
    RateLimited,
    Refused,
)
from ai_battle.wire import errors

QUOTA = "You exceeded your current quota, please check your plan and billing details."


def openai(message: str, kind: str = "invalid_request_error", code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def gemini(code: int, status: str, message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, **more}}


def http_error(status: int, body: Any = "", **headers: str) -> ProviderError:
    raw = body.encode() if isinstance(body, str) else to_json(body)
    return errors.http_error(status, raw, {name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 301, 308])
def test_a_request_that_is_wrong_is_never_sent_again(status: int) -> None:
    assert http_error(status, openai("no")).again == "never"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
def test_a_fault_that_may_pass_is_worth_another_try(status: int) -> None:
    error = http_error(status, openai("later"))

    assert (error.again, error.status) == ("always", status)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, openai("This model's maximum context length is 8192 tokens.", code="context_length_exceeded")),
        (400, anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")),
        (400, gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens")),
        (400, openai("the request exceeds the available context size", "exceed_context_size_error")),
        (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens", "code": 400}),
        (413, anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes.")),
        (429, openai("Request too large for gpt-4 on tokens per min (TPM): Limit 10000", "tokens")),
        (500, {"error": "input length exceeds the context length"}),
    ],
    ids=str,
)
def test_what_does_not_fit_the_window_says_so(status: int, body: Any) -> None:
    error = http_error(status, body)

    assert isinstance(error, ContextTooLong)
    assert error.again == "never"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, openai(QUOTA, "insufficient_quota", "insufficient_quota")),
        (400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}),
    ],
    ids=str,
)
def test_money_that_is_used_up_does_not_come_back_by_waiting(status: int, body: Any) -> None:
    error = http_error(status, body)

    assert isinstance(error, RateLimited)
    assert error.again == "never"
    assert "credit" in str(error)


def test_google_says_quota_and_means_a_rate() -> None:
    """Its limits by the minute have the words of OpenAI's empty purse, and a delay."""
    body = gemini(429, "RESOURCE_EXHAUSTED", QUOTA, details=[{"@type": "RetryInfo", "retryDelay": "36s"}])

    error = http_error(429, body)

    assert isinstance(error, RateLimited)
    assert (error.again, error.retry_after) == ("always", 36.0)


@pytest.mark.parametrize(
    ("words", "again"),
    [
        ("Quota exceeded for metric requests per day.", "never"),
        ("Rate limit exceeded: free-models-per-day", "never"),
        ("The daily limit of this model is reached.", "never"),
        ("Quota exceeded for metric requests per minute.", "always"),
        ("Too many requests today are waiting.", "always"),
        ("Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s.", "always"),
    ],
)
def test_a_quota_of_a_day_is_not_asked_again_unless_a_time_is_named(words: str, again: str) -> None:
    error = http_error(429, openai(words))

    assert isinstance(error, RateLimited)
    assert error.again == again


def test_google_names_a_delay_of_seconds_with_a_quota_of_a_day() -> None:
    violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
    details = [{"violations": [violation]}, {"@type": "RetryInfo", "retryDelay": "36s"}]

    error = http_error(429, gemini(429, "RESOURCE_EXHAUSTED", QUOTA, details=details))

    assert isinstance(error, RateLimited)
    assert (error.again, error.retry_after) == ("never", None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "12"}, 12.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after_ms": "250", "retry_after": "1"}, 0.25),
        ({"retry_after": "3600"}, 3600.0),
        ({}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
    ],
    ids=str,
)
def test_when_to_come_back_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert http_error(429, openai("slow down"), **headers).retry_after == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached for gpt-4o on tokens per min (TPM). Please try again in 6s. Visit https://x.", 6.0),
        ("Rate limit reached. Please try again in 20ms.", 0.02),
        ("Rate limit reached on requests per day (RPD): Limit 200. Please try again in 7m12s.", 432.0),
        ("on tokens per day (TPD): Used 9, Requested 7. Please try again in 1h2m59.56s. Need more tokens?", 3779.56),
        ("You exceeded your current quota. * Quota exceeded for metric: x, limit: 15\nPlease retry in 12.3s.", 12.3),
        ("Requests have exceeded the call rate limit. Please retry after 26 seconds.", 26.0),
        ("Try again in 2 minutes", 120.0),
        ("Please try again later.", None),
        ("Please try again in a moment.", None),
    ],
)
def test_when_to_come_back_is_read_from_the_words(words: str, seconds: float | None) -> None:
    error = http_error(429, openai(words))

    assert isinstance(error, RateLimited)
    assert error.again == "always"
    assert error.retry_after == (None if seconds is None else pytest.approx(seconds))


def test_a_header_goes_before_the_words() -> None:
    assert http_error(429, openai("Please try again in 6s."), retry_after="2").retry_after == 2


@pytest.mark.parametrize(
    ("status", "told", "again"),
    [(503, "false", "never"), (503, "perhaps", "always"), (400, "", "never"), (400, "true", "never")],
)
def test_the_providers_word_against_asking_again_counts(status: int, told: str, again: str) -> None:
    assert http_error(status, openai("hm"), x_should_retry=told).again == again


def test_no_word_brings_money_back() -> None:
    body = openai(QUOTA, "insufficient_quota", "insufficient_quota")

    assert http_error(429, body, x_should_retry="true").again == "never"


def test_a_date_to_come_back_becomes_seconds() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)

    assert 57 < (http_error(503, "", retry_after=date).retry_after or 0) <= 60


def test_a_blocked_prompt_is_a_refusal() -> None:
    error = http_error(400, openai("The response was filtered", code="content_filter"))

    assert isinstance(error, Refused)
    assert error.again == "never"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (openai("Model not found"), "HTTP 404: Model not found"),
        (anthropic("not_found_error", "model: claude-9"), "HTTP 404: model: claude-9"),
        ([gemini(404, "NOT_FOUND", "models/x is not found")], "HTTP 404: models/x is not found"),
        ({"error": "model 'x' not found"}, "HTTP 404: model 'x' not found"),
        ({"detail": "Not Found"}, "HTTP 404: Not Found"),
        ({"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}, "field required"),
        ({"message": "no route"}, "HTTP 404: no route"),
        ({"error": {"message": "no route", "details": [7, {"violations": 7}]}}, "HTTP 404: no route"),
        ({"error": {"type": "not_found_error"}}, "HTTP 404: not_found_error"),
        ("<html><style>a {}</style><h1>404</h1>\n\n<p>Not here</p>", "HTTP 404: 404 Not here"),
        ("plain\nwords", "HTTP 404: plain words"),
        ("", "HTTP 404: no reason given"),
        ("null", "HTTP 404: no reason given"),
        ("[]", "HTTP 404: no reason given"),
        ("17", "HTTP 404: 17"),
    ],
    ids=str,
)
def test_the_reason_is_found_in_every_known_shape(body: Any, message: str) -> None:
    assert message in str(http_error(404, body))


def test_a_long_reason_is_cut() -> None:
    assert len(str(http_error(400, openai("x" * 10_000)))) < 520


@pytest.mark.parametrize(
    "leak",
    [
        "Incorrect API key provided: test-key. You can find your key elsewhere.",
        "Incorrect API key provided: sk-proj-abcdefghijkl",
        "invalid x-api-key: my-secret-test-key",
        "bad header Authorization: Bearer test-key",
        "GET /v1beta/models?key=test-key failed",
        "AIzaSyA-test-key0123456789 is not valid",
        "gsk_test-key0123456789 is not valid",
    ],
)
def test_a_key_never_appears_in_an_error(leak: str) -> None:
    error = http_error(401, openai(leak))

    for text in (str(error), error.raw):
        assert "test-key" not in text
        assert "abcdefghijkl" not in text
        assert "***" in text


def test_the_request_id_is_kept() -> None:
    assert http_error(500, "", x_request_id="req_a").request_id == "req_a"
    assert http_error(500, "", request_id="req_b").request_id == "req_b"


@pytest.mark.parametrize(
    ("body", "kind", "again"),
    [
        (anthropic("overloaded_error", "Overloaded"), ProviderError, "always"),
        (anthropic("rate_limit_error", "slow down"), RateLimited, "always"),
        (anthropic("invalid_request_error", "bad"), ProviderError, "never"),
        (anthropic("authentication_error", "bad key"), ProviderError, "never"),
        (openai("The server had an error", "server_error"), ProviderError, "always"),
        (gemini(503, "UNAVAILABLE", "overloaded"), ProviderError, "always"),
        ({"error": {"code": 502, "message": "upstream broke"}}, ProviderError, "always"),
        ({"error": "an error was encountered while running the model"}, ProviderError, "always"),
        (openai("maximum context length is 10", code="context_length_exceeded"), ContextTooLong, "never"),
    ],
    ids=str,
)
def test_an_error_inside_of_a_stream_is_classified_like_its_status(
    body: Any, kind: type[ProviderError], again: str
) -> None:
    error = errors.error_in_answer(body, "always", partial="Hel")

    assert (type(error), error.again, error.partial) == (kind, again, "Hel")


def test_an_error_object_with_200_is_tried_once_more_at_most() -> None:
    assert errors.error_in_answer(openai("broken", "server_error")).again == "once"
    assert errors.error_in_answer({"error": {"code": 429, "message": "slow"}}).again == "once"
    assert errors.error_in_answer(openai("bad key", "authentication_error")).again == "never"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty body"),
        (b" \n", "empty body"),
        (b"<!doctype html><h1>Log in</h1>", "web page; is base_url right"),
        (b'{"status": "ok"}', "no answer of this API; is base_url right"),
        (b"hello", "It begins: hello"),
    ],
)
def test_what_is_no_answer_at_all_is_shown(raw: bytes, message: str) -> None:
    error = errors.no_answer_error(raw)

    assert isinstance(error, BadReply)
    assert error.again == "once"
    assert message in str(error)


def test_an_error_object_where_an_answer_should_be_is_read() -> None:
    error = errors.no_answer_error(b'{"error": {"code": 401, "message": "No auth"}}')

    assert (error.status, error.again, str(error)) == (401, "never", "HTTP 401: No auth")


def test_a_cut_answer_says_how_far_it_came() -> None:
    between, within = errors.cut_error("four"), errors.cut_error("four", b"data: {")

    assert (str(between), between.again) == ("The answer was cut after 4 characters.", "always")
    assert (str(within), within.again) == ("The answer was cut after 4 characters, within an event.", "once")
    assert (within.partial, within.raw) == ("four", "data: {")


def test_a_body_that_is_no_request_is_the_callers_mistake() -> None:
    with (
        pytest.raises(ConfigError, match=r"not a valid Chat Completions request: KeyError: 'messages'"),
        errors.readable_request("Chat Completions"),
    ):
        dict[str, str]()["messages"]
