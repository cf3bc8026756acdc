"""`generate_response` is on every client, in the specification's form."""

import base64
from typing import Any

import pytest

from ai_battle import ask
from ai_battle.core.client import BaseClient, ModelClient
from ai_battle.core.errors import ConfigError
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse
from ai_battle.core.messages import Image, Text, assistant, user


class Echo(ModelClient):
    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self.asked.append(request)
        return ModelResponse(assistant(request.messages[-1].text))


async def test_prompt_history_and_system_instruction_become_one_request() -> None:
    echo = Echo()
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]

    assert await echo.generate_response("And now?", "Be brief.", history) == "And now?"
    assert echo.asked == [ModelRequest((user("Hi"), assistant("Hello"), user("And now?")), "Be brief.")]


async def test_files_come_before_the_prompt() -> None:
    echo = Echo()
    picture = {"type": "image", "base64": base64.b64encode(b"png").decode(), "mime_type": "image/png"}

    await echo.generate_response("What is this?", file_data=[picture, {"path": "a.txt", "text_content": "A"}])

    assert echo.asked[0].messages[0].parts == (Image("image/png", b"png"), Text("a.txt:\nA\n\n"), Text("What is this?"))


async def test_a_list_of_messages_in_place_of_the_prompt_is_refused_with_the_way_out() -> None:
    messages: Any = [{"role": "user", "content": "Hi"}]

    with pytest.raises(ConfigError, match="must be text, not list; pass earlier messages as history"):
        await Echo().generate_response(messages)
    with pytest.raises(ConfigError, match="must be text, not list"):
        ask(messages, "gpt-4o")


def test_the_specifications_name_is_the_same_class() -> None:
    assert BaseClient is ModelClient
