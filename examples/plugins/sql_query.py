"""Run a read-only SQL query on an SQLite file; see sql_query.yaml."""

import os
import sqlite3
import time
import urllib.parse

from understudy_plugin import plugin

# What a query may do: read, and call functions but those that load code.
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
# PRAGMAs that tell about tables and change nothing, with an argument or without.
_TELLING = {"table_info", "table_xinfo", "table_list", "index_list", "index_info"}
_TELLING |= {"foreign_key_list", "database_list"}
_STEPS = 10_000  # of SQLite's machine between two looks at the clock


@plugin
def sql_query(path, query, limit=1000, *, context):
    """Returns the rows as a DataFrame, as a list of dicts where pandas is missing."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    timeout = context.config.get("timeout", 10)  # seconds
    room = context.config.get("max_bytes", 50_000_000)
    connection = _open(context.workdir, path)
    try:
        columns, rows = _fetch(connection, query, limit, room, timeout)
    finally:
        connection.close()
    return _table(columns, rows)


def _open(workdir, name):
    path = os.path.join(workdir, name)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {name} in the working directory")
    uri = "file:" + urllib.parse.quote(path.replace(os.sep, "/")) + "?mode=ro"
    connection = sqlite3.connect(uri, uri=True)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action, first, second, _database, _source):
    if action in _ALLOWED and second != "load_extension":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first.lower() in _TELLING:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _fetch(connection, query, limit, room, timeout):
    """Returns column names and rows, within limit rows, room bytes and timeout seconds."""
    end = time.monotonic() + timeout
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise ValueError("the query returns no rows; this plugin reads only")
        rows = _take(cursor, limit, room)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise TimeoutError(f"the query took longer than {timeout} seconds") from None
        raise
    return [column[0] for column in cursor.description], rows


def _take(cursor, limit, room):
    rows = []
    for row in cursor:
        if len(rows) == limit:
            print(f"only the first {limit} rows are returned; pass a higher limit for more")
            break
        room -= sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
        if room < 0:
            print(f"only the first {len(rows)} rows are returned: more would be too large")
            break
        rows.append(row)
    return rows


def _table(columns, rows):
    try:
        import pandas
    except ImportError:
        return [dict(zip(columns, row)) for row in rows]
    return pandas.DataFrame(rows, columns=columns)


@plugin.test
def test(sql_query):
    with sqlite3.connect("test.db") as connection:
        connection.execute("create table if not exists t (n integer, s text)")
        connection.executemany("insert into t values (?, ?)", [(1, "a"), (2, "b"), (3, None)])
    connection.close()
    try:
        assert len(sql_query("test.db", "select * from t where n > 1")) == 2
        assert len(sql_query("test.db", "select * from t", limit=1)) == 1
        for forbidden in ("delete from t", "attach 'other.db' as other", "pragma user_version = 1"):
            try:
                sql_query("test.db", forbidden)
            except (sqlite3.DatabaseError, ValueError):
                continue
            raise AssertionError(f"{forbidden!r} was not refused")
    finally:
        os.remove("test.db")
