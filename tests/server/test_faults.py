"""Whatever goes wrong upstream, a client is told in the shape of its API, in time, and never gets half of an answer."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest

from ai_battle.testing import FAULTS, FakeProviders, fault

from .serving import serving

HELLO: dict[str, Any] = {"model": "opus", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}
BODIES: Mapping[str, dict[str, Any]] = {
    "/v1/messages": HELLO,
    "/v1/chat/completions": HELLO,
    "/v1/responses": {"model": "opus", "input": "Hello?"},
}
ENDS = (b"event: message_stop", b"data: [DONE]", b"event: response.completed", b"event: response.incomplete")
FAILURES = (b"event: error", b'data: {"error"', b"event: response.failed")
ANSWERS = {
    "content_filter", "length", "refusal", "duplicate_tool_ids", "missing_tool_ids", "invalid_utf8",
    "redirect_same_origin", "empty_answer",
}  # fmt: skip
"""Faults of which there is something to make."""
NAMES = [name for name, known in FAULTS.items() if "openai" in known.wires]
CASES = [
    pytest.param(name, path, marks=() if number % len(BODIES) == place else pytest.mark.slow)
    for number, name in enumerate(NAMES)
    for place, path in enumerate(BODIES)
]
WAIT_SECONDS = 30.0


async def outcome(address: str, path: str, *, stream: bool) -> str:
    async with (
        asyncio.timeout(WAIT_SECONDS),
        aiohttp.ClientSession(address) as session,
        session.post(path, json={**BODIES[path], "stream": stream}) as answer,
    ):
        said = await answer.read()
    if answer.status != 200:
        error = json.loads(said)["error"]
        assert error["message"]
        assert error["type"]
        assert "test-key" not in said.decode()
        return "error"
    if not stream:
        return "answer" if json.loads(said) else "nothing"
    ended, failed = (any(mark in said for mark in marks) for marks in (ENDS, FAILURES))
    assert ended != failed
    return "answer" if ended else "error"


def expectation(name: str, path: str) -> list[str]:
    """Streamed, and in one piece. A parameter that is refused is left out from then on; the next time none is left."""
    if name == "parameter_refused" and "max_tokens" in BODIES[path]:
        return ["answer", "error"]
    return ["answer" if name in ANSWERS else "error"] * 2


@pytest.mark.parametrize(("name", "path"), CASES)
async def test_a_fault_is_an_error_or_a_whole_answer(fakes: FakeProviders, name: str, path: str) -> None:
    """And after it the server answers as ever."""
    async with serving(fakes, BIG_MODEL="openai/large", REQUEST_TIMEOUT="0.5") as address:
        outcomes = []
        for stream in (True, False):
            fakes.openai.says(fault(name))
            outcomes.append(await outcome(address, path, stream=stream))
        calls = len(fakes.openai.questions)
        assert await outcome(address, path, stream=True) == "answer"

    assert outcomes == expectation(name, path)
    again = outcomes == ["answer", "error"]
    assert calls == (4 if name == "redirect_same_origin" else 3 if again else 2)
