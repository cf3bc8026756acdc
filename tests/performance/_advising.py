"""Measures what an advisor that is not asked adds to a request in one process.

It reads each step and judges each answer.
"""

import asyncio
import time
from collections.abc import Callable
from statistics import quantiles

from ai_battle.collaboration import Helping, advisor
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, Part, Text, ToolCall, ToolResult, user
from ai_battle.judging.detector import StuckDetector

TIMES = 40
SAID = (
    "Each of the files says that it is what it was, and nothing else stands in any of them, as far as I have seen here."
)
ENDS = ("That is all.", "There is no more to it.", "Nothing else stands there.", "No file differs from that.")
BEGINNINGS = ("In short:", "To sum up:", "All read.", "Here it is.", "As asked:", "Well:", "In a word:", "Done.", "So:")
READ = ToolSpec("read", "Reads a file.", {"properties": {"path": {"type": "string"}}, "required": ["path"]})


class VaryingClient(ModelClient):
    """Answers differently each time, as a repeated answer would be cached."""

    def __init__(self, part: Callable[[int], Part]) -> None:
        self._part = part
        self._count = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self._count += 1
        return ModelResponse(Message("assistant", (self._part(self._count),)))


def conversation(results: int, talk: int) -> ModelRequest:
    """Returns a prompt and results of a kilobyte, which differ between two talks.

    All values are new, as a server makes them of each body.
    """
    messages = [user("Read all files, and tell me what stands in them.")]
    for number in range(results):
        call = ToolCall("read", {"path": f"folder/file-{number}.txt"}, f"call_{number}")
        text = f"{'The file says that it is what it was. ' * 24}{number} of talk {talk}"
        messages += (Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(text),)),)))
    return ModelRequest(tuple(messages), tools=(READ,) if results else ())


def answer(number: int) -> Part:
    """Returns an answer without a flaw, as a poor one would bring advice, and its absence is measured."""
    begin, end = divmod(number, len(ENDS))
    return Text(f"{BEGINNINGS[begin % len(BEGINNINGS)]} {SAID} {ENDS[end]}")


def another_call(number: int) -> Part:
    return ToolCall("read", {"path": f"folder/other-{number}.txt"}, f"more_{number}")


def milliseconds(part: Callable[[int], Part], results: int, talks: int) -> list[float]:
    """Returns the CPU of each request. With as many talks as requests, nothing in a request was read before."""
    pair = advisor.create(VaryingClient(part), VaryingClient(answer), stuck_detector=StuckDetector(), helping=Helping())

    async def time_request(number: int) -> float:
        request = conversation(results, number % talks)
        before = time.thread_time()
        await pair.complete(request)
        return 1e3 * (time.thread_time() - before)

    async def time_requests() -> list[float]:
        return [await time_request(number) for number in range(TIMES)]

    return asyncio.run(time_requests())[3:]


def unused_advisor() -> None:
    """Prints the CPU of a request with an advisor that is not asked, and a model that takes no time."""
    for results in (0, 6, 100):
        kinds = (("an answer", answer, 1), ("an answer, all new", answer, TIMES), ("a call", another_call, 1))
        for kind, part, talks in kinds:
            low, middle, high = quantiles(milliseconds(part, results, talks), n=4)
            name = f"cpu of an unused advisor, {results} results, {kind}"
            print(f"{name:60} {middle:6.2f} ms ({low:.2f} to {high:.2f})", flush=True)
