"""`web_fetch`: returns the readable text of a page or PDF of the public web."""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ...core import plugins
from ...core.errors import ToolError
from .._tasks import in_thread, start_process
from ..base import Tool, errors_as_fields
from ..web.html import readable_page
from ..web.requests import Bounds, Page, Web

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

HTML_SIZE, LINKS = 2 << 20, 200
GRACE_SECONDS = 2.0
PDF_PROGRAM = Path(__file__).parents[2] / "files" / "pdf_text.py"
CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([a-zA-Z0-9_-]{1,40})""", re.IGNORECASE)
TEXTUAL = re.compile(
    r"utf-?(8|16)|us-ascii|latin-?1|iso-?8859|windows-|cp\d|shift_jis|euc-|gb|big5|koi8|mac", re.IGNORECASE
)
HTML, PDF = ("text/html", "application/xhtml+xml"), "application/pdf"
TEXTS = ("application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml")


class WebFetchTool(Tool):
    name = "web_fetch"
    description = "Fetch a page or PDF of the public web and give its readable text."
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "url": {"type": "string", "description": "Address that begins with https:// or http://", "required": True},
        "links": {"type": "boolean", "description": "Also list where the page links to", "default": False},
    }

    def __init__(
        self, timeout: float = 20.0, allow_addresses: Sequence[str] = (), resolver: "AbstractResolver | None" = None
    ) -> None:
        """Takes `allow_addresses`: private ones that may be fetched too, as "10.0.0.5" or "10.0.0.5:8080"."""
        self.bounds = Bounds(seconds=timeout)
        self.timeout = timeout + GRACE_SECONDS
        self.allowed = frozenset(allow_addresses)
        self.resolver = resolver

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ends = monotonic() + self.bounds.seconds
        page = await Web(self.allowed, self.bounds, self.resolver).get(parameters["url"])
        if page.status >= 400:
            raise ToolError(f"{page.url} answered with the status {page.status}.")
        try:
            async with asyncio.timeout(ends - monotonic()):
                fields = await self._read(page, ends, links=bool(parameters.get("links")))
        except TimeoutError as error:
            raise ToolError(f"{page.url} could not be read within {self.bounds.seconds:g} s.") from error
        more = {"truncated": True} if page.is_cut else {}
        return {"url": page.url, "content_type": page.content_type, **fields, **more}

    async def _read(self, page: Page, ends: float, *, links: bool) -> dict[str, Any]:
        kind = page.content_type
        if kind == PDF or page.body.startswith(b"%PDF-"):
            return await self._pdf(page)
        if kind in HTML:
            found = await in_thread(readable_page, _decode(page)[:HTML_SIZE], page.url, ends)
            listed = [{"text": words[:200], "url": target} for words, target in found.links[: LINKS * links]]
            return {"title": found.title, "text": found.text} | ({"links": listed} if links else {})
        if _is_text(kind) and b"\0" not in page.body:
            return {"text": _decode(page)}
        raise ToolError(f"{page.url} is {kind}, which has no text to read.")

    async def _pdf(self, page: Page) -> dict[str, Any]:
        if page.is_cut:
            raise ToolError(f"{page.url} is a PDF of more than {self.bounds.size >> 20} MB.")
        return await _pdf_text(page.body)


def _is_text(kind: str) -> bool:
    return kind in TEXTS or kind.startswith("text/") or kind.endswith(("+json", "+xml"))


def _decode(page: Page) -> str:
    """Decodes a page by the charset in the response header, or else in the page; unknown charsets are ignored."""
    stated = CHARSET.search(page.body[:2048])
    for charset in (page.charset, stated[1].decode() if stated else ""):
        if TEXTUAL.match(charset):
            try:
                return page.body.decode(charset, "replace")
            except LookupError:
                continue
    return page.body.decode("utf-8", "replace")


async def _pdf_text(data: bytes) -> dict[str, Any]:
    """Returns the title, text and number of pages, read in a separate process that is killed if it takes too long.

    Raises `ToolError` if the PDF can't be read.
    """
    await in_thread(plugins.optional, "pypdf", "web")
    child = await start_process(
        sys.executable, "-I", str(PDF_PROGRAM),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env={},
    )  # fmt: skip
    try:
        written, _ = await child.communicate(data)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    try:
        found: dict[str, Any] = json.loads(written)
    except ValueError as error:
        raise ToolError("The PDF can't be read: it is damaged, or needs too much memory.") from error
    if "error" in found:
        raise ToolError(f"The PDF can't be read: {found['error']}.")
    texts = found.pop("texts")
    return {**found, "text": "\n\n".join(texts), "read": len(texts)}
