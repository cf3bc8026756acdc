"""How each fault spoils an answer: functions from the scene of a fault to what goes over the connection."""

import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from email.utils import formatdate
from time import time

from ..core.exchange import Usage
from ..core.messages import ToolCall
from ._answers import Answer, Step, json_answer, reply_answer, streamed
from ._wires.base import ErrorKind, Problem, Question, Wire, dumps
from .replies import Reply, completed

MIB = 1024 * 1024
HUGE = 17 * MIB
BOMB = 32 * MIB
_FILLING = "a" * (64 * 1024)
_PAGE = b"<!DOCTYPE html>\n<html><head><title>%s</title></head><body><h1>%s</h1><p>nginx</p></body></html>\n"
_TWO_CALLS = Reply(calls=(ToolCall("add", {"a": 1, "b": 2}), ToolCall("add", {"a": 3, "b": 4})))
SAME_IDS = Reply(calls=tuple(replace(call, id="call_same") for call in _TWO_CALLS.calls))


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fault happens. `reply` is the answer that would have been, `elsewhere` the URL of another origin."""

    wire: Wire
    question: Question
    path: str
    elsewhere: str
    reply: Reply
    seconds: float | None = None


def error(kind: ErrorKind = "status", status: int = 400) -> Callable[[Scene], Answer]:
    def answer(scene: Scene) -> Answer:
        subject = scene.wire.asked_parameter(scene.question) if kind == "parameter_refused" else ""
        found, body = scene.wire.error(Problem(kind, status, scene.question.model, subject))
        return json_answer(body, found)

    return answer


def rate_limited(retry_after: Callable[[Scene], str]) -> Callable[[Scene], Answer]:
    def answer(scene: Scene) -> Answer:
        value = retry_after(scene)
        seconds = float(value) if value.replace(".", "", 1).isdecimal() else None
        status, body = scene.wire.error(Problem("status", 429, retry_after=seconds))
        return json_answer(body, status, {"Retry-After": value})

    return answer


def after(default: float) -> Callable[[Scene], str]:
    return lambda scene: f"{default if scene.seconds is None else scene.seconds:g}"


def at(default: float) -> Callable[[Scene], str]:
    return lambda scene: formatdate(time() + (default if scene.seconds is None else scene.seconds), usegmt=True)


def _first_half(scene: Scene) -> tuple[bytes, int | None]:
    """What is sent of the answer before the fault, and the length that was promised for all of it."""
    if scene.question.stream:
        stream = scene.wire.stream(scene.reply, scene.question)
        return b"".join((*stream.opening, *stream.events[: len(stream.events) // 2])), None
    body = dumps(scene.wire.whole(scene.reply, scene.question))
    return body[: len(body) // 2], len(body)


def half_then(*after: Step) -> Callable[[Scene], Answer]:
    """The first half of the answer, and then something else."""

    def answer(scene: Scene) -> Answer:
        half, length = _first_half(scene)
        return _billed(scene, replace(_body(scene, (half, *after)), length=length))

    return answer


def only(*steps: Step) -> Callable[[Scene], Answer]:
    return lambda scene: _body(scene, steps)


def _billed(scene: Scene, answer: Answer) -> Answer:
    """A spoiled answer, of which what was sent has a price."""
    sound = reply_answer(scene.wire, scene.question, scene.reply)
    return replace(answer, usage=sound.usage, size=sound.size)


def _body(scene: Scene, steps: Iterable[Step]) -> Answer:
    """A 200 of the right content type, chunked."""
    if scene.question.stream:
        return streamed(scene.wire, steps)
    return Answer(steps, 200, {"Content-Type": "application/json"})


def ends_in_the_middle(scene: Scene) -> Answer:
    return _billed(scene, _body(scene, (_first_half(scene)[0],)))


def truncated(scene: Scene) -> Answer:
    """In a stream, one event is cut; the end of the HTTP body is in order."""
    half, _ = _first_half(scene)
    return _billed(scene, _body(scene, (half[:-20],)))


def malformed(scene: Scene) -> Answer:
    """In a stream, the event in the middle is no JSON; the others are whole."""
    if not scene.question.stream:
        whole = dumps(scene.wire.whole(scene.reply, scene.question))
        return _billed(scene, _body(scene, (whole.replace(b":", b"=", 3),)))
    events = list(scene.wire.stream(scene.reply, scene.question).all)
    middle = len(events) // 2
    events[middle] = events[middle].replace(b'":', b'"=')
    return _billed(scene, _body(scene, (b"".join(events),)))


def error_event(scene: Scene) -> Answer:
    if not scene.question.stream:
        return error_object(scene)
    half, _ = _first_half(scene)
    error = scene.wire.error_event(Problem("overloaded", model=scene.question.model))
    return _billed(scene, _body(scene, (half, error)))


def error_object(scene: Scene) -> Answer:
    return json_answer(scene.wire.error(Problem("overloaded", model=scene.question.model))[1])


def hollow(scene: Scene) -> Answer:
    if scene.question.stream:
        return _body(scene, (scene.wire.hollow_stream(scene.question),))
    return json_answer(scene.wire.hollow(scene.question))


def invalid_utf8(scene: Scene) -> Answer:
    """Latin-1 in the place of UTF-8."""
    reply = completed(Reply("A café is not a caf\u00e9 in every encoding."), scene.question.number, 9)
    answer = reply_answer(scene.wire, scene.question, reply)
    data = b"".join(step for step in answer.steps if isinstance(step, bytes))
    return replace(answer, steps=(data.replace("é".encode(), b"\xe9"),), length=None)


def page(status: int, title: bytes) -> Callable[[Scene], Answer]:
    page = _PAGE % (title, title)
    return lambda scene: Answer((page,), status, {"Content-Type": "text/html"}, len(page))


def drip(scene: Scene) -> Answer:
    """The right answer, byte by byte."""
    answer = reply_answer(scene.wire, scene.question, scene.reply)
    data = b"".join(step for step in answer.steps if isinstance(step, bytes))
    pause = 0.2 if scene.seconds is None else float(scene.seconds)
    return replace(answer, steps=(step for byte in data for step in (bytes((byte,)), pause)), length=None)


def pings(scene: Scene) -> Answer:
    """A body that is not streamed is kept alive by white space."""
    stream = scene.question.stream
    opening = b"".join(scene.wire.stream(scene.reply, scene.question).opening) if stream else b""
    answer = _body(scene, _repeated(opening, scene.wire.ping if stream else b" \n", scene.seconds))
    has_usage = b"input_tokens" in opening
    return replace(answer, usage=Usage(scene.reply.spent.input_tokens)) if has_usage else answer


def _repeated(opening: bytes, ping: bytes, seconds: float | None) -> Iterable[Step]:
    yield opening
    while True:
        yield ping
        yield 0.05 if seconds is None else float(seconds)


def huge(scene: Scene) -> Answer:
    return _long(scene, _body(scene, _filled(scene, HUGE)))


def _long(scene: Scene, answer: Answer) -> Answer:
    """However much a server sends, what a model may write at most is charged."""
    return replace(answer, usage=replace(scene.reply.spent, output_tokens=scene.question.most_tokens or HUGE // 4))


def _filled(scene: Scene, size: int) -> Iterable[bytes]:
    """A well-formed answer of that size, piece by piece, so that nobody has to hold it."""
    wire, question = scene.wire, scene.question
    reply = Reply(_FILLING, chunks=1, usage=scene.reply.spent)
    times = size // len(_FILLING)
    if question.stream:
        stream = wire.stream(reply, question)
        yield b"".join(stream.opening)
        yield from (piece for _ in range(times) for piece in stream.events)
        yield b"".join(stream.closing)
    else:
        start, filling, end = dumps(wire.whole(reply, question)).partition(_FILLING.encode())
        yield start
        yield from (filling for _ in range(times))
        yield end


def bomb(scene: Scene) -> Answer:
    answer = _body(scene, (gzip.compress(b"".join(_filled(scene, BOMB)), 1),))
    return _long(scene, replace(answer, headers={**answer.headers, "Content-Encoding": "gzip"}))


def says(reply: Reply) -> Callable[[Scene], Answer]:
    def answer(scene: Scene) -> Answer:
        return reply_answer(scene.wire, scene.question, completed(reply, scene.question.number, 9))

    return answer


def without_ids(scene: Scene) -> Answer:
    reply = completed(_TWO_CALLS, scene.question.number, 9)
    bare = replace(reply, calls=tuple(replace(call, id="") for call in reply.calls))
    return reply_answer(scene.wire, scene.question, bare)


def redirect(scene: Scene) -> Answer:
    return Answer((b"",), 307, {"Location": f"/redirected{scene.path}"}, 0)


def redirect_elsewhere(scene: Scene) -> Answer:
    return Answer((b"",), 307, {"Location": f"{scene.elsewhere}{scene.path}"}, 0)
