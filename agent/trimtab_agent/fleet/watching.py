"""Keeps the database's list of stations as the engine knows them, while a study uses them."""

import logging
import threading
from types import TracebackType
from typing import Self

from trimtab_db import Repository
from trimtab_db.errors import DatabaseError
from trimtab_db.records import StationRole

from trimtab_agent.errors import FleetError
from trimtab_agent.fleet.controller import Fleet

log = logging.getLogger(__name__)

EVERY_S = 5.0


class Watching:
    """Notes every few seconds which generators are there.

    Stations of servers register themselves. Who has gone is not noted: a scheduler that was just started
    knows nobody yet.
    """

    def __init__(self, fleet: Fleet, repository: Repository) -> None:
        self._fleet = fleet
        self._repository = repository
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watching", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Notes what is there now; raises FleetError, DatabaseError."""
        present = self._fleet.present()
        for name, station in present.items():
            if station.role == StationRole.GENERATOR:
                host_id = self._repository.register_host(station.host)
                self._repository.register_station(
                    name, StationRole.GENERATOR, host_id, station.address, station.facts
                )

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                self.look()
            except (FleetError, DatabaseError) as error:
                log.info("%s", error)
