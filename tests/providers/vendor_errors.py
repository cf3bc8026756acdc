"""What servers say instead of an answer, in the words that vendors document or are known for."""

# fmt: off
from collections.abc import Iterator
from typing import Any

from ai_battle.core.errors import BadReply, ContextTooLong, ProviderError, RateLimited, Refused, Unreachable
from ai_battle.wire.bodies import dumps

from .vendor_bodies import (
    ALL,
    ANTHROPIC,
    GEMINI,
    KEY,
    NEVER,
    ONCE,
    OPENAI,
    OUT_OF_CREDIT,
    PAGE,
    PASSES,
    PLACE,
    SHORTER,
    VendorFault,
    claude_error,
    fails,
    google_error,
    http,
    openai_error,
)


def _statuses() -> Iterator[VendorFault]:
    """The statuses as gateways, proxies and servers of no vendor send them: the same for all APIs."""
    for status, title in ((500, b"Internal Server Error"), (502, b"Bad Gateway"), (503, b"Service Unavailable"),
                          (504, b"Gateway Time-out"), (520, b"Web server is returning an unknown error"),
                          (522, b"Connection timed out"), (524, b"A timeout occurred")):
        page = PAGE % (title, title)
        yield fails(f"a page with {status}", ALL, http(status, page), PASSES, ProviderError, str(status),
            title.decode())
    yield fails("a 401 in an encoding that nobody asked for", ALL, http(401, b"\x8b\x1f", Content_Encoding="br"), NEVER,
        ProviderError, "401", "right?")
    yield fails("an empty 500", ALL, http(500), PASSES, ProviderError, "500")
    yield fails("plain text with 500", ALL, http(500, b"Internal Server Error"), PASSES, ProviderError, "Internal")
    yield fails("503 with when to come back", ALL, http(503, b"busy", Retry_After="0.05"), PASSES, ProviderError,
        "busy")
    yield fails("503 for longer than a call", ALL, http(503, b"busy", Retry_After="7200"), NEVER, ProviderError,
        "7200 s")
    yield fails("a page with 404", ALL, http(404, PAGE % (b"404", b"404 Not Found")), NEVER, ProviderError, "404",
        "model")
    yield fails("a page with 405", ALL, http(405, PAGE % (b"405", b"Method Not Allowed")), NEVER, ProviderError,
        PLACE)
    yield fails("a proxy wants to be paid in passwords", ALL, http(407, b"Proxy Authentication Required"), NEVER,
        ProviderError, "HTTPS_PROXY")
    yield fails("a page with 413", ALL, http(413, PAGE % (b"413", b"Request Entity Too Large")), NEVER,
        ContextTooLong, "413")
    yield fails("a firewall's page with 403", ALL, http(403, PAGE % (b"Blocked", b"Access denied")), NEVER,
        ProviderError, "403", "Access denied")
    yield fails("FastAPI's word for an address", ALL, http(404, {"detail": "Not Found"}), NEVER, ProviderError,
        "Not Found", "model")
    yield fails("FastAPI's word for a body", ALL, http(422, {"detail": [{"loc": ["body", "messages"],
        "msg": "Field required", "type": "missing"}]}), NEVER, ProviderError, "Field required", "messages")
    yield fails("a permanent redirect elsewhere", ALL, http(308, Location="http://127.0.0.2:9/v1"), NEVER,
        Unreachable, PLACE)
    yield fails("a redirect to nowhere", ALL, http(301), NEVER, ProviderError)
    yield fails("a status of no kind", ALL, http(418, b"I am a teapot"), NEVER, ProviderError, "teapot")
    yield fails("nothing with 204", ALL, http(204), ONCE, BadReply, PLACE)
    yield fails("a web page as the answer", ALL, http(200, PAGE % (b"Sign in", b"Sign in to the hotel")), ONCE,
        BadReply, PLACE)
    for name, body in (("null", None), ("a number", 7), ("a text", "ok"), ("a list", []), ("an object",
        {"ok": True})):
        yield fails(f"{name} as the answer", ALL, http(200, body), ONCE, BadReply, PLACE)
    deep = b"[" * 100_000
    yield fails("a hundred thousand brackets", ALL, http(200, deep), ONCE, BadReply)
    fire = "The server is on fire"
    for name, said in (("in an object", {"error": {"message": fire}}), ("as a text", {"error": fire})):
        yield fails(f"an error {name} with 200", ALL, http(200, said), ONCE, ProviderError, "on fire")


def _openai_errors() -> Iterator[VendorFault]:
    long = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    wrong = "Incorrect API key provided: test-key. You can find your API key at https://platform.openai.com."
    rate = "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000. Please try again in 20ms."
    day = "Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200, Requested 1."
    quota = "You exceeded your current quota, please check your plan and billing details."
    filtered = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    for name, answer, again, kind, *says in (
        ("an unknown argument", http(400, openai_error("Unrecognized request argument supplied: foo")), NEVER,
            ProviderError, "foo"),
        ("too long", http(400, openai_error(long, code="context_length_exceeded")), NEVER, ContextTooLong, *SHORTER),
        ("too long, of vLLM", http(400, {"object": "error", "message": long, "type": "BadRequestError", "code": 400}),
            NEVER, ContextTooLong, *SHORTER),
        ("too long, of llama.cpp", http(400, {"error": {"code": 400,
            "message": "the request exceeds the available context size", "type": "exceed_context_size_error",
            "n_ctx": 4096}}), NEVER, ContextTooLong, *SHORTER),
        ("too long, of LM Studio", http(400,
            {"error": "Trying to keep the first 5000 tokens when the context overflows. The context length is 4096"}),
                NEVER, ContextTooLong, *SHORTER),
        ("filtered, of Azure", http(400, openai_error(filtered, "", "content_filter")), NEVER, Refused, "filtered"),
        ("flagged by moderation, of OpenRouter", http(403, {"error": {"code": 403,
            "message": "Your input was flagged", "metadata": {"reasons": ["violence"]}}}), NEVER, ProviderError,
            "flagged"),
        ("a wrong key", http(401, openai_error(wrong, code="invalid_api_key")), NEVER, ProviderError, "401", *KEY),
        ("a key of nobody", http(401, openai_error("You must be a member of an organization to use the API")), NEVER,
            ProviderError, "member", *KEY),
        ("a key without the right", http(403,
            openai_error("You have insufficient permissions for this operation. Missing scopes: model.request")),
            NEVER, ProviderError, "scopes", "api_key"),
        ("a country", http(403, openai_error("Country, region, or territory not supported", "request_forbidden",
            "unsupported_country_region_territory")), NEVER, ProviderError, "Country"),
        ("an unknown model", http(404, openai_error("The model `m` does not exist or you do not have access to it.",
            code="model_not_found")), NEVER, ProviderError, "`m`"),
        ("no model is loaded, of LM Studio", http(404,
            openai_error("No models loaded. Please load a model in the developer page.")), NEVER, ProviderError,
            "load a model"),
        ("no credit, of OpenRouter", http(402, {"error": {"code": 402,
            "message": "Insufficient credits. Add more using https://openrouter.ai/credits"}}), NEVER, RateLimited,
            *OUT_OF_CREDIT),
        ("an error behind OpenRouter", http(502, {"error": {"code": 502, "message": "Provider returned error",
            "metadata": {"provider_name": "Lab", "raw": "upstream connect error"}}}), PASSES, ProviderError,
            "upstream connect error"),
        ("too long for a provider behind OpenRouter", http(400, {"error": {"code": 400,
            "message": "Provider returned error", "metadata": {"raw": dumps(openai_error(long)).decode()}}}), NEVER,
            ContextTooLong, *SHORTER),
        ("a call that Groq can't read", http(400, openai_error("Failed to call a function.",
            code="tool_use_failed")), ONCE, BadReply, "Failed to call"),
        ("no balance, of DeepSeek", http(402, openai_error("Insufficient Balance", "unknown_error",
            "invalid_request_error")), NEVER, RateLimited, *OUT_OF_CREDIT),
        ("no quota", http(429, openai_error(quota, "insufficient_quota", "insufficient_quota")), NEVER, RateLimited,
            *OUT_OF_CREDIT),
        ("a rate", http(429, openai_error(rate, "tokens", "rate_limit_exceeded")), PASSES, RateLimited, "429"),
        ("a rate in milliseconds", http(429, openai_error("slow down"), Retry_After_Ms="30"), PASSES, RateLimited,
            "429"),
        ("a rate of a day", http(429, openai_error(day, "requests", "rate_limit_exceeded")), NEVER, RateLimited,
            "day"),
        ("a rate of two days", http(429, openai_error("slow down"), Retry_After="172800"), NEVER, RateLimited,
            "172800 s"),
        ("too large for the rate", http(429,
            openai_error("Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.",
            "tokens")), NEVER, ContextTooLong, *SHORTER),
        ("an error of theirs", http(500,
            openai_error("The server had an error while processing your request. Sorry about that!", "server_error")),
            PASSES, ProviderError, "Sorry"),
        ("overloaded", http(503, openai_error("That model is currently overloaded with other requests.",
            "server_error")), PASSES, ProviderError, "overloaded"),
        ("a model that loads, of llama.cpp", http(503, {"error": {"code": 503, "message": "Loading model",
            "type": "unavailable_error"}}), PASSES, ProviderError, "Loading"),
        ("their upstream's rate with 200, of OpenRouter", http(200, {"error": {"code": 429,
            "message": "Provider returned error", "metadata": {"provider_name": "X"}}, "user_id": "u"}), ONCE,
            RateLimited, "Provider returned error"),
        ("their upstream's refusal of the key with 200", http(200, {"error": {"code": 401,
            "message": "No auth credentials found"}}), NEVER, ProviderError, *KEY),
        ("an error as an object with 200, of vLLM", http(200, {"object": "error", "message": "The model died.",
            "type": "InternalServerError", "code": 500}), ONCE, ProviderError, "died"),
    ):
        yield fails(f"{name}", OPENAI, answer, again, kind, *says)


def _anthropic_errors() -> Iterator[VendorFault]:
    for name, status, kind, message, again, error, *says in (
        ("an invalid request", 400, "invalid_request_error", "messages: roles must alternate", NEVER, ProviderError,
            "alternate"),
        ("too long", 400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", NEVER,
            ContextTooLong, *SHORTER),
        ("too long with the answer", 400, "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
                NEVER, ContextTooLong, *SHORTER),
        ("no credit", 400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.",
            NEVER, RateLimited, *OUT_OF_CREDIT),
        ("a billing error", 402, "billing_error", "There is an issue with your payment.", NEVER, RateLimited,
            *OUT_OF_CREDIT),
        ("a limit of the month", 400, "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            NEVER, RateLimited, "2026-12-01"),
        ("a wrong key", 401, "authentication_error", "invalid x-api-key test-key", NEVER, ProviderError, *KEY),
        ("a key that was stopped", 401, "authentication_error", "This API key is disabled", NEVER, ProviderError,
            *KEY),
        ("a key without the right", 403, "permission_error",
            "Your API key does not have permission to use the specified resource.", NEVER, ProviderError, "api_key"),
        ("an unknown model", 404, "not_found_error", "model: m", NEVER, ProviderError, "model"),
        ("too many bytes", 413, "request_too_large", "Request exceeds the maximum allowed number of bytes.", NEVER,
            ContextTooLong, *SHORTER),
        ("a rate", 429, "rate_limit_error",
            "This request would exceed your organization's rate limit of 50,000 input tokens per minute.", PASSES,
            RateLimited, "rate limit"),
        ("an error of theirs", 500, "api_error", "Internal server error", PASSES, ProviderError, "Internal"),
        ("a time that ran out", 504, "timeout_error", "Request timed out.", PASSES, ProviderError, "timed out"),
        ("overloaded", 529, "overloaded_error", "Overloaded", PASSES, ProviderError, "Overloaded"),
    ):
        yield fails(name, ANTHROPIC, http(status, claude_error(kind, message)), again, error, *says)
    words = claude_error("authentication_error", "invalid x-api-key")
    yield fails("a wrong key with 200", ANTHROPIC, http(200, words), NEVER, ProviderError, *KEY)


def _gemini_errors() -> Iterator[VendorFault]:
    def info(reason: str) -> list[dict[str, Any]]:
        return [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}]

    def quota(id_: str, delay: str = "") -> list[dict[str, Any]]:
        rpc = "type.googleapis.com/google.rpc"
        failure: dict[str, Any] = {"@type": f"{rpc}.QuotaFailure", "violations": [{"quotaId": id_}]}
        return [failure, {"@type": f"{rpc}.RetryInfo", "retryDelay": delay}] if delay else [failure]

    used_up = "You exceeded your current quota, please check your plan and billing details."
    for name, code, status, message, details, again, kind, *says in (
        ("an unknown field", 400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"foo\"", [],
            NEVER, ProviderError, "foo"),
        ("a wrong key", 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
            info("API_KEY_INVALID"), NEVER, ProviderError, *KEY),
        ("a wrong key without details", 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
            [], NEVER, ProviderError, *KEY),
        ("an expired key", 400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.",
            info("API_KEY_INVALID"), NEVER, ProviderError, *KEY),
        ("an unregistered caller", 403, "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity.",
                [], NEVER, ProviderError, "key"),
        ("a leaked key", 403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key.",
            [], NEVER, ProviderError, "leaked", "api_key"),
        ("an API that is off", 403, "PERMISSION_DENIED",
            "Generative Language API has not been used in project 1 before or it is disabled.",
            info("SERVICE_DISABLED"), NEVER, ProviderError, "disabled"),
        ("a key for other addresses", 403, "PERMISSION_DENIED", "The provided API key has an IP address restriction.",
            info("API_KEY_IP_ADDRESS_BLOCKED"), NEVER, ProviderError, "restriction"),
        ("a suspended user", 403, "PERMISSION_DENIED", "Consumer has been suspended.", info("CONSUMER_SUSPENDED"),
            NEVER, ProviderError, "suspended"),
        ("a country", 400, "FAILED_PRECONDITION", "User location is not supported for the API use.", [], NEVER,
            ProviderError, "location"),
        ("no billing", 400, "FAILED_PRECONDITION",
            "Gemini API free tier is not available in your country. Please enable billing on your project.", [],
                NEVER, ProviderError, "billing"),
        ("an unknown model", 404, "NOT_FOUND",
            "models/m is not found for API version v1beta, or is not supported for generateContent.", [], NEVER,
            ProviderError, "model"),
        ("too long", 400, "INVALID_ARGUMENT",
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", [], NEVER,
            ContextTooLong, *SHORTER),
        ("too long with 500", 500, "INTERNAL", "An internal error has occurred: the input context is too long.", [],
            NEVER, ContextTooLong, *SHORTER),
        ("a rate with a delay", 429, "RESOURCE_EXHAUSTED", used_up,
            quota("GenerateRequestsPerMinutePerProjectPerModel", "0.05s"), PASSES, RateLimited, "429"),
        ("a quota of the day with a delay", 429, "RESOURCE_EXHAUSTED", used_up,
            quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "30s"), NEVER, RateLimited, "day"),
        ("a quota of the day without", 429, "RESOURCE_EXHAUSTED", used_up,
            quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), NEVER, RateLimited),
        ("a shared rate, of Vertex", 429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", [],
            PASSES, RateLimited, "429"),
        ("an error of theirs", 500, "INTERNAL",
            "An internal error has occurred. Please retry or report in https://developers.generativeai.google", [],
                PASSES, ProviderError, "internal"),
        ("overloaded", 503, "UNAVAILABLE", "The model is overloaded. Please try again later.", [], PASSES,
            ProviderError, "overloaded"),
        ("a deadline", 504, "DEADLINE_EXCEEDED", "The request timed out. Please try again.", [], PASSES,
            ProviderError, "timed out"),
        ("cancelled", 499, "CANCELLED", "The operation was cancelled.", [], PASSES, ProviderError, "cancelled"),
    ):
        body = google_error(code, status, message, **({"details": details} if details else {}))
        yield fails(name, GEMINI, http(code, body), again, kind, *says)
        yield fails(f"{name}, in a list", GEMINI, http(code, [body]), again, kind, *says, streamed=True)


def errors() -> Iterator[VendorFault]:
    for table in (_statuses, _openai_errors, _anthropic_errors, _gemini_errors):
        yield from table()
