"""The faults that can happen between a client and a provider, by name; `FAULTS` lists them all."""

import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from math import isnan, nan
from time import time
from types import MappingProxyType

from ..core.exchange import Usage
from ..core.messages import ToolCall
from ..core.plugins import near
from .answers import STALL, Break, HttpAnswer, Step, json_answer, reply_answer, stream_answer
from .apis import ApiError, ErrorKind, FakeApi, Question, Reply, complete_reply, dumps

_HOUR = 3600.0
_CUT = Reply("An answer that was on its way when the fault came; nobody shall take its first half for all of it.")
_REFUSAL = Reply("I can't help with that.", stop="refusal")
_FILTERED = Reply("A first half that", stop="content_filter")
_TOO_SHORT = Reply("An answer that is longer than", stop="length")
_STATUSES = {
    400: "The request is refused as invalid.",
    401: "The key is not accepted.",
    403: "The key may not do this.",
    404: "There is no such model.",
    408: "The provider gave up waiting for the request.",
    409: "The request is in conflict with another one.",
    413: "The request is too large.",
    422: "The request can't be processed.",
    425: "The request came too early.",
    429: "Too many requests, without a word on when to come back.",
    500: "The provider has an internal error.",
    502: "The provider's gateway got no answer.",
    503: "The provider is not available.",
    504: "The provider's gateway waited too long.",
    529: "The provider is overloaded.",
}
MIB = 1024 * 1024
HUGE_BYTES = 17 * MIB
BOMB = 32 * MIB
_FILLING = "a" * (64 * 1024)
_PAGE = b"<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1><p>nginx</p></body></html>\n"
_TWO_CALLS = Reply(calls=(ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})))
SAME_IDS = Reply(calls=tuple(replace(call, id="call_same") for call in _TWO_CALLS.calls))


@dataclass(frozen=True, slots=True)
class Scene:
    """The situation of a fault. `reply` is the answer that it spoils, `elsewhere` the URL of another origin."""

    api: FakeApi
    question: Question
    path: str
    elsewhere: str
    reply: Reply
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, which happens `times` times in a row. `wires` are the APIs that have such a fault.

    `seconds` is the value of `Retry-After` or the pause between two bytes; `reply` is the answer that it spoils.
    """

    name: str
    sentence: str
    answer: Callable[[Scene], HttpAnswer]
    wires: tuple[str, ...] = ("openai", "anthropic", "ollama", "gemini")
    times: int = 1
    seconds: float | None = None
    reply: Reply = _CUT


def fault(name: str | int, times: int = 1, *, seconds: float | None = None, reply: Reply | None = None) -> Fault:
    """Returns the fault with that name or status, to use among replies: `says(fault("http_503", times=2), "Hello")`."""
    name = f"http_{name}" if isinstance(name, int) else name
    if name not in FAULTS:
        raise ValueError(f"there is no fault {name!r}{near(name, list(FAULTS))}")
    found = FAULTS[name]
    return replace(found, times=times, seconds=seconds, reply=reply or found.reply)


def error(kind: ErrorKind = "status", status: int = 400) -> Callable[[Scene], HttpAnswer]:
    def answer(scene: Scene) -> HttpAnswer:
        subject = scene.api.asked_parameter(scene.question) if kind == "parameter_refused" else ""
        found, body = scene.api.error(ApiError(kind, status, scene.question.model, subject))
        return json_answer(body, found)

    return answer


def rate_limit(default: float, *, is_date: bool = False) -> Callable[[Scene], HttpAnswer]:
    """Refuses for some seconds. A date is only in the header, as the body of no API has one."""

    def answer(scene: Scene) -> HttpAnswer:
        seconds = default if scene.seconds is None else scene.seconds
        known = None if is_date or isnan(seconds) else seconds
        status, body = scene.api.error(ApiError("status", 429, retry_after=known))
        value = formatdate(time() + seconds, usegmt=True) if is_date else f"{seconds:g}"
        return json_answer(body, status, {"Retry-After": value})

    return answer


def _first_half(scene: Scene) -> tuple[bytes, int | None]:
    """Returns the first half of the answer, and the length promised for all of it."""
    if scene.question.stream:
        stream = scene.api.stream(scene.reply, scene.question)
        return b"".join((*stream.opening, *stream.events[: len(stream.events) // 2])), None
    body = dumps(scene.api.whole(scene.reply, scene.question))
    return body[: len(body) // 2], len(body)


def half_then(*after: Step) -> Callable[[Scene], HttpAnswer]:
    """Sends the first half of the answer, and then something else."""

    def answer(scene: Scene) -> HttpAnswer:
        half, length = _first_half(scene)
        return _spoiled_answer(scene, half, *after, length=length)

    return answer


def only(*steps: Step) -> Callable[[Scene], HttpAnswer]:
    return lambda scene: _body(scene, steps)


def _spoiled_answer(scene: Scene, *steps: Step, length: int | None = None) -> HttpAnswer:
    """Returns an answer with other steps than it should have. What is sent of it is billed."""
    sound = reply_answer(scene.api, scene.question, scene.reply)
    return replace(_body(scene, steps), length=length, usage=sound.usage, size=sound.size)


def _body(scene: Scene, steps: Iterable[Step]) -> HttpAnswer:
    """Returns a chunked answer with status 200 and the right content type."""
    if scene.question.stream:
        return stream_answer(scene.api, steps)
    return HttpAnswer(steps, 200, {"Content-Type": "application/json"})


def cut(by: int = 0) -> Callable[[Scene], HttpAnswer]:
    """Sends less than the first half, so that an event of a stream is cut. The HTTP body ends regularly."""

    def answer(scene: Scene) -> HttpAnswer:
        half, _ = _first_half(scene)
        return _spoiled_answer(scene, half[: len(half) - by])

    return answer


def malformed_json(scene: Scene) -> HttpAnswer:
    """Returns an answer with malformed JSON; in a stream only the event in the middle is malformed."""
    if not scene.question.stream:
        whole = dumps(scene.api.whole(scene.reply, scene.question))
        return _spoiled_answer(scene, whole.replace(b":", b"=", 3))
    events = list(scene.api.stream(scene.reply, scene.question).all)
    middle = len(events) // 2
    events[middle] = events[middle].replace(b'":', b'"=')
    return _spoiled_answer(scene, b"".join(events))


def error_event(scene: Scene) -> HttpAnswer:
    if not scene.question.stream:
        return error_object(scene)
    half, _ = _first_half(scene)
    error = scene.api.error_event(ApiError("overloaded", model=scene.question.model))
    return _spoiled_answer(scene, half, error)


def error_object(scene: Scene) -> HttpAnswer:
    return json_answer(scene.api.error(ApiError("overloaded", model=scene.question.model))[1])


def without_answer(scene: Scene) -> HttpAnswer:
    if scene.question.stream:
        return _body(scene, (scene.api.stream_without_answer(scene.question),))
    return json_answer(scene.api.body_without_answer(scene.question))


def invalid_utf8(scene: Scene) -> HttpAnswer:
    """Encodes a character as Latin-1 instead of UTF-8."""
    answer = _answer(scene, Reply("A café is not a caf\u00e9 in every encoding."))
    return replace(answer, steps=(answer.data.replace("é".encode(), b"\xe9"),), length=None)


def page(status: int, title: bytes) -> Callable[[Scene], HttpAnswer]:
    page = _PAGE % (title, title)
    return lambda scene: HttpAnswer((page,), status, {"Content-Type": "text/html"}, len(page))


def drip(scene: Scene) -> HttpAnswer:
    """Sends the right answer, byte by byte."""
    answer = reply_answer(scene.api, scene.question, scene.reply)
    pause = 0.2 if scene.seconds is None else float(scene.seconds)
    return replace(answer, steps=(step for byte in answer.data for step in (bytes((byte,)), pause)), length=None)


def pings(scene: Scene) -> HttpAnswer:
    """Sends pings for ever: white space if the body is not streamed."""
    stream = scene.question.stream
    opening = b"".join(scene.api.stream(scene.reply, scene.question).opening) if stream else b""
    answer = _body(scene, _repeat(opening, scene.api.ping if stream else b" \n", scene.seconds))
    has_usage = b"input_tokens" in opening
    return replace(answer, usage=Usage(scene.reply.bill.input_tokens)) if has_usage else answer


def _repeat(opening: bytes, ping: bytes, seconds: float | None) -> Iterable[Step]:
    yield opening
    while True:
        yield ping
        yield 0.05 if seconds is None else float(seconds)


def huge(scene: Scene) -> HttpAnswer:
    return _bill_maximum(scene, _body(scene, _filling(scene, HUGE_BYTES)))


def _bill_maximum(scene: Scene, answer: HttpAnswer) -> HttpAnswer:
    """Bills the most tokens that the model may write, however much the server sends."""
    return replace(answer, usage=replace(scene.reply.bill, output_tokens=scene.question.most_tokens or HUGE_BYTES // 4))


def _filling(scene: Scene, size: int) -> Iterable[bytes]:
    """Yields a well-formed answer of that size piece by piece, so that it is never in memory as a whole."""
    api, question = scene.api, scene.question
    reply = Reply(_FILLING, chunks=1, usage=scene.reply.bill)
    times = size // len(_FILLING)
    if question.stream:
        stream = api.stream(reply, question)
        yield b"".join(stream.opening)
        yield from (piece for _ in range(times) for piece in stream.events)
        yield b"".join(stream.closing)
    else:
        start, filling, end = dumps(api.whole(reply, question)).partition(_FILLING.encode())
        yield start
        yield from (filling for _ in range(times))
        yield end


def bomb(scene: Scene) -> HttpAnswer:
    answer = _body(scene, (gzip.compress(b"".join(_filling(scene, BOMB)), 1),))
    return _bill_maximum(scene, replace(answer, headers={**answer.headers, "Content-Encoding": "gzip"}))


def says(reply: Reply) -> Callable[[Scene], HttpAnswer]:
    return lambda scene: _answer(scene, reply)


def _answer(scene: Scene, reply: Reply) -> HttpAnswer:
    return reply_answer(scene.api, scene.question, complete_reply(reply, scene.question.number, 9))


def without_ids(scene: Scene) -> HttpAnswer:
    reply = complete_reply(_TWO_CALLS, scene.question.number, 9)
    bare = replace(reply, calls=tuple(replace(call, id="") for call in reply.calls))
    return reply_answer(scene.api, scene.question, bare)


def redirect(to: Callable[[Scene], str]) -> Callable[[Scene], HttpAnswer]:
    return lambda scene: HttpAnswer((b"",), 307, {"Location": f"{to(scene)}{scene.path}"}, 0)


_KNOWN = (
    *(Fault(f"http_{status}", f"HTTP {status}: {said}", error(status=status)) for status, said in _STATUSES.items()),
    Fault("rate_limited", "HTTP 429 with `Retry-After: 1`.", rate_limit(1.0)),
    Fault("rate_limited_long", "HTTP 429 with `Retry-After: 3600`.", rate_limit(_HOUR)),
    Fault("rate_limited_date", "HTTP 429 until a moment in 2 seconds.", rate_limit(2.0, is_date=True)),
    Fault("rate_limited_past", "HTTP 429 until a moment an hour ago.", rate_limit(-_HOUR, is_date=True)),
    Fault("rate_limited_nan", "HTTP 429 with `Retry-After: nan`.", rate_limit(nan)),
    Fault("insufficient_quota", "The account's quota or credit is used up.", error("quota")),
    Fault("daily_quota", "The quota of a day is used up.", error("daily_quota"), ("gemini",)),
    Fault("wrong_key", "HTTP 400: The key is not accepted.", error("wrong_key"), ("gemini",)),
    Fault("context_length", "The request does not fit the context window.", error("context_length")),
    Fault("tools_unsupported", "The model can't use tools.", error("tools_unsupported")),
    Fault("parameter_refused", "The model takes no such sampling parameter.", error("parameter_refused")),
    Fault("refusal", "The model declines to answer.", says(_REFUSAL), ("openai", "anthropic", "gemini")),
    Fault("content_filter", "A filter ends the answer.", says(_FILTERED), ("openai", "gemini")),
    Fault("length", "The answer ends at the token limit.", says(_TOO_SHORT)),
    Fault("stall_before_headers", "The request is taken and never answered.", only(STALL)),
    Fault("stall_after_headers", "The headers come, and then nothing.", only(b"", STALL)),
    Fault("stall_mid_stream", "The first half comes, and then nothing.", half_then(STALL)),
    Fault("reset_before_headers", "The connection is reset (RST) before an answer.", only(Break.RESET)),
    Fault("reset_mid_stream", "The connection is reset (RST) in mid-answer.", half_then(0.05, Break.RESET)),
    Fault("close_before_headers", "The connection is closed (FIN) before an answer.", only(Break.CLOSE)),
    Fault("close_mid_stream", "The connection is closed (FIN) in mid-answer.", half_then(Break.CLOSE)),
    Fault("end_mid_stream", "The body ends in mid-answer as if it were whole.", cut()),
    Fault("slow_drip", "The answer comes byte by byte, five a second.", drip),
    Fault("ping_for_ever", "Signs of life come, and never an answer.", pings),
    Fault("redirect_same_origin", "HTTP 307 to another path of the same server.", redirect(lambda _: "/redirected")),
    Fault("redirect_other_origin", "HTTP 307 to another server.", redirect(lambda scene: scene.elsewhere)),
    Fault("error_event_mid_stream", "An error comes in the midst of a 200.", error_event),
    Fault("error_200", "An error object comes with status 200.", error_object),
    Fault("truncated_json", "The JSON ends before its end.", cut(by=20)),
    Fault("malformed_json", "The JSON, or that of one event, is none.", malformed_json),
    Fault("empty_body", "Nothing comes, with status 200.", only(b"")),
    Fault("empty_answer", "A well-formed answer says nothing.", says(Reply())),
    Fault("empty_choices", "A well-formed body has no answer in it.", without_answer),
    Fault("invalid_utf8", "A byte of the answer is not UTF-8.", invalid_utf8),
    Fault("html_200", "A web page comes with status 200.", page(200, b"Welcome")),
    Fault("html_502", "A gateway's web page comes with status 502.", page(502, b"502 Bad Gateway")),
    Fault("huge_answer", "The answer is 17 MiB long.", huge),
    Fault("gzip_bomb", "Some KiB of gzip become 32 MiB.", bomb),
    Fault("duplicate_tool_ids", "Two tool calls bear the same id.", says(SAME_IDS)),
    Fault("missing_tool_ids", "Two tool calls bear no id.", without_ids),
)
FAULTS: Mapping[str, Fault] = MappingProxyType({fault.name: fault for fault in _KNOWN})
