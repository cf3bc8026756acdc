"""`database_query`: runs one SQL statement on a user's database, read-only unless configured otherwise."""

from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from .._tasks import in_thread
from ..base import Tool, errors_as_fields
from ..databases import DatabaseServer, QueryLimits, SqliteDatabase

SQLITE = "sqlite:///"


class DatabaseQueryTool(Tool):
    name = "database_query"
    parameters = {  # noqa: RUF012 - as the specification writes tools
        "query": {"type": "string", "description": "One SQL statement", "required": True}
    }

    def __init__(
        self,
        database: str = "",
        allow_writing: bool = False,
        timeout: float = 10.0,
        max_rows: int = 100,
        base: Path = Path(),
    ) -> None:
        """Takes `database`, an SQLite file or a URL such as postgresql://user:${PASSWORD}@host/name."""
        if not 0 < timeout <= 3600 or not 1 <= max_rows <= 10_000:
            raise ConfigError("database_query: timeout must be 0 to 3600 seconds, max_rows 1 to 10,000")
        self.database = _open_database(database, allow_writing, base)
        self.limits = QueryLimits(timeout, max_rows)
        self.writes = allow_writing
        self.timeout = timeout + 10

    @property
    def description(self) -> str:
        kind = self.database.description if self.database else "no database is configured"
        may = "Reads and writes." if self.writes else "Reads only."
        return f"Ask a database by one SQL statement ({kind}). {may} At most {self.limits.rows} rows are given."

    @errors_as_fields
    async def execute(self, parameters: dict[str, Any]) -> dict[str, Any]:
        if self.database is None:
            return {"error": "No database is configured; name one: parameters: {database: shop.sqlite}"}
        rows = await in_thread(self.database.run, parameters["query"], self.limits)
        return rows.to_json()


def _open_database(database: str, writing: bool, base: Path) -> SqliteDatabase | DatabaseServer | None:
    if not database:
        return None
    if "://" in database and not database.startswith(SQLITE):
        return DatabaseServer(database, writing=writing)
    return SqliteDatabase(base / Path(database.removeprefix(SQLITE)).expanduser(), writing=writing)
