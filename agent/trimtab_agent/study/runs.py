"""The one thing through which the API and the command line start, watch and stop runs.

A run executes in a thread of its own, in whichever process started it; the lock in `host/lock.py` keeps it
the only one on the machine. What has happened is in the database; what happens right now comes through the
broadcaster and `progress()`.

Data of the events on the broadcaster (`data` of broadcast.Event):
    progress     {"run_id", "state", "phase", "trial", "trials_expected", "configuration", "rate_rps",
                  "rate_index", "rates", "best": {"configuration", "score"} | None, "elapsed_s", "eta_s",
                  "fraction", "pause": "no" | "requested" | "yes",
                  "load": trimtab-load's last progress line | None}
    measurement  {"run_id", "trial", "number", "purpose", "configuration", "rate_rps", "goodput_mbps",
                  "reply_rate_rps", "timed_out", "generator_limited"}
    trial        the recorded trial, as `GET runs/{id}/trials` has it, without its measurements
    run          {"run_id", "state", "phase"}
    ladder       {"run_id", "ladder"}: it has grown, and all trials of the search have other scores
    sample       one second of counters: {"time", "interval_s", "missing": {source: reason}, source: {…}…},
                  with "load" (the generator's last line, and of which run, trial and rate) while one drives
    log          {"run_id", "level", "message"}
"""

import logging
import os
import resource
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab_db import Repository, records
from trimtab_db.errors import DatabaseError
from trimtab_db.records import RunState
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.presets import Estimate
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import Target
from trimtab_tuner.targets.kernel import tunes_kernel
from trimtab_tuner.workloads.parameters import recorded_parameters

from trimtab_agent.affinity.balancers import balancers
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.errors import (
    HostError,
    RunChanged,
    RunConflict,
    RunNotResumable,
    RunNotRunning,
    SpecError,
    TrialNotRepeatable,
    TrimtabError,
)
from trimtab_agent.fleet.run_stations import Chosen, RunStations, Wanted
from trimtab_agent.host.lock import MachineLock
from trimtab_agent.kernel.reading import Kernel
from trimtab_agent.paths import VarPaths
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.results.deleting import delete_run
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.own_file_check import (
    keys_made,
    logs_elsewhere,
    require_measurable,
    upstreams_missing,
)
from trimtab_agent.station.requirements import missing_program, require
from trimtab_agent.study.kernel_words import not_tuned, others_at_work
from trimtab_agent.study.own_file_report import OwnFileReport
from trimtab_agent.study.recorded_run import found_so_far
from trimtab_agent.study.run_spec import RunSpec
from trimtab_agent.study.specification import Plan, check
from trimtab_agent.study.study import RunEnd, Study
from trimtab_agent.study.taking_in import take_in_booked
from trimtab_agent.study.unchanged import require_unchanged
from trimtab_agent.study.unwritten import take_ends_in, take_in
from trimtab_agent.study.webhook import tell_webhook
from trimtab_agent.workloads.choice import save_model

log = logging.getLogger(__name__)

RESUMABLE = (RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED)


class RunService:
    """Starts, stops and resumes runs on this machine; all methods may be called from any thread.

    `paths` is where runs leave what; `host_id` is the machine's record; `kernel` reads its kernel, given the
    address at which others load it; `stations` chooses and makes those of a run.
    """

    def __init__(
        self,
        *,
        settings: AgentSettings,
        repository: Repository,
        broadcaster: Broadcaster,
        sampler: Sampler,
        recorder: Recorder,
        stations: RunStations,
        host_id: int,
        kernel: Callable[[str | None], Kernel],
    ) -> None:
        self._settings = settings
        self._repository = repository
        self._broadcaster = broadcaster
        self._sampler = sampler
        self._recorder = recorder
        self._stations = stations
        self._host_id = host_id
        self.kernel = kernel
        self.paths = VarPaths(settings.var)
        self._guard = threading.Lock()  # over the three below
        self._study: Study | None = None
        self._run_id: int | None = None
        self._thread: threading.Thread | None = None
        self.last_end: RunEnd | None = None

    def start(self, spec: RunSpec) -> int:
        """Starts a run in the background and returns its number.

        Raises SpecError, RunConflict while another run is going on, BinaryMissing, HostError, FleetError,
        DatabaseError.
        """
        chosen = self._chosen(spec)
        plan = self._checked(spec, chosen)
        version = chosen.version or require(self._settings, plan.target, plan.parameters.definition)
        self._require_own_file(plan, chosen)
        with self._guard, self._alone(over_hosts=chosen.over_hosts) as lock:
            run = self._create(plan, chosen, version)
            lacking = not_tuned(self.kernel(chosen.loaded_at)) if spec.kernel else ""
            self._launch(run.id, lock, first_said=[("info", lacking)] if lacking else [])
            return run.id

    def resume(self, run_id: int, even_if_changed: bool = False) -> int:
        """Goes on with a run that has not reached its end, or that is paused; returns its number.

        Raises RecordNotFoundError, RunNotResumable, RunChanged unless `even_if_changed`, and what `start`
        raises.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id == run_id and self._study is not None and self._study.go_on():
                return run_id
            with self._alone(over_hosts=self._repository.run(run_id).over_hosts) as lock:
                lock.tell(run_id=run_id)
                # Read under the lock: before, it might have been about to finish.
                run = self._repository.run(run_id)
                if run.state is RunState.RUNNING and not self._repository.embedded:
                    raise RunNotResumable(run_id, f"running on the host {run.host}")
                # A file in which a run still goes on elsewhere was taken from there: it has no other user.
                if run.state not in (*RESUMABLE, RunState.RUNNING):
                    raise RunNotResumable(run_id, run.state.value)
                changes = (
                    self._changed_hosts(run, even_if_changed=even_if_changed)
                    if run.over_hosts
                    else require_unchanged(
                        self._repository,
                        run,
                        self._repository.host(self._host_id),
                        self._require(run),
                        even_if_changed=even_if_changed,
                    )
                )
                if changes:
                    self._repository.add_event(run_id, "warning", f"Resumed all the same: {changes}.")
                self._launch(run_id, lock)
        return run_id

    def stop(self, run_id: int) -> None:
        """Asks a run to stop, and returns at once; its state changes when its children have ended.

        Raises RecordNotFoundError, RunNotRunning.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id != run_id or self._study is None:
                raise RunNotRunning(run_id)
            self._study.stop()

    def pause(self, run_id: int) -> None:
        """Asks a run to pause, and returns at once; it does when its present trial has finished.

        Raises RecordNotFoundError, RunNotRunning, also when it has been asked to stop.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id != run_id or self._study is None:
                raise RunNotRunning(run_id)
            if self._study.stopping:
                raise RunNotRunning(run_id, stopping=True)
            self._study.pause()

    def repeat(self, run_id: int, number: int) -> int:
        """Measures the configuration of a trial once more, in the background; the run's number.

        Raises RecordNotFoundError, TrialNotRepeatable, and what `start` raises.
        """
        run = self._repository.run(run_id)
        trial = self._repository.trial(run_id, number)
        if trial.purpose is TrialPurpose.CALIBRATION:
            raise TrialNotRepeatable(number)
        if run.over_hosts:
            raise TrialNotRepeatable(number, over_hosts=True)
        with self._guard, self._alone() as lock:
            lock.tell(run_id=run_id)
            self._require(run)
            self._launch(run_id, lock, trial)
        return run_id

    def delete(self, run_id: int) -> None:
        """Deletes a run that is not going on; raises what `delete_run` does."""
        with self._guard:
            lock = self._settings.lock_of(over_hosts=self._repository.run(run_id).over_hosts)
            delete_run(self._repository, run_id, self.paths, lock)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until no run is going on in this process; False if one still is after `timeout_s`."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
            return not thread.is_alive()
        return True

    def progress(self) -> dict[str, Any] | None:
        """The data of the last `progress` event; None when no run is going on in this process."""
        study = self._study
        return None if study is None else study.progress.data

    def under_way(self) -> list[dict[str, Any]]:
        """The data of the `measurement` events so far of the trials that are going on in this process."""
        study = self._study
        return [] if study is None else study.under_way

    def estimate(self, spec: RunSpec) -> Estimate:
        """How many trials such a run would take, and how long; raises SpecError."""
        return self._checked(spec).estimate()

    def missing(self, target: Target) -> str:
        """What to do before the target can be tuned here; "" where its server is here."""
        return "" if self._settings.demo else missing_program(target, self._settings.httpd_path)

    def told(self, spec: RunSpec) -> OwnFileReport:
        """What happens to the user's own file in such a run; raises what `start` does for one that cannot be
        measured, but does not start it.
        """
        chosen = self._chosen(spec)
        plan = self._checked(spec, chosen)
        if plan.base is None:
            raise SpecError("base", "base: expected your own configuration file, to tell what happens to it")
        corrected = self._require_own_file(plan, chosen)
        elsewhere = self._settings.demo or chosen.over_hosts
        if elsewhere:
            return plan.told({}, corrected)
        missing = upstreams_missing(plan.target, plan.base)
        logs = logs_elsewhere(plan.target, plan.base, self.paths.var.resolve())
        made = tuple(
            each for base, values in plan.own_files() for each in keys_made(plan.target, base, values)
        )
        return plan.told(missing, corrected, logs, resource.getrlimit(resource.RLIMIT_NOFILE)[1], made)

    def _require_own_file(self, plan: Plan, chosen: Chosen) -> tuple[str, ...]:
        """Raises SpecError for a file that its server refuses; on other hosts their servers say so.

        Gives what the server takes in place of numbers of the files.
        """
        if self._settings.demo or chosen.over_hosts:
            return ()
        cpus, httpd = tuple(chosen.layout["server"]), self._settings.httpd_path
        said = (
            require_measurable(plan.target, base, values, cpus, httpd) for base, values in plan.own_files()
        )
        return tuple(dict.fromkeys(each for one in said for each in one))

    def _chosen(self, spec: RunSpec) -> Chosen:
        return self._stations.choose(
            Wanted(hosts=spec.hosts, generators=spec.generators, generators_each=spec.generators_each),
            spec.target,
            spec.seed,
        )

    def _checked(self, spec: RunSpec, chosen: Chosen | None = None) -> Plan:
        """The plan of a run; raises SpecError, FleetError."""
        chosen = chosen or self._chosen(spec)
        return check(
            spec, self.paths.workloads, cpus=chosen.cpus, kernel=lambda: self.kernel(chosen.loaded_at)
        )

    def close(self) -> None:
        """Stops the run that is going on, and waits until its children have ended."""
        with self._guard:
            if self._study is not None:
                self._study.stop()
        self.wait()

    def _changed_hosts(self, run: records.Run, *, even_if_changed: bool) -> str:
        """What has changed of a run's hosts since it began, "" if nothing has; raises RunChanged."""
        changes = self._stations.changes(run)
        if changes and not even_if_changed:
            raise RunChanged(run.id, changes)
        return changes

    @contextmanager
    def _alone(self, *, over_hosts: bool = False) -> Iterator[MachineLock]:
        """The machine's lock, given back if what is started under it does not start; raises RunConflict.

        A run on other hosts does not measure here: it has a lock of its own, which tells that it goes on.
        """
        if self._study is not None:
            raise RunConflict(self._run_id, os.getpid(), str(self.paths.var.resolve()))
        path = self._settings.lock_of(over_hosts=over_hosts)
        lock = MachineLock(path, self.paths.var.resolve())
        try:
            # Nobody measures here but us: whatever seems to go on is dead.
            interrupt_dead_runs(self._repository, self._host_id, self.paths.unwritten, over_hosts=over_hosts)
            yield lock
        except BaseException:
            lock.release()
            raise

    def _create(self, plan: Plan, chosen: Chosen, version: str) -> records.Run:
        spec, settings = plan.spec, plan.settings
        if plan.site is not None:
            try:
                save_model(plan.site.model, self.paths.workloads)
            except OSError as error:
                raise HostError(f"cannot write to {self.paths.workloads}: {error.strerror}") from error
        run = self._repository.create_run(
            records.NewRun(
                host_id=self._host_id,
                target_id=self._repository.register_target(plan.target.name, version),
                workload_id=self._repository.register_workload(
                    plan.parameters.definition.name,
                    plan.parameters.model_dump(mode="json"),
                    files=sum(1 for _ in plan.workload.files()),
                    total_bytes=plan.workload.total_bytes(),
                ),
                preset=spec.preset,
                strategy=settings.strategy,
                objective=spec.objective,
                second_objective=spec.second_objective,
                space=plan.space.model_dump(mode="json"),
                settings=settings.model_dump(mode="json"),
                seed=spec.seed,
                budget_trials=settings.budget_trials,
                base=plan.files(),
                fleet=chosen.fleet,
                layout=chosen.layout,
                tags=spec.tags,
            )
        )
        for sentence in () if plan.site is None else plan.site.told:
            self._repository.add_event(run.id, "info", f"Your site: {sentence}.")
        return run

    def _launch(
        self,
        run_id: int,
        lock: MachineLock,
        repeated: Trial | None = None,
        first_said: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Starts the thread of a recorded run, or of the repeat of one of its trials; `first_said` is what
        the run says at its beginning, each with its level.

        The thread gives the lock back at its end. A run that cannot be started does not count as running.
        """
        lock.tell(run_id=run_id)
        if taken := take_in(self._repository, self._repository.run(run_id), self.paths.unwritten):
            log.info("run %d: recorded the trials %s that had waited for the database", run_id, taken)
        held = ExitStack()
        last_number = take_in_booked(self._repository, run_id)
        stations = held.enter_context(self._stations.of(run_id))
        try:
            study = Study(
                run_id=run_id,
                agent=self._settings,
                repository=self._repository,
                broadcaster=self._broadcaster,
                sampler=self._sampler,
                recorder=self._recorder,
                stations=stations,
                last_number=last_number,
                first_said=(*first_said, *self._others_at_work(run_id)),
            )
            if repeated is None:
                # Not before the study is there: what it refuses does not run.
                self._repository.set_run_state(run_id, RunState.RUNNING, host_id=self._host_id)
            thread = threading.Thread(
                target=self._carry_through, args=(study, repeated, lock, held), name=f"run-{run_id}"
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise HostError(f"run {run_id} gets no thread to run in: {error}") from error
        except BaseException as error:
            for station in stations:
                station.close()
            held.close()
            if self._repository.run(run_id).state is RunState.RUNNING:
                self._repository.set_run_state(run_id, RunState.FAILED, error=str(error))
            raise
        # The thread waits for the guard, which is held, before it takes these back.
        self._study, self._run_id, self._thread = study, run_id, thread

    def _others_at_work(self, run_id: int) -> list[tuple[str, str]]:
        """A warning for each program that sets the kernel beside a run that tunes it."""
        space = Space.model_validate(self._repository.run(run_id).space)
        found = others_at_work(self.kernel(None), balancers()) if tunes_kernel(space) else []
        return [("warning", sentence) for sentence in found]

    def _require(self, run: records.Run) -> str:
        """The version of its server here; raises what `start` does if the run cannot go on here."""
        workload = recorded_parameters(run.workload_parameters)
        return require(self._settings, TARGETS[run.target], workload.definition)

    def _carry_through(
        self, study: Study, repeated: Trial | None, lock: MachineLock, held: ExitStack
    ) -> None:
        """What the thread of a run does."""
        try:
            self.last_end = end = study.execute() if repeated is None else study.repeat(repeated)
            if not end.recorded:
                self._recorder.when_writable(self._settle)
        finally:
            held.close()
            with self._guard:
                self._study = self._run_id = None
                lock.release()
        if repeated is None and self._settings.webhook is not None:
            self._tell_webhook(self._settings.webhook.get_secret_value(), end)

    def _tell_webhook(self, url: str, end: RunEnd) -> None:
        with suppress(DatabaseError):  # a database that cannot be asked has been told of
            # As it ended, which the database may not know yet.
            run = replace(self._repository.run(end.run_id), state=end.state, error=end.error)
            if failure := tell_webhook(url, run):
                self._repository.add_event(end.run_id, "warning", failure)

    def _settle(self) -> None:
        """Records how the last run ended, once the database takes records again, and tells it."""
        try:
            with self._guard, self._alone() as lock:
                lock.release()
            end = self.last_end
            run = None if end is None else self._repository.run(end.run_id)
        except DatabaseError:
            self._recorder.when_writable(self._settle)
        except TrimtabError as error:  # another run goes on: before that one began, this was done
            log.info("%s", error)
        else:
            if run is not None:
                self._broadcaster.publish(
                    "run", {"run_id": run.id, "state": run.state.value, "phase": run.phase.value}
                )


def interrupt_dead_runs(
    repository: Repository, host_id: int, unwritten: Path, *, over_hosts: bool = False
) -> None:
    """Marks the runs that only seem to go on on this machine as interrupted, with what they had found.

    For whoever holds the machine's lock, or that of runs `over_hosts`: then no such run can be going on. What
    they have left in the folder `unwritten`, because the database had refused it, is recorded first.
    """
    ended = take_ends_in(repository, unwritten)
    for run_id in (*ended, *repository.interrupt_running_runs(host_id, over_hosts=over_hosts)):
        try:
            take_in(repository, repository.run(run_id), unwritten)
            outcome = found_so_far(repository, run_id)
        except Exception:
            # Of an earlier version, perhaps; that must not keep anybody from opening the database.
            log.warning("run %d was interrupted, and what it had found cannot be told", run_id, exc_info=True)
        else:
            repository.set_run_outcome(run_id, outcome.model_dump(mode="json"))
