"""Measures what the server adds to a request, against a short server that passes requests on as they are."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp

from ._comparing import compare

ROUTES = "server:\n  routes:\n" + "".join(
    f"    {name}-{words}: {{model: openai/words-{words}{more}}}\n"
    for words in (20, 200)
    for name, more in {
        "direct": "",
        "rescue": ", secondary: openai/words-21, strategy: rescue",
        "draft_verify": ", secondary: openai/words-21, strategy: draft_verify",
        "advisor": ", secondary: openai/words-21, strategy: advisor",
    }.items()
)
"""Routes with and without a strategy, by the number of words that their model answers."""


@dataclass(frozen=True)
class Work:
    """Equal requests, `at_once` at a time."""

    body: bytes
    requests: int
    at_once: int = 64

    @classmethod
    def of(cls, model: str, requests: int, *, stream: bool = False, at_once: int = 64, **more: Any) -> "Work":
        """Makes requests for `model`. `more` are fields of the body besides those that each request has."""
        said = {"messages": [{"role": "user", "content": "What is in the file?"}], **more}
        body = {"model": f"openai/{model}", "max_tokens": 900, "stream": stream, **said}
        return cls(json.dumps(body).encode(), requests, at_once)


def assistant(api: str) -> dict[str, Any]:
    """Returns the first body of a coding assistant: 110 kB, most of them tools and instructions."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools: list[dict[str, Any]] = [{"name": f"read_{n}", "description": "Reads a file. " * 230} for n in range(20)]
    instructions = "Be short, and read before you write. " * 300
    reminders = [{"type": "text", "text": "The file says that it is what it was. " * 100}] * 2
    talk = [{"role": ("assistant", "user")[n % 2], "content": f"{n}. It says what it was. " * 10} for n in range(39)]
    messages = [{"role": "user", "content": reminders}, *talk]
    if api.endswith("messages"):
        blocks = [{"type": "text", "text": instructions, "cache_control": {"type": "ephemeral"}}]
        return {"messages": messages, "system": blocks, "tools": [{**tool, "input_schema": schema} for tool in tools]}
    functions = [{"type": "function", "function": {**tool, "parameters": schema}} for tool in tools]
    return {"messages": [{"role": "system", "content": instructions}, *messages], "tools": functions}


def long_talk() -> dict[str, Any]:
    """Returns a body of 110 kB in two hundred messages."""
    text = "The file says that it is what it was. " * 14
    return {"messages": [{"role": ("user", "assistant")[n % 2], "content": f"{n}. {text}"} for n in range(199)]}


def working_talk(api: str) -> dict[str, Any]:
    """Returns a body of 110 kB in two hundred messages: calls of a tool and their results."""
    text = "The file says that it is what it was. " * 24
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all files."}]
    for number in range(100):
        id_, arguments = f"call_{number:03}", {"path": f"folder/file-{number}.txt"}
        if api.endswith("messages"):
            call = {"type": "tool_use", "id": id_, "name": "read", "input": arguments}
            result = {"type": "tool_result", "tool_use_id": id_, "content": text}
            messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        else:
            function = {"name": "read", "arguments": json.dumps(arguments)}
            call = {"id": id_, "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": id_, "content": text})
    tool: dict[str, Any] = {"name": "read", "description": "Reads a file."}
    if api.endswith("messages"):
        return {"messages": messages, "tools": [{**tool, "input_schema": schema}]}
    return {"messages": messages, "tools": [{"type": "function", "function": {**tool, "parameters": schema}}]}


def workloads(api: str) -> dict[str, Work]:
    return {
        "a plain request": Work.of("words-20", 600),
        "a stream of 20 chunks": Work.of("words-20", 400, stream=True),
        "the same, 2 ms apart": Work.of("slow-20", 400, stream=True),
        "110 kB, 20 tools and 40 messages": Work.of("words-20", 200, **assistant(api)),
        "110 kB, 200 texts": Work.of("words-20", 200, **long_talk()),
        "110 kB, 200 calls and results": Work.of("words-20", 200, **working_talk(api)),
        "a stream of 400 chunks": Work.of("words-400", 60, stream=True, at_once=30),
        "400 chunks, 2 ms apart": Work.of("slow-400", 60, stream=True, at_once=30),
    }


@dataclass(frozen=True)
class Running:
    """A server in a process of its own. Requests go to `path`; it started in `seconds`."""

    process: subprocess.Popen[bytes]
    url: str
    path: str
    seconds: float

    @property
    def cpu(self) -> float:
        """Returns the seconds that its threads have used.

        The scheduler counts nanoseconds; a clock of ticks is too coarse for a plain request.
        """
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def milliseconds(self, work: Work) -> float:
        """Returns the CPU of one request."""
        before = self.cpu
        asyncio.run(_drive(self.url + self.path, work))
        return (self.cpu - before) * 1e3 / work.requests


@contextmanager
def start_server(path: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Starts a server and waits until it listens. Its bytecode is kept, as in production."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.NamedTemporaryFile() as said:
        begun = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", *arguments], stderr=said, env={**kept, **(environment or {})})
        try:
            url = _address(Path(said.name), process)
            yield Running(process, url, path, time.perf_counter() - begun)
        finally:
            process.terminate()
            process.wait()


def _address(said: Path, process: subprocess.Popen[bytes]) -> str:
    while process.poll() is None:
        _, found, rest = said.read_text().partition("Listening on ")
        if found and "\n" in rest:
            return rest.split("\n")[0]
        time.sleep(0.002)
    raise RuntimeError(f"The server did not start: {said.read_text()}")


@contextmanager
def upstream() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-m", "tests.performance._upstream"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.terminate()


@contextmanager
def both(api: str = "/v1/messages", routes: str = "") -> Iterator[tuple[Running, Running]]:
    """Starts our server and the one that passes requests on, for the same provider."""
    with ExitStack() as running:
        url = running.enter_context(upstream())
        yield running.enter_context(our_server(url, api, routes)), running.enter_context(pass_through_server(url))


@contextmanager
def our_server(url: str, api: str = "/v1/messages", routes: str = "") -> Iterator[Running]:
    environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "k", "BIG_MODEL": "openai/words-20"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "served.yaml"
        file.write_text(routes or "server: {}")
        arguments = ("ai_battle", "serve", str(file), "--port", "0")
        with start_server(api, *arguments, environment=environment) as server:
            yield server


@contextmanager
def pass_through_server(url: str) -> Iterator[Running]:
    with start_server("/v1/chat/completions", "tests.performance._pass_through", f"{url}/chat/completions") as server:
        yield server


def start(make: Callable[[str], AbstractContextManager[Running]], url: str) -> float:
    """Returns the milliseconds from the command until the server listens."""
    with make(url) as server:
        return server.seconds * 1e3


def added_times(server: Running, helped: Work, direct: Work, rounds: int = 12) -> list[float]:
    """Returns the sorted milliseconds that `helped` takes beyond `direct`.

    Each round measures direct, helped, helped, direct, so that a machine that changes its speed does so for both.
    """
    taken = [[server.milliseconds(work) for work in (direct, helped, helped, direct)] for _ in range(rounds + 1)]
    return sorted((second + third - first - fourth) / 2 for first, second, third, fourth in taken[1:])


def server_requests() -> None:
    """Compares the server's CPU per request, and its start, with a server that passes requests on; prints memory."""
    for api in ("/v1/messages", "/v1/chat/completions"):
        with both(api) as (server, bare):
            for kind, work in workloads(api).items():
                name = f"cpu, {kind}, {api.rpartition('/')[2]}"
                compare(name, partial(server.milliseconds, work), partial(bare.milliseconds, work))
    with upstream() as url:
        compare("wall, the server's start", partial(start, our_server, url), partial(start, pass_through_server, url))
        with our_server(url, routes=ROUTES) as server:
            strategies(server)
        with our_server(url) as server:
            server.milliseconds(Work.of("words-20", 5_000))
            print(f"{'memory after 5,000 requests':60} {server.megabytes:8.1f} MiB", flush=True)


def budgets() -> None:
    """Compares the CPU of a request whose key has limits, counted over all workers, with that of a key without."""
    limits = "budget_usd: 1000, concurrent: 500, per_minute: 1000000"
    with (
        upstream() as url,
        our_server(url, routes=_config_with_key("")) as plain,
        our_server(url, routes=_config_with_key(limits)) as counted,
    ):
        for kind, words in (("a plain request", 20), ("a stream of 20 chunks", 20)):
            work = Work.of(f"words-{words}", 600, stream="stream" in kind)
            compare(
                f"cpu, {kind}, its key has limits",
                partial(counted.milliseconds, work),
                partial(plain.milliseconds, work),
            )


def _config_with_key(limits: str) -> str:
    routes = "routes: {openai/words-20: openai/words-20}"
    return (
        f"server: {{keys: [{{key: k, name: k, {limits}}}], {routes}}}\n"
        "prices: {openai/words-20: {input: 0.1, output: 0.1}}\n"
    )


ANSWERS = {
    "20 words": (20, True, True),
    "200 words": (200, True, True),
    "20 words in one piece": (20, False, True),
    "20 words, neither streamed": (20, False, False),
}
"""The words of an answer, whether the client wants a stream of the helped route, and of the direct one."""


def strategies(server: Running) -> None:
    """Prints the CPU that each strategy adds to a request. Judging is included.

    Each judged answer passes, so each route calls the same model once. A strategy streams the call, as it listens to
    the model; a direct route streams only if its client does.
    """
    for strategy in ("rescue", "draft_verify", "advisor"):
        for kind, (words, *streams) in ANSWERS.items():
            names = (f"{strategy}-{words}", f"direct-{words}")
            helped, direct = map(_work_of_route, names, (1_200 // words,) * 2, streams)
            _print_added(strategy, kind, added_times(server, helped, direct))


def _print_added(what: str, kind: str, taken: list[float]) -> None:
    low, middle, high = quantiles(taken, n=4)
    print(f"{f'cpu that {what} adds, {kind}':60} {middle:6.2f} ms ({low:.2f} to {high:.2f})", flush=True)


def client_advisor() -> None:
    """Prints the CPU that a client's advisor adds if it is not asked. Nothing is judged."""
    tool = {"type": "openrouter:advisor", "parameters": {"model": "openai/words-21"}}
    for api in ("/v1/messages", "/v1/chat/completions"):
        with upstream() as url, our_server(url, api, routes=ROUTES) as server:
            for kind, (words, streamed, _) in [*ANSWERS.items()][:3]:
                direct = _work_of_route(f"direct-{words}", 1_200 // words, streamed)
                helped = replace(direct, body=json.dumps({**json.loads(direct.body), "tools": [tool]}).encode())
                _print_added(
                    "a client's advisor", f"{kind}, {api.rpartition('/')[2]}", added_times(server, helped, direct)
                )


def _work_of_route(route: str, requests: int, stream: bool) -> Work:
    work = Work.of("it", requests, stream=stream, at_once=32)
    return replace(work, body=work.body.replace(b"openai/it", route.encode()))


async def _drive(url: str, work: Work) -> None:
    left = iter(range(work.requests))
    headers = {"content-type": "application/json", "x-api-key": "k"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send_requests() -> None:
            for _ in left:
                async with session.post(url, data=work.body, headers=headers) as answer:
                    text = await answer.read()
                    assert answer.status == 200, text
                    assert b"word" in text

        await asyncio.gather(*(send_requests() for _ in range(work.at_once)))
