"""Carries a run through its phases: prepare → calibrate → search → confirm → export.

DESIGN.  The database is the only memory.  Every phase first looks at what is recorded and does what is
missing, so resuming a run is the same code as starting one: the strategy is rebuilt by telling it the
recorded trials, the ladder is kept, the confirmation goes on with the first slot that has no finished trial.
A trial that was cut short by a stop is kept as `aborted`, counts as not done, and is carried out again.

The runner blocks; whoever starts it gives it a thread, a stop signal, and the run lock.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from trimtab_db import Repository, records
from trimtab_db.errors import DatabaseError
from trimtab_db.records import RunPhase, RunState, TrialPurpose
from trimtab_tuner.ladder import CalibrationError
from trimtab_tuner.presets import RunSettings, estimate
from trimtab_tuner.second_objective import needs_limit
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError

from trimtab_agent.affinity.service import AffinityService
from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.counters.sampler import Sampler
from trimtab_agent.errors import TrimtabError
from trimtab_agent.host.cpu_layout import CpuLayout
from trimtab_agent.paths import VarPaths
from trimtab_agent.results.exporting import export_run
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.conditions import surroundings
from trimtab_agent.station.disturbance import DisturbanceWatch
from trimtab_agent.station.file_set import FileSet
from trimtab_agent.station.leftovers import Leftovers
from trimtab_agent.station.processes.programs import require_built, server_program
from trimtab_agent.stopping import PauseSwitch, Stopped, StopSignal
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.bench import Bench
from trimtab_agent.study.calibration import (
    calibrate,
    calibration_sentence,
    ladder_from,
    limit_sentence,
    recorded_calibration,
)
from trimtab_agent.study.conclusion import remark_on_ladder
from trimtab_agent.study.confirmation import Confirmation
from trimtab_agent.study.ending_early import early_outcome
from trimtab_agent.study.executor import TrialExecutor
from trimtab_agent.study.history import History
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.remeasuring import remeasure
from trimtab_agent.study.search import Search
from trimtab_agent.workloads.choice import make_workload, recorded_clients, recorded_conditions

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunEnd:
    """How a run ended; `error` is the sentence of a failure, also when it could not be recorded."""

    run_id: int
    state: RunState
    error: str


class Study:
    """One run, from what is recorded of it to its end.

    Raises BinaryMissing if the server or the load generator has not been built.
    """

    def __init__(
        self,
        *,
        run_id: int,
        agent: AgentSettings,
        repository: Repository,
        broadcaster: Broadcaster,
        sampler: Sampler,
        stop: StopSignal,
        pause: PauseSwitch,
    ) -> None:
        self._run = run = repository.run(run_id)
        self._agent = agent
        self._repository = repository
        self._stop = stop
        self._paths = VarPaths(agent.var.resolve())
        self._settings = RunSettings.model_validate(run.settings)
        self._space = Space.model_validate(run.space)
        self._history = History(repository, run_id)
        self._search = Search(repository, run, self._settings, self._space, self._history)
        layout = CpuLayout(server=tuple(run.layout["server"]), generator=tuple(run.layout["generator"]))
        bench = Bench(
            run_id=run_id,
            program=server_program(TARGETS[run.target], agent.httpd_path),
            load=require_built(agent.load_path),
            target=TARGETS[run.target],
            settings=self._settings,
            objective=run.objective,
            second_objective=run.second_objective,
            seed=run.seed,
            layout=layout,
            file_set=FileSet(
                self._paths.file_sets, make_workload(run.workload_parameters, self._paths.workloads)
            ),
            clients=recorded_clients(run.workload_parameters),
            conditions=recorded_conditions(run.workload_parameters),
            directory=self._paths.log(run_id),
            leftovers=Leftovers(self._paths.leftovers),
            sampler=sampler,
            stop=stop,
            base=run.base.get("expanded"),
            disturbance=DisturbanceWatch(layout.server),
            affinity=AffinityService(repository, layout, agent),
        )
        self._announcer = Announcer(repository, broadcaster, run_id)
        self.progress = RunProgress(
            broadcaster,
            run_id,
            estimate(
                self._settings,
                self._space,
                bench.file_set.total_bytes,
                two_objectives=run.second_objective is not None,
            ),
            self._history.trials,
        )
        self._executor = TrialExecutor(bench, self._history, self._announcer, self.progress, pause)

    def execute(self) -> RunEnd:
        """Runs to the end, and records which one it was."""
        state, error = self._end_of(self._go_through_phases)
        try:
            self._record_end(state, error)
        except Exception as failure:
            # It stays `running` in the database; the next start will call it interrupted.
            state, error = RunState.FAILED, error or self._sentence_of(failure)
        self.progress.end(state)
        self._announcer.state(state)
        return RunEnd(self._run.id, state, error)

    def repeat(self, trial: records.Trial) -> RunEnd:
        """Measures the configuration of `trial` once more, up the same rates, apart from the run's phases.

        The run stays in the state it is in. The new trial has the purpose `confirmation` and the block 0,
        which no outcome is computed from.
        """

        def measure_again() -> None:
            self._bench.directory.mkdir(parents=True, exist_ok=True)
            self._prepare()
            self._learn_latency_limit()
            rates = self._run.ladder or [m.rate_rps for m in trial.measurements]
            number = self._history.next_number
            self._announcer.note("info", f"Trial {number} repeats trial {trial.number}.")
            self._executor.climb(TrialPurpose.CONFIRMATION, trial.configuration, rates)

        state, error = self._end_of(measure_again)
        if error:
            with suppress(DatabaseError):  # which may be the very error
                self._announcer.note("error", f"Trial {trial.number} could not be repeated: {error}")
        self.progress.end(self._run.state)
        self._announcer.state(self._run.state)
        return RunEnd(self._run.id, state, error)

    def _end_of(self, work: Callable[[], None]) -> tuple[RunState, str]:
        """Does the work; how it ended, and the sentence of a failure."""
        try:
            with surroundings(self._bench.conditions, self._bench.file_set.total_bytes, self._paths) as made:
                self._executor.bench = replace(self._bench, surroundings=made)
                self._bench.sampler.watch_memory_group(made.memory)
                work()
        except Stopped:
            return RunState.STOPPED, ""
        except Exception as failure:
            return RunState.FAILED, self._sentence_of(failure)
        finally:
            self._bench.sampler.watch_memory_group(None)
            self._bench.sampler.write()
        return RunState.FINISHED, ""

    def _sentence_of(self, failure: Exception) -> str:
        """What to tell of a failure; one that nobody has foreseen goes to the log as well."""
        if isinstance(failure, (TrimtabError, DatabaseError, CalibrationError, RenderError)):
            return str(failure)
        if isinstance(failure, OSError):
            where = "" if failure.filename is None else f": {failure.filename}"
            return f"{failure.strerror or failure}{where}"
        log.error("run %d failed", self._run.id, exc_info=failure)
        return f"internal error: {type(failure).__name__}: {failure}"

    def _record_end(self, state: RunState, error: str) -> None:
        if state is not RunState.FINISHED:
            run = self._repository.run(self._run.id)  # in the phase that it has come to
            outcome = early_outcome(run, self._settings, self._space, self._history, self._search.best())
            self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        if error:
            self._announcer.note("error", error)
        self._repository.set_run_state(self._run.id, state, error=error)

    def _go_through_phases(self) -> None:
        self._bench.directory.mkdir(parents=True, exist_ok=True)
        self._enter(RunPhase.PREPARING)
        self._prepare()
        self._enter(RunPhase.CALIBRATING)
        ladder = self._run.ladder or self._calibrate()
        self._learn_latency_limit()
        self._enter(RunPhase.SEARCHING)
        self._search.carry_out(ladder, self._executor, self.progress, self._announcer)
        self._enter(RunPhase.CONFIRMING)
        confirmation = Confirmation(
            self._run, self._settings, self._space, self._history, self._search.best()
        )
        outcome = confirmation.carry_out(ladder, self._executor, self.progress)
        self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        self._enter(RunPhase.EXPORTING)
        self.progress.expect(RunPhase.EXPORTING, int(outcome.best is not None))
        if outcome.best is not None:
            self._export()
            exports = self._repository.exports(self._run.id)
            best = outcome.best
            outcome, said = remeasure(self._run, outcome, best, exports, ladder, self._executor)
            remark = remark_on_ladder(self._run, best, self._history)
            outcome = outcome.model_copy(update={"remark_on_ladder": remark})
            self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
            self._export()
            self._announcer.note("info", said)
        self._announcer.note("info", outcome.sentence)
        self._enter(RunPhase.DONE)

    @property
    def _bench(self) -> Bench:
        return self._executor.bench

    def _enter(self, phase: RunPhase) -> None:
        self._announcer.phase(phase)
        self.progress.enter_phase(phase)

    def _prepare(self) -> None:
        files = self._bench.file_set
        files.prepare(lambda done, total: self.progress.phase_done(done / total), self._stop)
        if not self._bench.reads_anew:
            files.read_into_page_cache(self._stop)

    def _learn_latency_limit(self) -> None:
        """What `mat` is scored under, where its text has no limit; from the recorded calibration."""
        limit = self._history.low_load_limit()
        objectives = (self._run.objective, self._run.second_objective)
        if any(text is not None and needs_limit(text) for text in objectives):
            if limit is None:
                raise CalibrationError(
                    "mat has no latency limit, as the calibration has measured no latency; "
                    "expected one, for instance 'mat: p999 <= 4ms'"
                )
            self._announcer.note("info", limit_sentence(limit))
        self._executor.bench = replace(self._bench, latency_limit=limit)

    def _export(self) -> None:
        export_run(
            self._repository,
            self._run.id,
            root=self._bench.file_set.root,
            directory=self._paths.exports(self._run.id),
            httpd=self._agent.httpd_path,
        )

    def _calibrate(self) -> tuple[float, ...]:
        if self._bench.clients.loop == "closed":
            return self._closed_ladder()
        calibration = recorded_calibration(self._settings, self._history) or calibrate(
            self._settings,
            self._space.default(),
            self._history.next_number,
            self._executor.carry_out,
            lambda done, expected: self.progress.phase_done(done / expected),
        )
        ladder = ladder_from(calibration, self._settings.ladder_points)
        self._repository.set_run_ladder(self._run.id, ladder)
        self._announcer.note(
            "warning" if calibration.generator_limited else "info", calibration_sentence(calibration, ladder)
        )
        return ladder

    def _closed_ladder(self) -> tuple[float, ...]:
        """A closed loop has nothing to calibrate: its ladder is the numbers of connections."""
        ladder = tuple(float(number) for number in self._bench.clients.connections)
        self._repository.set_run_ladder(self._run.id, ladder)
        numbers = ", ".join(f"{number:.0f}" for number in ladder)
        self._announcer.note("info", f"A closed loop: every trial is measured with {numbers} connections.")
        return ladder
