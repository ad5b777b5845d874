"""A station on another host; the database says what has become of each trial.

offer ─► book for this station and its generators ─► order, by the engine ─► committed ─► the report
   ▲         (waits until they are free)                 │ the engine forgot: order again
   └──────── the lease has ended without a result ◄──────┘
"""

import concurrent.futures
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter
from trimtab_db import Repository, records
from trimtab_db.errors import DatabaseError
from trimtab_db.records import BookingState, StationRole, StationState
from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_tuner.judging.job import TrialJob, TrialReport
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import FleetError, StationLost
from trimtab_agent.fleet.controller import Fleet, Forgotten, Present
from trimtab_agent.fleet.member import ABORT
from trimtab_agent.fleet.work import Answer, AtGenerator, WorkOrder
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.station.file_set import OnProgress
from trimtab_agent.stopping import Stopped

log = logging.getLogger(__name__)

LEASE_S = 60.0
LOOK_EVERY_S = 2.0
ABSENT_S = 90.0
TRIES = 3
MEASUREMENT = TypeAdapter(Measurement)


class RemoteStation:
    """The station `name`, for one run.

    `generators` are those that may load it, of which each trial needs `generators_each`; with none it loads
    itself. `stop` is for any thread, the rest for one.
    """

    def __init__(
        self,
        fleet: Fleet,
        repository: Repository,
        run_id: int,
        present: Present,
        generators: Sequence[str] = (),
        generators_each: int = 0,
    ) -> None:
        self.name = present.name
        self.host: Host = present.host
        self.facts = present.facts
        self._fleet = fleet
        self._repository = repository
        self._run_id = run_id
        self._bookings = repository.bookings(run_id)
        self._generators = tuple(generators)
        self._generators_each = generators_each
        self._stop = threading.Event()
        self._listener = JobListener()
        self._booking_id = 0
        fleet.listen(self.name, self._hear)

    def stop(self) -> None:
        """Has whatever goes on end soon."""
        self._stop.set()

    def close(self) -> None:
        """Nothing to take away: the station keeps its site until it has another one's job."""

    def ready(self) -> bool:
        """Whether it is in the fleet, and may be booked."""
        try:
            present = self._fleet.present()
            return self.name in present and self._repository.station(self.name).state is StationState.READY
        except (FleetError, DatabaseError):
            return False

    def abort_left_behind(self) -> None:
        """Has the station abort what it carries out for an earlier stretch of this run.

        Its study has died: nobody waits for that, and it would keep the station from what comes next.
        """
        booking_id = self._repository.station(self.name).booking_id
        held = next((each for each in self._held() if each.id == booking_id), None)
        if held is not None:
            with suppress(FleetError):
                self._fleet.tell(self._where().address, ABORT, booking_id=held.id, token=held.token)

    def prepare(self, workload: WorkloadParameters, on_progress: OnProgress) -> None:
        """Has the station make ready what jobs with this workload need; raises StationLost, Stopped."""
        del on_progress  # it is made on another machine
        address, text = self._where().address, workload.model_dump_json()
        answer = self._fleet.prepare(address, text)
        while not _done(answer, LOOK_EVERY_S):
            if self._stop.is_set():
                raise Stopped
            if (now := self._where().address) != address:
                # It has joined anew, and the engine would wait for the one that it knew before.
                address, answer = now, self._fleet.prepare(now, text)
        try:
            said = answer.result()
        except Forgotten as error:
            raise StationLost(self.name, str(error)) from error
        if said.what == "failed":
            raise StationLost(self.name, said.sentence)

    def carry_out(
        self, number: int, job: TrialJob, listener: JobListener, kept: dict[str, Any]
    ) -> TrialReport:
        """Has a trial of that number carried out; `kept` stands beside the job in the database.

        Raises StationLost when this station cannot, Stopped.
        """
        self._listener = listener
        failures = 0
        while True:
            booking = self._offered(number, {"order": kept, "job": job.model_dump(mode="json")})
            if booking.state is BookingState.COMMITTED:
                return TrialReport.model_validate(booking.result)
            claim, address = self._claimed(booking.id)
            self._booking_id = booking.id
            order = WorkOrder(
                run_id=self._run_id,
                booking_id=booking.id,
                token=claim.token,
                trial=number,
                lease_s=LEASE_S,
                job=job,
                generators=self._at_generators,
            )
            try:
                answer = self._answered(number, order, address)
            except Stopped:
                self._give_up(order)
                raise
            if answer.what == "failed":
                failures += 1
                with suppress(DatabaseError):
                    self._bookings.release(booking.id, claim.token)
                if failures >= TRIES or answer.code not in ("generators-lost", "stopped"):
                    raise StationLost(self.name, answer.sentence)

    def _hear(self, event: dict[str, Any]) -> None:
        """What the station tells of a trial, in the fleet's thread."""
        if event.get("booking") != self._booking_id:
            return
        if "measured" in event:
            self._listener.measured(MEASUREMENT.validate_python(event["measured"]))
        elif "line" in event:
            self._listener.load_progress(event["rate_rps"], event["line"])
        elif "rate_rps" in event:
            self._listener.rate_started(event["rate_rps"])

    def _where(self) -> Present:
        """Where the station is now; waits for a while if it is nowhere. Raises StationLost, Stopped."""
        return self._all_there()[self.name]

    def _all_there(self) -> dict[str, Present]:
        """All that are in the fleet now, this one among them; see _where()."""
        deadline = time.monotonic() + ABSENT_S
        while True:
            try:
                present = self._fleet.present()
            except FleetError as error:
                present, why = {}, str(error)
            else:
                why = "it has left the fleet"
            if self.name in present:
                return present
            if time.monotonic() > deadline:
                raise StationLost(self.name, why)
            if self._stop.wait(LOOK_EVERY_S / 2):
                raise Stopped

    def _offered(self, number: int, document: dict[str, Any]) -> records.Booking:
        """The booking of the trial, offered if it is not yet."""
        known = self._bookings.one(number, 1)
        return self._bookings.offer(number, 1, document) if known is None else known

    def _claimed(self, booking_id: int) -> tuple[records.Booking, str]:
        """The lease, and the station's address; waits until station and generators are free.

        Generators that the run's other trials have are waited for as long as that takes. Raises StationLost,
        Stopped.
        """
        deadline = time.monotonic() + ABSENT_S + LEASE_S
        while True:
            present = self._all_there()
            # One that has gone is in the database still, and would be booked again and again.
            among = [name for name in self._generators if name in present]
            claim = self._bookings.book(
                booking_id, self.name, LEASE_S, generators=self._generators_each, among=among
            )
            if claim is not None:
                self._at_generators = tuple(
                    AtGenerator(name=each.name, address=present[each.name].address)
                    for each in claim.generators
                )
                return claim.booking, present[self.name].address
            if time.monotonic() > deadline:
                if why := self._why_not():
                    raise StationLost(self.name, why)
                deadline = time.monotonic() + ABSENT_S + LEASE_S
            if self._stop.wait(0.2):
                raise Stopped

    def _why_not(self) -> str:
        """Why it cannot be booked; empty while other trials of this run have the generators, and it waits for
        its turn.
        """
        own = self._repository.station(self.name)
        if not own.settled:
            return "its journal does not say that its settings are back"
        if own.booking_id is not None:
            return "it is booked for another run"
        if own.state.value != "ready":
            return f"it is {own.state.value}"
        if not self._generators_each:
            return "it cannot be booked"
        ours = {each.id for each in self._held()}
        loading = self._repository.stations(StationRole.GENERATOR)
        if any(each.name in self._generators and each.booking_id in ours for each in loading):
            return ""
        return "not enough generators are there and free"

    def _held(self) -> list[records.Booking]:
        """What is being carried out for this run, at any station."""
        return [each for each in self._repository.bookings_held() if each.run_id == self._run_id]

    def _answered(self, number: int, order: WorkOrder, address: str) -> Answer:
        """What has become of an order, by the station's word or the database's.

        Raises Stopped. Of a lease that has ended without a result the answer is `lost`.
        """
        asked: concurrent.futures.Future[Answer] | None = self._fleet.carry_out(address, order)
        while True:
            if asked is not None and _done(asked, LOOK_EVERY_S):
                try:
                    answer = asked.result()
                except Forgotten as error:
                    log.info("trial %d at %s: %s", number, self.name, error)
                else:
                    if answer.what != "busy":
                        return answer
                asked = None
            elif asked is None and self._stop.wait(LOOK_EVERY_S):
                raise Stopped
            if self._stop.is_set():
                raise Stopped
            try:
                self._bookings.expire()
                booking = self._bookings.one(number, 1)
            except DatabaseError as error:
                log.info("%s", error)
                continue
            if booking is None or booking.state is BookingState.COMMITTED:
                return Answer(what="committed")
            if booking.state is BookingState.FREE or booking.token != order.token:
                return Answer(what="lost")
            if asked is None:
                with suppress(FleetError):
                    present = self._fleet.present().get(self.name)
                    if present is not None:
                        asked = self._fleet.carry_out(present.address, order)

    def _give_up(self, order: WorkOrder) -> None:
        """Has the station abort what it carries out; it gives the lease back itself."""
        with suppress(FleetError):
            present = self._fleet.present().get(self.name)
            if present is not None:
                self._fleet.tell(present.address, ABORT, booking_id=order.booking_id, token=order.token)


def _done(asked: "concurrent.futures.Future[Answer]", within_s: float) -> bool:
    return bool(concurrent.futures.wait([asked], within_s).done)
