"""`current_time`: returns the date and time in any time zone."""

from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ...core.errors import ToolError
from ..base import Tool, errors_as_fields


class CurrentTimeTool(Tool):
    name = "current_time"
    description = "Tell the current date, time and weekday in a time zone."
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "timezone": {
            "type": "string",
            "description": "IANA name such as Europe/Berlin, or UTC, or local",
            "default": "UTC",
        }
    }

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        name = parameters.get("timezone", "UTC")
        now = datetime.now(_zone(name))
        return {
            "iso": now.isoformat(timespec="seconds"),
            "date": now.strftime("%Y-%m-%d"),
            "time": now.strftime("%H:%M:%S"),
            "weekday": now.strftime("%A"),
            "timezone": name,
            "utc_offset": now.strftime("%z"),
            "unix": int(now.timestamp()),
        }


def _zone(name: str) -> tzinfo | None:
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    if name.lower() == "local":
        return datetime.now().astimezone().tzinfo
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ToolError(
            f"There is no time zone {name[:80]!r}; name one such as Europe/Berlin or America/New_York."
        ) from error
