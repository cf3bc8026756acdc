"""Points B: what of a request of the Messages API reaches the model, over each API upstream."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ai_battle.testing import call

from .conftest import Stage
from .sent import Sent
from .test_messages_answers import HELLO, TOOL

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
WEATHER = {
    "name": "weather",
    "description": "Tells it.",
    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
}
THINKS = {"anthropic": {"thinking", "redacted_thinking"}, "gemini": {"thinking"}}
CACHED = {"cache_control": {"type": "ephemeral"}}


async def send(stage: Stage, messages: Sequence[dict[str, Any]] = (), **body: Any) -> Sent:
    """Returns what the model was sent; the request was answered."""
    said = {**HELLO, **({"messages": messages} if messages else {}), **body}
    answered = await stage.client.post("messages", said)
    assert answered.status == 200, answered.body
    return stage.upstream_request()


def use(id_: str, name: str = "weather", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def result(id_: str, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, **({} if content is None else {"content": content}), **more}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {**user(*blocks), "role": "assistant"}


async def test_b_every_character(stage: Stage) -> None:
    """Line ends, marks of direction and what is not seen belong to the client's files, and are passed on."""
    text = "one\r\ntwo\u200b \u202eeert\u202c \x85 \u2029 \x1b[1mthree"

    assert (await send(stage, [user(text)])).of("text") == [text]


async def test_b_system_str(stage: Stage) -> None:
    assert (await send(stage, system="You are short.")).system == "You are short."


async def test_b_system_blocks(stage: Stage) -> None:
    """Blocks are joined, and marks for a cache reach only the API that has them."""
    blocks = [{"type": "text", "text": "You are short.", **CACHED}, {"type": "text", "text": "And kind."}]
    told = await send(stage, system=blocks)

    assert told.system == "You are short.\n\nAnd kind."
    assert (b"cache_control" in stage.upstream.questions[-1].raw) == (stage.wire == "anthropic")


async def test_b_billing_header(stage: Stage) -> None:
    header = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197; cch=4f2d1;"}
    told = await send(stage, system=[header, {"type": "text", "text": "You are short."}])

    assert "billing" not in told.system
    assert told.system.endswith("You are short.")


async def test_b_tools(stage: Stage) -> None:
    told = await send(stage, tools=[TOOL, WEATHER])

    assert told.tools == [(tool["name"], tool["description"], tool["input_schema"]) for tool in (TOOL, WEATHER)]


async def test_b_choice_any(stage: Stage) -> None:
    assert (await send(stage, tools=[TOOL], tool_choice={"type": "any"})).choice == "required"


async def test_b_choice_tool(stage: Stage) -> None:
    told = await send(stage, tools=[TOOL, WEATHER], tool_choice={"type": "tool", "name": "add"})

    assert told.choice == "add"


async def test_b_choice_none(stage: Stage) -> None:
    assert (await send(stage, tools=[TOOL], tool_choice={"type": "none"})).choice == "none"


async def test_b_no_parallel(stage: Stage) -> None:
    told = await send(stage, tools=[TOOL], tool_choice={"type": "auto", "disable_parallel_tool_use": True})

    assert told.options.get("parallel_tool_calls", True) is False


async def test_b_params(stage: Stage) -> None:
    told = await send(stage, stop_sequences=["END"], temperature=0.5, top_p=0.9)

    assert [told.options.get(name) for name in ("stop", "temperature", "top_p")] == [["END"], 0.5, 0.9]


async def test_b_no_invented(stage: Stage) -> None:
    """Only Ollama is told how long the conversation may get: it would cut it without a word."""
    told = await send(stage)

    assert told.options.keys() == ({"max_tokens", "num_ctx"} if stage.wire == "ollama" else {"max_tokens"})


@pytest.mark.parametrize("tokens", [7, 32000])
async def test_b_max_tokens(stage: Stage, tokens: int) -> None:
    assert (await send(stage, max_tokens=tokens)).options["max_tokens"] == tokens


async def test_b_image_b64(stage: Stage) -> None:
    told = await send(stage, [user("What is this?", IMAGE)])

    assert told.of("image") == [f"data:image/png;base64,{PIXEL}"]
    assert "What is this?" in told.text


async def test_b_image_url(stage: Stage) -> None:
    url = "https://example.com/cat.png"

    assert (await send(stage, [user("Who?", {"type": "image", "source": {"type": "url", "url": url}})])).of(
        "image"
    ) == [url]


async def test_b_roundtrip(stage: Stage) -> None:
    """Two calls and their results: in order, right after one another, and each result names its call."""
    asked = assistant("I look.", use("toolu_1", at="Bonn"), use("toolu_2", at="Rome"))
    told = await send(
        stage, [user("Where?"), asked, user(result("toolu_1", "rain"), result("toolu_2", "sun"))], tools=[WEATHER]
    )

    assert told.of("call") == [("weather", {"at": "Bonn"}), ("weather", {"at": "Rome"})]
    assert told.of("result") == ["rain", "sun"]
    assert told.links == told.calls
    kinds = [kind for kind, _ in told.parts]
    assert kinds == ["text", "text", "call", "call", "result", "result"]


async def test_b_result_plus_text(stage: Stage) -> None:
    """Text behind a result stays, and the result comes right after the call."""
    messages = [user("Where?"), assistant(use("toolu_1", at="Bonn")), user(result("toolu_1", "rain"), "And now hurry.")]
    told = await send(stage, messages, tools=[WEATHER])
    kinds = [kind for kind, _ in told.parts]

    assert kinds[kinds.index("call") + 1] == "result"
    assert "And now hurry." in told.text


@pytest.mark.parametrize("more", [{}, {"is_error": True}, {"content": []}, {"content": ""}])
async def test_b_result_empty(stage: Stage, more: dict[str, Any]) -> None:
    messages = [user("Where?"), assistant(use("toolu_1", at="Bonn")), user(result("toolu_1", **more))]
    told = await send(stage, messages, tools=[WEATHER])

    assert len(told.links) == 1


async def test_b_result_image(stage: Stage) -> None:
    shown = result("toolu_1", [{"type": "text", "text": "The map:"}, IMAGE])
    told = await send(stage, [user("Where?"), assistant(use("toolu_1")), user(shown)], tools=[WEATHER])

    assert told.of("image") == [f"data:image/png;base64,{PIXEL}"]
    assert "The map:" in told.text


async def test_a_file_in_a_result_is_not_lost(stage: Stage) -> None:
    """Ollama, which reads none, says so."""
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}
    shown = result("toolu_1", [{"type": "text", "text": "The map:"}, {"type": "document", "source": source}])
    said = {**HELLO, "messages": [user("Where?"), assistant(use("toolu_1")), user(shown)], "tools": [WEATHER]}
    answered = await stage.client.post("messages", said)

    if stage.wire == "ollama":
        assert (answered.status, "application/pdf" in answered.body["error"]["message"]) == (400, True)
    else:
        assert answered.status == 200
        assert "JVBERi0xLjc=" in json.dumps(stage.upstream.questions[-1].body)


async def test_b_thinking_history(stage: Stage) -> None:
    """Anthropic gets back what it has signed, and Gemini, which has a place for it, what was thought."""
    thought = {"type": "thinking", "thinking": "Rain is likely.", "signature": "c2lnbmVk"}
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    told = await send(stage, [user("Where?"), assistant(thought, hidden, "In Bonn."), user("Why?")])
    kinds = {kind for kind, _ in told.parts}

    assert kinds == {"text"} | THINKS.get(stage.wire, set())
    assert "In Bonn." in told.text


async def test_b_system_role(stage: Stage) -> None:
    noted = {"role": "system", "content": "The user is tired now."}
    told = await send(stage, [user("Hello?"), assistant("Hi."), noted, user("Go on.")])

    assert "The user is tired now." in told.text


async def test_b_beta_fields(stage: Stage) -> None:
    """As a coding assistant sends them."""
    body = {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "max_tokens": 32000,
        "metadata": {"user_id": "user_3f_account__session_9"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    }
    beta = ",".join(("claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27"))
    headers = {
        "anthropic-version": "2023-06-01",
        "anthropic-beta": beta,
        "anthropic-dangerous-direct-browser-access": "true",
    }
    answered = await stage.client.post("messages", {**HELLO, **body}, headers, path="/v1/messages?beta=true")

    assert answered.status == 200, answered.body


async def test_b_server_tool(stage: Stage) -> None:
    """A tool that Anthropic runs itself does no harm beside one of the client's."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    told = await send(stage, tools=[search, TOOL])

    assert [name for name, _, _ in told.tools] == ["add"]


async def test_b_prefill(stage: Stage) -> None:
    told = await send(stage, [user("Name a colour.", {"type": "text", "text": ""}), assistant("The colour is")])

    assert "The colour is" in told.text


async def test_b_usage_asked(stage: Stage) -> None:
    """A stream ends with the true usage, which OpenAI's API tells only to who asks for it."""
    await stage.client.stream("messages", HELLO)

    wanted = stage.upstream.questions[-1].body.get("stream_options")
    assert wanted == ({"include_usage": True} if stage.wire == "openai" else None)


async def test_b_order_of_parallel_results(stage: Stage) -> None:
    """Results that come in another order than their calls find them all the same."""
    asked = assistant(use("toolu_1", "weather", at="Bonn"), use("toolu_2", "add", a=1))
    told = await send(
        stage, [user("?"), asked, user(result("toolu_2", "one"), result("toolu_1", "rain"))], tools=[WEATHER, TOOL]
    )

    assert sorted(told.links) == sorted(told.calls)


async def test_b_three_turns(stage: Stage) -> None:
    """The answer of one turn is the history of the next."""
    messages: list[dict[str, Any]] = [user("Add.")]
    for number in range(3):
        stage.says(call("add", a=number))
        answered = await stage.client.post("messages", {**HELLO, "messages": messages, "tools": [TOOL]})
        [block] = answered.body["content"]
        messages += [{"role": "assistant", "content": [block]}, user(result(block["id"], f"sum {number}"))]
    told = await send(stage, messages, tools=[TOOL])

    assert told.of("call") == [("add", {"a": number}) for number in range(3)]
    assert told.of("result") == ["sum 0", "sum 1", "sum 2"]
    assert told.links == told.calls
