"""A scripted model plays its script, word by word, with the faults that are written in it."""

import re
from collections.abc import Mapping

import pytest

from ai_battle.core.errors import (
    BadReply,
    ConfigError,
    ContextTooLong,
    ProviderError,
    RateLimited,
    Refused,
    Unreachable,
    Unscripted,
)
from ai_battle.core.events import EventLog, ScriptAdvanced, TextDelta, ThinkingDelta
from ai_battle.core.exchange import ModelRequest
from ai_battle.core.messages import Message, Text, ToolCall, ToolResult, user
from ai_battle.providers.scripted import ScriptedClient, create


def model_request(text: str = "Hello?") -> ModelRequest:
    return ModelRequest((user(text),))


async def test_entries_are_said_in_order_and_requests_are_remembered() -> None:
    client = ScriptedClient("one", {"say": "two"})

    assert [(await client.complete(model_request(word))).text for word in ("a", "b")] == ["one", "two"]
    assert [request.messages[0].text for request in client.requests] == ["a", "b"]


async def test_a_long_discussion_does_not_fill_the_memory() -> None:
    client = ScriptedClient("again", loop=True)
    for number in range(1_100):
        await client.complete(model_request(str(number)))

    assert [client.requests[n].messages[0].text for n in (0, -1)] == ["100", "1099"]


async def test_a_text_arrives_in_words_that_add_up_to_it() -> None:
    text = "  Well,\nthis is   spaced \n\n out. "
    response = await ScriptedClient(text).complete(model_request(), log := EventLog())

    assert log.text == response.text == text
    assert len([event for event in log.events if isinstance(event, TextDelta)]) == 5


async def test_thinking_and_tool_calls_are_parts_of_the_answer() -> None:
    call = {"tool": "add", "parameters": {"a": 1}}
    response = await ScriptedClient({"think": "Hm", "say": "Adding.", "call": call}).complete(
        model_request(), log := EventLog()
    )

    assert (response.message.thinking, response.text, response.stop) == ("Hm", "Adding.", "tool_calls")
    assert response.tool_calls == (ToolCall("add", {"a": 1}, id="call_1"),)
    assert log.events[:2] == [ScriptAdvanced(1), ThinkingDelta("Hm")]


async def test_several_calls_have_ids_of_their_own() -> None:
    client = ScriptedClient({"call": [{"tool": "a"}, {"tool": "b"}]}, ToolCall("c"))

    first, second = [await client.complete(model_request()) for _ in range(2)]
    assert [call.id for call in (*first.tool_calls, *second.tool_calls)] == ["call_1", "call_2", "call_3"]


async def test_usage_is_estimated_and_costs_nothing() -> None:
    usage = (await ScriptedClient("Some words.").complete(model_request("A long question " * 50))).usage

    assert usage.input_tokens > 100
    assert 0 < usage.output_tokens < 20
    assert usage.cost_usd == 0.0


async def test_a_request_is_as_long_to_a_model_that_knows_its_beginning_as_to_one_that_does_not() -> None:
    a, b, c, d, e = (user(f"Word {'after word ' * n}") for n in range(5))
    long, noted = user("Something else altogether, and at length. " * 40), user("Word. And be brief about it.")
    knowing = ScriptedClient("Yes.", loop=True)
    for messages in ((a,), (a, b), (a, b, noted), (a, b, c, d), (a, long, c, d, e), (a, b), (long,), (), (b, a, c)):
        known, new = [await client.complete(ModelRequest(messages)) for client in (knowing, ScriptedClient("Yes."))]
        assert known.usage == new.usage


async def test_a_used_up_script_says_so() -> None:
    client = ScriptedClient("only one")
    await client.complete(model_request())

    with pytest.raises(Unscripted, match=r"used up \(entries: 1\).*loop: true") as caught:
        await client.complete(model_request())
    assert caught.value.again == "never"


async def test_a_looping_script_begins_anew() -> None:
    client = ScriptedClient("a", "b", loop=True)
    assert [(await client.complete(model_request())).text for _ in range(5)] == ["a", "b", "a", "b", "a"]


async def test_a_script_goes_on_where_it_was_left() -> None:
    client = ScriptedClient("a", "b", "c")
    await client.complete(model_request())

    successor = ScriptedClient("a", "b", "c", start=client.position)
    assert (await successor.complete(model_request())).text == "b"


async def test_a_rule_that_fits_what_was_said_last_goes_before_the_script() -> None:
    client = ScriptedClient("script", when=[{"match": "(?i)weather", "say": "Rain."}])

    assert (await client.complete(model_request("How is the Weather?"))).text == "Rain."
    assert (await client.complete(model_request("And you?"))).text == "script"


async def test_a_rule_also_hears_the_result_of_a_tool() -> None:
    result = ToolResult(ToolCall("clock"), (Text("12:00"),))
    client = ScriptedClient(when=[{"match": "12:00", "say": "It is noon."}])

    assert (await client.complete(ModelRequest((Message("tool", (result,)),)))).text == "It is noon."


async def test_a_function_may_answer_what_it_is_asked() -> None:
    client = ScriptedClient(lambda request: request.messages[-1].text.upper())
    assert (await client.complete(model_request("loud"))).text == "LOUD"


@pytest.mark.parametrize(
    ("fault", "error", "again"),
    [
        ("rate_limited", RateLimited, "always"),
        ("quota", RateLimited, "never"),
        ("unreachable", Unreachable, "always"),
        ("bad_reply", BadReply, "once"),
        ("empty", BadReply, "once"),
        ("refused", Refused, "never"),
        ("context_too_long", ContextTooLong, "never"),
    ],
)
async def test_a_fault_fails_as_a_provider_does(fault: str, error: type[ProviderError], again: str) -> None:
    client = ScriptedClient({"fail": fault}, "and then this")

    with pytest.raises(error) as caught:
        await client.complete(model_request())
    assert caught.value.again == again
    assert (await client.complete(model_request())).text == "and then this"


async def test_what_was_said_before_a_fault_is_its_partial_text() -> None:
    with pytest.raises(BadReply) as caught:
        await ScriptedClient({"say": "Half an ans", "fail": "cut"}).complete(model_request(), log := EventLog())
    assert caught.value.partial == log.text == "Half an ans"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ([{"sya": "x"}], "script, entry 1: unknown key 'sya'; did you mean 'say'?"),
        (
            ["fine", {"say": "x", "fail": "rate_limit"}],
            "script, entry 2: fail: there is no fault 'rate_limit'; did you",
        ),
        ([42], "script, entry 1 is 42; write a text in quotes"),
        ([{"say": 42}], "script, entry 1: say is 42; write the text in quotes"),
        ([{"delay": 1}], "script, entry 1 says nothing"),
        ([{"say": "x", "delay": -1}], "script, entry 1: delay is -1"),
        ([{"call": "add"}], "script, entry 1: call is 'add'; write {tool: NAME"),
        ([{"call": {"tool": "add", "arguments": {}}}], "script, entry 1: call: unknown key 'arguments'"),
    ],
)
def test_a_mistake_in_a_script_names_its_entry(script: list[object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        create("", script=script)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"match": "(", "say": "x"}, "when, rule 1: match: '(' is not a regular expression"),
        ({"say": "x"}, "when, rule 1 has no 'match'"),
        ("hello", "when, rule 1 is 'hello'; write a mapping"),
    ],
)
def test_a_mistake_in_a_rule_names_it(rule: Mapping[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        create("", when=[rule])
