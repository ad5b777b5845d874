"""The journal of operating-system settings: written before a setting is touched, so that it can be put back.

Order of use: `record_os_change`, touch the setting, `mark_os_change_applied`; later put the old value back
and `mark_os_change_restored`. Whoever starts after a kill finds in `unrestored_os_changes` what is still to
be put back, also when the agent died between writing the journal and touching the setting.
"""

from __future__ import annotations

from sqlalchemy import select

from trimtab_db import models, records
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.repository.base import RepositoryPart, now, record_of


class OsChangeRepository(RepositoryPart):
    """Queries about the journal."""

    def record_os_change(
        self,
        path: str,
        value_before: str,
        value_after: str,
        run_id: int | None = None,
        *,
        boot_id: str = "",
    ) -> int:
        """Announce that the setting `path` is about to change; the id is for the two marks below."""
        with self.database.writing() as session:
            row = models.OsChange(
                run_id=run_id,
                boot_id=boot_id,
                path=path,
                value_before=value_before,
                value_after=value_after,
                recorded_at=now(),
            )
            session.add(row)
            session.flush()
            return row.id

    def mark_os_change_applied(self, change_id: int) -> None:
        """Note that the setting has the new value."""
        self._mark(change_id, "applied_at")

    def mark_os_change_restored(self, change_id: int) -> None:
        """Note that the setting has its old value again."""
        self._mark(change_id, "restored_at")

    def unrestored_os_changes(self) -> tuple[records.OsChange, ...]:
        """What may still differ from before, latest first: the order in which to put it back."""
        query = select(models.OsChange).filter_by(restored_at=None).order_by(models.OsChange.id.desc())
        with self.database.reading() as session:
            return tuple(record_of(records.OsChange, row) for row in session.scalars(query))

    def _mark(self, change_id: int, column: str) -> None:
        with self.database.writing() as session:
            row = session.get(models.OsChange, change_id)
            if row is None:
                raise RecordNotFoundError(f"There is no operating-system change {change_id} in the journal.")
            setattr(row, column, now())
