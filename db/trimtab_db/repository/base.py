"""What the parts of the repository share: the database, and copying between rows and records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from sqlalchemy import Select, exc, select

from trimtab_db import models

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from trimtab_db.database import Database


class _Record(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=_Record)
M = TypeVar("M", bound=models.Base)


class RepositoryPart:
    """Holds the database; each part adds the queries of one subject."""

    def __init__(self, database: Database) -> None:
        self.database = database


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def rows_of_machine(host_id: int) -> Select[int]:
    """The ids of all records of the machine that the host is: it may have had another kernel or name
    before.
    """
    machine_id = select(models.Host.machine_id).where(models.Host.id == host_id).scalar_subquery()
    return select(models.Host.id).where(models.Host.machine_id == machine_id)


def found_or_added(session: Session, query: Select[M], new: M) -> M:
    """The row that `query` finds, or else `new`, which it finds from now on.

    Another host may add the same at this moment: its row is found then.
    """
    row = session.scalar(query)
    if row is not None:
        return row
    try:
        with session.begin_nested():
            session.add(new)
            session.flush()
    except exc.IntegrityError:
        row = session.scalar(query)
        if row is None:
            raise  # it contradicts something else
        return row
    return new


def record_of(kind: type[R], row: object, /, **replaced: object) -> R:
    """Make a record of `kind` from the row's attributes of the same names, with some of them replaced."""
    return kind(**{f.name: getattr(row, f.name) for f in fields(kind) if f.name not in replaced}, **replaced)


def columns_of(record: _Record, *, without: Iterable[str] = ()) -> dict[str, Any]:
    """The record's fields by name, as arguments for the model of the same name."""
    return {f.name: getattr(record, f.name) for f in fields(record) if f.name not in without}
