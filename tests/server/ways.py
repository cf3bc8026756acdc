"""One question asked in each of the six ways there are: three APIs, streamed and not."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ai_battle.core.exchange import ToolSpec

from .protocol.speaking import Speaker, Streamed, completion_of, message_of, response_of

Call = tuple[str, str, Any]
"""Id, name and arguments."""


@dataclass(frozen=True)
class Asked:
    """`turns` are what the user said, the calls that answered it, and the texts that the tools returned; and so on."""

    turns: Sequence[Any]
    tools: Sequence[ToolSpec] = ()
    system: str = ""
    choice: str = ""


@dataclass(frozen=True)
class ClientAnswer:
    status: int
    text: str = ""
    calls: Sequence[Call] = ()
    usage: int = 0
    body: Any = None
    streamed: Streamed | None = None

    @property
    def called(self) -> list[str]:
        return [name for _, name, _ in self.calls]


@dataclass(frozen=True)
class Way:
    api: str
    is_streamed: bool

    def __str__(self) -> str:
        return f"{self.api}-{'stream' if self.is_streamed else 'whole'}"

    async def ask(self, client: Speaker, asked: Asked) -> ClientAnswer:
        body = _BODIES[self.api](asked)
        if not self.is_streamed:
            answered = await client.post(self.api, body)
            good = answered.status == 200
            return _WHOLE[self.api](answered.body) if good else ClientAnswer(answered.status, body=answered.body)
        streamed = await client.stream(self.api, body)
        if streamed.status != 200:
            return ClientAnswer(streamed.status, body=streamed.events[0].data)
        return _STREAMED[self.api](streamed)


WAYS = [Way(api, is_streamed) for api in ("messages", "chat", "responses") for is_streamed in (False, True)]


def _messages_body(asked: Asked) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number, turn in enumerate(asked.turns):
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
        elif number % 3 == 1:
            blocks = [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in turn]
            messages.append({"role": "assistant", "content": blocks})
        else:
            results = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in turn]
            messages.append({"role": "user", "content": results})
    tools = [{"name": t.name, "description": t.description, "input_schema": t.schema} for t in asked.tools]
    names = {"required": "any"}
    return {
        "max_tokens": 512,
        "messages": messages,
        **({"tools": tools} if tools else {}),
        **({"system": asked.system} if asked.system else {}),
        **({"tool_choice": {"type": names.get(asked.choice, asked.choice)}} if asked.choice else {}),
    }


def _chat_body(asked: Asked) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": asked.system}] if asked.system else []
    for number, turn in enumerate(asked.turns):
        if isinstance(turn, str):
            messages.append({"role": "user", "content": turn})
        elif number % 3 == 1:
            calls = [_function(id_, name, json.dumps(given)) for id_, name, given in turn]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            messages += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in turn]
    functions = [{"name": t.name, "description": t.description, "parameters": t.schema} for t in asked.tools]
    return {
        "messages": messages,
        **({"tools": [{"type": "function", "function": f} for f in functions]} if functions else {}),
        **({"tool_choice": asked.choice} if asked.choice else {}),
    }


def _function(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _responses_body(asked: Asked) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for number, turn in enumerate(asked.turns):
        if isinstance(turn, str):
            items.append({"role": "user", "content": turn})
        elif number % 3 == 1:
            items += [
                {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(given)}
                for id_, name, given in turn
            ]
        else:
            items += [{"type": "function_call_output", "call_id": id_, "output": text} for id_, text in turn]
    tools = [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.schema} for t in asked.tools
    ]
    return {
        "input": items,
        **({"instructions": asked.system} if asked.system else {}),
        **({"tools": tools} if tools else {}),
        **({"tool_choice": asked.choice} if asked.choice else {}),
    }


def _whole_message(body: Any) -> ClientAnswer:
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    calls = [(b["id"], b["name"], b["input"]) for b in body["content"] if b["type"] == "tool_use"]
    return ClientAnswer(200, text, calls, body["usage"]["output_tokens"], body)


def _whole_completion(body: Any) -> ClientAnswer:
    message = body["choices"][0]["message"]
    calls = [_read(call["id"], **call["function"]) for call in message.get("tool_calls") or ()]
    return ClientAnswer(200, message["content"] or "", calls, body["usage"]["completion_tokens"], body)


def _whole_response(body: Any) -> ClientAnswer:
    said = [part["text"] for item in body["output"] if item["type"] == "message" for part in item["content"]]
    calls = [
        _read(item["call_id"], item["name"], item["arguments"])
        for item in body["output"]
        if item["type"] == "function_call"
    ]
    return ClientAnswer(200, "".join(said), calls, body["usage"]["output_tokens"], body)


def _read(id_: str, name: str, arguments: str) -> Call:
    return id_, name, json.loads(arguments)


def _streamed_message(streamed: Streamed) -> ClientAnswer:
    told = message_of(streamed)
    calls = [(block["id"], block["name"], block["input"]) for block in told.content if block["type"] == "tool_use"]
    return ClientAnswer(200, told.text, calls, told.usage["output_tokens"], streamed=streamed)


def _streamed_completion(streamed: Streamed) -> ClientAnswer:
    told = completion_of(streamed)
    return ClientAnswer(200, told.text, [_read(*call) for call in told.calls], streamed=streamed)


def _streamed_response(streamed: Streamed) -> ClientAnswer:
    heard = _whole_response(response_of(streamed))
    return ClientAnswer(200, heard.text, heard.calls, heard.usage, heard.body, streamed)


_BODIES = {"messages": _messages_body, "chat": _chat_body, "responses": _responses_body}
_WHOLE = {"messages": _whole_message, "chat": _whole_completion, "responses": _whole_response}
_STREAMED = {"messages": _streamed_message, "chat": _streamed_completion, "responses": _streamed_response}
