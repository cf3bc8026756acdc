"""What a file says that a model can't do is not asked of it; what it says of its window counts."""

from typing import Any

import pytest

from ai_battle.assembly.models import BuildContext, participant
from ai_battle.config.participants import ParticipantSettings
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Image, Message, Text, ToolCall, ToolResult
from ai_battle.testing import FakeProviders

PICTURE = Image("image/png", b"\x89PNG...")
ASKED = ModelRequest(
    (
        Message("user", (PICTURE, Text("What is this?"))),
        Message("assistant", (ToolCall("look", id="a"),)),
        Message("tool", (ToolResult(ToolCall("look", id="a"), (PICTURE, Text("seen"))),)),
        Message("user", (Text("Well?"),)),
    ),
    output_schema={"type": "object", "properties": {}},
    options={"reasoning": "high", "temperature": 0.5},
)


async def sent_body(fakes: FakeProviders, capabilities: dict[str, Any]) -> Any:
    spec = ParticipantSettings.model_validate({"type": "openai/some-model", "capabilities": capabilities})
    fakes.openai.says("Fine.")
    model = participant("Ann", spec, BuildContext())
    await model.client.complete(ASKED)
    return fakes.openai.requests[-1].body


async def test_what_is_not_denied_is_asked(fakes: FakeProviders) -> None:
    body = await sent_body(fakes, {"images": True})

    assert {"response_format", "reasoning_effort", "temperature"} <= body.keys()
    assert "image_url" in str(body["messages"])


async def test_what_is_denied_is_left_out_and_told_where_it_was(fakes: FakeProviders) -> None:
    body = await sent_body(fakes, {"images": False, "json_schema": False, "reasoning": False})

    assert not {"response_format", "reasoning_effort"} & body.keys()
    assert body["temperature"] == 0.5
    assert "image_url" not in str(body["messages"])
    assert str(body["messages"]).count("a picture, which you can't see") == 2
    assert "JSON alone" in str(body["messages"])


@pytest.mark.parametrize("stated", [{}, {"context_window": 5_000}])
def test_a_stated_window_goes_before_a_known_one(fakes: FakeProviders, stated: dict[str, Any]) -> None:
    spec = ParticipantSettings.model_validate({"type": "gpt-4o", "capabilities": stated})

    assert participant("Ann", spec, BuildContext()).window == stated.get("context_window", 128_000)
