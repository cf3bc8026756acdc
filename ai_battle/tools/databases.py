"""Databases that models may query, opened so that only what is allowed can happen, and the results.

SQLite has a read-only connection, an authorizer for each step of a statement, and a deadline. Of the databases of
SQLAlchemy only PostgreSQL enforces read-only access itself; the others need write access.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core import plugins
from ..core.errors import ConfigError, ToolError

LONGEST_VALUE = 2_000


@dataclass(frozen=True, slots=True)
class QueryLimits:
    seconds: float = 10.0
    rows: int = 100


@dataclass(frozen=True, slots=True)
class Rows:
    """`changed` is how many rows a statement wrote, -1 for one that reads."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool
    changed: int

    @classmethod
    def of(cls, columns: Sequence[str], found: Iterable[Sequence[Any]], limits: QueryLimits, changed: int) -> "Rows":
        """Takes at most one row more than may be shown, to know whether there are more."""
        rows = [[_cell(value) for value in row] for row in islice(found, limits.rows + 1)]
        return cls(list(columns), rows[: limits.rows], len(rows) > limits.rows, -1 if columns else changed)

    def to_json(self) -> dict[str, Any]:
        if not self.columns:
            return {"changed_rows": max(self.changed, 0)}
        more = {"truncated": True} if self.is_cut else {}
        return {"columns": self.columns, "rows": self.rows, "row_count": len(self.rows), **more}


def _cell(value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        data = bytes(value)
        return f"0x{data[:64].hex()}{'...' if len(data) > 64 else ''} ({len(data):,} bytes)"
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return f"{value[:LONGEST_VALUE]}... ({len(value):,} characters)"
    return value


STEPS, WAIT = 200, 2.0
HEAP = 256 << 20  # for all connections of the process together: SQLite has no limit per connection
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
WRITING = (
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT, sqlite3.SQLITE_ALTER_TABLE, sqlite3.SQLITE_ANALYZE, sqlite3.SQLITE_REINDEX,
    sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_DROP_INDEX, sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_TRIGGER, sqlite3.SQLITE_DROP_VIEW,
)  # fmt: skip
# These describe the database, and change nothing, whatever their argument is.
PRAGMAS = ("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
           "compile_options", "function_list", "collation_list")  # fmt: skip
FTS_PRAGMAS = ("data_version", "page_size")  # full-text tables read these; allowed only without an argument
FUNCTIONS_OUTSIDE = ("load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_compileoption_get")
LIMITS: Mapping[int, int] = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
PLACE = re.compile(r"%([-+ 0,#]*)(\d*)(?:\.(\d+))?l{0,2}([a-zA-Z%])?")
MAX_PRINTF_WIDTH = 1_000
WHOLE, REAL = "diuxXoc", "fFeEgG"


class SqliteDatabase:
    """One database file. Every statement has its own connection."""

    description = "SQLite; what tables there are says SELECT name, sql FROM sqlite_schema"

    def __init__(self, path: Path, *, writing: bool) -> None:
        self.path = path.expanduser().resolve()
        self.writing = writing

    def run(self, statement: str, limits: QueryLimits) -> Rows:
        """Runs the statement and returns its rows; blocks. Raises `ToolError`."""
        with self._connect(limits.seconds) as connection, _sqlite_errors(limits):
            cursor = connection.execute(statement)
            if not cursor.description and not self.writing:
                raise ToolError("That reads nothing; only one statement that reads this database is allowed here.")
            rows = Rows.of([column[0] for column in cursor.description or ()], cursor, limits, cursor.rowcount)
            if self.writing:
                cursor.close()
                connection.commit()
            return rows

    @contextmanager
    def _connect(self, seconds: float) -> Iterator[sqlite3.Connection]:
        # The path was resolved at the start: a link that appeared since could lead to any file.
        if self.path != self.path.resolve():
            raise ToolError(f"The database {self.path.name} is behind a link now; it is not opened.")
        if not self.path.is_file():
            raise ToolError(f"There is no database {self.path.name}.")
        mode = "rw" if self.writing else "ro"
        with _sqlite_errors(None):
            connection = sqlite3.connect(
                f"file:{quote(str(self.path))}?mode={mode}", uri=True, timeout=WAIT, check_same_thread=False
            )
        with closing(connection):
            connection.text_factory = lambda stored: stored.decode(errors="replace")  # it stores invalid UTF-8 as it is
            for kind, most in LIMITS.items():
                connection.setlimit(kind, most)
            for setting in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY", f"hard_heap_limit={HEAP}"):
                connection.execute(f"PRAGMA {setting}")
            if not self.writing:
                connection.execute("PRAGMA query_only=ON")
            for name in ("printf", "format"):
                connection.create_function(name, -1, printf, deterministic=True)
            connection.set_authorizer(_authorizer(self.writing))
            connection.set_progress_handler(_deadline(seconds), STEPS)
            yield connection


def _authorizer(writing: bool) -> Callable[..., int]:
    """Returns SQLite's callback that decides about each action of a statement; unknown actions are denied."""
    allowed = (*READING, *WRITING) if writing else READING

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        fine = _is_allowed(action, first or "", second or "", allowed)
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    return authorize


def _is_allowed(action: int, first: str, second: str, allowed: Sequence[int]) -> bool:
    match action:
        case sqlite3.SQLITE_FUNCTION:
            return second.lower() not in FUNCTIONS_OUTSIDE
        case sqlite3.SQLITE_PRAGMA:
            return first.lower() in PRAGMAS or (first.lower() in FTS_PRAGMAS and not second)
        case sqlite3.SQLITE_UPDATE if first == "sqlite_master":
            return True  # how a table-valued function declares its columns; that table itself is never updated
        case _:
            return action in allowed


def _deadline(seconds: float) -> Callable[[], int]:
    until = time.monotonic() + seconds
    return lambda: int(time.monotonic() > until)


@contextmanager
def _sqlite_errors(limits: QueryLimits | None) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, ValueError) as error:
        raise ToolError(_words(str(error), limits)) from error


def _words(message: str, limits: QueryLimits | None) -> str:
    if "interrupted" in message and limits:
        return f"The query was ended after {limits.seconds:g} s; ask for less."
    if re.search("not authorized|authorization denied|readonly|prohibited|no such function", message):
        return f"That is not allowed here ({message}): only one statement that reads this database."
    if "user-defined function" in message:
        return f"SQLite: printf knows %d, %f, %s and their like, with widths of up to {MAX_PRINTF_WIDTH:,}."
    if "out of memory" in message or not message:
        return "The query needs too much memory; ask for less."
    return f"SQLite: {message}"


def printf(form: str | None, *values: Any) -> str | None:
    """Formats like SQLite's `printf`: `%d %5.2f %,d %s %x %%` etc. Raises `ValueError` for unknown forms.

    SQLite's own can spend seconds on one call with a large width, which nothing can interrupt.
    """
    if form is None:
        return None
    left = iter(values)
    return PLACE.sub(lambda place: _format_place(place, left), str(form))


def _format_place(place: re.Match[str], values: Iterator[Any]) -> str:
    flags, width, precision, kind = place.groups("")
    if not kind or max(int(f"0{width}"), int(f"0{precision}")) > MAX_PRINTF_WIDTH:
        raise ValueError(f"a width of more than {MAX_PRINTF_WIDTH}, or a form that is not known: {place[0][:20]}")
    if kind == "%":
        return "%"
    value = _argument(next(values, None), kind)
    if "," in flags:
        return format(value, f"{width},.{precision or 6}f" if kind in REAL else f"{width},d")
    return f"%{flags}{width}{precision and '.'}{precision}{kind}" % (value,)


def _argument(value: Any, kind: str) -> Any:
    if kind in WHOLE + REAL and kind != "c":
        return _as_number(value, kind)
    return "" if value is None else str(value)[:1] if kind == "c" else value


def _as_number(value: Any, kind: str) -> Any:
    try:
        return int(value or 0) if kind in WHOLE else float(value or 0)
    except (TypeError, ValueError):
        return 0


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
        statement = statement.strip().rstrip(";").rstrip()
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
