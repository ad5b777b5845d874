"""What the parts of the repository share: the database, and copying between rows and records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from sqlalchemy import Select, select

from trimtab_db import models

if TYPE_CHECKING:
    from trimtab_db.database import Database


class _Record(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=_Record)


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


def record_of(kind: type[R], row: object, **replaced: object) -> R:
    """Make a record of `kind` from the row's attributes of the same names, with some of them replaced."""
    return kind(**{f.name: getattr(row, f.name) for f in fields(kind) if f.name not in replaced}, **replaced)


def columns_of(record: _Record, *, without: Iterable[str] = ()) -> Mapping[str, Any]:
    """The record's fields by name, as arguments for the model of the same name."""
    return {f.name: getattr(record, f.name) for f in fields(record) if f.name not in without}
