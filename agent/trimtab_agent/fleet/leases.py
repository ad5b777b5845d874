"""A lease kept for as long as the work under it lasts, and its result recorded under it."""

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from trimtab_db import Repository
from trimtab_db.errors import (
    PASSING_FAULTS,
    DatabaseError,
    LeaseLostError,
    RecordConflictError,
    RecordNotFoundError,
)

log = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4
PATIENCE_S = 600.0
PAUSE_S = 1.0

LOST = (LeaseLostError, RecordConflictError, RecordNotFoundError)
"""What says that a lease has ended for good: somebody else has it, or its run is gone."""


class Lease:
    """The lease of one booking; while it is entered it is renewed, and `on_lost` is told if that fails.

    A database that cannot be asked ends no lease: it goes on, and whoever takes over says so.
    """

    def __init__(
        self,
        repository: Repository,
        run_id: int,
        booking_id: int,
        token: int,
        lease_s: float,
        on_lost: Callable[[], None],
    ) -> None:
        self._bookings = repository.bookings(run_id)
        self._held = booking_id, token
        self._lease_s = lease_s
        self._on_lost = on_lost
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease-{booking_id}", daemon=True)
        self.lost = ""  # the sentence that says so

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

    def begin(self) -> None:
        """Renews it before any work; raises one of LOST, DatabaseError."""
        self._bookings.renew(*self._held, self._lease_s)

    def commit(self, result: dict[str, Any], given_up: Callable[[], bool]) -> None:
        """Records the result; tries for as long as the database takes no records, unless `given_up` says so.

        Raises one of LOST, DatabaseError.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._bookings.commit_result(*self._held, result)
            except PASSING_FAULTS as error:
                if given_up() or time.monotonic() > deadline:
                    raise
                log.warning("a result waits for the database: %s", error)
                time.sleep(PAUSE_S)
            else:
                return

    def release(self) -> None:
        """Gives it back without a result, as far as the database can be told."""
        try:
            self._bookings.release(*self._held)
        except DatabaseError as error:
            log.info("a lease was not given back: %s", error)

    def _keep(self) -> None:
        while not self._over.wait(self._lease_s / RENEWALS_PER_LEASE):
            try:
                self._bookings.renew(*self._held, self._lease_s)
            except LOST as error:
                self.lost = str(error)
                self._on_lost()
                return
            except DatabaseError as error:
                log.warning("a lease could not be renewed: %s", error)
