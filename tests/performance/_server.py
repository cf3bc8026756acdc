"""Starts a fake OpenAI server in its own process, so that its work is not counted as the client's."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ai_battle.testing import FakeProviders, call, reply


@contextmanager
def server(*, words: int, chunks: int, delay: float = 0.0, calls: int = 0) -> Iterator[str]:
    """Yields the base URL of a server whose answers have `words` words in `chunks` chunks.

    If `calls` is not 0, it calls that many tools first, until it has their results.
    """
    arguments = [sys.executable, "-m", "tests.performance._server", *map(str, (words, chunks, delay, calls))]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def _serve(words: int, chunks: int, delay: float, calls: int) -> None:
    async with FakeProviders(keep=1) as fakes:
        text = " ".join(f"word{number % 97}" for number in range(words))
        if calls:  # a model mentions their results
            text = (
                f"The sums are {', '.join(str(number + 1) for number in range(calls))}: {' '.join(['and so on'] * 18)}."
            )
        answer = reply(text, chunks=chunks, delay=delay)
        called = reply(calls=[call("add", a=number) for number in range(calls)])
        wants = (lambda body: answer if body["messages"][-1]["role"] == "tool" else called) if calls else answer
        fakes.openai.always(wants)
        print(f"{fakes.openai.url}/v1", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
