"""What an advisor that is not asked adds to a request in one process: it reads each step, and judges each answer."""

import asyncio
import time
from collections.abc import Callable
from statistics import quantiles

from ai_battle.collaboration import Helping, StuckDetector, advisor
from ai_battle.core.client import ModelClient
from ai_battle.core.events import Emit, ignore
from ai_battle.core.exchange import ModelRequest, ModelResponse, ToolSpec
from ai_battle.core.messages import Message, Part, Text, ToolCall, ToolResult, user

TIMES = 40
SAID = (
    "Each of the files says that it is what it was, and nothing else stands in any of them, as far as I have seen here."
)
READ = ToolSpec("read", "Reads a file.", {"properties": {"path": {"type": "string"}}, "required": ["path"]})


class Says(ModelClient):
    """Says something else each time, as an answer that comes again would be known."""

    def __init__(self, part: Callable[[int], Part]) -> None:
        self._part = part
        self._count = 0

    async def complete(self, request: ModelRequest, emit: Emit = ignore) -> ModelResponse:
        self._count += 1
        return ModelResponse(Message("assistant", (self._part(self._count),)))


def conversation(results: int) -> ModelRequest:
    """A prompt and results of a kilobyte, made anew as a server makes them of each body."""
    messages = [user("Read all files, and tell me what stands in them.")]
    for number in range(results):
        call = ToolCall("read", {"path": f"folder/file-{number}.txt"}, f"call_{number}")
        text = f"{'The file says that it is what it was. ' * 24}{number}"
        messages += (Message("assistant", (call,)), Message("tool", (ToolResult(call, (Text(text),)),)))
    return ModelRequest(tuple(messages), tools=(READ,) if results else ())


def answer(number: int) -> Part:
    return Text(f"{SAID} That is {number}.")


def another_call(number: int) -> Part:
    return ToolCall("read", {"path": f"folder/other-{number}.txt"}, f"more_{number}")


def milliseconds(part: Callable[[int], Part], results: int) -> list[float]:
    """CPU of each request."""
    pair = advisor.create(Says(part), Says(answer), stuck_detector=StuckDetector(), helping=Helping())

    async def taken() -> float:
        request = conversation(results)
        before = time.thread_time()
        await pair.complete(request)
        return 1e3 * (time.thread_time() - before)

    async def all_taken() -> list[float]:
        return [await taken() for _ in range(TIMES)]

    return asyncio.run(all_taken())[3:]


def advising() -> None:
    """CPU of a request with an advisor that is not asked; the model behind it takes none."""
    for results in (0, 6, 100):
        for kind, part in (("an answer", answer), ("a call", another_call)):
            low, middle, high = quantiles(milliseconds(part, results), n=4)
            name = f"cpu of an unused advisor, {results} results, {kind}"
            print(f"{name:60} {middle:6.2f} ms ({low:.2f} to {high:.2f})", flush=True)
