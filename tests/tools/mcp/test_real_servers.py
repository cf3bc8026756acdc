"""Servers as they are published, from the indexes of Python and of node."""

import json

from .conftest import Running


async def test_the_time_server_tells_the_time(running: Running) -> None:
    async with running(time={"command": "mcp-server-time"}) as tools:
        assert tools.registry.names == ["time:get_current_time", "time:convert_time"]
        told = await tools.call("time:get_current_time", timezone="Asia/Tokyo")
        failed = await tools.call("time:get_current_time", timezone="Atlantis/Capital")

    assert json.loads(told.text)["timezone"] == "Asia/Tokyo"
    assert failed.is_error
    assert "Atlantis/Capital" in failed.text
