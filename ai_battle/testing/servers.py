"""Fake providers: scripted HTTP servers on the loopback interface, with faults."""

import asyncio
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import time
from typing import Any, Self

from aiohttp import web
from pydantic_core import from_json

from ..core.exchange import NOTHING_USED, Usage
from ..core.messages import ToolCall
from .answers import HttpAnswer, json_answer, play, reply_answer
from .anthropic import FakeAnthropic
from .apis import ApiError, FakeApi, Json, ModelCard, Question, Reply, complete_reply
from .faults import Fault, Scene
from .gemini import FakeGemini
from .ollama import FakeOllama
from .openai import FakeOpenAI

KEY = "test-key"
Sayable = str | ToolCall | Reply | Fault | Callable[[Json], Any]
_OPENAI, _ANTHROPIC, _OLLAMA, _GEMINI = FakeOpenAI(), FakeAnthropic(), FakeOllama(), FakeGemini()
_REDIRECTED = "/redirected"
_SHUTDOWN_SECONDS = 0.05


@dataclass
class ReceivedRequest:
    """A request to a fake. `disconnected` means that the client left before it had the whole answer.

    `billed` is what a provider would charge for the sent part, or None for nothing.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    time: float = field(default_factory=time)
    finished: bool = False
    disconnected: bool = False
    billed: Usage | None = None

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON object that was sent, or an empty one if the body is anything else."""
        try:
            parsed = from_json(self.raw) if self.raw else {}
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}


class FakeProvider:
    """One provider on a port of its own.

    `says(...)` queues answers, `always(...)` sets the one for an empty queue. `requests` holds the last `keep`
    requests; `models` are those that it lists. With `streams = False` it never streams, like some servers.
    """

    def __init__(self, api: FakeApi, models: Mapping[str, ModelCard], keep: int = 1000) -> None:
        self.requests: list[ReceivedRequest] = []
        self.models = dict(models)
        self.streams = True
        self.url = ""
        self.elsewhere = ""
        self.count = 0
        self._api = api
        self._keep = keep
        self._script: dict[str, deque[Sayable]] = defaultdict(deque)
        self._standing: dict[str, Sayable] = {"": _default}

    @property
    def name(self) -> str:
        return self._api.name

    @property
    def questions(self) -> list[ReceivedRequest]:
        """The requests for an answer of a model, without those for lists and the like."""
        return [r for r in self.requests if self._api.question(r.path.removeprefix(_REDIRECTED), r.query, r.body)]

    @property
    def bill(self) -> Usage:
        """The usage that a provider would charge for all requests; for broken answers, only the sent part."""
        return sum((request.billed for request in self.requests if request.billed), NOTHING_USED)

    @property
    def open_requests(self) -> int:
        """The number of requests that are being answered."""
        return sum(not request.finished for request in self.requests)

    def says(self, *replies: Sayable, model: str = "") -> None:
        """Queues answers; with `model`, only for requests to that model.

        A reply is a text, a `call(...)`, a `reply(...)`, a `fault(...)`, or a function from the body of the request to
        one of these.
        """
        for reply in replies:
            self._check(reply)
            self._script[model].extend([reply] * (reply.times if isinstance(reply, Fault) else 1))

    def always(self, reply: Sayable, model: str = "") -> None:
        """Sets the answer for requests that find the queue empty."""
        self._check(reply)
        self._standing[model] = reply

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = await request.content.read()
        received = ReceivedRequest(request.method, request.path, request.query, request.headers, raw)
        self._remember(received)
        if request.method == "HEAD":
            return web.Response()
        answer, sent = self._answer(received), list[int]()
        try:
            return await play(answer, request, f"req_{self.count}", sent)
        except asyncio.CancelledError:
            received.disconnected = True
            raise
        except ConnectionError:
            received.disconnected = True
            return web.Response()
        finally:
            received.finished = True
            received.billed = answer.bill(sum(sent))

    def _remember(self, received: ReceivedRequest) -> None:
        self.count += 1
        self.requests.append(received)
        if len(self.requests) > self._keep:
            del self.requests[0]

    def _answer(self, received: ReceivedRequest) -> HttpAnswer:
        path = received.path.removeprefix(_REDIRECTED)
        question_in = self._api.question(path, received.query, received.body) if received.method == "POST" else None
        if question_in is None:
            return self._page(path, received)
        stream = question_in.stream and self.streams
        question = replace(question_in, number=self.count, headers=received.headers, stream=stream)
        if objection := self._api.objection(question):
            return self._refusal(objection)
        return self._next_answer(question, path, len(received.raw))

    def _page(self, path: str, received: ReceivedRequest) -> HttpAnswer:
        page = {} if path == "/" else self._api.page(path, received.body, self.models)
        if isinstance(page, ApiError):
            return self._refusal(page)
        return json_answer(page) if page is not None else self._refusal(ApiError(status=404, subject=f"no {path}"))

    def _refusal(self, problem: ApiError) -> HttpAnswer:
        status, body = self._api.error(problem)
        return json_answer(body, status)

    def _next_answer(self, question: Question, path: str, size: int) -> HttpAnswer:
        scripted_reply = self._next_reply(question.model)
        while callable(scripted_reply):
            scripted_reply = scripted_reply(question.body)
        self._check(scripted_reply)
        reply = complete_reply(_as_reply(scripted_reply), question.number, size // 4 + 1)
        if not isinstance(scripted_reply, Fault):
            return reply_answer(self._api, question, reply)
        return scripted_reply.answer(Scene(self._api, question, path, self.elsewhere, reply, scripted_reply.seconds))

    def _next_reply(self, model: str) -> Sayable:
        for name in (model, ""):
            if script := self._script.get(name):
                return script.popleft()
        return self._standing.get(model) or self._standing[""]

    def _check(self, reply: Sayable) -> None:
        if isinstance(reply, Fault) and self.name not in reply.wires:
            raise ValueError(f"{self.name} has no fault {reply.name!r}; it is known to {', '.join(reply.wires)}")
        if not (isinstance(reply, str | ToolCall | Reply | Fault) or callable(reply)):
            raise TypeError(f"{reply!r} is not a reply; give a text, call(...), reply(...), fault(...) or a function")


class FakeProviders:
    """Runs four providers in `async with FakeProviders() as fakes:`, each on a port of 127.0.0.1.

    `environment` points a program to them. Requests redirected to another origin arrive at `elsewhere`.
    """

    def __init__(self, keep: int = 1000) -> None:
        self.openai = FakeProvider(_OPENAI, _cards("gpt-4o", "gpt-4o-mini", "o3-mini"), keep)
        self.anthropic = FakeProvider(_ANTHROPIC, _cards("claude-sonnet-4-5", "claude-haiku-4-5"), keep)
        self.ollama = FakeProvider(_OLLAMA, _cards("gemma3:1b", "phi4:latest", "llama3.2:latest"), keep)
        self.gemini = FakeProvider(_GEMINI, _cards("gemini-2.5-pro", "gemini-2.5-flash"), keep)
        self.elsewhere = FakeProvider(_OPENAI, {}, keep)
        self._running = AsyncExitStack()

    @property
    def all(self) -> tuple[FakeProvider, ...]:
        return (self.openai, self.anthropic, self.ollama, self.gemini)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self.openai.url}/v1",
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.anthropic.url,
            "ANTHROPIC_API_KEY": KEY,
            "OLLAMA_HOST": self.ollama.url,
            "GEMINI_BASE_URL": self.gemini.url,
            "GOOGLE_GEMINI_BASE_URL": self.gemini.url,
            "GEMINI_API_KEY": KEY,
        }

    async def __aenter__(self) -> Self:
        for provider in (*self.all, self.elsewhere):
            provider.url = await self._serve(provider)
            provider.elsewhere = ""
        for provider in self.all:
            provider.elsewhere = self.elsewhere.url
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._running.aclose()

    async def _serve(self, provider: FakeProvider) -> str:
        server = web.Server(provider.handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        self._running.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return f"http://{host}:{port}"

    @classmethod
    @contextmanager
    def in_thread(cls, keep: int = 1000) -> Iterator[Self]:
        """Runs the fakes in a thread, for a program that has no event loop or blocks it."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="fake providers", daemon=True)
        thread.start()
        fakes = cls(keep)
        try:
            asyncio.run_coroutine_threadsafe(fakes.__aenter__(), loop).result()
            yield fakes
        finally:
            asyncio.run_coroutine_threadsafe(fakes.__aexit__(None, None, None), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def _cards(*names: str) -> dict[str, ModelCard]:
    return {name: ModelCard() for name in names}


def _default(body: Json) -> str:
    """Returns a different answer for each message, but the same for the same conversation."""
    return f"This is my answer to message {len(body.get('messages') or body.get('contents') or ())}."


def _as_reply(reply: Sayable) -> Reply:
    match reply:
        case Reply():
            return reply
        case Fault():
            return reply.reply
        case ToolCall():
            return Reply(calls=(reply,))
    return Reply(str(reply))
