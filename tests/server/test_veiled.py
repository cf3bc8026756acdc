"""`veil` at the model of a route: what is private stays here, and clients read it in the answer all the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_battle.testing import FakeProviders, reply

from .conftest import Upstream
from .protocol.speaking import message_of, speaking
from .serving import ask_server, serving

MAIL, ACCOUNT = "maria.lind@example.org", "DE89 3704 0044 0532 0130 00"
SAID = f"Write to {MAIL}, and send the money to {ACCOUNT}."
MESSAGES = [{"role": "user", "content": SAID}]
FILE = """
server:
  routes:
    veiled: {{model: {{type: {upstream}/gpt-4o, veil: true}}}}
    helped:
      model: ollama/phi4
      strategy: takeover
      threshold: 1.0
      max_retries: 1
      secondary: {{type: {upstream}/gpt-4o, veil: true}}
"""
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 99},
    "/v1/responses": {"input": SAID},
}


def text_of(path: str, answer: Any) -> str:
    """Returns what a client reads, of a stream its pieces together."""
    if not isinstance(answer, str):
        return json.dumps(answer)
    events = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    if path == "/v1/chat/completions":
        return "".join(each["delta"].get("content") or "" for event in events for each in event["choices"])
    if path == "/v1/messages":
        return "".join(event.get("delta", {}).get("text", "") for event in events)
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", ["veiled", "helped"])
@pytest.mark.parametrize("path", [*BODIES])
async def test_nothing_private_reaches_the_model_of_a_veiled_route_and_its_client_reads_it_all(
    fakes: FakeProviders, upstream: Upstream, tmp_path: Path, path: str, route: str, *, stream: bool
) -> None:
    fakes.ollama.always(lambda body: "I can't help with that.")
    upstream.fake.always(lambda body: reply("I wrote to EMAIL_1, and paid IBAN_1.", chunks=14))
    file = tmp_path / "server.yaml"
    file.write_text(FILE.format(upstream=upstream.name))
    async with serving(fakes, str(file)) as address:
        status, answer = await ask_server(address, path, {"model": route, "stream": stream, **BODIES[path]})

    assert status == 200, answer
    assert f"I wrote to {MAIL}, and paid {ACCOUNT}." in text_of(path, answer)
    sent = upstream.fake.questions[0].raw.decode()
    assert "EMAIL_1" in sent
    assert MAIL not in sent
    assert "3704" not in sent


@pytest.mark.parametrize("is_signed", [True, False])
async def test_a_streamed_thought_comes_back_veiled_and_as_it_was_signed(
    fakes: FakeProviders, tmp_path: Path, *, is_signed: bool
) -> None:
    """Only the end of a thought has its signature; what a thought of another model says is veiled like any text."""
    fake, model = (fakes.anthropic, "anthropic/claude-opus-4-1") if is_signed else (fakes.openai, "openai/gpt-4o")
    thought = "EMAIL_1 is to get it, and IBAN_1 pays"
    fake.says(reply("I wrote to EMAIL_1.", thinking=thought), "Yes.")
    file = tmp_path / "server.yaml"
    file.write_text(f"server: {{routes: {{veiled: {{model: {{type: {model}, veil: true}}}}}}}}")
    thinks = {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    async with serving(fakes, str(file)) as address, speaking(address, "veiled") as client:
        content = message_of(await client.stream("messages", {**thinks, "messages": MESSAGES})).content
        said = [*MESSAGES, {"role": "assistant", "content": content}, {"role": "user", "content": "Sure?"}]
        await client.stream("messages", {**thinks, "messages": said})

    seen = thought if is_signed else f"{MAIL} is to get it, and {ACCOUNT} pays"
    assert [block.get("thinking") or block["text"] for block in content] == [seen, f"I wrote to {MAIL}."]
    sent = fake.questions[-1].raw.decode()
    assert (thought in sent) == is_signed
    assert MAIL not in sent
    assert "3704" not in sent
