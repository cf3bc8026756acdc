"""A client of the Messages API in front of an OpenAI upstream: what reaches the upstream, and what comes back."""

import base64
import json
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.core.exchange import Stop, Usage
from ai_battle.core.messages import Part, Text, Thinking, ToolCall
from ai_battle.wire import anthropic, openai
from ai_battle.wire.pairing import with_pairs

from ..telling import answer

PNG = base64.b64encode(b"\x89PNG").decode()
ASKED = {"role": "user", "content": "What is the weather?"}
USES = [
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Köln"}},
    {"type": "tool_use", "id": "toolu_2", "name": "time", "input": {}},
]
CALLED = {"role": "assistant", "content": USES}
TOOL = {"name": "weather", "description": "Tells it.", "input_schema": {"type": "object", "properties": {}}}


def sent(*messages: Any, **fields: Any) -> dict[str, Any]:
    """The body for the upstream."""
    body = {"model": "claude-x", "max_tokens": 100, "messages": list(messages or (ASKED,)), **fields}
    request = with_pairs(anthropic.decode_request(body))
    read: dict[str, Any] = json.loads(openai.encode_request(request, "gpt", stream=bool(fields.get("stream"))))
    return read


def result(of: int, content: Any = None, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{of}", **fields}
    return block | ({} if content is None else {"content": content})


def returned(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def test_b_system_str() -> None:
    assert sent(system="Be brief.")["messages"][0] == {"role": "system", "content": "Be brief."}


def test_b_system_blocks() -> None:
    """Joined to one text; the marks of the cache are no business of this upstream."""
    marked = {"cache_control": {"type": "ephemeral"}}
    body = sent(
        system=[{"type": "text", "text": "Be brief.", **marked}, {"type": "text", "text": "Be kind.", **marked}]
    )

    assert body["messages"][0]["content"] == "Be brief.\n\nBe kind."
    assert "cache_control" not in json.dumps(body)


def test_marks_of_the_cache_on_text_and_tools_do_not_reach_the_upstream() -> None:
    marked = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    body = sent({"role": "user", "content": [marked]}, tools=[TOOL | {"cache_control": {"type": "ephemeral"}}])

    assert body["messages"][-1]["content"] == "Hi"
    assert "cache_control" not in json.dumps(body)


def test_b_billing_header() -> None:
    header = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=abc;"}
    assert sent(system=[header, {"type": "text", "text": "Be brief."}])["messages"][0]["content"] == "Be brief."


def test_b_tools() -> None:
    function = {"name": "weather", "description": "Tells it.", "parameters": TOOL["input_schema"]}
    assert sent(tools=[TOOL])["tools"] == [{"type": "function", "function": function}]


@pytest.mark.parametrize(
    ("choice", "reaches"),
    [
        ({"type": "auto"}, None),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "weather"}, {"type": "function", "function": {"name": "weather"}}),
        ({"type": "tool", "name": "web_search"}, None),
    ],
    ids=["auto", "b_choice_any", "b_choice_none", "b_choice_tool", "a tool that only Anthropic runs"],
)
def test_b_choice(choice: Any, reaches: Any) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    assert sent(tools=[TOOL, search], tool_choice=choice).get("tool_choice") == reaches


def test_b_no_parallel() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}

    assert sent(tools=[TOOL], tool_choice=choice)["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in sent(tool_choice=choice)


def test_b_params() -> None:
    body = sent(stop_sequences=["END"], temperature=0.3, top_p=0.9)
    assert (body["stop"], body["temperature"], body["top_p"]) == (["END"], 0.3, 0.9)


def test_b_no_invented() -> None:
    assert sent().keys() == {"model", "messages", "max_tokens"}


@pytest.mark.parametrize("number", [7, 32_000])
def test_b_max_tokens(number: int) -> None:
    assert sent(max_tokens=number)["max_tokens"] == number


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ({"type": "base64", "media_type": "image/png", "data": PNG}, f"data:image/png;base64,{PNG}"),
        ({"type": "url", "url": "https://x.test/a.png"}, "https://x.test/a.png"),
    ],
    ids=["b_image_b64", "b_image_url"],
)
def test_b_image(source: Any, url: str) -> None:
    shown = {"type": "image", "source": source}
    body = sent({"role": "user", "content": [shown, {"type": "text", "text": "What is it?"}]})

    assert body["messages"][0]["content"][0] == {"type": "image_url", "image_url": {"url": url}}


def test_a_document_reaches_the_upstream_as_a_file() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": PNG}
    body = sent({"role": "user", "content": [{"type": "document", "source": pdf, "title": "a.pdf"}]})

    assert body["messages"][0]["content"][0]["file"]["filename"] == "a.pdf"


def test_b_roundtrip() -> None:
    """The results right after the calls, in their order, with the same ids."""
    body = sent(ASKED, CALLED, returned(result(1, "rain"), result(2, "noon")))
    _, called, *results = body["messages"]

    assert [call["id"] for call in called["tool_calls"]] == ["toolu_1", "toolu_2"]
    assert [(one["role"], one["tool_call_id"], one["content"]) for one in results] == [
        ("tool", "toolu_1", "rain"),
        ("tool", "toolu_2", "noon"),
    ]


@pytest.mark.parametrize("text_first", [True, False])
def test_b_result_plus_text(text_first: bool) -> None:
    text = {"type": "text", "text": "Go on."}
    blocks = (
        [text, result(1, "rain"), result(2, "noon")] if text_first else [result(1, "rain"), result(2, "noon"), text]
    )
    roles = [message["role"] for message in sent(ASKED, CALLED, returned(*blocks))["messages"]]

    assert roles == ["user", "assistant", "tool", "tool", "user"]


def test_b_result_empty() -> None:
    body = sent(ASKED, CALLED, returned(result(1), result(2, [], is_error=True)))
    assert [message["content"] for message in body["messages"][2:]] == ["", "Error"]


def test_b_result_image() -> None:
    shown = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    body = sent(ASKED, CALLED, returned(result(1, [shown]), result(2, "noon")))

    assert PNG in json.dumps(body["messages"][-1])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "It rains."}},
        {
            "type": "search_result",
            "source": "https://x.test",
            "title": "W",
            "content": [{"type": "text", "text": "It rains."}],
        },
    ],
    ids=lambda block: block["type"],
)
def test_the_words_in_a_result_are_not_lost_and_go_back_to_anthropic_as_they_came(block: Any) -> None:
    body = {"messages": [ASKED, CALLED, returned(result(1, [block]), result(2))]}
    request = anthropic.decode_request(body)
    again = json.loads(anthropic.encode_request(request, "claude"))["messages"][2]["content"][0]

    assert sent(*body["messages"])["messages"][2]["content"] == "It rains."
    assert again["content"] == [block]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "It rains."}]}},
        {"type": "search_result", "source": "s", "title": "W", "content": [{"type": "text", "text": "It rains."}]},
    ],
    ids=lambda block: block["type"],
)
def test_the_words_in_a_block_that_other_apis_do_not_know_are_not_lost(block: Any) -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "See:"}, block]}]}
    request = anthropic.decode_request(body)
    again = json.loads(anthropic.encode_request(request, "claude"))["messages"][0]["content"]

    assert sent(*body["messages"])["messages"][0]["content"] == "See:\nIt rains."
    assert again[1] == block


def test_b_thinking_history() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    sealed = {"type": "redacted_thinking", "data": "abc"}
    body = sent(ASKED, {"role": "assistant", "content": [thought, sealed, {"type": "text", "text": "Rain."}]}, ASKED)

    assert body["messages"][1] == {"role": "assistant", "content": "Rain."}
    assert "Hm." not in json.dumps(body)


def test_thinking_goes_back_to_an_anthropic_upstream_with_its_signature() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    sealed = {"type": "redacted_thinking", "data": "abc"}
    body = {"messages": [ASKED, {"role": "assistant", "content": [thought, sealed, *USES]}]}
    again = json.loads(anthropic.encode_request(anthropic.decode_request(body), "claude"))

    assert again["messages"][1]["content"][:2] == [thought, sealed]


def test_b_system_role() -> None:
    body = sent(ASKED, {"role": "system", "content": [{"type": "text", "text": "Now be brief."}]}, ASKED)
    assert body["messages"][1] == {"role": "system", "content": "Now be brief."}


def test_b_beta_fields() -> None:
    """A coding assistant's fields are accepted, and are none of this upstream's business."""
    edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    body = sent(context_management=edits, metadata={"user_id": "u"}, thinking={"type": "adaptive"}, mcp_servers=[])

    assert body.keys() == {"model", "messages", "max_tokens", "reasoning_effort"}


def test_b_server_tool() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    assert [tool["function"]["name"] for tool in sent(tools=[search, TOOL])["tools"]] == ["weather"]


def test_blocks_of_tools_that_anthropic_ran_say_nothing_to_another_upstream() -> None:
    ran = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    marked = {"type": "text", "text": "Rain.", "citations": []}
    body = sent(ASKED, {"role": "assistant", "content": [ran, marked]}, ASKED)

    assert body["messages"][1]["content"] == "Rain."


def test_b_prefill() -> None:
    body = sent({"role": "user", "content": [{"type": "text", "text": ""}]}, {"role": "assistant", "content": "It is"})
    assert body["messages"][-1] == {"role": "assistant", "content": "It is"}


def test_b_usage_asked() -> None:
    assert sent(stream=True)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21"])
def test_both_versions_are_understood(version: str) -> None:
    request = anthropic.decode_request({"messages": [ASKED], "max_tokens": 9, "temperature": 0.5})
    body = json.loads(anthropic.encode_request(request, "claude-3-haiku", version=version))

    assert body["max_tokens"] == 9
    assert ("temperature" in body) == (version < "2026")


def answered(*parts: Part, **fields: Any) -> dict[str, Any]:
    """The body for the client."""
    read: dict[str, Any] = json.loads(anthropic.encode_response(answer(*parts, **fields), "claude-x"))
    return read


def test_a_basic() -> None:
    body = answered(Text("Grüße, 世界"))

    assert (body["type"], body["role"], body["model"]) == ("message", "assistant", "claude-x")
    assert body["content"] == [{"type": "text", "text": "Grüße, 世界"}]
    assert body["id"].startswith("msg_")
    assert (body["stop_reason"], body["stop_sequence"]) == ("end_turn", None)


def test_a_ids_unique() -> None:
    extra = {"openai": {"id": "chatcmpl-1"}}
    assert answered(Text("Hi"), extra=extra)["id"] != answered(Text("Hi"), extra=extra)["id"]


def test_a_usage_cache() -> None:
    usage = answered(Text("Hi"), usage=Usage(100, 8, cache_read_tokens=60))["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (40, 60, 8)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("length", "max_tokens"), ("content_filter", "refusal"), ("refusal", "refusal")],
    ids=["a_max_tokens", "a_refusal", "refusal"],
)
def test_a_stops(stop: Stop, reason: str) -> None:
    assert answered(Text("Hel"), stop=stop)["stop_reason"] == reason


def test_a_tool_stop() -> None:
    """Also where the upstream says `stop`."""
    body = answered(ToolCall("a", {"x": 1}, "toolu_1"), ToolCall("b", {}, "toolu_2"), stop="end")

    assert body["stop_reason"] == "tool_use"
    assert [(block["id"], block["name"], block["input"]) for block in body["content"]] == [
        ("toolu_1", "a", {"x": 1}),
        ("toolu_2", "b", {}),
    ]


def test_a_tool_trunc() -> None:
    body = answered(ToolCall("a", {}, "toolu_1", '{"x": "cu'), stop="length")

    assert body["stop_reason"] == "max_tokens"
    assert body["content"][0]["input"] == {}


def test_a_thinking() -> None:
    assert [block["type"] for block in answered(Thinking("Hm."), Text("Yes."))["content"]] == ["thinking", "text"]


def test_a_empty() -> None:
    assert answered()["content"] == []


def test_a_body_that_trips_the_reader_up_is_an_error_of_ours() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a==="}}
    with pytest.raises(ConfigError, match="Messages request"):
        sent({"role": "user", "content": [broken]})
