"""From a database's URL to SQLAlchemy's engine: what a URL must look like, and how each kind is set up.

Two kinds are supported: SQLite, a file that one machine uses, and PostgreSQL, which many may share.

DESIGN: SQLite runs in write-ahead-log mode, so that readers (the browser) never wait for the writer (the
study) nor the other way round. The driver's own transaction handling is switched off and every transaction
is begun here: with `BEGIN IMMEDIATE` when it is going to write. A transaction that only finds out half way
that it wants to write would fail at once with "database is locked" when somebody else wrote in between,
whatever the busy timeout (sqlite.org/isolation.html).

`synchronous = NORMAL` keeps every committed transaction through a crash of Trimtab; only a power cut may
lose the last ones, never the consistency of the file (sqlite.org/wal.html).

In PostgreSQL many write at once. A transaction that writes sees what others have committed (`READ COMMITTED`)
and locks the rows that it decides upon; one that reads sees a single state of the database.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, make_url

from trimtab_db.errors import BUSY_TIMEOUT_S, DatabaseUnavailableError

BUSY_PAUSE_S = 0.01
CONNECT_TIMEOUT_S = 10
KINDS = ("sqlite", "postgresql", "postgresql+psycopg")
EXPECTED = "expected sqlite:////path/of/a/file or postgresql://user@host/name"
ESCAPED = "(in a password, @ is written %40)"


def sqlite_url(path: Path) -> str:
    """The URL of the SQLite database in the file `path`."""
    return f"sqlite:///{path}"


def parsed_url(url: str) -> URL:
    """The parts of a URL; raises `DatabaseUnavailableError`.

    No sentence repeats the URL: what cannot be parsed may still hold a password.
    """
    try:
        parsed = make_url(url)
    except exc.ArgumentError as error:
        raise DatabaseUnavailableError(f"The database URL cannot be used: {EXPECTED}.") from error
    except ValueError:  # its text is what stands where the port should be
        raise DatabaseUnavailableError(
            f"The database URL cannot be used: expected a number as the port {ESCAPED}."
        ) from None
    if parsed.drivername not in KINDS:
        raise DatabaseUnavailableError(
            f"The database URL cannot be used: it begins with {parsed.drivername}; {EXPECTED}."
        )
    if "@" in (parsed.host or ""):
        raise DatabaseUnavailableError(
            f"The database URL cannot be used: expected one @, before the host {ESCAPED}."
        )
    return parsed


def place_of(url: URL) -> str:
    """Where the database is, for people: a path, or an address without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    shown = url.difference_update_query([name for name in url.query if "password" in name])
    return shown.render_as_string(hide_password=True)


def make_engine(url: URL) -> Engine:
    """An engine for a URL of one of the two kinds; nothing is connected yet.

    Raises `DatabaseUnavailableError` when SQLite cannot use what the URL says.
    """
    if url.get_backend_name() == "sqlite":
        try:
            engine = create_engine(url)
        except exc.ArgumentError as error:
            raise DatabaseUnavailableError(f"The database URL cannot be used: {EXPECTED}.") from error
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    patience = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_TIMEOUT_S}
    # A connection that has broken while it lay in the pool is noticed, and made anew, before it is used.
    engine = create_engine(url, connect_args=patience, pool_pre_ping=True)
    event.listen(engine, "connect", _set_up_postgresql)
    return engine


def for_writing(engine: Engine) -> Engine:
    """The engine, for transactions that write."""
    return engine.execution_options(trimtab_writes=True)


def for_reading(engine: Engine) -> Engine:
    """The engine, for transactions that only read, and see one state of the database."""
    if engine.dialect.name == "sqlite":
        return engine  # every transaction does
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("trimtab_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def switch_to_write_ahead_log(connection: Any) -> str:  # noqa: ANN401 - the driver's own connection
    """Switches a SQLite file to it; the journal mode that the file has then.

    Of two that switch at once SQLite refuses one, whatever the busy timeout: each would wait for the other.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= deadline:
                raise
        time.sleep(BUSY_PAUSE_S)


def _set_up_postgresql(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.execute(f"SET lock_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.commit()
