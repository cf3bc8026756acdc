"""Answers of generateContent."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from secrets import token_hex
from typing import Any

from ...core.errors import BadReply, Refused
from ...core.exchange import UNKNOWN_USAGE, ModelResponse, Stop, Usage
from ...core.messages import Message, Part, Text, Thinking
from .._calls import with_ids
from .._errors import no_answer, readable_answer
from .._extra import kept, own
from .._json import dumps
from .._shape import count, given
from .._silence import heard
from .parts import WIRE, Body, decode_part, encode_parts

# Every other reason ends an answer that was filtered: SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, ...
STOPS: Mapping[str | None, Stop] = {
    None: "end",
    "FINISH_REASON_UNSPECIFIED": "end",
    "STOP": "end",
    "OTHER": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "TOO_MANY_TOOL_CALLS": "pause",
}
REASONS: Mapping[Stop, str] = {
    "end": "STOP",
    "stop_sequence": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "pause": "CONTINUATION",
    "refusal": "SAFETY",
    "content_filter": "SAFETY",
}
# The model tried to say something that can't be used; another try may bring it.
SLIPS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})

MARKS = frozenset({"candidates", "promptFeedback", "usageMetadata", "modelVersion"})  # of an answer of this API
READ = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
READ_IN_CANDIDATE = frozenset({"content", "finishReason", "index"})


def encode_response(response: ModelResponse, model: str) -> bytes:
    extra = own(WIRE, response.extra)
    candidate = {
        "content": {"role": "model", "parts": encode_parts(response.message.parts, modern=False)},
        "finishReason": REASONS[response.stop],
        "index": 0,
        **extra.pop("candidate", {}),
    }
    body = {"candidates": [candidate], "usageMetadata": encode_usage(response.usage), "modelVersion": model}
    return dumps({**body, "responseId": token_hex(16), **extra})


def decode_response(body: Mapping[str, Any]) -> ModelResponse:
    """Raises `BadReply` for an empty answer, a malformed call and what is no answer, `Refused` for a blocked prompt."""
    if not isinstance(body, Mapping) or not MARKS & body.keys():
        raise no_answer(dumps(body))
    with readable_answer(body):
        candidate = (body.get("candidates") or [{}])[0]
        response = _decode(body, candidate)
        blocked: Body = given(body, "promptFeedback", {})
        ended = _sentence("The model ended without an answer", candidate, "finishReason", "finishMessage")
    if "blockReason" in blocked:
        raise Refused(_sentence("The prompt was blocked", blocked, "blockReason", "blockReasonMessage"))
    if candidate.get("finishReason") in SLIPS:
        raise BadReply(ended, again="once", partial=response.text)
    return heard(response, ended)


def encode_usage(usage: Usage) -> Body:
    """Here the candidates' tokens exclude those of thinking."""
    return {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "totalTokenCount": usage.total_tokens,
    }


def decode_usage(body: Mapping[str, Any]) -> Usage:
    if not (usage := body.get("usageMetadata")):
        return UNKNOWN_USAGE
    thoughts = count(usage, "thoughtsTokenCount")
    return Usage(
        count(usage, "promptTokenCount") + count(usage, "toolUsePromptTokenCount"),
        count(usage, "candidatesTokenCount") + thoughts,
        cache_read_tokens=count(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


def _decode(body: Mapping[str, Any], candidate: Mapping[str, Any]) -> ModelResponse:
    said = (candidate.get("content") or {}).get("parts") or ()
    message = Message("assistant", with_ids(tuple(_joined(decode_part(part) for part in said))))
    stop = STOPS.get(candidate.get("finishReason"), "content_filter")
    about = own(WIRE, kept(WIRE, candidate, READ_IN_CANDIDATE))
    return ModelResponse(
        message,
        stop="tool_calls" if message.tool_calls and stop == "end" else stop,
        usage=decode_usage(body),
        model=given(body, "modelVersion", ""),
        extra=kept(WIRE, {**body, "candidate": about}, READ),
    )


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """One text where it came in several parts, as it is in a stream."""
    for kind, run in groupby(parts, _bare):
        if kind is None:
            yield from run
        else:
            yield kind("".join(part.text for part in run if isinstance(part, Text | Thinking)))


def _bare(part: Part) -> type[Text] | type[Thinking] | None:
    """The kind of a text that nothing else is said of: what is signed stays as it came."""
    match part:
        case Text(extra=extra) if not extra:
            return Text
        case Thinking(signature="", extra=extra) if not extra:
            return Thinking
    return None


def _sentence(what: str, body: Mapping[str, Any], reason: str, message: str) -> str:
    return f"{what}: {body.get(reason)}. {body.get(message) or ''}".rstrip()
