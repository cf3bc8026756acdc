"""PostgreSQL, and with write access all databases of SQLAlchemy. Only PostgreSQL enforces read-only access itself."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core import plugins
from ...core.errors import ConfigError, ToolError
from . import QueryLimits, Rows

EXTRA = "database"
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
READS = re.compile(r"[\s(]*(select|with|values|table)\b", re.IGNORECASE)
COMMENT = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/)", re.DOTALL)
READER = "pg_read_all_data"
# A superuser could undo the change to READER by these: settings by name, and statements built from text.
ESCALATION = re.compile(r"set_config|_to_xml|ts_stat|ts_rewrite|\bu&", re.IGNORECASE)


class DatabaseServer:
    """A database server by its URL. Every statement has its own connection."""

    def __init__(self, url: str, *, writing: bool) -> None:
        self._alchemy = plugins.optional("sqlalchemy", EXTRA)
        try:
            written = self._alchemy.make_url(url)
        except self._alchemy.exc.ArgumentError as error:
            raise ConfigError(
                "database_query: the database is not a URL such as postgresql://user@host/name"
            ) from error
        self.url = written.set(drivername=DRIVERS.get(written.drivername, written.drivername))
        self.writing = writing
        self._is_postgres = self.url.get_backend_name() == "postgresql"
        if not writing and not self._is_postgres:
            raise ConfigError(
                f"database_query can't keep {self.url.get_backend_name()} read-only; give it a user that may only "
                "read, and set allow_writing: true"
            )
        self._engine = self._make_engine()
        self.description = f"{self.url.get_backend_name()}; what tables there are says information_schema.tables"

    def run(self, statement: str, limits: QueryLimits) -> Rows:
        """Runs the statement and returns its rows; blocks. Raises `ToolError`."""
        statement = _only_statement(statement)
        if not self.writing and not READS.match(COMMENT.sub("", statement, count=20)):
            raise ToolError(
                "That is not allowed here: only one statement that reads, so SELECT, WITH, VALUES or TABLE."
            )
        with self._server_errors(limits), self._engine.connect() as connection:
            if self._is_postgres:
                return self._run_on_postgres(connection, statement, limits)
            rows = _fetch_rows(connection.exec_driver_sql(statement), limits)
            connection.commit()
            return rows

    def _run_on_postgres(self, connection: Any, statement: str, limits: QueryLimits) -> Rows:
        """Reads through a cursor, for which the server accepts only one statement, and fetches only the rows needed."""
        _dates_as_text(connection.connection.driver_connection.adapters)
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(limits.seconds * 1000)}")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(limits.seconds * 1000)}")
        if self.writing:
            rows = _fetch_rows(connection.exec_driver_sql(_literal(statement)), limits)
            connection.commit()
            return rows
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        if connection.exec_driver_sql("SELECT usesuper FROM pg_user WHERE usename = current_user").scalar():
            _refuse_escalation(statement)
            connection.exec_driver_sql(f"SET LOCAL ROLE {READER}")
        connection.exec_driver_sql(_literal(f"DECLARE found NO SCROLL CURSOR FOR {statement}"))
        return _fetch_rows(connection.exec_driver_sql(f"FETCH {limits.rows + 1} FROM found"), limits)

    def _make_engine(self) -> Any:
        """Returns an engine without a pool.

        PostgreSQL's statements are prepared, which rules out a second statement in the same text.
        """
        options = {"connect_args": {"prepare_threshold": 0, "connect_timeout": 5}} if self._is_postgres else {}
        try:
            return self._alchemy.create_engine(self.url, poolclass=self._alchemy.pool.NullPool, **options)
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"database_query: the driver {error.name} is not installed; for PostgreSQL it comes with: "
                f"pip install 'ai-battle[{EXTRA}]'"
            ) from error

    @contextmanager
    def _server_errors(self, limits: QueryLimits) -> Iterator[None]:
        try:
            yield
        except self._alchemy.exc.SQLAlchemyError as error:
            message = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise ToolError(self._words(message, limits)) from error

    def _words(self, message: str, limits: QueryLimits) -> str:
        if "statement timeout" in message:
            return f"The query was ended after {limits.seconds:g} s; ask for less."
        name = self.url.get_backend_name()
        return f"{name}: {message.replace(str(self.url.password), '***') if self.url.password else message}"


def _fetch_rows(result: Any, limits: QueryLimits) -> Rows:
    if not result.returns_rows:
        return Rows([], [], is_cut=False, changed=result.rowcount)
    return Rows.of(list(result.keys()), map(tuple, result), limits, result.rowcount)


def _only_statement(statement: str) -> str:
    return statement.strip().rstrip(";").rstrip()


def _refuse_escalation(statement: str) -> None:
    if found := ESCALATION.search(statement):
        raise ToolError(
            f"That is not allowed here: {found[0]!r}, while the database is asked as a superuser; "
            f"as a user of the role {READER} it is."
        )


def _dates_as_text(adapters: Any) -> None:
    """Loads dates as text, since Python has no `infinity` and no year before 1 or after 9999."""
    loader = plugins.optional("psycopg.types.string", EXTRA).TextLoader
    for kind in ("date", "timestamp", "timestamptz"):
        adapters.register_loader(kind, loader)


def _literal(statement: str) -> str:
    """Escapes percent signs, which the driver takes for placeholders; there are no parameters."""
    return statement.replace("%", "%%")
