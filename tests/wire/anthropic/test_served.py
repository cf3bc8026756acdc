"""A client of the Messages API in front of an OpenAI upstream: what reaches the upstream, beside `server/protocol`."""

import base64
import json
from typing import Any

import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.wire import anthropic
from ai_battle.wire.openai import served as openai
from ai_battle.wire.requests import with_pairs

PNG = base64.b64encode(b"\x89PNG").decode()
ASKED = {"role": "user", "content": "What is the weather?"}
USES = [
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Köln"}},
    {"type": "tool_use", "id": "toolu_2", "name": "time", "input": {}},
]
CALLED = {"role": "assistant", "content": USES}
TOOL = {"name": "weather", "description": "Tells it.", "input_schema": {"type": "object", "properties": {}}}


def upstream_body(*messages: Any, **fields: Any) -> dict[str, Any]:
    """The body for the upstream."""
    body = {"model": "claude-x", "max_tokens": 100, "messages": list(messages or (ASKED,)), **fields}
    request = with_pairs(anthropic.decode_request(body))
    read: dict[str, Any] = json.loads(openai.encode_request(request, "gpt", stream=bool(fields.get("stream"))))
    return read


def result(of: int, content: Any = None, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{of}", **fields}
    return block | ({} if content is None else {"content": content})


def results_message(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def test_marks_of_the_cache_on_text_and_tools_do_not_reach_the_upstream() -> None:
    marked = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}
    body = upstream_body({"role": "user", "content": [marked]}, tools=[TOOL | {"cache_control": {"type": "ephemeral"}}])

    assert body["messages"][-1]["content"] == "Hi"
    assert "cache_control" not in json.dumps(body)


def test_a_choice_that_the_upstream_can_not_make_is_not_sent() -> None:
    """Of a tool that only Anthropic runs, and of calls at once where there are no tools."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    chosen = upstream_body(tools=[TOOL, search], tool_choice={"type": "tool", "name": "web_search"})

    assert "tool_choice" not in chosen
    assert "parallel_tool_calls" not in upstream_body(tool_choice={"type": "auto", "disable_parallel_tool_use": True})


def test_a_document_reaches_the_upstream_as_a_file() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": PNG}
    body = upstream_body({"role": "user", "content": [{"type": "document", "source": pdf, "title": "a.pdf"}]})

    assert body["messages"][0]["content"][0]["file"]["filename"] == "a.pdf"


@pytest.mark.parametrize("text_first", [True, False])
def test_b_result_plus_text(text_first: bool) -> None:
    text = {"type": "text", "text": "Go on."}
    blocks = (
        [text, result(1, "rain"), result(2, "noon")] if text_first else [result(1, "rain"), result(2, "noon"), text]
    )
    roles = [message["role"] for message in upstream_body(ASKED, CALLED, results_message(*blocks))["messages"]]

    assert roles == ["user", "assistant", "tool", "tool", "user"]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "It rains."}}, ""),
        ({"type": "document", "title": "May", "source": {"type": "text", "data": "It rains."}}, "May:\n"),
        (
            {
                "type": "search_result",
                "source": "https://x.test",
                "title": "W",
                "content": [{"type": "text", "text": "It rains."}],
            },
            "W, https://x.test:\n",
        ),
    ],
)
def test_the_words_in_a_result_are_not_lost_and_go_back_to_anthropic_as_they_came(block: Any, words: str) -> None:
    body = {"messages": [ASKED, CALLED, results_message(result(1, [block]), result(2))]}
    request = anthropic.decode_request(body)
    again = json.loads(anthropic.encode_request(request, "claude"))["messages"][2]["content"][0]

    assert upstream_body(*body["messages"])["messages"][2]["content"] == f"{words}It rains."
    assert again["content"] == [block]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "It rains."}]}}, ""),
        (
            {"type": "search_result", "source": "s", "title": "W", "content": [{"type": "text", "text": "It rains."}]},
            "W, s:\n",
        ),
    ],
)
def test_the_words_in_a_block_that_other_apis_do_not_know_are_not_lost(block: Any, words: str) -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "See:"}, block]}]}
    request = anthropic.decode_request(body)
    again = json.loads(anthropic.encode_request(request, "claude"))["messages"][0]["content"]

    assert upstream_body(*body["messages"])["messages"][0]["content"] == f"See:\n{words}It rains."
    assert again[1] == block


def test_thinking_goes_back_to_an_anthropic_upstream_with_its_signature() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    sealed = {"type": "redacted_thinking", "data": "abc"}
    body = {"messages": [ASKED, {"role": "assistant", "content": [thought, sealed, *USES]}]}
    again = json.loads(anthropic.encode_request(anthropic.decode_request(body), "claude"))

    assert again["messages"][1]["content"][:2] == [thought, sealed]


def test_b_beta_fields() -> None:
    """A coding assistant's fields are accepted, and are none of this upstream's business."""
    edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    body = upstream_body(
        context_management=edits, metadata={"user_id": "u"}, thinking={"type": "adaptive"}, mcp_servers=[]
    )

    assert body.keys() == {"model", "messages", "max_tokens", "reasoning_effort"}


def test_blocks_of_tools_that_anthropic_ran_say_nothing_to_another_upstream() -> None:
    ran = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    marked = {"type": "text", "text": "Rain.", "citations": []}
    body = upstream_body(ASKED, {"role": "assistant", "content": [ran, marked]}, ASKED)

    assert body["messages"][1]["content"] == "Rain."


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21"])
def test_both_versions_are_understood(version: str) -> None:
    request = anthropic.decode_request({"messages": [ASKED], "max_tokens": 9, "temperature": 0.5})
    body = json.loads(anthropic.encode_request(request, "claude-3-haiku", version=version))

    assert body["max_tokens"] == 9
    assert ("temperature" in body) == (version < "2026")


def test_a_body_that_trips_the_reader_up_is_an_error_of_ours() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "a==="}}
    with pytest.raises(ConfigError, match="Messages request"):
        upstream_body({"role": "user", "content": [broken]})
