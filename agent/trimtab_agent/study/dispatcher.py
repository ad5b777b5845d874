"""The trials of a run on their way: from orders to jobs, to the stations, and from their reports to the
record.

Every station works off one job at a time, in a thread of its own: what it starts ends with that thread. The
run's own thread orders, waits and records; with several stations as many trials are in flight.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from trimtab_db import Repository, records
from trimtab_trials.host import Host
from trimtab_trials.measurement import Measurement
from trimtab_trials.trial import Trial, TrialPurpose, Verdict
from trimtab_tuner.judging.job import Placement, TrialReport
from trimtab_tuner.judging.judgement import Scores, scores
from trimtab_tuner.judging.limits import Limit
from trimtab_tuner.presets import RunSettings
from trimtab_tuner.workloads.parameters import WorkloadParameters

from trimtab_agent.errors import StationLost
from trimtab_agent.fleet.trial_stations import TrialStation
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.station.equipment import JobListener
from trimtab_agent.stopping import PauseSwitch, Stopped
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.history import History
from trimtab_agent.study.orders import Order, Orders, scored_on
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.unwritten import Unwritten

log = logging.getLogger(__name__)

DISTURBED_IN_A_ROW = 3  # trials, before it is told what is in their way
OnMeasured = Callable[[Measurement], None]


class TrialLost(Exception):
    """The station of an order cannot go on; the order says what was to be measured."""

    def __init__(self, order: Order, error: StationLost) -> None:
        super().__init__(error.sentence)
        self.order = order


@dataclass(frozen=True)
class Desk:
    """A station and the thread that it works in."""

    station: TrialStation
    thread: ThreadPoolExecutor

    def close(self) -> None:
        """Closes the station in its own thread, and ends that."""
        self.thread.submit(self.station.close).result()
        self.thread.shutdown()


class Dispatcher:
    """The trials of one run; `orders` makes the next; `limit` is what `mat` is scored under where its text
    has none.

    `unwritten` is the folder of what the database refuses to the end. All calls but `stop` come from the
    run's thread.
    """

    def __init__(
        self,
        *,
        run: records.Run,
        workload: WorkloadParameters,
        settings: RunSettings,
        repository: Repository,
        stations: Sequence[TrialStation],
        history: History,
        announcer: Announcer,
        progress: RunProgress,
        sampler: Sampler,
        unwritten: Path,
    ) -> None:
        self._run = run
        self._workload = workload
        self._settings = settings
        self._repository = repository
        self._history = history
        self._announcer = announcer
        self._progress = progress
        self._sampler = sampler
        self.unwritten = Unwritten(
            run, unwritten, self._write, lambda sentence: announcer.tell("warning", sentence)
        )
        self._hosts: list[tuple[Host, int]] = []
        self._desks = [
            Desk(station, ThreadPoolExecutor(1, thread_name_prefix=f"station-{number}"))
            for number, station in enumerate(stations, start=1)
        ]
        self._idle = list(self._desks)
        self._disturbed_in_a_row = 0
        self._told_of_others = False
        self._lost: list[Desk] = []
        self._answered: SimpleQueue[tuple[Desk, Order, Future[TrialReport]]] = SimpleQueue()
        self._stop = threading.Event()
        self.pause = PauseSwitch()
        # The CPUs are those of the machine that the run was started on; several stations divide their own.
        cpus = Placement(server=run.layout["server"], generator=run.layout["generator"])
        self.orders = Orders(run, workload, settings, history, cpus if len(stations) == 1 else None)
        self.limit: Limit | None = None
        self.kept = ""  # what to tell of trials that the database has refused to the end

    def stop(self) -> None:
        """Asks for the end, from any thread: what is in flight is cut short, and nothing more is started."""
        self._stop.set()
        for desk in self._desks:
            desk.station.stop()
        self.pause.release()

    @property
    def stopping(self) -> bool:
        """Whether the end has been asked for."""
        return self._stop.is_set()

    @property
    def in_flight(self) -> int:
        """How many trials have been started and not been waited for."""
        return len(self._desks) - len(self._idle) - len(self._lost)

    @property
    def free(self) -> bool:
        """Whether another trial may be started now: a station is idle, and a pause does not wait."""
        return bool(self.idle_stations)

    @property
    def idle_stations(self) -> tuple[str, ...]:
        """The names of the stations that another trial may be started at now."""
        for desk in [desk for desk in self._lost if desk.station.ready()]:
            self._announcer.note("info", f"The station {desk.station.name} is back.")
            self._lost.remove(desk)
            self._idle.append(desk)
        if self.pause.requested and self.in_flight:
            return ()
        return tuple(desk.station.name for desk in self._idle)

    @property
    def stations(self) -> tuple[str, ...]:
        """The names of those that are not lost."""
        return tuple(desk.station.name for desk in self._desks if desk not in self._lost)

    def prepare(self, on_progress: Callable[[int, int], None]) -> None:
        """Has every station make ready what the run's workload needs.

        Of several some may be lost in doing so. Raises what a station raises, if none is left.
        """
        self.unwritten.set_room_aside()
        for desk in self._desks:
            self._id_of(desk.station.host)
        done = [desk.thread.submit(desk.station.prepare, self._workload, on_progress) for desk in self._desks]
        for desk, each in zip(self._desks, done, strict=True):
            try:
                each.result()
            except StationLost as error:
                self._idle.remove(desk)
                self._lost.append(desk)
                if not self._idle:
                    raise
                self._announcer.note("warning", error.sentence)

    def carry_out(self, order: Order, on_measured: OnMeasured = lambda _measurement: None) -> Trial:
        """Starts a trial and waits for it; raises what `start` and `wait` do.

        If its station cannot go on, another one carries it out.
        """
        while True:
            self.start(order, on_measured)
            try:
                return self.wait()
            except TrialLost as lost:
                if not self._idle:
                    raise
                self._announcer.note("warning", str(lost))
                order = replace(order, station=None)

    def start(self, order: Order, on_measured: OnMeasured = lambda _measurement: None) -> None:
        """Has its station, or an idle one, carry out the order; `on_measured` is called from its thread.

        Waits while the run is paused. Raises Stopped when it is to end.
        """
        self._wait_while_paused()
        if self._stop.is_set():
            raise Stopped
        self._progress.trial_started(order.number, order.configuration, len(order.job.ladder))
        # Last: whatever goes wrong before leaves no station that is waited for.
        desk = next(desk for desk in self._idle if order.station in (None, desk.station.name))
        self._idle.remove(desk)
        report = desk.thread.submit(self._at_station, desk.station, order, on_measured)
        report.add_done_callback(lambda done: self._answered.put((desk, order, done)))

    def wait(self) -> Trial:
        """The next of the trials in flight to come to its end, recorded.

        Raises Stopped when it was cut short, TrialLost when its station cannot go on, and what the station
        raises.
        """
        desk, order, done = self._answered.get()
        try:
            report = done.result()
        except StationLost as error:
            self._lost.append(desk)
            raise TrialLost(order, error) from error
        finally:
            if desk not in self._lost:
                self._idle = [each for each in self._desks if each in self._idle or each is desk]
        trial = self._record(order, report)
        if trial.verdict is Verdict.ABORTED:
            raise Stopped
        if trial.verdict.without_server:
            self._announcer.note("warning", f"Trial {trial.number} {trial.verdict}: {trial.reason}")
        if trial.purpose is not TrialPurpose.CALIBRATION:  # which tells of it itself
            self._tell_of_others(trial)
        return trial

    def _tell_of_others(self, trial: Trial) -> None:
        """Says once why so many trials are measured again, when some in a row have been disturbed."""
        self._disturbed_in_a_row = self._disturbed_in_a_row + 1 if trial.verdict.spoilt else 0
        if self._disturbed_in_a_row == DISTURBED_IN_A_ROW and not self._told_of_others:
            self._told_of_others = True
            self._announcer.note(
                "warning",
                "Other programs use this machine so much that trials are measured again, and the run takes "
                "longer. Stop them, or come back later.",
            )

    def scores_of(
        self, verdict: Verdict, measurements: Sequence[Measurement], *, ladder: Sequence[float]
    ) -> Scores:
        """What a trial is worth on a ladder under the run's objectives."""
        run = self._run
        return scores(verdict, measurements, ladder, run.objective, run.second_objective, self.limit)

    def close(self) -> None:
        """Ends what is still in flight, which is recorded, and closes the stations."""
        if self.in_flight:
            self.stop()
        while self.in_flight:
            try:
                self.wait()
            except (Stopped, TrialLost):
                continue
            except Exception:
                log.warning("run %d: a trial in flight could not be recorded", self._run.id, exc_info=True)
        for desk in self._desks:
            desk.close()
        self.kept = self.unwritten.keep()

    def _wait_while_paused(self) -> None:
        while self.pause.requested:  # again if it was ended and asked for once more meanwhile
            self._announcer.note("info", "Paused.")
            self._progress.pause_changed("yes")
            self.pause.wait()
            self._progress.pause_changed("no")

    def _at_station(self, station: TrialStation, order: Order, on_measured: OnMeasured) -> TrialReport:
        """Carries an order out, in the station's thread."""
        number, job = order.number, order.job

        def measured(measurement: Measurement) -> None:
            self._announcer.measured(number, order.purpose, order.configuration, measurement)
            on_measured(measurement)

        def load_progressed(rate_rps: float, line: dict[str, Any]) -> None:
            self._sampler.load_progressed(job.clients.loop, rate_rps, line)
            self._progress.load_progressed(number, line)

        with self._sampler.of_trial(self._run.id, number, self._settings.sampling_interval_s):
            listener = JobListener(
                rate_started=lambda rate_rps: self._progress.rate_started(number, rate_rps),
                load_progress=load_progressed,
                measured=measured,
            )
            return station.carry_out(number, job, listener, order.kept())

    def _record(self, order: Order, report: TrialReport) -> Trial:
        """The trial that the report makes of the order; in the database, and told.

        Raises DatabaseError; the trial is kept then.
        """
        run = self._run
        ladder = scored_on(order.purpose, order.job, self._history.ladder)
        scored = self.scores_of(report.verdict, report.measurements, ladder=ladder)
        trial = Trial(
            run_id=run.id,
            host_id=self._id_of(report.host),
            number=order.number,
            purpose=order.purpose,
            level=order.level,
            block=order.block,
            configuration=order.configuration,
            verdict=report.verdict,
            reason=report.reason,
            score=scored.score,
            second_score=scored.second_score,
            estimated_score=scored.estimated_score,
            server_config=report.server_config,
            started_at=report.started_at,
            finished_at=report.finished_at,
            # An aborted trial answers no proposal: it will be tried again when the run is resumed.
            proposal_number=None if report.verdict is Verdict.ABORTED else order.proposal_number,
            measurements=report.measurements,
        )
        self.unwritten.record(trial, self._stop.wait)
        return trial

    def _write(self, trial: Trial) -> None:
        """Puts a trial into the database and tells of it; raises DatabaseError."""
        self._history.record(trial)
        self._announcer.recorded(trial)
        self._progress.trial_finished(trial)

    def _id_of(self, host: Host) -> int:
        """The record of a host; it is written when the run begins, not when a trial waits to be recorded."""
        known = next((number for other, number in self._hosts if other == host), None)
        if known is None:
            known = self._repository.register_host(host)
            self._hosts.append((host, known))
        return known
