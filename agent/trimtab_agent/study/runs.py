"""The one thing through which the API and the command line start, watch and stop runs.

A run executes in a thread of its own, in whichever process started it; the lock in `host/lock.py` keeps it the
only one on the host.  What has happened is in the database; what happens right now comes through the
broadcaster and `progress()`.

Data of the events on the broadcaster (`data` of broadcast.Event):
    progress     {"run_id", "state", "phase", "trial", "trials_expected", "configuration", "rate_rps",
                  "rate_index", "rates", "best": {"configuration", "score"} | None, "elapsed_s", "eta_s",
                  "fraction", "pause": "no" | "requested" | "yes",
                  "load": trimtab-load's last progress line | None}
    measurement  {"run_id", "trial", "purpose", "configuration", "rate_rps", "goodput_mbps",
                  "reply_rate_rps", "timed_out", "generator_limited"}
    trial        the recorded trial, as `GET runs/{id}/trials` has it, without its measurements
    run          {"run_id", "state", "phase"}
    sample       one second of counters: {"time", "interval_s", "missing": {source: reason}, source: {…}…},
                  with "load" (the generator's last line, and of which run, trial and rate) while one drives
    log          {"run_id", "level", "message"}
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimtab_db import Repository, records
from trimtab_db.records import RunState, TrialPurpose
from trimtab_tuner.presets import Estimate

from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.errors import HostError, RunNotResumable, RunNotRunning, TrialNotRepeatable
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.host.lock import RunLock
from trimtab_agent.paths import VarPaths
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.conditions import clear_leftovers, require_surroundings
from trimtab_agent.station.processes.programs import require_built, server_program, version_of
from trimtab_agent.station.server.php_pool import php_program
from trimtab_agent.stopping import PauseSwitch, StopSignal
from trimtab_agent.study.ending_early import interrupt_dead_runs
from trimtab_agent.study.specification import Plan, RunSpec, check
from trimtab_agent.study.study import RunEnd, Study
from trimtab_agent.workloads.choice import parameters

RESUMABLE = (RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED)


class RunService:
    """Starts, stops and resumes runs on this host; all methods may be called from any thread."""

    def __init__(
        self,
        *,
        settings: AgentSettings,
        repository: Repository,
        broadcaster: Broadcaster,
        sampler: Sampler,
        host_id: int,
        layout: CpuLayout,
    ) -> None:
        self._settings = settings
        self._repository = repository
        self._broadcaster = broadcaster
        self._sampler = sampler
        self._host_id = host_id
        self._layout = layout
        self._paths = VarPaths(settings.var)
        self._guard = threading.Lock()  # over the five below
        self._runner: Study | None = None
        self._run_id: int | None = None
        self._stop: StopSignal | None = None
        self._pause: PauseSwitch | None = None
        self._thread: threading.Thread | None = None
        self.last_end: RunEnd | None = None

    def start(self, spec: RunSpec) -> int:
        """Starts a run in the background and returns its number.

        Raises SpecError, RunConflict while another run is going on, BinaryMissing, HostError, DatabaseError.
        """
        plan = check(spec, self.own_workloads)
        require_surroundings(plan.definition.conditions)
        version = version_of(server_program(plan.target, self._settings.httpd_path))
        if plan.definition.dynamic is not None:
            php_program()
        require_built(self._settings.load_path)
        with self._guard, self._alone() as lock:
            run = self._create(plan, version)
            self._launch(run.id, lock)
            return run.id

    def resume(self, run_id: int) -> int:
        """Goes on with a run that has not reached its end, or that is paused; returns its number.

        Raises RecordNotFoundError, RunNotResumable, and what `start` raises.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id == run_id and self._pause is not None and self._pause.requested:
                self._go_on()
                return run_id
            with self._alone() as lock:
                # Read under the lock: before, it might have been about to finish.
                state = self._repository.run(run_id).state
                if state not in RESUMABLE:
                    raise RunNotResumable(run_id, state.value)
                self._launch(run_id, lock)
        return run_id

    @property
    def own_workloads(self) -> Path:
        """The folder of the user's own workload definitions."""
        return self._paths.workloads

    def stop(self, run_id: int) -> None:
        """Asks a run to stop, and returns at once; its state changes when its children have ended.

        Raises RecordNotFoundError, RunNotRunning.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id != run_id or self._stop is None:
                raise RunNotRunning(run_id)
            self._stop.request()
            self._go_on()

    def pause(self, run_id: int) -> None:
        """Asks a run to pause, and returns at once; it does when its present trial has finished.

        Raises RecordNotFoundError, RunNotRunning, also when it has been asked to stop.
        """
        self._repository.run(run_id)
        with self._guard:
            if self._run_id != run_id or self._stop is None or self._pause is None or self._runner is None:
                raise RunNotRunning(run_id)
            if self._stop.requested:
                raise RunNotRunning(run_id, stopping=True)
            if not self._pause.requested:
                # Told first: as soon as it is asked for, the runner may tell that it has begun.
                self._runner.progress.pause_changed("requested")
                self._pause.request()

    def repeat(self, run_id: int, number: int) -> int:
        """Measures the configuration of a trial once more, in the background; the run's number.

        Raises RecordNotFoundError, TrialNotRepeatable, RunConflict while a run is going on.
        """
        self._repository.run(run_id)
        trial = self._repository.trial(run_id, number)
        if trial.purpose is TrialPurpose.CALIBRATION:
            raise TrialNotRepeatable(number)
        with self._guard, self._alone() as lock:
            self._launch(run_id, lock, trial)
        return run_id

    @contextmanager
    def _alone(self) -> Iterator[RunLock]:
        """The run lock, given back if what is started under it does not start; raises RunConflict."""
        lock = RunLock(self._paths.lock)
        try:
            # Nobody holds the lock but us: whatever seems to go on is dead.
            interrupt_dead_runs(self._repository)
            yield lock
        except BaseException:
            lock.release()
            raise

    def _go_on(self) -> None:
        """Ends a pause; `_guard` is held."""
        if self._pause is not None and self._pause.requested:
            self._pause.release()
            if self._runner is not None:
                self._runner.progress.pause_changed("no")

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until no run is going on in this process; False if one still is after `timeout_s`."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
            return not thread.is_alive()
        return True

    def progress(self) -> dict[str, Any] | None:
        """The data of the last `progress` event; None when no run is going on in this process."""
        runner = self._runner
        return None if runner is None else runner.progress.data

    def estimate(self, spec: RunSpec) -> Estimate:
        """How many trials such a run would take, and how long; raises SpecError."""
        return check(spec, self.own_workloads).estimate()

    def close(self) -> None:
        """Stops the run that is going on, and waits until its children have ended."""
        with self._guard:
            if self._stop is not None:
                self._stop.request()
            self._go_on()
        self.wait()

    def _create(self, plan: Plan, version: str) -> records.Run:
        spec, settings = plan.spec, plan.settings
        return self._repository.create_run(
            records.NewRun(
                host_id=self._host_id,
                target_id=self._repository.register_target(plan.target.name, version),
                workload_id=self._repository.register_workload(
                    plan.definition.name,
                    parameters(plan.definition, settings.time_scale),
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
                base={} if plan.base is None else plan.base.as_json(),
                layout={
                    "server": list(self._layout.server),
                    "generator": list(self._layout.generator),
                    "sentence": self._layout.sentence(),
                },
            )
        )

    def _launch(self, run_id: int, lock: RunLock, repeated: records.Trial | None = None) -> None:
        """Starts the thread of a recorded run, or of the repeat of one of its trials.

        The thread gives the lock back at its end. A run that cannot be started does not count as running.
        """
        lock.name_run(run_id)
        clear_leftovers(self._paths)
        stop, pause = StopSignal(), PauseSwitch()
        try:
            runner = Study(
                run_id=run_id,
                agent=self._settings,
                repository=self._repository,
                broadcaster=self._broadcaster,
                sampler=self._sampler,
                stop=stop,
                pause=pause,
            )
            if repeated is None:
                # Not before the runner is there: what it refuses does not run.
                self._repository.set_run_state(run_id, RunState.RUNNING)
            thread = threading.Thread(
                target=self._carry_through, args=(runner, repeated, lock, stop), name=f"run-{run_id}"
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise HostError(f"run {run_id} gets no thread to run in: {error}") from error
        except BaseException as error:
            stop.close()
            if self._repository.run(run_id).state is RunState.RUNNING:
                self._repository.set_run_state(run_id, RunState.FAILED, error=str(error))
            raise
        # The thread waits for the guard, which is held, before it takes these back.
        self._runner, self._run_id, self._stop, self._pause = runner, run_id, stop, pause
        self._thread = thread

    def _carry_through(
        self, runner: Study, repeated: records.Trial | None, lock: RunLock, stop: StopSignal
    ) -> None:
        """What the thread of a run does."""
        try:
            self.last_end = runner.execute() if repeated is None else runner.repeat(repeated)
        finally:
            with self._guard:
                self._runner = self._run_id = self._stop = self._pause = None
                lock.release()
                stop.close()
