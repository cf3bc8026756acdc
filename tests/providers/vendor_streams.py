"""Streams that are spoiled in ways which servers are known for."""

# fmt: off
import json
from collections.abc import Iterator

from ai_battle.core.errors import BadReply, ContextTooLong, EmptyAnswer, ProviderError, RateLimited, Refused

from .fault_scenes import WHOLE
from .vendor_bodies import (
    ANTHROPIC,
    CALL,
    DONE,
    ENDS,
    GEMINI,
    KEY,
    NEVER,
    OLLAMA,
    ONCE,
    OPEN,
    OPENAI,
    PASSES,
    PLACE,
    SAID,
    SHORTER,
    SUMMED,
    VendorFault,
    block,
    chunk,
    claude_error,
    claude_stream,
    fails,
    gives,
    google,
    google_error,
    http,
    line,
    lines,
    openai_error,
    sse,
)


def _openai_streams() -> Iterator[VendorFault]:
    begin, said, end = chunk({"role": "assistant", "content": ""}), chunk(SAID), chunk({}, "stop")
    bill = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    call = {"index": 0, **CALL}
    filters = {"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}
    for name, answer, short in (
        ("without [DONE]", sse(begin, said, end), ENDS),
        ("with everything twice at the end", sse(begin, said, end, end, bill, bill, DONE, DONE), ENDS),
        ("two beginnings", sse(begin, begin, said, end, DONE), ENDS),
        ("Azure's filters first", sse(filters, begin, said, end, DONE), ENDS),
        ("usage null in each", sse(chunk(SAID, usage=None), chunk({}, "stop", usage=None), bill, DONE), ENDS),
        ("a negative usage", sse(said, end, {"choices": [], "usage": {"prompt_tokens": -9, "completion_tokens": -4}},
            DONE), ENDS),
        ("delta null", sse(said, chunk(None, "stop"), DONE), ENDS),
        ("content null", sse(chunk({"role": "assistant", "content": None}), said, end, DONE), ENDS),
        ("error null", sse(chunk(SAID, error=None), end, DONE), ENDS),
        ("halves of a character", sse(said, chunk({"content": "\ud83d"}), chunk({"content": "\ude00"}), end, DONE),
            None),
        ("a second choice", sse(said, {"choices": [{"index": 1, "delta": {"content": "Other."}}]}, end, DONE), ENDS),
        ("fields in pieces over lines",
            sse(b'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "The whole answer."}}]}\n\n', end,
            DONE), ENDS),
        ("a call without an id", sse(chunk({"tool_calls": [{**call, "id": None}]}), chunk({}, "tool_calls"), DONE),
            "tool_calls: add({'a': 1})"),
        ("a call without an index", sse(chunk({"tool_calls": [CALL]}), chunk({}, "tool_calls"), DONE),
            "tool_calls: add({'a': 1})"),
        ("a call cut by the limit", sse(chunk({"tool_calls": [{**call, "function": {"name": "add",
            "arguments": '{"a": '}}]}), chunk({}, "length"), DONE), "length: add(?)"),
        ("a call whose arguments end early", sse(chunk({"tool_calls": [{**call, "function": {"name": "add",
            "arguments": '{"a": '}}]}), chunk({}, "tool_calls"), DONE), "tool_calls: add(?)"),
        ("filtered in the middle", sse(said, chunk({}, "content_filter"), DONE), f"content_filter: {WHOLE}"),
    ):
        yield gives(f"streamed, {name}", OPENAI, answer, short or f"{ENDS}\ufffd\ufffd", streamed=True)
    fire = openai_error("The server is on fire", "server_error")
    for name, answer, again, kind, *says in (
        ("an error in the middle", sse(begin, said, fire), PASSES, ProviderError, "on fire"),
        ("an error event", sse(begin, said, b"event: error\ndata: %b\n\n" % json.dumps(fire).encode()), PASSES,
            ProviderError, "on fire"),
        ("an error event in plain words", sse(begin, said, b"event: error\ndata: The server is on fire\n\n"), PASSES,
            ProviderError, "on fire"),
        ("an error line of llama.cpp", sse(begin, said,
            b'error: {"code": 500, "message": "The server is on fire"}\n\n'), PASSES, ProviderError, "on fire"),
        ("OpenRouter's error", sse(begin, said, chunk({"content": ""}, "error", error={"code": 502,
            "message": "Provider disconnected"})), PASSES, ProviderError, "disconnected"),
        ("an error as an object, of vLLM", sse(begin, said, {"object": "error", "message": "The server is on fire",
            "type": "InternalServerError", "code": 500}), PASSES, ProviderError, "on fire"),
        ("a wrong key in the middle", sse(begin, said, {"error": {"code": 401, "message": "The key was revoked"}}),
            NEVER, ProviderError, *KEY),
        ("too long in the middle", sse(begin, {"error": {"message": "maximum context length is 4096 tokens",
            "code": 400}}), NEVER, ContextTooLong, *SHORTER),
        ("a rate in the middle", sse(begin, {"error": {"message": "Rate limit reached", "code": 429,
            "type": "rate_limit_exceeded"}}), PASSES, RateLimited, "Rate limit"),
        ("an end without a reason", sse(begin, said), PASSES, BadReply, "cut"),
        ("[DONE] without a reason", sse(begin, said, DONE), PASSES, BadReply, "cut"),
        ("[DONE] alone", sse(DONE), ONCE, BadReply, "empty"),
        ("the bill alone", sse(bill, DONE), ONCE, EmptyAnswer, "empty"),
        ("an event that is not JSON", sse(begin, b"data: {oops\n\n", said, end, DONE), ONCE, BadReply, "JSON"),
        ("an event that is a list", sse(begin, b"data: []\n\n", said, end, DONE), ONCE, BadReply),
        ("choices that are a text", sse({"choices": "no"}, DONE), ONCE, BadReply),
        ("comments alone", sse(b": ping\n\n" * 3), PASSES, BadReply),
    ):
        yield fails(f"streamed, {name}", OPENAI, answer, again, kind, *says, streamed=True)


def _anthropic_streams() -> Iterator[VendorFault]:
    text = [*block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": WHOLE})]
    cut = block(0, dict(OPEN), {"type": "input_json_delta", "partial_json": '{"a": '})
    halves = ({"type": "text_delta", "text": half} for half in (WHOLE, "\ud83d", "\ude00"))
    for name, answer, short in (
        ("a ping in plain words", claude_stream(b"event: ping\ndata: {}\n\n", *text), ENDS),
        ("an unknown event", claude_stream({"type": "hologram", "x": 1}, *text), ENDS),
        ("a block of an unknown kind", claude_stream(*block(0, {"type": "hologram"}, {"type": "holo_delta", "x": 1}),
            *({**each, "index": 1} for each in text)), ENDS),
        ("a reason that is new", claude_stream(*text, stop="cosmic_ray"), ENDS),
        ("two ends", claude_stream(*text, {"type": "message_stop"}), ENDS),
        ("halves of a character", claude_stream(*block(0, {"type": "text", "text": ""}, *halves)),
            f"{ENDS}\ufffd\ufffd"),
        ("a call that the limit cuts", claude_stream(*cut, stop="max_tokens"), "length: add(?)"),
        ("a call without an id", claude_stream(*block(0, {**OPEN, "id": None}, {"type": "input_json_delta",
            "partial_json": '{"a": 1}'}), stop="tool_use"), "tool_calls: add({'a': 1})"),
        ("refused in the middle", claude_stream(*text, stop="refusal"), f"refusal: {WHOLE}"),
    ):
        yield gives(f"streamed, {name}", ANTHROPIC, answer, short, streamed=True)
    fire = claude_error("overloaded_error", "Overloaded")
    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}
    for name, answer, again, kind, *says in (
        ("overloaded in the middle", sse(start, *text, fire, named=True), PASSES, ProviderError, "Overloaded"),
        ("a wrong key in the middle", sse(start, claude_error("authentication_error", "revoked"), named=True), NEVER,
            ProviderError, *KEY),
        ("an end without message_stop", sse(start, *text, named=True), PASSES, BadReply, "cut"),
        ("nothing but the beginning", sse(start, named=True), PASSES, BadReply, "cut"),
        ("a delta for no block", sse(start, {"type": "content_block_delta", "index": 5,
            "delta": {"type": "text_delta", "text": "x"}}, named=True), ONCE, BadReply),
        ("a delta of another kind", claude_stream(*block(0, {"type": "text", "text": ""}, {"type": "input_json_delta",
            "partial_json": "{"})), ONCE, BadReply),
        ("a text that is a number", claude_stream(*block(0, {"type": "text", "text": ""}, {"type": "text_delta",
            "text": 7})), ONCE, BadReply),
        ("an event that is not JSON", sse(start, b"event: content_block_start\ndata: {oops\n\n", named=True), ONCE,
            BadReply, "JSON"),
        ("no blocks", claude_stream(), ONCE, EmptyAnswer, "empty"),
    ):
        yield fails(f"streamed, {name}", ANTHROPIC, answer, again, kind, *says, streamed=True)


def _ollama_faults() -> Iterator[VendorFault]:
    for name, status, message, again, kind, *says in (
        ("an unknown model", 404, "model 'm' not found", NEVER, ProviderError, "ollama pull"),
        ("no tools", 400, "registry.ollama.ai/library/m:latest does not support tools", NEVER, ProviderError,
            "tools"),
        ("no thinking", 400, '"m" does not support chat', NEVER, ProviderError, "chat"),
        ("too long", 400, "the input length exceeds the context length", NEVER, ContextTooLong, *SHORTER),
        ("no memory", 500, "model requires more system memory (8.4 GiB) than is available (3.2 GiB)", PASSES,
            ProviderError, "memory"),
        ("a runner that died", 500, "llama runner process has terminated: exit status 2", PASSES, ProviderError,
            "terminated"),
        ("a queue that is full", 503, "server busy, please try again.  maximum pending requests exceeded", PASSES,
            ProviderError, "busy"),
        ("not signed in", 401, "unauthorized", NEVER, ProviderError, "401", "key"),
        ("the limit of the cloud", 429, "you've reached your hourly usage limit, please upgrade to continue", NEVER,
            RateLimited, "hourly"),
        ("the cloud is away", 502, "upstream error", PASSES, ProviderError, "upstream"),
    ):
        yield fails(name, OLLAMA, http(status, {"error": message}), again, kind, *says)
    call = {"function": {"name": "add", "arguments": {"a": 1}}}
    for name, said, more, short in (
        ("no counts", SAID, {"done": True, "done_reason": "stop"}, ENDS),
        ("negative counts", SAID, {**SUMMED, "prompt_eval_count": -1, "eval_count": -4}, ENDS),
        ("counts in words", SAID, {**SUMMED, "eval_count": "four"}, ENDS),
        ("error null", SAID, {**SUMMED, "error": None}, ENDS),
        ("an empty error", SAID, {**SUMMED, "error": ""}, ENDS),
        ("an unknown reason", SAID, {**SUMMED, "done_reason": "unload"}, ENDS),
        ("no reason", SAID, {"done": True}, ENDS),
        ("half a character", {"content": f"{WHOLE}\ud83d"}, SUMMED, f"{ENDS}\ufffd"),
        ("calls null", {**SAID, "tool_calls": None, "images": None, "thinking": None}, SUMMED, ENDS),
        ("content null", {"content": None, "tool_calls": [call]}, SUMMED, "tool_calls: add({'a': 1})"),
        ("arguments as a text", {"tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1}'}}]}, SUMMED,
            "tool_calls: add({'a': 1})"),
        ("broken arguments", {"tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1'}}]}, SUMMED,
            "tool_calls: add(?)"),
        ("no arguments", {"tool_calls": [{"function": {"name": "add"}}]}, SUMMED, "tool_calls: add()"),
        ("the limit", SAID, {**SUMMED, "done_reason": "length"}, f"length: {WHOLE}"),
    ):
        yield gives(name, OLLAMA, lines(line(said, **more)), short)
    first, end = line(SAID), line({"content": ""}, **SUMMED)
    for name, answer, short in (
        ("a call without a name", lines(line({"tool_calls": [{"function": {}}]}), end), "tool_calls: ()"),
        ("two ends", lines(first, end, end), ENDS),
        ("half a character in each line", lines(first, line({"content": "\ud83d"}), line({"content": "\ude00"}), end),
            f"{ENDS}\ufffd\ufffd"),
        ("empty lines", lines(b"\n", first, b"\n \n", end), ENDS),
        ("no newline at the end", lines(first, json.dumps(end).encode()), ENDS),
        ("spaces around", lines(b"  " + json.dumps(first).encode() + b" \r\n", end), ENDS),
    ):
        yield gives(f"streamed, {name}", OLLAMA, answer, short, streamed=True)
    for name, answer, again, kind, *says in (
        ("an error in the middle", lines(first, {"error": "llama runner process has terminated"}), PASSES,
            ProviderError, "terminated"),
        ("an error first",
            lines({"error": "model runner has unexpectedly stopped, this may be due to resource limitations"}),
            PASSES, ProviderError, "stopped"),
        ("an end without done", lines(first), PASSES, BadReply, "cut"),
        ("a line that is cut", lines(first, b'{"model": "m", "mess'), ONCE, BadReply, "cut"),
        ("a line that is not JSON", lines(first, b"{oops}\n", end), ONCE, BadReply, "JSON"),
        ("nothing said", lines(end), ONCE, EmptyAnswer, "empty"),
        ("a message that is a text", lines(line("hello"), end), ONCE, BadReply),
        ("a content that is a number", lines(line({"content": 7}), end), ONCE, BadReply),
        ("OpenAI's stream", sse(chunk(SAID), DONE), ONCE, BadReply, PLACE),
    ):
        yield fails(f"streamed, {name}", OLLAMA, answer, again, kind, *says, streamed=True)


def _gemini_streams() -> Iterator[VendorFault]:
    said, end = google([{"text": WHOLE}], None), google([{"text": ""}])
    whole = json.dumps([said, end]).encode()
    yield gives("streamed, a finish reason in each", GEMINI, sse(google([{"text": "The whole "}]),
        google([{"text": "answer."}])), streamed=True)
    yield gives("streamed, usage in a last event of its own", GEMINI, sse(said, end,
        {"usageMetadata": {"promptTokenCount": 9}}), streamed=True)
    yield fails("streamed, a list in one piece", GEMINI, http(200, whole), ONCE, BadReply, PLACE, streamed=True)
    fire = google_error(503, "UNAVAILABLE", "The model is overloaded.")
    for name, answer, again, kind, *says in (
        ("an error in the middle", sse(said, fire), PASSES, ProviderError, "overloaded"),
        ("an error in a list in the middle", sse(said, [fire]), PASSES, ProviderError, "overloaded"),
        ("a wrong key in the middle", sse(said, google_error(400, "INVALID_ARGUMENT", "API key expired.",
            details=[{"reason": "API_KEY_INVALID"}])), NEVER, ProviderError, *KEY),
        ("a quota in the middle", sse(said, google_error(429, "RESOURCE_EXHAUSTED", "Resource exhausted.")), PASSES,
            RateLimited, "exhausted"),
        ("an end without a reason", sse(said), PASSES, BadReply, "cut"),
        ("an event that is not JSON", sse(said, b"data: {oops\n\n", end), ONCE, BadReply, "JSON"),
        ("blocked in the middle", sse(said, {"promptFeedback": {"blockReason": "OTHER"}}), NEVER, Refused, "OTHER"),
    ):
        yield fails(f"streamed, {name}", GEMINI, answer, again, kind, *says, streamed=True)


def streams() -> Iterator[VendorFault]:
    for table in (_openai_streams, _anthropic_streams, _ollama_faults, _gemini_streams):
        yield from table()
