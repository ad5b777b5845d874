"""What can go wrong with the database, as sentences a user can act on.

    DatabaseError                 the common ancestor; its text is one clear sentence
    ├── DatabaseUnavailableError  the address is wrong, the server does not answer, the file is no database
    ├── DatabaseReadOnlyError     the file or its directory must not be written
    ├── DatabaseFullError         the disk has no room left; what was recorded before is intact
    ├── DatabaseLockedError       another writer took longer than BUSY_TIMEOUT_S; trying again may work
    ├── SchemaTooNewError         written by a later Trimtab than this one
    ├── RecordNotFoundError       what was asked for is not recorded
    ├── RecordChangedError        somebody else has changed it since it was read
    ├── LeaseLostError            the lease under which somebody wants to record has ended
    └── RecordConflictError       the key is taken, or the record refers to one that does not exist

`translated` turns the driver's exceptions into these, so that nobody above this package needs to know which
driver is underneath.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_TIMEOUT_S = 10.0


class DatabaseError(Exception):
    """Something is wrong with the database; the text says what, in one sentence."""


class DatabaseUnavailableError(DatabaseError):
    """The database cannot be opened or reached."""


class DatabaseReadOnlyError(DatabaseError):
    """The database may be read but not written."""


class DatabaseFullError(DatabaseError):
    """There is no room left to write to."""


class DatabaseLockedError(DatabaseError):
    """Somebody else is writing and did not finish in time."""


PASSING_FAULTS = (
    DatabaseLockedError,
    DatabaseFullError,
    DatabaseReadOnlyError,
    DatabaseUnavailableError,
)
"""What lies in the state of the disk or in other writers, and not in the record: trying again may work."""


class SchemaTooNewError(DatabaseError):
    """The schema comes from a later version of Trimtab."""


class RecordNotFoundError(DatabaseError):
    """What was asked for is not recorded; `kind` says what that would be, such as `run`."""

    def __init__(self, sentence: str, kind: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class RecordConflictError(DatabaseError):
    """The record contradicts another one."""


class RecordChangedError(DatabaseError):
    """The record is no longer what whoever wants to change it has read."""


class LeaseLostError(DatabaseError):
    """The lease of what somebody wants to record, renew or give back has ended."""


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Raise the driver's exceptions as `DatabaseError`s that name `location`."""
    try:
        yield
    except exc.IntegrityError as error:
        raise RecordConflictError(
            f"{location} refused a record that contradicts another one: {_said(error.orig)}."
        ) from error
    except exc.DBAPIError as error:
        of_sqlite = isinstance(error.orig, sqlite3.Error)
        raise (_of_sqlite if of_sqlite else _of_postgresql)(location, error.orig) from error
    except sqlite3.Error as error:  # of what is asked of the driver itself
        raise _of_sqlite(location, error) from error


def _said(cause: BaseException | None) -> str:
    """What the driver says, on one line and without its full stop."""
    return " ".join(str(cause).split()).rstrip(".?")


def _of_sqlite(location: str, cause: BaseException | None) -> DatabaseError:
    # The low byte is the primary result code (sqlite.org/rescode.html).
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return _locked(location)
    if code == sqlite3.SQLITE_READONLY:
        return DatabaseReadOnlyError(
            f"{location} is read-only: Trimtab must be allowed to write the file and its directory."
        )
    if code == sqlite3.SQLITE_FULL:
        return _full(location)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return DatabaseUnavailableError(f"{location} is not an intact SQLite database: {cause}.")
    if code == sqlite3.SQLITE_CANTOPEN:
        return DatabaseUnavailableError(
            f"{location} cannot be opened: its directory must exist and allow Trimtab to write there."
        )
    return _failed(location, cause)


def _of_postgresql(location: str, cause: BaseException | None) -> DatabaseError:
    # postgresql.org/docs/15/errcodes-appendix.html; what fails before there is a connection has no code.
    code = getattr(cause, "sqlstate", None)
    if code == "55P03":
        return _locked(location)
    if code in ("40P01", "40001"):
        return DatabaseLockedError(f"{location} ended this because somebody else was writing the same.")
    if code == "25006":
        return DatabaseReadOnlyError(f"{location} is read-only: expected a server that takes records.")
    if code == "53100":
        return _full(location)
    if code == "42501":
        return DatabaseUnavailableError(
            f"{location} does not let its user make or write tables: expected the owner of the database "
            f"({_said(cause)})."
        )
    connection = getattr(cause, "pgconn", None)
    if code is None and connection is not None and (connection.used_password or connection.needs_password):
        return DatabaseUnavailableError(
            f"{location} does not let Trimtab in: expected the password of its user, in the URL or in "
            f"~/.pgpass ({_said(cause)})."
        )
    if code is None and type(cause).__name__ in ("OperationalError", "ConnectionTimeout"):
        return DatabaseUnavailableError(
            f"{location} cannot be reached: expected a running PostgreSQL server with this database and user "
            f"({_said(cause)})."
        )
    return _failed(location, cause)


def _locked(location: str) -> DatabaseLockedError:
    return DatabaseLockedError(
        f"{location} is locked: somebody else has been writing for more than {BUSY_TIMEOUT_S:.0f} s."
    )


def _full(location: str) -> DatabaseFullError:
    return DatabaseFullError(f"{location} cannot grow: the disk is full. What was recorded before is intact.")


def _failed(location: str, cause: BaseException | None) -> DatabaseUnavailableError:
    return DatabaseUnavailableError(f"{location} failed: {_said(cause)}.")
