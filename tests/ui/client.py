"""A client of the page's server, as a browser is one: with its cookie, and its ear on the stream of events."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, CookieJar

from ai_battle.ui.app import PageServer
from ai_battle.ui.serving import PageAccess, listening
from ai_battle.ui.workspace import Workspace

TALK = """
discussion:
  turns: {turns}
  goal: Count.
  models:
    Ann: {{type: scripted/ann, loop: true, pace: {pace}, script: [One and more words.]}}
    Bob: {{type: scripted/bob, loop: true, pace: {pace}, script: ["**Two** <b>bold</b>."]}}
"""
WITH_ME = """
discussion:
  turns: 2
  mode: human-ai
  goal: Talk.
  models:
    Me: {role: user}
    Bob: {type: scripted/bob, loop: true, script: [I see.]}
"""
WITH_TOOLS = """
discussion:
  turns: 1
  goal: Work.
  models:
    Ann: {type: scripted/a, script: [{call: {tool: calculator, parameters: {expression: 6 * 7}}}, Done.]}
    Bob: {type: scripted/b, script: [Fine.]}
  tools: {registry: [calculator], approval: {default: ask}}
"""
LIST = "- a line\n" * 60
WRITE = {"tool": "file_manipulation", "parameters": {"action": "write", "path": "list.md", "content": LIST}}
WITH_LONG_TEXTS = f"""
discussion:
  turns: 1
  goal: Write the list.
  models:
    Ann: {{type: scripted/a, pace: 0.01, script: {json.dumps([{"call": WRITE}, LIST])}}}
    Bob: {{type: scripted/b, pace: 0.2, script: [The last words.]}}
  tools: {{registry: [file_manipulation]}}
"""


def talk(turns: int = 1, pace: float = 0) -> str:
    return TALK.format(turns=turns, pace=pace)


@dataclass
class FollowedRuns:
    """What a listener has heard of its runs until now, put together as the page does."""

    items: list[dict[str, Any]] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    draft: str = ""
    drafts: list[str] = field(default_factory=list)
    last_id: str = ""
    pieces: int = 0

    def take(self, news: dict[str, Any]) -> None:
        self.items += news.pop("items", [])
        self.pieces += 1
        if "draft" in news:
            draft = news.pop("draft")
            before = "" if not draft or draft["fresh"] else self.draft
            self.draft = before + (draft or {"text": ""})["text"]
            self.drafts.append(self.draft)
        self.state |= news

    @property
    def turns(self) -> list[tuple[int, str]]:
        return [(item["turn"], item["speaker"]) for item in self.items if item["kind"] == "turn"]

    @property
    def status(self) -> str:
        return str(self.state.get("status", ""))

    def question(self, kind: str) -> int:
        found = [each["number"] for each in self.state.get("questions", ()) if each["kind"] == kind]
        return int(found[0]) if found else 0


@dataclass
class PageClient:
    session: ClientSession
    keeper: PageAccess

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.keeper.port}"

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.session.get(self.base + path, headers=headers) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    async def send(self, path: str, method: str = "POST", **body: Any) -> tuple[int, Any]:
        headers = {"Origin": self.base}
        async with self.session.request(method, self.base + path, json=body, headers=headers) as response:
            return response.status, await response.json()

    async def start(self, text: str, source: str = "talk.yaml") -> str:
        status, body = await self.send("/api/runs", source=source, text=text)
        assert status == 200, body
        return str(body["run"])

    async def hear(
        self, run: str, until: Callable[[FollowedRuns], bool], *, after: str = "", heard: FollowedRuns | None = None
    ) -> FollowedRuns:
        """Listens until that is so; `after` is the id of the last event that came before."""
        heard = heard or FollowedRuns()
        headers = {"Last-Event-ID": after} if after else {}
        async with self.session.get(f"{self.base}/api/events?{run}=-1", headers=headers) as response:
            assert response.status == 200, await response.text()
            async for name, number, news in events(response.content):
                if name == "run":
                    heard.last_id = number
                    heard.take(news)
                    if until(heard):
                        return heard
        raise AssertionError(f"the stream ended: {heard}")


async def events(lines: Any) -> AsyncIterator[tuple[str, str, Any]]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields["event"], fields.get("id", ""), json.loads(fields["data"])
            fields = {}


@asynccontextmanager
async def page_of(folder: Path) -> AsyncIterator[PageClient]:
    """A page of that folder, which is the working directory, and somebody who has come in."""
    jar = CookieJar(unsafe=True)
    async with (
        ClientSession(cookie_jar=jar) as session,
        listening(PageServer(Workspace(folder)).app(), 0) as keeper,
    ):
        async with session.get(keeper.address) as response:
            assert response.status == 200
        yield PageClient(session, keeper)
