"""A server with every kind of tool and answer."""

import asyncio
import base64
import os
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

PIXEL = b"\x89PNG\r\n\x1a\n a picture"
shop = MCPServer("shop")
READS = ToolAnnotations(read_only_hint=True)


class Price(BaseModel):
    item: str
    cents: int


@shop.tool(annotations=READS)
def price(item: str) -> Price:
    """What an item costs."""
    return Price(item=item, cents=250)


@shop.tool()
def prices() -> list[Price]:
    """What the items cost."""
    return [Price(item="tea", cents=250), Price(item="salt", cents=90)]


@shop.tool()
def buy(item: Annotated[str, Field(description="What to buy.")], count: int = 1) -> str:
    """Buys something."""
    if item == "moon":
        raise ValueError("the moon is not for sale")
    return f"bought {count} of {item}"


@shop.tool(structured_output=False)
def picture() -> Any:
    """A picture and a word on it."""
    data = base64.b64encode(PIXEL).decode()
    return [TextContent(type="text", text="a pixel"), ImageContent(type="image", data=data, mime_type="image/png")]


@shop.tool(structured_output=False)
def wrong_types() -> Any:
    """Two that are called PNG: a JPEG, and a page."""
    both = (b"\xff\xd8\xff\xe0 a picture", b"<html>a page</html>\n")
    return [ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type="image/png") for data in both]


@shop.tool(structured_output=False)
def everything() -> CallToolResult:
    """All other kinds of content."""
    blob = TextResourceContents(uri="shop://terms", mime_type="text/plain", text="No refunds.")
    return CallToolResult(
        content=[
            AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
            ImageContent(type="image", data="no base64!", mime_type="image/png"),
            ResourceLink(type="resource_link", name="catalogue", uri="shop://catalogue"),
            EmbeddedResource(type="resource", resource=blob),
        ]
    )


@shop.tool()
def environment() -> dict[str, str]:
    """The variables that the server was given."""
    return dict(os.environ)


@shop.tool()
def folder() -> str:
    """Where the server works."""
    return os.getcwd()


@shop.tool()
async def extend(ctx: Context) -> str:
    """Offers one tool more, and one fewer."""
    shop.add_tool(folder, name="where")
    shop.remove_tool("folder")
    await ctx.notify_tools_changed()
    return "done"


def leave(mark: str) -> None:
    Path(mark).write_text("cancelled", encoding="utf-8")


@shop.tool()
async def wait(mark: str, seconds: float, ctx: Context) -> str:
    """Takes its time, and leaves a file when it is told to stop."""
    try:
        for step in range(10):
            await ctx.report_progress(step + 1, 10, "waiting")
            await asyncio.sleep(seconds / 10)
    except BaseException:
        leave(mark)
        raise
    return "waited"


if __name__ == "__main__":
    shop.run()
