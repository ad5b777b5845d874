"""Opening a database: the engine, how SQLite is set up, and bringing the schema up to date.

DESIGN: SQLite runs in write-ahead-log mode, so that readers (the browser) never wait for the writer (the
study) nor the other way round. The driver's own transaction handling is switched off and every transaction
is begun here: with `BEGIN IMMEDIATE` when it is going to write. A transaction that only finds out half way
that it wants to write would fail at once with "database is locked" when somebody else wrote in between,
whatever the busy timeout (sqlite.org/isolation.html).

`synchronous = NORMAL` keeps every committed transaction through a crash of Trimtab; only a power cut may
lose the last ones, never the consistency of the file (sqlite.org/wal.html).
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, exc, inspect, make_url, text
from sqlalchemy.orm import Session

from trimtab_db.errors import (
    BUSY_TIMEOUT_S,
    DatabaseUnavailableError,
    SchemaTooNewError,
    translated,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_PAUSE_S = 0.01
MIGRATIONS = Path(__file__).parent / "migrations"


def sqlite_url(path: Path) -> str:
    """The URL of the SQLite database in the file `path`."""
    return f"sqlite:///{path}"


class Database:
    """An open database with an up-to-date schema. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        """Open `url` (`sqlite:////absolute/path` or `postgresql+driver://…`), and upgrade the schema.

        Raises `DatabaseError` with a sentence naming the database if it cannot be opened, written or
        upgraded.
        """
        self.engine, self.place = _make_engine(url)
        self.location = f"The database {self.place}"
        self._writing = self.engine.execution_options(trimtab_writes=True)
        try:
            with translated(self.location):
                self._prepare()
        except BaseException:
            self.close()
            raise

    @property
    def embedded(self) -> bool:
        """Whether it is a file, which no other machine uses."""
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Give the connections back; SQLite folds the log into the file when the last one closes."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one consistent state of the database."""
        with translated(self.location), Session(self.engine) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session in one transaction: all of it is kept when the block ends, nothing when it raises."""
        with translated(self.location), Session(self._writing) as session, session.begin():
            yield session

    def _prepare(self) -> None:
        if self.engine.dialect.name == "sqlite":
            with self.engine.connect() as connection:
                mode = _switch_to_wal(connection.connection.dbapi_connection)
            if mode != "wal":
                raise DatabaseUnavailableError(
                    f"{self.location} cannot keep a write-ahead log (journal mode {mode}): "
                    "expected a file on a local file system."
                )
        with self._writing.connect() as connection, _references_unchecked(connection), connection.begin():
            _upgrade(connection, self.location)


def _make_engine(url: str) -> tuple[Engine, str]:
    """The engine, and where its database is, for people: a password is left out."""
    try:
        parsed = make_url(url)
        engine = create_engine(parsed)
    except exc.ArgumentError as error:
        # The URL is not repeated here: what cannot be parsed may still hold a password.
        raise DatabaseUnavailableError(f"The database URL cannot be used: {error}.") from error
    except ModuleNotFoundError as error:
        raise DatabaseUnavailableError(
            f"The database URL wants the driver {error.name}, which is not installed in Trimtab's virtual "
            f"environment: `.venv/bin/pip install {error.name}`."
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine, str(parsed.database)
    return engine, parsed.render_as_string(hide_password=True)


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own connection
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")


def _switch_to_wal(connection: Any) -> str:  # noqa: ANN401 - the driver's own connection
    """Switches to the write-ahead log; the journal mode that the file has then.

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


@contextmanager
def _references_unchecked(connection: Connection) -> Iterator[None]:
    """Lets a migration copy a table that others refer to, which SQLite takes for deleting what they refer to.

    It can be said outside of transactions only (sqlite.org/lang_altertable.html, section 7); `_upgrade` looks
    at all references before it ends its own.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    driver = connection.connection.dbapi_connection
    assert driver is not None  # noqa: S101 - the connection is open
    driver.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("trimtab_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def migrations_config() -> Config:
    """Alembic's configuration, pointing at the migrations inside this package."""
    config = Config()
    # A percent sign is Alembic's interpolation mark.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _upgrade(connection: Connection, location: str) -> None:
    """Bring the schema up to date within the caller's transaction, so that two openers cannot both do it."""
    config = migrations_config()
    script = ScriptDirectory.from_config(config)
    current = MigrationContext.configure(connection).get_current_revision()
    if current is None and (tables := inspect(connection).get_table_names()):
        raise DatabaseUnavailableError(
            f"{location} is not Trimtab's: it holds {', '.join(tables)} and no record of a Trimtab schema."
        )
    if current is not None and current not in {revision.revision for revision in script.walk_revisions()}:
        raise SchemaTooNewError(
            f"{location} has the schema {current} of a later Trimtab; this one knows up to "
            f"{script.get_current_head()}. Use the later version."
        )
    if current != script.get_current_head():
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        if (
            connection.dialect.name == "sqlite"
            and connection.execute(text("PRAGMA foreign_key_check")).first()
        ):
            raise DatabaseUnavailableError(
                f"{location} has records that refer to nothing after its schema was brought up to date; "
                "it was left as it was."
            )
    elif connection.dialect.name == "sqlite":
        # SQLite opens a file it may not write without a word, and BEGIN IMMEDIATE passes as well.
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
