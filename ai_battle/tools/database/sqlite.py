"""SQLite with a read-only connection, an authorizer for each step of a statement, and a deadline."""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...core.errors import ToolError
from . import QueryLimits, Rows

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
DESCRIPTION = "SQLite; what tables there are says SELECT name, sql FROM sqlite_schema"


class SqliteDatabase:
    """One database file. Every statement has its own connection."""

    description = DESCRIPTION

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
            connection.text_factory = _text
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


def _text(stored: bytes) -> str:
    """Decodes a text; SQLite stores invalid UTF-8 as it is."""
    return stored.decode(errors="replace")


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
