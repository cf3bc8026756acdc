"""The routes of the page: its files, and the API that it calls."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict
from functools import partial
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from aiohttp import web

from ..arbiter.judging import judge_run
from ..config.loading import LoadedDiscussion
from ..conversation.manager import ConversationManager, RunResult
from ..conversation.run_config import of_run, with_changes
from ..conversation.runs import RunOverview, delete
from ..core.errors import ConfigError, NoSuchRecord
from ..core.events import Emit
from ..core.exchange import EVERYTHING, Wants
from ..core.ledger import SpendingLimits
from ..core.texts import each_text, printable
from ..reporting.comparison import ComparedRun, comparison_page
from ..reporting.exports import export, write_reports
from ..reporting.figures import count_of, dollars, moment
from .following import RunFollower, stream
from .live import LiveRun, LiveRuns
from .serving import LARGEST_BODY
from .workspace import Workspace, require_trust

STATIC = Path(__file__).parent / "static"
ROOT_FILES = {"/": "index.html", "/favicon.ico": "icon.svg"}
"""Browsers ask for an icon of each page that names none, such as a report."""
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MOST_LISTED, MOST_HITS, MOST_WATCHED = 500, 100, 16
WITHOUT_SCRIPT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
WITH_SCRIPT = f"{WITHOUT_SCRIPT}; script-src 'unsafe-inline'; sandbox allow-scripts"
"""A report's own policy allows only its one script, by digest; the sandbox keeps that script from the page's data."""

N = TypeVar("N", int, float)
Discuss: TypeAlias = Callable[[ConversationManager, Emit, Wants], Awaitable[RunResult]]


class PageServer:
    """Handles the page's requests. Runs belong to this process, so closing the page does not end them."""

    def __init__(self, workspace: Workspace, *, allow_unsandboxed: bool = False) -> None:
        self._workspace = workspace
        self._allow_unsandboxed = allow_unsandboxed
        self._runs = LiveRuns()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=LARGEST_BODY)
        app.add_routes(
            [
                *(web.get(path, self._static_file) for path in ROOT_FILES),
                web.get("/static/{name}", self._static_file),
                web.get("/api/configs", self._configs),
                web.get("/api/config", self._read_config),
                web.put("/api/config", self._write_config),
                web.post("/api/check", self._check),
                web.get("/api/runs", self._list_runs),
                web.post("/api/runs", self._start),
                web.post("/api/runs/{run}/stop", self._stop),
                web.post("/api/runs/{run}/resume", self._resume),
                web.post("/api/runs/{run}/fork", self._fork),
                web.post("/api/runs/{run}/answer", self._answer),
                web.post("/api/runs/{run}/judge", self._judge),
                web.delete("/api/runs/{run}", self._delete),
                web.get("/api/events", self._events),
                web.get("/runs/{run}/report", self._report),
                web.get("/compare", self._compare),
                web.get("/benchmark", self._benchmark),
            ]
        )
        app.on_shutdown.append(lambda app: self._runs.close())
        return app

    async def _static_file(self, http: web.Request) -> web.StreamResponse:
        path = STATIC / (ROOT_FILES.get(http.path) or http.match_info["name"])
        if path.suffix not in TYPES or not path.is_file():
            raise NoSuchRecord(f"There is no {path.name!r} here.")
        return web.Response(text=path.read_text(encoding="utf-8"), content_type=TYPES[path.suffix])

    async def _configs(self, http: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(lambda: list(self._workspace.configs()))
        benchmarks = await asyncio.to_thread(self._workspace.benchmarks)
        return web.json_response({"folder": str(self._workspace.root), "configs": found, "benchmarks": [*benchmarks]})

    async def _read_config(self, http: web.Request) -> web.StreamResponse:
        return web.json_response(asdict(self._workspace.read(http.query.get("source", ""))))

    async def _write_config(self, http: web.Request) -> web.StreamResponse:
        form = await _texts(http, "source", "text", "digest")
        return web.json_response(asdict(self._workspace.write(**form)))

    async def _check(self, http: web.Request) -> web.StreamResponse:
        form = await _texts(http, "source", "text")
        return web.json_response(await asyncio.to_thread(self._workspace.check, **form))

    async def _list_runs(self, http: web.Request) -> web.StreamResponse:
        words = http.query.get("words", "").split()
        return web.json_response(await asyncio.to_thread(self._found_runs, words))

    def _found_runs(self, words: Sequence[str]) -> list[dict[str, Any]]:
        if not words:
            return [_overview(run) for run in self._workspace.runs()[:MOST_LISTED]]
        hits = islice(self._workspace.search(words), MOST_HITS)
        return [{**_overview(hit.run_dir), "speaker": hit.speaker, "excerpt": hit.excerpt(words)} for hit in hits]

    async def _start(self, http: web.Request) -> web.StreamResponse:
        form = await _texts(http, "source", "text", "trusted")
        loaded = await asyncio.to_thread(self._workspace.load, **form)
        return await self._begin(loaded, lambda manager, emit, wants: manager.run_discussion(emit, wants))

    async def _resume(self, http: web.Request) -> web.StreamResponse:
        run_dir, form = self._workspace.run(http.match_info["run"]), await _texts(http, "trusted", "accept_changes")
        loaded = await asyncio.to_thread(of_run, run_dir)
        require_trust(loaded, form["trusted"])
        resume = partial(ConversationManager.resume, accept_changes=form["accept_changes"] == "yes")
        return await self._begin(loaded, lambda manager, *listeners: resume(manager, run_dir, *listeners), run_dir)

    async def _fork(self, http: web.Request) -> web.StreamResponse:
        run_dir = self._workspace.run(http.match_info["run"])
        form = await _texts(http, "turn", "goal", "turns", "swap", "trusted")
        changes = [f"discussion.goal={json.dumps(form['goal'])}"] if form["goal"] else []
        changes += [f"discussion.turns={form['turns']}"] if form["turns"] else []
        name, _, model = form["swap"].partition("=")
        loaded = await asyncio.to_thread(with_changes, run_dir, {name: model} if model else {}, changes)
        require_trust(loaded, form["trusted"])
        turn = _number(form["turn"], int)
        return await self._begin(loaded, lambda manager, *listeners: manager.fork(run_dir, turn, *listeners))

    async def _begin(
        self, loaded: LoadedDiscussion, discuss: Discuss, run_dir: Path | None = None
    ) -> web.StreamResponse:
        run = LiveRun(self._runs.notify, run_dir)
        manager = ConversationManager.from_config(
            loaded, ask=run.ask, approve=run.approve, allow_unsandboxed=self._allow_unsandboxed
        )
        return web.json_response({"run": await self._runs.begin(run, discuss(manager, run.hear, EVERYTHING))})

    async def _stop(self, http: web.Request) -> web.StreamResponse:
        run = self._runs.active.get(http.match_info["run"])
        if run is None:
            raise ConfigError("This run is over, or another program runs it; that one can stop it.")
        await run.stop()
        return web.json_response({})

    async def _answer(self, http: web.Request) -> web.StreamResponse:
        run, form = self._runs.active.get(http.match_info["run"]), await _object(http)
        if run is None or not isinstance(number := form.get("number"), int):
            raise ConfigError("This question is answered already, or the run is over.")
        run.answer(number, form)
        return web.json_response({})

    async def _judge(self, http: web.Request) -> web.StreamResponse:
        run_dir = self._workspace.run(http.match_info["run"])
        form = await _texts(http, "models", "rubric", "max_cost")
        models = form["models"].replace(",", " ").split()
        rubric = await asyncio.to_thread(self._workspace.rubric, form["rubric"])
        limits = SpendingLimits(_number(form["max_cost"], float) if form["max_cost"] else None)
        with self._runs.mark_judging(run_dir.name):
            await judge_run(run_dir, models, rubric, limits=limits)
            await asyncio.to_thread(write_reports, run_dir)
        return web.json_response({})

    async def _delete(self, http: web.Request) -> web.StreamResponse:
        await asyncio.to_thread(delete, self._workspace.run(http.match_info["run"]))
        self._runs.notify()
        return web.json_response({})

    async def _report(self, http: web.Request) -> web.StreamResponse:
        run_dir = self._workspace.run(http.match_info["run"])
        return _page(await asyncio.to_thread(lambda: "".join(export(run_dir, "html"))), WITHOUT_SCRIPT)

    async def _compare(self, http: web.Request) -> web.StreamResponse:
        names = list(dict.fromkeys(http.query.getall("run", [])))
        if len(names) != 2:
            raise ConfigError("Two runs can be compared; name them as /compare?run=A&run=B.")
        places = map(self._workspace.run, names)
        runs = [ComparedRun(place, RunOverview.read(place).name, place.name) for place in places]
        links = {name: f"/runs/{name}/report" for name in names}
        text = await asyncio.to_thread(lambda: "".join(comparison_page(" and ".join(names), runs, (), links)))
        return _page(text, WITHOUT_SCRIPT)

    async def _benchmark(self, http: web.Request) -> web.StreamResponse:
        found = await asyncio.to_thread(self._workspace.benchmarks)
        if (path := found.get(http.query.get("folder", ""))) is None:
            raise NoSuchRecord("There is no such folder of results here.")
        return _page(await asyncio.to_thread(path.read_text, "utf-8"), WITH_SCRIPT)

    async def _events(self, http: web.Request) -> web.StreamResponse:
        """Streams runs as server-sent events: `?RUN=N` sends records after N, or all for -1. Reconnecting resumes.

        Unknown runs are ignored.
        """
        wanted = parse_qsl(http.headers.get("Last-Event-ID") or http.query_string)
        if len(wanted) > MOST_WATCHED:
            raise ConfigError(f"At most {MOST_WATCHED} runs can be watched at once.")
        known = {run.name: run for run in self._workspace.runs()}
        places = {name: int(after) if after.isdecimal() else -1 for name, after in wanted}
        followers = [RunFollower(known[name], after) for name, after in places.items() if name in known]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        with suppress(ConnectionResetError):
            async with aclosing(stream(followers, self._runs)) as pieces:
                async for piece in pieces:
                    await response.write(piece)
        return response


def _overview(run_dir: Path) -> dict[str, Any]:
    read = RunOverview.read(run_dir)
    facts = [moment(read.begun), ", ".join(dict.fromkeys(read.models))]
    if read.turns is not None:
        facts += [count_of(read.turns, "turn"), dollars(read.cost_usd)]
    shown: dict[str, Any] = each_text({"name": read.name, "status": read.status, "facts": facts}, printable)
    return {**shown, "run": run_dir.name}


def _page(text: str, policy: str) -> web.Response:
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    return web.Response(text=text, content_type="text/html", headers=headers)


async def _object(http: web.Request) -> dict[str, Any]:
    try:
        body = await http.json()
    except ValueError:
        body = None
    if http.content_type != "application/json" or not isinstance(body, dict):
        raise ConfigError("The body has to be a JSON object.")
    return body


def _number(text: str, kind: Callable[[str], N]) -> N:
    with suppress(ValueError):
        if 0 < (number := kind(text)) < inf:
            return number
    raise ConfigError(f"{text!r} is not a number above 0.")


async def _texts(http: web.Request, *names: str) -> dict[str, str]:
    """Returns the named fields of the body, empty if missing. Raises `ConfigError` for one that is not text."""
    body = await _object(http)
    texts = {name: body.get(name) or "" for name in names}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise ConfigError(f"{wrong[0]!r} has to be text.")
    return texts
