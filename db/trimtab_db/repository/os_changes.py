"""The journal of operating-system settings: written before a setting is touched, so that it can be put back.

Order of use: `record_os_changes`, touch the settings, `mark_os_changes_applied`; later put the old values
back and `mark_os_changes_restored`. Each takes many lines in one transaction: a plan may have hundreds.
Whoever starts after a kill finds in `unrestored_os_changes` what is still to be put back, also when the agent
died between writing the journal and touching the settings.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select, update

from trimtab_db import models, records
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.repository.base import RepositoryPart, columns_of, now, record_of


class OsChangeRepository(RepositoryPart):
    """Queries about the journal."""

    def record_os_changes(
        self, changes: Sequence[records.NewOsChange], run_id: int | None = None, *, boot_id: str = ""
    ) -> tuple[int, ...]:
        """Announce that these settings are about to change; their ids, in order, are for the marks below."""
        rows = [
            models.OsChange(run_id=run_id, boot_id=boot_id, recorded_at=now(), **columns_of(change))
            for change in changes
        ]
        if not rows:
            return ()
        with self.database.writing() as session:
            session.add_all(rows)
            session.flush()
            return tuple(row.id for row in rows)

    def mark_os_changes_applied(self, change_ids: Collection[int]) -> None:
        """Note that the settings have their new values."""
        self._mark(change_ids, "applied_at")

    def mark_os_changes_restored(self, change_ids: Collection[int]) -> None:
        """Note that the settings have their old values again."""
        self._mark(change_ids, "restored_at")

    def unrestored_os_changes(self) -> tuple[records.OsChange, ...]:
        """What may still differ from before, latest first: the order in which to put it back."""
        query = select(models.OsChange).filter_by(restored_at=None).order_by(models.OsChange.id.desc())
        with self.database.reading() as session:
            return tuple(record_of(records.OsChange, row) for row in session.scalars(query))

    def _mark(self, change_ids: Collection[int], column: str) -> None:
        if not change_ids:
            return
        of_these = models.OsChange.id.in_(change_ids)
        with self.database.writing() as session:
            known = set(session.scalars(select(models.OsChange.id).where(of_these)))
            for change_id in change_ids:
                if change_id not in known:
                    raise RecordNotFoundError(
                        f"There is no operating-system change {change_id} in the journal."
                    )
            session.execute(update(models.OsChange).where(of_these).values({column: now()}))
