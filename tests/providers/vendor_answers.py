"""Answers that are spoiled in ways which servers are known for."""

# fmt: off
import gzip
from collections.abc import Iterator

from ai_battle.core.errors import BadReply, EmptyAnswer, ProviderError, Refused, Unreachable

from .fault_scenes import WHOLE
from .vendor_bodies import (
    ALL,
    ANTHROPIC,
    CALL,
    ENDS,
    EVENTS,
    GEMINI,
    NEVER,
    ONCE,
    OPENAI,
    PASSES,
    SAID,
    TEXT,
    USE,
    VendorFault,
    altered_answer,
    both,
    chat,
    claude,
    fails,
    gives,
    google,
    http,
)


def _bytes() -> Iterator[VendorFault]:
    """Bytes that a strict reader would trip over."""
    for name, wires, answer in (
        ("a byte order mark", ALL, altered_answer(lambda data: b"\xef\xbb\xbf" + data)),
        ("CR LF", ALL, altered_answer(lambda data: data.replace(b"\n", b"\r\n"))),
        ("CR alone", EVENTS, altered_answer(lambda data: data.replace(b"\n", b"\r"))),
        ("no space behind the colon", EVENTS, altered_answer(lambda data: data.replace(b"data: ", b"data:"))),
        ("comments between", EVENTS, altered_answer(lambda data: b": PROCESSING\n\n" + data.replace(b"\n\n",
            b"\n\n: ping\n\n"))),
        ("ids and retries", EVENTS, altered_answer(lambda data: data.replace(b"data: ", b"id: 7\nretry: 100\ndata: "))),
        ("empty lines", ALL, altered_answer(lambda data: b"\n\n" + data.replace(b"\n\n", b"\n\n\n\n"))),
        ("no last newline", ALL, altered_answer(lambda data: data.rstrip(b"\n"))),
        ("no content type", ALL, altered_answer(lambda data: data, Content_Type="")),
        ("plain text", ALL, altered_answer(lambda data: data, Content_Type="text/plain; charset=utf-8")),
        ("JSON for a stream", ALL, altered_answer(lambda data: data, Content_Type="application/json")),
        ("a stream for JSON", ALL, altered_answer(lambda data: data, Content_Type="text/event-stream")),
        ("a page's type", ALL, altered_answer(lambda data: data, Content_Type="text/html")),
        ("octets", ALL, altered_answer(lambda data: data, Content_Type="application/octet-stream")),
        ("Latin-1 in the header", ALL, altered_answer(lambda data: data,
            Content_Type="application/json; charset=iso-8859-1")),
        ("gzip", ALL, altered_answer(gzip.compress, Content_Encoding="gzip")),
        ("a megabyte of white space", ALL, altered_answer(lambda data: b" " * 2**20 + b"\n\n" + data)),
    ):
        yield gives(name, wires, answer, streamed=True if wires == EVENTS else None)
    yield fails("no gzip", ALL, altered_answer(lambda data: data, Content_Encoding="gzip"), PASSES, Unreachable,
        "connection")
    yield fails("an encoding that nobody asked for", ALL, altered_answer(lambda data: b"\x8b\x1f" + data,
        Content_Encoding="br"), PASSES, Unreachable, "compressed with br")


def _openai_answers() -> Iterator[VendorFault]:
    broken = {**CALL, "function": {"name": "add", "arguments": '{"a": 1'}}
    for name, answer, short in (
        ("error null", chat(SAID, error=None), ENDS),
        ("no usage", chat(SAID, usage=None), ENDS),
        ("a negative usage", chat(SAID, usage={"prompt_tokens": -1, "completion_tokens": -5}), ENDS),
        ("a usage in words", chat(SAID, usage={"prompt_tokens": "many", "completion_tokens": "4"}), ENDS),
        ("a usage in halves", chat(SAID, usage={"prompt_tokens": 9.5, "completion_tokens": 4.5}), ENDS),
        ("a usage that is a list", chat(SAID, usage=[]), ENDS),
        ("a usage without end", chat(SAID, usage={"prompt_tokens": 10**30, "completion_tokens": 1e300}), ENDS),
        ("details that are null", chat(SAID, usage={"prompt_tokens": 9, "completion_tokens": 4,
            "prompt_tokens_details": None}), ENDS),
        ("a content in parts", chat({"content": [TEXT]}), ENDS),
        ("parts of an unknown kind", chat({"content": [{"type": "hologram", "data": "x"}, TEXT]}), ENDS),
        ("half a character", chat({"content": f"{WHOLE}\ud83d"}), f"{ENDS}\ufffd"),
        ("an unknown reason", chat(SAID, "eos_token"), ENDS),
        ("no reason", chat(SAID, None), ENDS),
        ("no role, no index", http(200, {"choices": [{"message": SAID}]}), ENDS),
        ("unknown fields", chat({**SAID, "annotations": [], "audio": None, "holo": {"x": 1}}), ENDS),
        ("tool calls null", chat({**SAID, "tool_calls": None, "function_call": None}), ENDS),
        ("calls and the wrong reason", chat({"content": None, "tool_calls": [CALL]}, "stop"),
            "tool_calls: add({'a': 1})"),
        ("a call without an id", chat({"content": None, "tool_calls": [{**CALL, "id": None}]}),
            "tool_calls: add({'a': 1})"),
        ("a call with a number for an id", chat({"content": None, "tool_calls": [{**CALL, "id": 7}]}),
            "tool_calls: add({'a': 1})"),
        ("arguments as an object", chat({"content": None, "tool_calls": [{**CALL, "function": {"name": "add",
            "arguments": {"a": 1}}}]}), "tool_calls: add({'a': 1})"),
        ("no arguments", chat({"content": None, "tool_calls": [{**CALL, "function": {"name": "add",
            "arguments": None}}]}), "tool_calls: add()"),
        ("arguments that are empty", chat({"content": None, "tool_calls": [{**CALL, "function": {"name": "add",
            "arguments": ""}}]}), "tool_calls: add()"),
        ("broken arguments", chat({"content": None, "tool_calls": [broken]}, "tool_calls"), "tool_calls: add(?)"),
        ("arguments that are a list", chat({"content": None, "tool_calls": [{**CALL, "function": {"name": "add",
            "arguments": "[1]"}}]}), "tool_calls: add(?)"),
        ("a call that the limit cuts", chat({"content": None, "tool_calls": [broken]}, "length"), "length: add(?)"),
        ("a call without a name", chat({"content": None, "tool_calls": [{"function": {"arguments": "{}"}}]}),
            "tool_calls: ()"),
        ("filtered in the middle", chat(SAID, "content_filter"), f"content_filter: {WHOLE}"),
        ("refused", chat({"content": None, "refusal": WHOLE}), f"refusal: {WHOLE}"),
    ):
        yield gives(name, OPENAI, answer, short, streamed=False)
    for name, answer, again, kind, *says in (
        ("content null", chat({"content": None}), ONCE, EmptyAnswer, "empty"),
        ("content missing", chat({}), ONCE, EmptyAnswer, "empty"),
        ("thoughts alone", chat({"content": "", "reasoning_content": "Hm."}), ONCE, EmptyAnswer, "thought"),
        ("filtered, without a word", chat({"content": ""}, "content_filter"), NEVER, Refused, "filter"),
        ("thoughts up to the limit", chat({"content": "", "reasoning_content": "Hm."}, "length"), NEVER, EmptyAnswer,
            "max_tokens"),
        ("content as a number", chat({"content": 7}), ONCE, BadReply),
        ("a message that is a text", chat("hello"), ONCE, BadReply),
        ("a choice that is null", http(200, {"choices": [None]}), ONCE, BadReply),
        ("choices that are an object", http(200, {"choices": {"message": SAID}}), ONCE, BadReply),
        ("calls that are a text", chat({"content": None, "tool_calls": "add"}), ONCE, BadReply),
        ("an error in the choice, of OpenRouter", chat(SAID, "error"), ONCE, ProviderError),
    ):
        yield fails(name, OPENAI, answer, again, kind, *says, streamed=False)


def _anthropic_answers() -> Iterator[VendorFault]:
    for name, answer, short in (
        ("error null", claude([TEXT], error=None), ENDS),
        ("no usage", claude([TEXT], usage=None), ENDS),
        ("a negative usage", claude([TEXT], usage={"input_tokens": -1, "output_tokens": -4}), ENDS),
        ("a usage in words", claude([TEXT], usage={"input_tokens": "many", "output_tokens": "4"}), ENDS),
        ("a usage that is a list", claude([TEXT], usage=[]), ENDS),
        ("details null", claude([TEXT], usage={"input_tokens": 9, "output_tokens": 4, "cache_creation": None}), ENDS),
        ("a block of an unknown kind", claude([{"type": "hologram", "data": "x"}, TEXT]), ENDS),
        ("a redacted thought", claude([{"type": "redacted_thinking", "data": "x"}, TEXT]), ENDS),
        ("a thought without a signature", claude([{"type": "thinking", "thinking": "Hm."}, TEXT]), ENDS),
        ("an unknown reason", claude([TEXT], "cosmic_ray"), ENDS),
        ("no reason", claude([TEXT], None), ENDS),
        ("half a character", claude([{"type": "text", "text": f"{WHOLE}\ud83d"}]), f"{ENDS}\ufffd"),
        ("a call without an id", claude([{**USE, "id": None}], "tool_use"), "tool_calls: add({'a': 1})"),
        ("a call without an input", claude([{**USE, "input": None}], "tool_use"), "tool_calls: add()"),
        ("an input that is a text", claude([{**USE, "input": '{"a": 1'}], "tool_use"), "tool_calls: add(?)"),
        ("calls and the wrong reason", claude([USE]), "tool_calls: add({'a': 1})"),
        ("a call that the limit cuts", claude([USE], "max_tokens"), "length: add({'a': 1})"),
        ("the window is full", claude([TEXT], "model_context_window_exceeded"), f"length: {WHOLE}"),
        ("refused", claude([TEXT], "refusal"), f"refusal: {WHOLE}"),
        ("a pause", claude([TEXT], "pause_turn"), f"pause: {WHOLE}"),
    ):
        yield gives(name, ANTHROPIC, answer, short, streamed=False)
    for name, answer, again, kind, *says in (
        ("no content", claude([]), ONCE, EmptyAnswer, "empty"),
        ("content null", claude(None), ONCE, BadReply),
        ("content that is a text", claude(WHOLE), ONCE, BadReply),
        ("a block that is a text", claude([WHOLE]), ONCE, BadReply),
        ("a text that is a number", claude([{"type": "text", "text": 7}]), ONCE, BadReply),
        ("a block without a type", claude([{"text": WHOLE}]), ONCE, BadReply),
        ("a call without a name", claude([{**USE, "name": None}]), ONCE, BadReply),
        ("thoughts alone", claude([{"type": "thinking", "thinking": "Hm.", "signature": "s"}]), ONCE, EmptyAnswer,
            "thought"),
        ("refused, without a word", claude([], "refusal"), NEVER, Refused, "refused"),
    ):
        yield fails(name, ANTHROPIC, answer, again, kind, *says, streamed=False)


def _gemini_answers() -> Iterator[VendorFault]:
    text = [{"text": WHOLE}]
    call = {"functionCall": {"name": "add", "args": {"a": 1}}}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 4}
    for name, body, short in (
        ("error null", google(text, error=None), ENDS),
        ("no usage", google(text, usageMetadata=None), ENDS),
        ("a negative usage", google(text, usageMetadata={"promptTokenCount": -9, "candidatesTokenCount": -4}), ENDS),
        ("a usage in words", google(text, usageMetadata={"promptTokenCount": "9", "candidatesTokenCount": "many"}),
            ENDS),
        ("a usage that is a list", google(text, usageMetadata=[]), ENDS),
        ("thoughts uncounted", google(text, usageMetadata={**usage, "thoughtsTokenCount": None}), ENDS),
        ("parts of an unknown kind", google([{"hologram": {"x": 1}}, *text]), ENDS),
        ("code that was run", google([{"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}, *text]), ENDS),
        ("no part with words first", google([{"text": ""}, *text]), ENDS),
        ("half a character", google([{"text": f"{WHOLE}\ud83d"}]), f"{ENDS}\ufffd"),
        ("ratings of safety", google(text, promptFeedback={"safetyRatings": []}), ENDS),
        ("a call without an id", google([call]), "tool_calls: add({'a': 1})"),
        ("a call without arguments", google([{"functionCall": {"name": "add"}}]), "tool_calls: add()"),
        ("arguments null", google([{"functionCall": {"name": "add", "args": None}}]), "tool_calls: add()"),
        ("a call that the limit cuts", google([call], "MAX_TOKENS"), "length: add({'a': 1})"),
        ("SAFETY in the middle", google(text, "SAFETY"), f"content_filter: {WHOLE}"),
        ("RECITATION in the middle", google(text, "RECITATION"), f"content_filter: {WHOLE}"),
        ("LANGUAGE in the middle", google(text, "LANGUAGE"), f"content_filter: {WHOLE}"),
        ("OTHER in the middle", google(text, "OTHER"), ENDS),
        ("MAX_TOKENS in the middle", google(text, "MAX_TOKENS"), f"length: {WHOLE}"),
    ):
        yield gives(name, GEMINI, both(body), short)
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
        "usageMetadata": {"promptTokenCount": 9}}
    silent = {"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": {"promptTokenCount": 9}}
    for name, body, again, kind, *says in (
        ("a blocked prompt", blocked, NEVER, Refused, "SAFETY"),
        ("a prompt blocked by a list", {**blocked, "promptFeedback": {"blockReason": "BLOCKLIST",
            "blockReasonMessage": "A word is on the list."}}, NEVER, Refused, "BLOCKLIST", "on the list"),
        ("SAFETY without a word", silent, NEVER, Refused, "SAFETY"),
        ("RECITATION without a word", google([], "RECITATION"), NEVER, Refused, "RECITATION"),
        ("PROHIBITED_CONTENT without parts", google(None, "PROHIBITED_CONTENT"), NEVER, Refused,
            "PROHIBITED_CONTENT"),
        ("a reason that is new, without a word", google([], "COSMIC_RAY"), NEVER, Refused, "COSMIC_RAY"),
        ("a malformed call", google([], "MALFORMED_FUNCTION_CALL", ), ONCE, BadReply, "MALFORMED_FUNCTION_CALL"),
        ("an unexpected call", google([], "UNEXPECTED_TOOL_CALL"), ONCE, BadReply, "UNEXPECTED_TOOL_CALL"),
        ("OTHER without a word", google([], "OTHER"), ONCE, EmptyAnswer, "empty"),
        ("STOP without a word", google([]), ONCE, EmptyAnswer, "empty"),
        ("STOP without content", {"candidates": [{"finishReason": "STOP"}]}, ONCE, EmptyAnswer, "empty"),
        ("thoughts up to the limit", google([{"text": "Hm.", "thought": True}], "MAX_TOKENS"), NEVER, EmptyAnswer,
            "max_tokens"),
        ("MAX_TOKENS without parts", {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}}],
            "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 90}}, NEVER, EmptyAnswer, "max_tokens"),
        ("no candidates", {"candidates": [], "usageMetadata": usage}, ONCE, EmptyAnswer, "empty"),
        ("usage alone", {"usageMetadata": usage, "modelVersion": "m"}, ONCE, EmptyAnswer, "empty"),
        ("candidates that are a text", {"candidates": "no"}, ONCE, BadReply),
        ("a candidate that is null", {"candidates": [None]}, ONCE, BadReply),
        ("parts that are a text", google("hello"), ONCE, BadReply),
        ("a text that is a number", google([{"text": 7}]), ONCE, BadReply),
        ("a call without a name", google([{"functionCall": {"args": {}}}]), ONCE, BadReply),
        ("arguments that are a text", google([{"functionCall": {"name": "add", "args": '{"a": 1'}}]), ONCE, BadReply),
    ):
        yield fails(name, GEMINI, both(body), again, kind, *says)


def answers() -> Iterator[VendorFault]:
    for table in (_bytes, _openai_answers, _anthropic_answers, _gemini_answers):
        yield from table()
