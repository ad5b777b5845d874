"""The journal of operating-system settings: written before a setting is touched, so that it can be put back.

Order of use: `record`, touch the settings, `mark_applied`; later put the old values back and `mark_restored`.
Each takes many lines in one transaction: a plan may have hundreds. Whoever starts after a kill finds in
`unrestored` what is still to be put back, also when the agent died between writing the journal and touching
the settings. A setting is one machine's: its journal holds no other machine's lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import select, update

from trimtab_db import models, records
from trimtab_db.database import Database
from trimtab_db.errors import RecordNotFoundError
from trimtab_db.repository.base import now, record_of, rows_of_machine


class OsChanges:
    """The journal of one host; `host_id` is its record. New lines belong to the run, if there is one."""

    def __init__(self, database: Database, host_id: int, run_id: int | None = None) -> None:
        self._database = database
        self._host_id = host_id
        self._run_id = run_id

    def record(
        self, changes: Sequence[tuple[str, str, str]], *, by_hand: bool, boot_id: str = ""
    ) -> tuple[int, ...]:
        """Announce that settings are about to change: the path, the value before, and the value after of
        each.

        The ids of the lines, in order, are for the marks below.
        """
        rows = [
            models.OsChange(
                host_id=self._host_id,
                run_id=self._run_id,
                by_hand=by_hand,
                boot_id=boot_id,
                path=path,
                value_before=before,
                value_after=after,
                recorded_at=now(),
            )
            for path, before, after in changes
        ]
        if not rows:
            return ()
        with self._database.writing() as session:
            session.add_all(rows)
            session.flush()
            return tuple(row.id for row in rows)

    def mark_applied(self, change_ids: Collection[int]) -> None:
        """Note that the settings have their new values."""
        self._mark(change_ids, "applied_at")

    def mark_restored(self, change_ids: Collection[int]) -> None:
        """Note that the settings have their old values again."""
        self._mark(change_ids, "restored_at")

    def unrestored(self) -> tuple[records.OsChange, ...]:
        """What may still differ from before, latest first: the order in which to put it back."""
        query = (
            select(models.OsChange)
            .where(
                models.OsChange.restored_at.is_(None),
                models.OsChange.host_id.in_(rows_of_machine(self._host_id)),
            )
            .order_by(models.OsChange.id.desc())
        )
        with self._database.reading() as session:
            return tuple(record_of(records.OsChange, row) for row in session.scalars(query))

    def _mark(self, change_ids: Collection[int], column: str) -> None:
        if not change_ids:
            return
        of_these = models.OsChange.id.in_(change_ids)
        with self._database.writing() as session:
            known = set(session.scalars(select(models.OsChange.id).where(of_these)))
            for change_id in change_ids:
                if change_id not in known:
                    raise RecordNotFoundError(
                        f"There is no operating-system change {change_id} in the journal.",
                        "operating-system change",
                    )
            session.execute(update(models.OsChange).where(of_these).values({column: now()}))
