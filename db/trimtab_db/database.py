"""An open database: its sessions, and bringing the schema up to date."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy.orm import Session

from trimtab_db.engines import (
    for_reading,
    for_writing,
    make_engine,
    parsed_url,
    place_of,
    switch_to_write_ahead_log,
)
from trimtab_db.errors import DatabaseUnavailableError, SchemaTooNewError, translated
from trimtab_db.models import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Iterator

MIGRATIONS = Path(__file__).parent / "migrations"
UPGRADE_LOCK = 0x7472696D  # "trim": an advisory lock of PostgreSQL is a number


class Database:
    """An open database with an up-to-date schema. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        """Open `url` (`sqlite:////absolute/path` or `postgresql://user@host/name`), and upgrade the schema.

        Raises `DatabaseError` with a sentence naming the database if it cannot be opened, written or
        upgraded.
        """
        parsed = parsed_url(url)
        self.engine = make_engine(parsed)
        self.place = place_of(parsed)
        self.location = f"The database {self.place}"
        self._reading = for_reading(self.engine)
        self._writing = for_writing(self.engine)
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
        with translated(self.location), Session(self._reading) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session in one transaction: all of it is kept when the block ends, nothing when it raises."""
        with translated(self.location), Session(self._writing) as session, session.begin():
            yield session

    def clock(self, session: Session) -> datetime:
        """The present by the clock that everybody who uses the database shares: its server's, or that of the
        one machine whose file it is.
        """
        if self.embedded:
            return datetime.now(UTC)
        return session.execute(select(func.clock_timestamp(type_=UtcDateTime))).scalar_one()

    def _prepare(self) -> None:
        if self.embedded:
            with self.engine.connect() as connection:
                mode = switch_to_write_ahead_log(connection.connection.dbapi_connection)
            if mode != "wal":
                raise DatabaseUnavailableError(
                    f"{self.location} cannot keep a write-ahead log (journal mode {mode}): "
                    "expected a file on a local file system."
                )
        with self._writing.connect() as connection, _references_unchecked(connection), connection.begin():
            _upgrade(connection, self.location)


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


def migrations_config() -> Config:
    """Alembic's configuration, pointing at the migrations inside this package."""
    config = Config()
    # A percent sign is Alembic's interpolation mark.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _upgrade(connection: Connection, location: str) -> None:
    """Bring the schema up to date within the caller's transaction, so that two openers cannot both do it."""
    if connection.dialect.name == "postgresql":  # whose transactions that write do not wait for each other
        connection.execute(select(func.pg_advisory_xact_lock(UPGRADE_LOCK)))
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
    else:
        # SQLite opens a file it may not write without a word, and BEGIN IMMEDIATE passes as well; so does a
        # PostgreSQL that only follows another one.
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
