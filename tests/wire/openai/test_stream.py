"""A streamed answer is the same however the network cuts it, and a cut one is never taken for a whole one."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from ai_battle.core.errors import BadReply, ProviderError, RateLimited
from ai_battle.core.events import Event, TextDelta, ThinkingDelta, ToolCallDelta
from ai_battle.core.exchange import UNKNOWN_USAGE, ModelResponse, Usage
from ai_battle.core.messages import Message, Text, Thinking, ToolCall
from ai_battle.wire.openai import StreamReader

from ..chunks import cut_places, slices
from .bodies import USAGE, chunk, events, fragment

ROLE = chunk({"role": "assistant", "content": "", "refusal": None})
STOP = chunk(finish_reason="stop")
EVERYTHING = (
    {"choices": [], "model": "", "prompt_filter_results": [{"prompt_index": 0}]},
    ROLE,
    chunk({"content": None, "reasoning_content": "Hm"}),
    chunk({"content": None, "reasoning_content": "m."}),
    chunk({"content": "Let 😀"}),
    chunk({"content": "me\u2028add\u0085."}),
    fragment(0, "call_a", "add", ""),
    fragment(0, arguments='{"a"'),
    fragment(0, arguments=": 1}"),
    fragment(1, "call_b", "clock", "{}"),
    chunk(finish_reason="tool_calls"),
    USAGE,
)


def read(*chunks: bytes) -> tuple[list[Event], ModelResponse]:
    reader = StreamReader()
    heard = [event for chunk in chunks for event in reader.feed(chunk)]
    return heard, reader.finish()


def calls(*chunks: Any) -> list[tuple[str, Any, str]]:
    _, response = read(events(*chunks, STOP))
    return [(call.name, call.arguments, call.id) for call in response.tool_calls]


def failure(*chunks: bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        read(*chunks)
    return caught.value


def test_everything_that_a_stream_brings_is_heard_and_kept() -> None:
    heard, response = read(events(*EVERYTHING))

    assert heard == [
        ThinkingDelta("Hm"),
        ThinkingDelta("m."),
        TextDelta("Let 😀"),
        TextDelta("me\u2028add\u0085."),
        ToolCallDelta(0, "call_a", "add", ""),
        ToolCallDelta(0, arguments='{"a"'),
        ToolCallDelta(0, arguments=": 1}"),
        ToolCallDelta(1, "call_b", "clock", "{}"),
    ]
    text = Text("Let 😀me\u2028add\u0085.")
    said = (Thinking("Hmm."), text, ToolCall("add", {"a": 1}, "call_a"), ToolCall("clock", {}, "call_b"))
    assert replace(response, extra={}) == ModelResponse(
        Message("assistant", said), stop="tool_calls", usage=Usage(3, 4), model="m"
    )


@given(st.lists(st.text(min_size=1), min_size=1), cut_places)
def test_the_deltas_add_up_to_the_answer(texts: list[str], cuts: list[int]) -> None:
    texts = ["Hi", *(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts)]
    heard, response = read(*slices(events(*(chunk({"content": text}) for text in texts), STOP), cuts))

    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == response.text == "".join(texts)


def test_the_official_sdk_makes_the_same_answer_of_it() -> None:
    state = ChatCompletionStreamState()
    for sent in (ROLE, chunk({"content": "Hi"}), fragment(0, "c", "f", "{"), fragment(0, arguments="}"), STOP):
        state.handle_chunk(ChatCompletionChunk.model_validate(sent))
    (theirs,) = state.get_final_completion().choices
    _, ours = read(events(ROLE, chunk({"content": "Hi"}), fragment(0, "c", "f", "{"), fragment(0, arguments="}"), STOP))

    assert theirs.message.content == ours.text
    assert [call.id for call in theirs.message.tool_calls or ()] == [call.id for call in ours.tool_calls]


def test_a_finish_reason_is_enough() -> None:
    """Some servers close without `[DONE]`; some leave the usage out."""
    _, response = read(events(chunk({"content": "Hi"}), STOP, done=False))

    assert (response.text, response.usage) == ("Hi", UNKNOWN_USAGE)


def test_without_a_field_for_a_finish_reason_the_last_word_is_enough() -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    _, response = read(events(said))

    assert (response.text, response.stop) == ("Hi", "end")


def test_the_reader_says_when_the_rest_may_be_left_unread() -> None:
    reader = StreamReader()
    reader.feed(events(chunk({"content": "Hi"}), done=False))
    assert not reader.whole
    reader.feed(events(STOP, done=False))
    assert reader.whole
    assert not reader.is_done

    reader.feed(b"data: [DONE]\n\n")
    assert reader.is_done
    assert reader.text == "Hi"


def test_after_the_usage_that_follows_the_end_nothing_is_awaited() -> None:
    reader = StreamReader()
    reader.feed(events(USAGE, chunk({"content": "Hi"}), STOP, done=False))
    assert not reader.is_done

    reader.feed(events(USAGE, done=False))
    assert reader.is_done


@pytest.mark.parametrize("done", [True, False])
def test_a_stream_without_finish_reason_is_a_cut_one(done: bool) -> None:
    error = failure(events(chunk({"content": "Hel"}), chunk({"content": "lo"}), done=done))

    assert isinstance(error, BadReply)
    assert (error.again, error.partial) == ("always", "Hello")
    assert "cut after 5 characters" in str(error)


@pytest.mark.parametrize(
    ("sent", "kind", "again"),
    [
        ({"error": {"message": "The server had an error", "type": "server_error"}}, ProviderError, "always"),
        ({"error": {"message": "slow down", "code": 429}}, RateLimited, "always"),
        ({"error": {"message": "no credit left", "code": "insufficient_quota"}}, RateLimited, "never"),
        ({"error": {"message": "bad", "type": "invalid_request_error"}}, ProviderError, "never"),
        ({"error": "broke"}, ProviderError, "always"),
        (chunk(finish_reason="error"), ProviderError, "always"),
        (
            chunk({"content": ""}, finish_reason="error") | {"error": {"message": "x", "code": 502}},
            ProviderError,
            "always",
        ),
    ],
    ids=str,
)
def test_an_error_inside_of_a_stream_is_an_error(sent: Any, kind: type[ProviderError], again: str) -> None:
    error = failure(events(chunk({"content": "Hel"}), sent))

    assert (type(error), error.again, error.partial) == (kind, again, "Hel")


def test_an_error_event_by_name_is_an_error() -> None:
    assert "broke" in str(failure(b'event: error\ndata: {"message": "broke"}\n\n'))
    assert "broke" in str(failure(b'error: {"code": 500, "message": "broke"}\n\n'))


@pytest.mark.parametrize(
    ("body", "message", "again"),
    [
        (b'{"error": {"message": "bad key", "code": 401}}', "bad key", "never"),
        (b": ping\n\n", "cut after 0 characters", "always"),
        (b'data: {"choices": []}\n\n', "cut after 0 characters", "always"),
        (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "empty", "once"),
        (b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}\n\n', "empty", "once"),
        (b"data: [DONE]\n\n", "empty", "once"),
    ],
)
def test_a_body_that_is_no_stream_is_shown(body: bytes, message: str, again: str) -> None:
    error = failure(body)

    assert message in str(error)
    assert error.again == again


def test_pings_comments_and_empty_events_say_nothing() -> None:
    noise = b": OPENROUTER PROCESSING\n\nevent: ping\ndata: {}\n\ndata: \n\n"
    _, response = read(noise + events(chunk({"content": "Hi"}), done=False) + noise + events(STOP))

    assert response.text == "Hi"


def test_only_the_first_choice_counts() -> None:
    other = chunk({"content": "no"})
    other["choices"][0]["index"] = 1

    assert read(events(chunk({"content": "yes"}), other, STOP))[1].text == "yes"


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_heard_in_both_spellings(field: str) -> None:
    heard, response = read(events(chunk({field: "Hm."}), chunk({"content": "Yes."}), STOP))

    assert heard == [ThinkingDelta("Hm."), TextDelta("Yes.")]
    assert response.message.thinking == "Hm."


def test_content_in_parts_is_heard() -> None:
    thought = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}
    heard, _ = read(events(chunk(thought), chunk({"content": [{"type": "text", "text": "Yes."}]}), STOP))

    assert heard == [ThinkingDelta("Hm."), TextDelta("Yes.")]


def test_a_refusal_is_no_answer_but_is_heard() -> None:
    heard, response = read(events(chunk({"refusal": "I "}), chunk({"refusal": "can't."}), STOP))

    assert heard[1:] == [TextDelta("I "), TextDelta("can't.")]
    assert not isinstance(heard[0], TextDelta)
    assert (response.stop, response.text) == ("refusal", "I can't.")


@pytest.mark.parametrize(
    ("reason", "stop"), [("stop", "end"), ("length", "length"), ("content_filter", "content_filter"), ("eos", "end")]
)
def test_the_reason_to_stop_is_told(reason: str, stop: str) -> None:
    assert read(events(chunk({"content": "Hi"}), chunk(finish_reason=reason)))[1].stop == stop


def test_the_last_usage_counts() -> None:
    """Some servers repeat it in every chunk, Groq hides it, OpenRouter tells the dollars."""
    growing = [chunk({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": n}) for n in (1, 2)]
    groq = chunk(finish_reason="stop", x_groq={"usage": {"prompt_tokens": 5, "completion_tokens": 6}})
    priced = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 8, "cost": 0.5}}

    assert read(events(*growing, STOP))[1].usage == Usage(3, 2)
    assert read(events(*growing, groq))[1].usage == Usage(5, 6)
    assert read(events(*growing, STOP, priced))[1].usage == Usage(7, 8, cost_usd=0.5)


def test_what_only_this_api_knows_is_collected() -> None:
    first = chunk({"content": "a", "reasoning_details": [{"text": "H"}], "audio": None})
    second = chunk({"content": "b", "reasoning_details": [{"text": "m"}]})
    first["choices"][0]["logprobs"] = {"content": [{"token": "a"}], "refusal": None}
    second["choices"][0]["logprobs"] = {"content": [{"token": "b"}], "refusal": None}
    last = chunk(finish_reason="stop")
    last["choices"][0]["native_finish_reason"] = "STOP"
    _, response = read(events(first | {"provider": "X", "obfuscation": "zz"}, second, last))

    assert response.message.extra == {"openai": {"reasoning_details": [{"text": "H"}, {"text": "m"}]}}
    assert response.extra == {
        "openai": {
            "id": "x",
            "created": 1,
            "provider": "X",
            "choice": {"logprobs": {"content": [{"token": "a"}, {"token": "b"}]}, "native_finish_reason": "STOP"},
        }
    }


class TestCallsInFragments:
    def test_two_calls_may_come_interleaved(self) -> None:
        sent = (
            fragment(0, "a", "f", '{"x"'),
            fragment(1, "b", "g", '{"y"'),
            fragment(0, arguments=": 1}"),
            fragment(1, arguments=": 2}"),
        )

        assert calls(*sent) == [("f", {"x": 1}, "a"), ("g", {"y": 2}, "b")]

    def test_a_new_id_at_the_same_index_is_a_new_call(self) -> None:
        assert calls(fragment(0, "a", "f", '{"x": 1}'), fragment(0, "b", "f", '{"x": 2}')) == [
            ("f", {"x": 1}, "a"),
            ("f", {"x": 2}, "b"),
        ]

    def test_an_id_that_is_repeated_is_the_same_call(self) -> None:
        sent = (fragment(0, "a", "f", '{"x"'), fragment(0, "a", "f", ": 1}"))

        assert calls(*sent) == [("f", {"x": 1}, "a")]

    def test_calls_without_ids_at_one_index_are_told_apart_by_their_ends(self) -> None:
        (first, second) = calls(fragment(0, None, "f", '{"x": 1}'), fragment(0, None, "f", '{"x": 2}'))

        assert (first[:2], second[:2]) == (("f", {"x": 1}), ("f", {"x": 2}))
        assert first[2] != second[2] != ""

    def test_fragments_without_index_belong_to_the_call_before(self) -> None:
        sent = (fragment(None, "a", "f", '{"x"'), fragment(None, arguments=": 1}"), fragment(None, "b", "g", "{}"))

        assert calls(*sent) == [("f", {"x": 1}, "a"), ("g", {}, "b")]

    def test_fragments_without_index_are_sorted_by_their_ids(self) -> None:
        sent = [("a", "add", '{"a": '), ("b", "add", '{"a": '), ("a", None, "1}"), ("b", None, "2}")]

        said = calls(*(fragment(None, *each) for each in sent))

        assert said == [("add", {"a": 1}, "a"), ("add", {"a": 2}, "b")]

    def test_the_same_id_at_two_indexes_is_made_two(self) -> None:
        (first, second) = calls(fragment(0, "a", "f", "{}"), fragment(1, "a", "g", "{}"))

        assert first[2] == "a"
        assert second[2] not in ("a", "")

    def test_a_missing_id_is_made_and_the_same_everywhere(self) -> None:
        heard, response = read(events(fragment(0, None, "f", "{}"), STOP))

        assert [event.id for event in heard if isinstance(event, ToolCallDelta)] == [response.tool_calls[0].id] != [""]

    @pytest.mark.parametrize("nothing", [None, "", "  ", "null"])
    def test_no_arguments_are_an_empty_object(self, nothing: str | None) -> None:
        assert calls(fragment(0, "a", "f", nothing)) == [("f", {}, "a")]

    def test_arguments_may_come_as_an_object(self) -> None:
        assert calls(fragment(0, "a", "f", {"x": 1})) == [("f", {"x": 1}, "a")]

    def test_arguments_that_are_cut_are_malformed(self) -> None:
        _, response = read(events(fragment(0, "a", "f", '{"x": "lo'), chunk(finish_reason="length")))

        assert (response.stop, response.tool_calls) == ("length", (ToolCall("f", {}, "a", malformed='{"x": "lo'),))

    def test_what_only_this_api_knows_stays_with_its_call(self) -> None:
        sent = fragment(0, "a", "f", "{}")
        sent["choices"][0]["delta"]["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "s"}}
        _, response = read(events(sent, STOP))

        assert response.tool_calls[0].extra == {"openai": {"extra_content": {"google": {"thought_signature": "s"}}}}

    @given(st.lists(st.integers(1, 12), max_size=6))
    def test_any_fragments_make_the_same_call(self, cuts: list[int]) -> None:
        text = '{"text": "a \\"quoted\\" 😀", "n": [1, {"m": null}]}'
        pieces = [piece.decode("utf-8") for piece in slices(text.encode("ascii", "backslashreplace"), cuts)]
        sent = [fragment(0, arguments=piece) for piece in pieces]

        assert calls(fragment(0, "a", "f"), *sent) == calls(fragment(0, "a", "f", "".join(pieces)))
