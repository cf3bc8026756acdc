"""Tries a model for real: does it stream, call a tool, and answer in JSON?"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ai_battle.assembly import create_client
from ai_battle.core.client import ModelClient
from ai_battle.core.errors import ProviderError
from ai_battle.core.events import EventLog, TextDelta
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import user

Judge = Callable[[ModelResponse, EventLog], str]
"""What is wrong with an answer; nothing when it is as it should be."""

CLOCK = ToolSpec("clock", "The time at a place.", {"type": "object", "properties": {"place": {"type": "string"}}})
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Probed:
    name: str
    works: bool
    seconds: float
    message: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def probe(type_: str) -> Sequence[Probed]:
    client = create_client(type_)
    trials: dict[str, tuple[ModelRequest, Judge]] = {
        "streaming": (ModelRequest((user("Count from one to ten, in words."),)), _streamed),
        "tools": (ModelRequest((user("What time is it in Oslo? Use the tool."),), tools=(CLOCK,)), _called),
        "json": (ModelRequest((user("Add 2 and 3."),), output_schema=SUM), _structured),
    }
    try:
        return [await _tried(client, name, *trial) for name, trial in trials.items()]
    finally:
        await client.aclose()


async def _tried(client: ModelClient, name: str, request: ModelRequest, judge: Judge) -> Probed:
    started = time.monotonic()
    try:
        response = await client.complete(request, heard := EventLog())
        fault = judge(response, heard)
    except ProviderError as error:
        fault = str(error)
    return Probed(name, not fault, time.monotonic() - started, fault)


def _streamed(response: ModelResponse, heard: EventLog) -> str:
    pieces = sum(isinstance(event, TextDelta) for event in heard.events)
    return "" if pieces > 1 else "the answer came in one piece"


def _called(response: ModelResponse, heard: EventLog) -> str:
    return "" if response.tool_calls else "it answered in text instead of calling the tool"


def _structured(response: ModelResponse, heard: EventLog) -> str:
    try:
        answer = json.loads(response.text)
    except ValueError:
        return "the answer is no JSON"
    return "" if isinstance(answer, dict) and isinstance(answer.get("sum"), int) else "the JSON does not fit the schema"
