"""The page in headless Chromium, steered by Playwright."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .client import PageClient

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Tab:
    """A tab, and what went wrong in it: errors of scripts, and what its policy forbade."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._hear)
        page.set_default_timeout(20_000)

    def _hear(self, message: Any) -> None:
        if message.type == "error" and "the server responded with a status of 4" not in message.text:
            self.faults.append(message.text)

    async def open(self, client: PageClient, place: str) -> None:
        await self.page.goto("about:blank")
        await self.page.goto(f"{client.base}/#{place}")

    async def see(self, words: str) -> None:
        await self.page.get_by_text(words).first.wait_for()

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name, exact=True).first.click()

    async def text(self) -> str:
        shown: str = await self.page.inner_text("body")
        return shown


@asynccontextmanager
async def browser_of(client: PageClient, **options: Any) -> AsyncIterator["BrowserContext"]:
    """A browser that has come in with the client's cookie; nothing that went wrong in it is passed over."""
    async with pytest.importorskip("playwright.async_api").async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        context = await chromium.new_context(**options)
        keeper = client.keeper
        await context.add_cookies(
            [
                {
                    "name": keeper.cookie,
                    "value": keeper.session,
                    "url": client.base,
                    "sameSite": "Strict",
                    "httpOnly": True,
                }
            ]
        )
        try:
            yield context
        finally:
            await chromium.close()


@asynccontextmanager
async def tab_of(client: PageClient, **options: Any) -> AsyncIterator[Tab]:
    async with browser_of(client, **options) as context:
        tab = Tab(await context.new_page())
        yield tab
        assert tab.faults == []


def axe(folder: Path) -> str:
    """The script of axe-core, which is installed from its package registry."""
    from ..server.advisor.node import install

    return (install(folder, "axe-core@4") / "node_modules" / "axe-core" / "axe.min.js").read_text()
