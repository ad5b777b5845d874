"""A server station of the fleet: takes booked work, has its trial process carry it out, records the result.

    order ─► renew the lease ─► trial process ─► report ─► commit under the token
                 └ again and again meanwhile; when it is lost, the trial is ended and its report thrown away

What the engine does meanwhile does not matter: an order that was begun is brought to its end, and its result
goes to the database, not back to whoever has ordered it. A result that the database does not take before the
station leaves is kept in `var/fleet/uncommitted/`, and offered again when it joins next.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from trimtab_db import Repository
from trimtab_db.errors import DatabaseError
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import TrimtabError
from trimtab_agent.fleet.facts import Busy
from trimtab_agent.fleet.leases import LOST, Lease
from trimtab_agent.fleet.trial_process import TrialProcess, TrialProcessDied
from trimtab_agent.fleet.work import Answer, WorkOrder

log = logging.getLogger(__name__)

OnEvent = Callable[[int, dict[str, Any]], None]


class Uncommitted(Frozen):
    """A result that the database has not taken."""

    run_id: int
    booking_id: int
    token: int
    result: dict[str, Any]


class StationHost:
    """The work of the station `name`; `uncommitted` is the folder of what the database has not taken.

    `on_event` is told what happens during a trial, with the number of its booking. `carry_out` and `prepare`
    come from threads of the engine, the rest from any.
    """

    def __init__(
        self, name: str, repository: Repository, trials: TrialProcess, uncommitted: Path, on_event: OnEvent
    ) -> None:
        self._name = name
        self._repository = repository
        self._trials = trials
        self._uncommitted = uncommitted
        self._on_event = on_event
        self._guard = threading.Lock()
        self._order: WorkOrder | None = None
        self._answer: Future[Answer] | None = None
        self._idle = threading.Event()
        self._idle.set()
        self.busy = Busy()
        self.leaving = False

    @property
    def doing(self) -> str:
        """What it does now, in words; empty if nothing."""
        order = self._order
        return "" if order is None else f"trial {order.trial} of run {order.run_id}"

    def open(self) -> None:
        """Starts the trial process, which puts this machine in order; raises HostError, DatabaseError."""
        self._trials.start()
        self._offer_again()

    def close(self) -> None:
        """Aborts what goes on, and returns when the machine's settings are back."""
        self.leaving = True
        self._trials.close()
        self._idle.wait()

    def abort(self, booking_id: int, token: int) -> None:
        """Ends what is carried out under that token, if anything is; it is given back."""
        order = self._order
        if order is not None and (order.booking_id, order.token) == (booking_id, token):
            self._trials.end()

    def wait_until_idle(self) -> None:
        """Returns when nothing is being carried out."""
        self._idle.wait()

    @property
    def settled(self) -> bool:
        """Whether nothing is being carried out, so that the machine's settings are as they were."""
        return self._idle.is_set()

    def prepare(self, workload: WorkloadParameters) -> Answer:
        """See work.Worker."""
        with self._guard:
            if self._order is not None:
                return Answer(what="busy", sentence=f"{self._name} carries out {self.doing}")
            request = {"do": "prepare", "workload": workload.model_dump(mode="json")}
            try:
                said = self._trials.ask(request, lambda _event: None)
            except (TrialProcessDied, TrimtabError) as error:
                return Answer(what="failed", sentence=str(error), code="host")
        if said["is"] == "prepared":
            return Answer(what="prepared")
        return Answer(what="failed", sentence=said["sentence"], code=said["code"])

    def carry_out(self, order: WorkOrder) -> Answer:
        """See work.Worker. The same order again waits for the answer to the first."""
        with self._guard:
            if self.leaving:
                return Answer(what="failed", sentence=f"{self._name} is leaving the fleet", code="leaving")
            if self._order is None:
                self._order, self._answer, mine = order, Future(), True
                self._idle.clear()
                self.busy.begin()
            elif (self._order.booking_id, self._order.token) == (order.booking_id, order.token):
                mine = False
            else:
                return Answer(what="busy", sentence=f"{self._name} carries out {self.doing}")
            answer = self._answer
        assert answer is not None  # noqa: S101 - set with the order
        if not mine:
            return answer.result()
        try:
            answer.set_result(self._carried_out(order))
        except BaseException as error:
            log.exception("trial %d of run %d", order.trial, order.run_id)
            answer.set_result(Answer(what="failed", sentence=f"internal error: {error!r}", code="internal"))
        finally:
            with self._guard:
                self._order = self._answer = None
                self.busy.end()
                self._idle.set()
        return answer.result()

    def _carried_out(self, order: WorkOrder) -> Answer:
        lease = Lease(
            self._repository, order.run_id, order.booking_id, order.token, order.lease_s, self._trials.end
        )
        try:
            lease.begin()
            self._repository.set_station_settled(self._name, False)
        except LOST as error:
            return Answer(what="lost", sentence=str(error))
        except DatabaseError as error:
            self._settle(True)  # it may have been recorded all the same, and nothing has been begun
            return Answer(what="failed", sentence=str(error), code="database")
        request = {
            "do": "job",
            "name": f"run-{order.run_id}-trial-{order.trial}",
            "job": order.job.model_dump(mode="json"),
            "generators": [each.model_dump() for each in order.generators],
        }
        with lease:
            try:
                said = self._trials.ask(request, lambda event: self._on_event(order.booking_id, event))
            except (TrialProcessDied, TrimtabError) as error:
                said = {"is": "failed", "sentence": str(error), "code": "host", "settled": self._restart()}
            self._settle(said["settled"])
            if lease.lost:
                return Answer(what="lost", sentence=lease.lost)
            if said["is"] != "report" or said["report"]["verdict"] == "aborted":
                lease.release()
                sentence = said.get("sentence", f"{self._name} has aborted it")
                return Answer(what="failed", sentence=sentence, code=said.get("code", "stopped"))
            return self._commit(lease, order, said["report"])

    def _commit(self, lease: Lease, order: WorkOrder, report: dict[str, Any]) -> Answer:
        try:
            lease.commit(report, lambda: self.leaving)
        except LOST as error:
            return Answer(what="lost", sentence=str(error))
        except DatabaseError as error:
            self._keep(order, report)
            return Answer(what="failed", sentence=str(error), code="database")
        return Answer(what="committed")

    def _restart(self) -> bool:
        """Has a new trial process put back what the dead one has left; whether that went well."""
        if self.leaving:
            return False
        try:
            self._trials.start()
        except TrimtabError as error:
            log.error("%s", error)
            return False
        return True

    def _settle(self, settled: bool) -> None:
        """Tells the database whether the machine's settings are back, as soon as it takes that."""
        while True:
            try:
                self._repository.set_station_settled(self._name, settled)
            except DatabaseError as error:
                if self.leaving:
                    return
                log.warning("%s", error)
                threading.Event().wait(1.0)
            else:
                return

    def _keep(self, order: WorkOrder, report: dict[str, Any]) -> None:
        kept = Uncommitted(run_id=order.run_id, booking_id=order.booking_id, token=order.token, result=report)
        try:
            self._uncommitted.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._uncommitted / f"booking-{order.booking_id}-{order.token}.json"
            path.write_text(kept.model_dump_json())
        except OSError as error:
            log.error("the result of trial %d of run %d is lost: %s", order.trial, order.run_id, error)

    def _offer_again(self) -> None:
        """Offers what an earlier time has left; the database takes what is still wanted."""
        for path in sorted(self._uncommitted.glob("*.json")) if self._uncommitted.is_dir() else ():
            try:
                kept = Uncommitted.model_validate_json(path.read_bytes())
                bookings = self._repository.bookings(kept.run_id)
                bookings.commit_result(kept.booking_id, kept.token, kept.result)
            except LOST as error:
                log.warning("%s", error)
            except ValueError:
                log.warning("%s is no result, and is left alone", path)
                continue
            with suppress(OSError):
                path.unlink()
