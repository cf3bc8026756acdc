"""A database answers what models ask, and what may only be read stays as it is, whatever the statement."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ai_battle.core.errors import ConfigError
from ai_battle.tools.builtin.database_query import DatabaseQueryTool
from ai_battle.tools.databases import printf

from .conftest import Call

SHOP = """
CREATE TABLE owls (id INTEGER PRIMARY KEY, name TEXT, size REAL);
INSERT INTO owls VALUES (1, 'barn', 35.5), (2, 'tawny', 38);
"""


def make(path: Path, script: str = SHOP) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    make(tmp_path / "other.sqlite", "CREATE TABLE secrets (word TEXT); INSERT INTO secrets VALUES ('xyzzy')")
    return make(tmp_path / "shop.sqlite")


@pytest.fixture
def reader(shop: Path) -> DatabaseQueryTool:
    return DatabaseQueryTool("shop.sqlite", base=shop.parent, timeout=1, max_rows=3)


async def test_a_query_gives_columns_and_rows(reader: DatabaseQueryTool, call_tool: Call) -> None:
    assert await call_tool(reader, query="SELECT name, size FROM owls ORDER BY id;") == {
        "columns": ["name", "size"],
        "rows": [["barn", 35.5], ["tawny", 38.0]],
        "row_count": 2,
    }


@pytest.mark.parametrize(
    "query",
    [
        "SELECT sql FROM sqlite_schema",
        "SELECT name FROM sqlite_master WHERE type = 'table'",
        "PRAGMA table_info(owls)",
        "SELECT name FROM pragma_table_info('owls')",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT upper(name), count(*), group_concat(size) FROM owls GROUP BY 1 HAVING count(*) > 0",
        "SELECT value FROM json_each('[1, 2]')",
        "-- a comment\nSELECT /* and another */ 1",
        "VALUES (1, 2)",
        "SELECT name, row_number() OVER (ORDER BY size) FROM owls",
        "EXPLAIN QUERY PLAN SELECT * FROM owls",
        "SELECT printf('%.2f|%5d|%,d|%-4s|%%|%x', 1.005, 42, 1234567, 'ab', 255), format('%s', NULL)",
        "SELECT date('now'), random(), hex(randomblob(4)), '100%', 'a;b'",
    ],
)
async def test_ordinary_questions_are_answered(reader: DatabaseQueryTool, call_tool: Call, query: str) -> None:
    output = await call_tool(reader, query=query)
    assert output.get("row_count"), output


WRITES = [
    "INSERT INTO owls VALUES (3, 'snowy', 60)",
    "UPDATE owls SET size = 0",
    "DELETE FROM owls",
    "REPLACE INTO owls VALUES (1, 'x', 0)",
    "WITH x AS (SELECT 1) INSERT INTO owls SELECT 9, 'x', 1 FROM x",
    "INSERT INTO owls VALUES (4, 'x', 1) RETURNING id",
    "DROP TABLE owls",
    "CREATE TABLE new (a)",
    "CREATE TEMP TABLE new (a)",
    "CREATE TABLE new AS SELECT * FROM owls",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON owls BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "ALTER TABLE owls ADD COLUMN age",
    "CREATE INDEX i ON owls (name)",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO 'copy.sqlite'",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SAVEPOINT s",
    "ATTACH 'other.sqlite' AS other",
    "ATTACH ':memory:' AS m",
    "DETACH main",
    "PRAGMA user_version = 7",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = WAL",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA hard_heap_limit = 0",
    "PRAGMA trusted_schema = ON",
    "PRAGMA wal_checkpoint",
    "PRAGMA incremental_vacuum",
    "PRAGMA optimize",
    "PRAGMA database_list",
    "SELECT * FROM pragma_database_list",
    "SELECT load_extension('evil.so')",
    "SELECT writefile('out.txt', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT 1; DELETE FROM owls",
    "SELECT 1;;DROP TABLE owls",
    "SELECT 1 -- ;\n; DELETE FROM owls",
    "EXPLAIN DELETE FROM owls; DELETE FROM owls",
    "SELECT * FROM owls; ATTACH 'new.sqlite' AS n",
]


@pytest.mark.parametrize("query", WRITES)
async def test_nothing_is_written_by_any_road(
    reader: DatabaseQueryTool, shop: Path, call_tool: Call, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    before = {path.name: path.read_bytes() for path in shop.parent.iterdir()}
    output = await call_tool(reader, query=query)
    assert set(output) == {"error"}, output
    assert "xyzzy" not in str(output)
    assert {path.name: path.read_bytes() for path in shop.parent.iterdir()} == before


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n ORDER BY random()",
        "SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT * FROM n)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) SELECT count(*) FROM n a, n b, n c",
        "WITH RECURSIVE n(i) AS (SELECT hex(zeroblob(9)) UNION ALL SELECT i FROM n) SELECT 1 FROM n WHERE i LIKE '%a%'",
    ],
)
async def test_a_query_without_end_is_ended(reader: DatabaseQueryTool, call_tool: Call, query: str) -> None:
    assert "was ended after 1 s" in (await call_tool(reader, query=query))["error"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT zeroblob(2000000000)",
        "SELECT hex(zeroblob(1000000000))",
        "SELECT printf('%.*c', 1000000000, 'x')",
        "SELECT replace(hex(zeroblob(9000000)), '0', 'xxxxxxxxxxxxxxxx')",
        "SELECT format('%99999d', 1)",
        "WITH n AS (SELECT value FROM json_each('[1,2,3,4,5]')) SELECT zeroblob(4000000) FROM n, n b, n c ORDER BY 1",
        f"SELECT {'(' * 5000}1{')' * 5000}",
        f"SELECT '{'x' * 200_000}'",
        " UNION ALL ".join(["SELECT 1"] * 5000),
        "SELECT 'a' LIKE '" + "%a" * 20_000 + "'",
        "SELECT\0 1",
        "SELECT '\ud800'",
        "",
        ";",
        "SELEC 1",
        "SELECT * FROM missing",
    ],
    ids=lambda query: query[:40],
)
async def test_what_asks_for_too_much_or_for_nothing_is_told(
    reader: DatabaseQueryTool, call_tool: Call, query: str
) -> None:
    output = await call_tool(reader, query=query)
    assert set(output) == {"error"}, str(output)[:200]


def test_printf_reads_as_sqlite_has_it() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for form, *values in (
            ("%d items", 3),
            ("%.2f", 2.5),
            ("%5d|%-5s|%05d", 1, "a", 2),
            ("%,d", 1234567),
            ("%x%%", 255),
        ):
            said = connection.execute(f"SELECT printf(?{', ?' * len(values)})", (form, *values)).fetchone()
            assert printf(form, *values) == said[0]


async def test_of_a_million_rows_a_few_are_given(reader: DatabaseQueryTool, call_tool: Call) -> None:
    million = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i FROM n"
    assert await call_tool(reader, query=million) == {
        "columns": ["i"],
        "rows": [[1], [2], [3]],
        "row_count": 3,
        "truncated": True,
    }


async def test_large_values_are_shortened(reader: DatabaseQueryTool, call_tool: Call) -> None:
    output = await call_tool(reader, query="SELECT zeroblob(100000), hex(zeroblob(5000)), 9e999, NULL")
    blob, words, infinite, nothing = output["rows"][0]
    assert blob.endswith("... (100,000 bytes)")
    assert words.endswith("... (10,000 characters)")
    assert (infinite, nothing) == ("inf", None)


@pytest.mark.parametrize("kind", ["fts4", "fts5"])
async def test_tables_for_full_text_are_searched(tmp_path: Path, call_tool: Call, kind: str) -> None:
    make(
        tmp_path / "text.sqlite", f"CREATE VIRTUAL TABLE notes USING {kind}(line); INSERT INTO notes VALUES ('an owl')"
    )
    tool = DatabaseQueryTool("text.sqlite", base=tmp_path)
    assert (await call_tool(tool, query="SELECT line FROM notes WHERE notes MATCH 'owl'"))["rows"] == [["an owl"]]
    for query in ("INSERT INTO notes VALUES ('x')", "INSERT INTO notes(notes) VALUES ('optimize')"):
        assert "not allowed" in (await call_tool(tool, query=query))["error"]


async def test_text_of_another_encoding_is_shown_as_far_as_it_goes(tmp_path: Path, call_tool: Call) -> None:
    make(tmp_path / "old.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES ('fine'), (CAST(x'6772fcdf65' AS TEXT))")
    output = await call_tool(DatabaseQueryTool("old.sqlite", base=tmp_path), query="SELECT a FROM t")
    assert output["rows"] == [["fine"], ["gr\ufffd\ufffde"]]


async def test_a_view_of_a_hostile_database_runs_nothing(tmp_path: Path, call_tool: Call) -> None:
    make(tmp_path / "trap.sqlite", "CREATE VIEW v AS SELECT load_extension('evil.so') AS x")
    assert "error" in await call_tool(DatabaseQueryTool(str(tmp_path / "trap.sqlite")), query="SELECT x FROM v")


async def test_a_damaged_database_is_told(tmp_path: Path, call_tool: Call) -> None:
    (tmp_path / "broken.sqlite").write_bytes(b"nonsense" * 1000)
    output = await call_tool(DatabaseQueryTool(str(tmp_path / "broken.sqlite")), query="SELECT 1 FROM x")
    assert "not a database" in output["error"]


async def test_a_missing_database_is_told_and_not_made(tmp_path: Path, call_tool: Call) -> None:
    for writing in (False, True):
        tool = DatabaseQueryTool("none.sqlite", allow_writing=writing, base=tmp_path)
        assert "There is no database none.sqlite" in (await call_tool(tool, query="SELECT 1"))["error"]
    assert os.listdir(tmp_path) == []
    assert "name one" in (await call_tool(DatabaseQueryTool(), query="SELECT 1"))["error"]


async def test_a_database_that_becomes_a_link_to_another_is_not_opened(
    reader: DatabaseQueryTool, shop: Path, call_tool: Call
) -> None:
    os.unlink(shop)
    os.symlink("other.sqlite", shop)
    assert "behind a link" in (await call_tool(reader, query="SELECT * FROM secrets"))["error"]


async def test_a_name_that_looks_like_options_is_a_name(tmp_path: Path, call_tool: Call) -> None:
    make(tmp_path / "shop.sqlite?mode=rw&x=#1%20.db")
    tool = DatabaseQueryTool("shop.sqlite?mode=rw&x=#1%20.db", base=tmp_path)
    assert (await call_tool(tool, query="SELECT count(*) FROM owls"))["rows"] == [[2]]
    assert "error" in await call_tool(tool, query="DELETE FROM owls")


async def test_writing_is_possible_where_it_is_allowed(shop: Path, call_tool: Call) -> None:
    tool = DatabaseQueryTool(str(shop), allow_writing=True)
    assert tool.writes
    assert await call_tool(tool, query="INSERT INTO owls VALUES (3, 'snowy', 60)") == {"changed_rows": 1}
    assert (await call_tool(tool, query="UPDATE owls SET size = 1 RETURNING id"))["row_count"] == 3
    assert await call_tool(tool, query="CREATE TABLE new (a)") == {"changed_rows": 0}
    assert (await call_tool(tool, query="SELECT sum(size) FROM owls"))["rows"] == [[3.0]]


@pytest.mark.parametrize("query", [one for one in WRITES if one.startswith(("ATTACH", "VACUUM", "PRAGMA", "SELECT"))])
async def test_writing_is_writing_rows_and_tables_and_nothing_else(
    shop: Path, call_tool: Call, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    assert "error" in await call_tool(DatabaseQueryTool(str(shop), allow_writing=True), query=query)
    assert {path.name for path in shop.parent.iterdir()} == {"shop.sqlite", "other.sqlite"}


async def test_a_locked_database_is_told(shop: Path, call_tool: Call) -> None:
    with closing(sqlite3.connect(shop)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "locked" in (await call_tool(DatabaseQueryTool(str(shop)), query="SELECT * FROM owls"))["error"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout": 0}, "timeout must be"),
        ({"max_rows": 0}, "max_rows 1 to"),
        ({"database": "mysql://x/y"}, "can't keep mysql read-only; give it a user that may only read"),
        ({"database": "nonsense://x"}, "can't keep nonsense read-only"),
        ({"database": "://x"}, "is not a URL"),
    ],
)
def test_wrong_settings_are_told(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        DatabaseQueryTool(**given)


def _server_programs() -> Path | None:
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


PROGRAMS = _server_programs()
needs_postgres = pytest.mark.skipif(PROGRAMS is None, reason="there is no PostgreSQL server on this machine")


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, reached by a socket in a folder; gives the URL up to the user's name."""
    assert PROGRAMS
    folder = Path("/tmp") / f"pg-{os.getpid()}"
    folder.mkdir()
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
        who = {"user": "nobody", "extra_groups": []}
    data = folder / "data"
    run = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **who}
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=16MB"
    try:
        subprocess.run([PROGRAMS / "initdb", "-D", data, "-U", "boss", "-A", "trust", "--no-sync"], **run)
        subprocess.run([PROGRAMS / "pg_ctl", "-D", data, "-w", "-o", options, "start"], **run)
        with psycopg.connect(f"host={folder} user=boss dbname=postgres", autocommit=True) as connection:
            connection.execute("CREATE TABLE owls (id serial PRIMARY KEY, name text, size float)")
            connection.execute("INSERT INTO owls (name, size) VALUES ('barn', 35.5), ('tawny', 38)")
            connection.execute("CREATE SEQUENCE counter")
            connection.execute("CREATE ROLE guest LOGIN")
            connection.execute("GRANT ALL ON owls, counter TO guest")
        yield f"postgresql://%s@/postgres?host={folder}"
    finally:
        subprocess.run([PROGRAMS / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **{**run, "check": False})
        shutil.rmtree(folder)


@needs_postgres
@pytest.mark.parametrize("user", ["boss", "guest"])
async def test_postgresql_answers_questions(postgres: str, call_tool: Call, user: str) -> None:
    tool = DatabaseQueryTool(postgres % user, max_rows=2)
    assert await call_tool(tool, query="SELECT name, size FROM owls WHERE name LIKE '%' ORDER BY id;") == {
        "columns": ["name", "size"],
        "rows": [["barn", 35.5], ["tawny", 38.0]],
        "row_count": 2,
    }
    many = await call_tool(tool, query="/* all */ WITH n AS (SELECT generate_series(1, 1000000) AS i) SELECT i FROM n")
    assert (many["rows"], many["truncated"]) == ([[1], [2]], True)
    tables = await call_tool(
        tool, query="SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    assert tables["rows"] == [["owls"]]
    odd = await call_tool(
        tool, query="SELECT 1.5::numeric, now()::date, '{\"a\": 1}'::jsonb, ARRAY[1,2], 'x'::bytea, '%s', NULL"
    )
    assert odd["rows"][0][2:] == [{"a": 1}, [1, 2], "0x78 (1 bytes)", "%s", None]


@needs_postgres
async def test_postgresql_tells_days_that_python_does_not_know(postgres: str, call_tool: Call) -> None:
    days = "SELECT 'infinity'::date, '0044-03-15 BC'::date, '-infinity'::timestamptz, '2024-02-29 10:30'::timestamp"
    output = await call_tool(DatabaseQueryTool(postgres % "guest"), query=days)
    assert output["rows"] == [["infinity", "0044-03-15 BC", "-infinity", "2024-02-29 10:30:00"]]


POSTGRES_WRITES = [
    "INSERT INTO owls (name) VALUES ('x')",
    "UPDATE owls SET size = 0",
    "DELETE FROM owls",
    "TRUNCATE owls",
    "DROP TABLE owls",
    "CREATE TABLE new (a int)",
    "CREATE TEMP TABLE new (a int)",
    "SELECT * INTO new FROM owls",
    "CREATE TABLE new AS SELECT 1",
    "WITH gone AS (DELETE FROM owls RETURNING id) SELECT * FROM gone",
    "WITH x AS (INSERT INTO owls (name) VALUES ('x') RETURNING id) SELECT * FROM x",
    "SELECT nextval('counter')",
    "SELECT setval('counter', 99)",
    "SELECT * FROM owls FOR UPDATE",
    "SELECT 1; DELETE FROM owls",
    "SELECT 1; COMMIT; DELETE FROM owls",
    "SELECT 1; SET TRANSACTION READ WRITE; DELETE FROM owls",
    "COMMIT",
    "SET TRANSACTION READ WRITE",
    "SET default_transaction_read_only = off",
    "RESET ROLE",
    "DO $$ BEGIN DELETE FROM owls; END $$",
    "DO $$ BEGIN EXECUTE 'SET LOCAL transaction_read_only = off'; DELETE FROM owls; END $$",
    "CALL x()",
    "COPY owls TO PROGRAM 'touch {folder}/made'",
    "COPY (SELECT 1) TO '{folder}/made'",
    "COPY owls FROM PROGRAM 'echo'",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "WITH x AS (SELECT set_config('transaction_read_only', 'off', true)) DELETE FROM owls",
    "SELECT query_to_xml('DELETE FROM owls', true, true, '')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '{folder}/made')",
    "SELECT pg_ls_dir('/')",
    "SELECT pg_reload_conf()",
    "ALTER SYSTEM SET work_mem = '1MB'",
    "CREATE EXTENSION dblink",
    "LOAD 'auto_explain'",
    "LISTEN x",
    "PREPARE p AS DELETE FROM owls",
    "EXPLAIN ANALYZE DELETE FROM owls",
    "VACUUM",
    "LOCK TABLE owls",
]


@needs_postgres
@pytest.mark.parametrize("user", ["boss", "guest"])
@pytest.mark.parametrize("query", POSTGRES_WRITES)
async def test_postgresql_writes_nothing_by_any_road(postgres: str, call_tool: Call, query: str, user: str) -> None:
    folder = postgres.rpartition("=")[2]
    output = await call_tool(DatabaseQueryTool(postgres % user, timeout=5), query=query.replace("{folder}", folder))
    assert set(output) == {"error"}, output
    assert "made" not in os.listdir(folder)
    with psycopg.connect(f"host={folder} user=boss dbname=postgres") as connection:
        state = connection.execute("SELECT count(*), sum(size) FROM owls").fetchone()
        counter = connection.execute("SELECT is_called FROM counter").fetchone()
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert (state, counter, tables) == ((2, 73.5), (False,), (1,))


@needs_postgres
@pytest.mark.parametrize(
    "query",
    [
        "SELECT set_config('role', 'none', true), query_to_xml('SELECT pg_read_file(''/etc/passwd'')', true, true, '')",
        "SELECT \"set_config\"('session_authorization', 'boss', true), pg_catalog.Set_Config('role', 'x', true)",
        "SELECT U&\"set\\005fconfig\"('role', 'boss', true)",
        "SELECT query_to_xml('SELECT set' || '_con' || 'fig(''role'', ''boss'', true)', true, true, '')",
        "SELECT * FROM ts_stat('SELECT set' || '_con' || 'fig(''role'', ''boss'', true)::tsvector')",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT ...')",
    ],
)
async def test_a_superuser_of_postgresql_does_not_become_one_again(postgres: str, call_tool: Call, query: str) -> None:
    output = await call_tool(DatabaseQueryTool(postgres % "boss", timeout=5), query=query)
    assert "as a superuser" in output["error"]


@needs_postgres
async def test_postgresql_takes_a_question_in_brackets(postgres: str, call_tool: Call) -> None:
    output = await call_tool(
        DatabaseQueryTool(postgres % "guest"), query="(SELECT 1 AS n) UNION ALL (SELECT 2) ORDER BY n"
    )
    assert output["rows"] == [[1], [2]]


@needs_postgres
async def test_postgresql_ends_what_has_no_end(postgres: str, call_tool: Call) -> None:
    tool = DatabaseQueryTool(postgres % "guest", timeout=0.5)
    for query in (
        "SELECT pg_sleep(60)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000000) b",
    ):
        assert "was ended after 0.5 s" in (await call_tool(tool, query=query))["error"]


@needs_postgres
async def test_postgresql_is_written_where_it_is_allowed(postgres: str, call_tool: Call) -> None:
    tool = DatabaseQueryTool(postgres % "guest", allow_writing=True)
    assert await call_tool(tool, query="INSERT INTO owls (id, name, size) VALUES (9, '100%', 0)") == {"changed_rows": 1}
    assert (await call_tool(tool, query="DELETE FROM owls WHERE id = 9 RETURNING name"))["rows"] == [["100%"]]
    assert "multiple commands" in (await call_tool(tool, query="SELECT 1; SELECT 2"))["error"]


async def test_a_server_that_is_not_there_is_told_without_its_password(call_tool: Call) -> None:
    tool = DatabaseQueryTool("postgresql://ann:hush-hush@127.0.0.1:1/shop")
    output = await call_tool(tool, query="SELECT 1")
    assert "postgresql: " in output["error"]
    assert "hush-hush" not in str(output) + tool.description
