"""Points D: errors, as clients of the Messages API can act on them, over each API upstream."""

from typing import Any

import pytest

from ai_battle.testing import FakeProviders, fault

from ..serving import serving
from .conftest import Stage
from .oddities import Odd
from .speaking import AnsweredQuestion, speaking
from .test_messages_answers import HELLO
from .test_messages_requests import user

KEYS = {"BIG_MODEL": "ollama/phi4", "AI_BATTLE_SERVE_KEYS": "key-one,key-two"}


async def refusal(stage: Stage, name: str | int, **details: Any) -> AnsweredQuestion:
    stage.says(fault(name, **details))
    answered = await stage.client.post("messages", HELLO)
    assert answered.body["type"] == "error"
    assert answered.body["error"]["message"]
    return answered


def kind(answered: AnsweredQuestion) -> tuple[int, str]:
    return answered.status, answered.body["error"]["type"]


async def test_d_e400(stage: Stage) -> None:
    """What the upstream says about the request is kept."""
    answered = await refusal(stage, 400)

    assert kind(answered) == (400, "invalid_request_error")
    assert "The fake answers with status 400." in answered.body["error"]["message"]


async def test_d_e401(stage: Stage) -> None:
    answered = await refusal(stage, 401)

    assert kind(answered) == (401, "authentication_error")


async def test_d_e404(stage: Stage) -> None:
    assert kind(await refusal(stage, 404)) == (404, "not_found_error")


async def test_d_e429(stage: Stage) -> None:
    assert kind(await refusal(stage, 429)) == (429, "rate_limit_error")


async def test_d_e500(stage: Stage) -> None:
    assert kind(await refusal(stage, 500)) == (500, "api_error")


async def test_d_e529(stage: Stage) -> None:
    assert kind(await refusal(stage, 529)) == (529, "overloaded_error")


async def test_d_e502html(stage: Stage) -> None:
    assert kind(await refusal(stage, "html_502")) == (502, "api_error")


@pytest.mark.parametrize("name", ["truncated_json", "html_200", "empty_body", "malformed_json", "invalid_utf8"])
async def test_d_badjson(stage: Stage, name: str) -> None:
    """An answer that is none; one byte that is not UTF-8 is replaced instead."""
    stage.says(fault(name))
    answered = await stage.client.post("messages", HELLO)

    assert answered.status in ((200, 502) if name == "invalid_utf8" else (502,))
    assert answered.status == 200 or kind(answered) == (502, "api_error")


async def test_d_ctxlen(stage: Stage) -> None:
    """The words at which agents compact their history."""
    answered = await refusal(stage, "context_length")

    assert kind(answered) == (400, "invalid_request_error")
    assert "prompt is too long" in answered.body["error"]["message"]


async def test_d_retry_after(stage: Stage) -> None:
    answered = await refusal(stage, "rate_limited", seconds=7)

    assert kind(answered) == (429, "rate_limit_error")
    assert answered.headers["retry-after"] == "7"


async def test_d_no_retry_storm(stage: Stage) -> None:
    await refusal(stage, "rate_limited", seconds=600)

    assert len(stage.upstream.questions) == 1


@pytest.mark.parametrize("api", ["messages", "chat", "responses"])
@pytest.mark.parametrize("body", [b"{", b"", b"[]", b"nonsense", b'{"model": "\xff"}', b"\x00", b'"text"', b"null"])
async def test_d_bad_json(odd: Odd, api: str, body: bytes) -> None:
    answered = await odd.client.post(api, body)

    assert answered.status == 400
    assert answered.body["error"]["type"] == "invalid_request_error"
    assert odd.asked == 0


async def test_d_no_messages(odd: Odd) -> None:
    answered = await odd.client.post("messages", {"max_tokens": 9})

    assert kind(answered) == (400, "invalid_request_error")
    assert "messages" in answered.body["error"]["message"]


async def test_d_auth_none(fakes: FakeProviders) -> None:
    async with serving(fakes, **KEYS) as address, speaking(address) as client:
        assert kind(await client.post("messages", HELLO)) == (401, "authentication_error")


async def test_d_auth_wrong(fakes: FakeProviders) -> None:
    async with serving(fakes, **KEYS) as address, speaking(address) as client:
        for header in ({"x-api-key": "key-three"}, {"authorization": "Bearer key-on"}, {"authorization": "key-one"}):
            assert kind(await client.post("messages", HELLO, header)) == (401, "authentication_error")


async def test_d_auth_forms(fakes: FakeProviders) -> None:
    async with serving(fakes, **KEYS) as address, speaking(address) as client:
        for header in ("Bearer key-one", "bearer key-two", "BEARER key-one"):
            assert (await client.post("messages", HELLO, {"authorization": header})).status == 200
        assert (await client.post("messages", HELLO, {"X-API-Key": "key-two"})).status == 200


@pytest.mark.parametrize("path", ["/v1/nothing", "/nothing", "/v1/messages/batches"])
async def test_d_404(odd: Odd, path: str) -> None:
    answered = await odd.client.post("", HELLO, path=path)

    assert answered.status == 404
    assert path in answered.body["error"]["message"]
    assert "/v1/chat/completions" in answered.body["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/messages", "POST"),
        ("OPTIONS", "/v1/chat/completions", "POST"),
        ("GET", "/v1/messages/count_tokens", "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("PUT", "/v1/models/a/b", "GET, HEAD"),
        ("POST", "/v1/responses/resp_1", "DELETE, GET, HEAD"),
        ("PUT", "/v1/responses/resp_1", "DELETE, GET, HEAD"),
    ],
)
async def test_d_405(odd: Odd, method: str, path: str, allowed: str) -> None:
    answered = await odd.client.get(path, method=method)

    assert (answered.status, answered.headers["allow"]) == (405, allowed)
    assert allowed in answered.body["error"]["message"]


async def test_d_request_id(stage: Stage) -> None:
    """Also an error has one, in its body too."""
    good = await stage.client.post("messages", HELLO)
    bad = await refusal(stage, 400)
    streamed = await stage.client.stream("messages", HELLO)

    ids = [answered.headers["request-id"] for answered in (good, bad, streamed)]
    assert len(set(ids)) == 3
    assert bad.body["request_id"] == ids[1]


async def test_d_big(stage: Stage) -> None:
    """A request of 20 MB with images."""
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 5_000_001}
    picture = {"type": "image", "source": source}
    answered = await stage.client.post("messages", {**HELLO, "messages": [user("?", *[picture] * 4)]})

    assert answered.status == 200
    assert len(stage.upstream.questions[-1].raw) > 20_000_000


async def test_d_too_big(fakes: FakeProviders) -> None:
    async with serving(fakes, BIG_MODEL="ollama/phi4") as address, speaking(address) as client:
        body = b'{"model": "claude-opus-4", "x": "' + b"x" * (33 * 1024 * 1024) + b'"}'
        answered = await client.post("messages", body)

    assert kind(answered) == (413, "request_too_large")
