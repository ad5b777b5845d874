"""The repository: everything the agent reads from and writes to the database, one file a subject.

Every method is one transaction and may be called from any thread. All of them raise `trimtab_db.errors`.
"""

from __future__ import annotations

from trimtab_db.database import Database
from trimtab_db.repository.bookings import Bookings
from trimtab_db.repository.counters import CounterRepository
from trimtab_db.repository.live_tuning import LiveTuningRepository
from trimtab_db.repository.os_changes import OsChanges
from trimtab_db.repository.runs import RunRepository
from trimtab_db.repository.stations import StationRepository
from trimtab_db.repository.trials import TrialRepository


class Repository(RunRepository, TrialRepository, CounterRepository, LiveTuningRepository, StationRepository):
    """All subjects in one object."""

    def os_changes(self, host_id: int, run_id: int | None = None) -> OsChanges:
        """The journal of settings changed on this host; new lines belong to the run, if one is given."""
        return OsChanges(self.database, host_id, run_id)

    def bookings(self, run_id: int) -> Bookings:
        """What stations carry out for this run."""
        return Bookings(self.database, run_id)

    @property
    def embedded(self) -> bool:
        """Whether the database is a file, which no other machine uses."""
        return self.database.embedded

    @property
    def place(self) -> str:
        """Where the database is, for people: a path, or an address without its password."""
        return self.database.place

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def open_database(url: str) -> Repository:
    """Open the database at `url`, creating it or upgrading its schema; raises `DatabaseError`.

    `url` is `sqlite:////absolute/path` (see `sqlite_url`) or `postgresql://user@host/name`.
    """
    return Repository(Database(url))
