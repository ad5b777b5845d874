"""Carries a run through its phases: prepare → calibrate → search → eliminate → confirm → export.

DESIGN.  The database is the only memory.  Every phase first looks at what is recorded and does what is
missing, so resuming a run is the same code as starting one: the strategy is told the recorded trials, the
ladder is kept, elimination and confirmation go on with the first slot that has no finished trial. A trial
that was cut short by a stop is kept as `aborted`, counts as not done, and is carried out again.

A study decides what is measured, and knows jobs, reports and the repository; how it is measured is the
stations' business. It blocks; whoever starts it gives it a thread, its stations, and the machine's lock.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from trimtab_db import Repository
from trimtab_db.errors import DatabaseError
from trimtab_db.records import RunPhase, RunState
from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, TrialPurpose
from trimtab_tuner.certainty.confirmation import describe
from trimtab_tuner.judging.job import Placement
from trimtab_tuner.judging.ladder import Calibration, CalibrationError
from trimtab_tuner.judging.second_objective import needs_limit
from trimtab_tuner.presets import RunSettings, estimate
from trimtab_tuner.space import Space
from trimtab_tuner.targets import TARGETS
from trimtab_tuner.targets.base import RenderError
from trimtab_tuner.wording import counted
from trimtab_tuner.workloads.parameters import recorded_parameters

from trimtab_agent.broadcast import Broadcaster
from trimtab_agent.errors import TrimtabError
from trimtab_agent.fleet.trial_stations import TrialStation
from trimtab_agent.host.cpu_layout import CpuLayout, format_cpus
from trimtab_agent.host.topology import read_cpus
from trimtab_agent.paths import VarPaths
from trimtab_agent.recording.recorder import Recorder
from trimtab_agent.recording.sampler import Sampler
from trimtab_agent.results.exporting import Driven, export_run
from trimtab_agent.results.outcome import Outcome
from trimtab_agent.settings import AgentSettings
from trimtab_agent.station.file_set import document_root
from trimtab_agent.stopping import Stopped
from trimtab_agent.study.announcer import Announcer
from trimtab_agent.study.calibration import (
    calibrate,
    calibration_sentence,
    limit_sentence,
    recorded_calibration,
)
from trimtab_agent.study.conclusion import capacity_outcome
from trimtab_agent.study.dispatcher import Dispatcher
from trimtab_agent.study.dividing import DIVIDED_AFTER, DRIVEN_AGAIN, divided_anew, following_cpus
from trimtab_agent.study.progress import RunProgress
from trimtab_agent.study.recorded_run import (
    early_outcome,
    elimination_of,
    history_of,
    in_blocks,
    search_of,
)
from trimtab_agent.study.remeasuring import remeasure
from trimtab_agent.study.search import Search
from trimtab_agent.workloads.choice import make_workload

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunEnd:
    """How a run ended; `error` is the sentence of a failure, also when it could not be recorded."""

    run_id: int
    state: RunState
    error: str
    recorded: bool = True


class Study:
    """One run, from what is recorded of it to its end; it closes its stations.

    Trials up to `last_number` have been offered to stations before. `first_said` is told at the beginning,
    each sentence with its level.
    """

    def __init__(
        self,
        *,
        run_id: int,
        agent: AgentSettings,
        repository: Repository,
        broadcaster: Broadcaster,
        sampler: Sampler,
        recorder: Recorder,
        stations: Sequence[TrialStation],
        last_number: int = 0,
        first_said: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._first_said = first_said
        self._run = run = repository.run(run_id)
        self._agent = agent
        self._repository = repository
        self._recorder = recorder
        self._paths = VarPaths(agent.var.resolve())
        self._settings = RunSettings.model_validate(run.settings)
        self._space = Space.model_validate(run.space)
        self._history = history_of(repository, run, self._space)
        self._history.number_after(last_number)
        self._search = search_of(repository, run, self._settings, self._space, self._history)
        self._announcer = Announcer(repository, broadcaster, run_id)
        parameters = recorded_parameters(run.workload_parameters)
        self._workload = make_workload(parameters, self._paths.workloads)
        self._clients = parameters.definition.clients
        self._site = parameters.site
        self.progress = RunProgress(
            broadcaster,
            run_id,
            estimate(
                self._settings,
                self._space,
                self._workload.total_bytes(),
                connections=self._clients.connections,
                two_objectives=run.second_objective is not None,
            ),
            self._history.trials,
        )
        self._dispatcher = Dispatcher(
            run=run,
            workload=parameters,
            settings=self._settings,
            repository=repository,
            stations=stations,
            history=self._history,
            announcer=self._announcer,
            progress=self.progress,
            sampler=sampler,
            unwritten=self._paths.unwritten,
        )

    @property
    def under_way(self) -> list[dict[str, Any]]:
        """The data of the `measurement` events of the trials that are going on; for any thread."""
        return self._announcer.under_way

    def stop(self) -> None:
        """Asks for the end, from any thread; returns at once."""
        self._dispatcher.stop()

    @property
    def stopping(self) -> bool:
        """Whether the end has been asked for."""
        return self._dispatcher.stopping

    def pause(self) -> None:
        """Asks the run to pause, from any thread; it does when what is in flight has come to its end."""
        if not self._dispatcher.pause.requested:
            # Told first: as soon as it is asked for, the run's thread may tell that it has begun.
            self.progress.pause_changed("requested")
            self._dispatcher.pause.request()

    def go_on(self) -> bool:
        """Ends a pause, from any thread; False if there was none."""
        paused = self._dispatcher.pause.requested
        if paused:
            self._dispatcher.pause.release()
            self.progress.pause_changed("no")
        return paused

    def execute(self) -> RunEnd:
        """Runs to the end, and records which one it was."""
        state, error = self._end_of(self._go_through_phases)
        recorded = True
        try:
            self._record_end(state, error)
        except Exception as failure:
            # It stays `running` in the database; whoever finds it so takes in what is left here.
            recorded = False
            self._dispatcher.unwritten.keep_end(state, error)
            state, error = RunState.FAILED, error or self._sentence_of(failure)
        self._dispatcher.unwritten.give_room_back()
        self.progress.end(state)
        self._announcer.state(state)
        return RunEnd(self._run.id, state, error, recorded)

    def repeat(self, trial: Trial) -> RunEnd:
        """Measures the configuration of `trial` once more, up the whole ladder, apart from the run's phases.

        The run stays in the state it is in. The new trial has the purpose `confirmation` and the block 0,
        which no outcome is computed from.
        """

        def measure_again() -> None:
            self._prepare()
            self._learn_latency_limit()
            rates = self._run.ladder or [m.rate_rps for m in trial.measurements]
            order = self._dispatcher.orders.trial(TrialPurpose.CONFIRMATION, trial.configuration, rates)
            self._announcer.note("info", f"Trial {order.number} repeats trial {trial.number}.")
            self._dispatcher.carry_out(order)

        state, error = self._end_of(measure_again)
        self._dispatcher.unwritten.give_room_back()
        if error:
            with suppress(DatabaseError):  # which may be the very error
                self._announcer.note("error", f"Trial {trial.number} could not be repeated: {error}")
        self.progress.end(self._run.state)
        self._announcer.state(self._run.state)
        return RunEnd(self._run.id, state, error)

    def _end_of(self, work: Callable[[], None]) -> tuple[RunState, str]:
        """Does the work; how it ended, and the sentence of a failure."""
        state, error = RunState.FINISHED, ""
        try:
            try:
                work()
            finally:
                self._dispatcher.close()
        except Stopped:
            state = RunState.STOPPED
        except Exception as failure:
            state, error = RunState.FAILED, self._sentence_of(failure)
        finally:
            self._recorder.write()
        if self._dispatcher.kept:
            # Also of a run that was stopped meanwhile: it lacks what it has measured.
            state, error = RunState.FAILED, f"{error} {self._dispatcher.kept}".lstrip()
        return state, error

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
            outcome = early_outcome(run, self._settings, self._space, self._history, self._search)
            self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        if error:
            self._announcer.note("error", error)
        self._repository.set_run_state(self._run.id, state, error=error)

    def _go_through_phases(self) -> None:
        self._enter(RunPhase.PREPARING)
        for level, sentence in self._first_said:
            self._announcer.note(level, sentence)
        self._prepare()
        self._enter(RunPhase.CALIBRATING)
        if self._settings.capacity_only:
            self._climb_alone()
            return
        self._make_ladder()
        if self._search is not None:
            self._enter(RunPhase.SEARCHING)
            while self._search_begins_anew():
                self._enter(RunPhase.CALIBRATING)
                self._make_ladder()
                self._enter(RunPhase.SEARCHING)
            self._enter(RunPhase.ELIMINATING)
            elimination_of(self._run, self._settings, self._space, self._history, self._search).carry_out(
                self._dispatcher, self.progress, self._announcer
            )
        ladder = self._history.ladder
        self._enter(RunPhase.CONFIRMING)
        blocks = in_blocks(self._run, self._settings, self._space, self._history, self._search)
        outcome = blocks.carry_out(ladder, self._dispatcher, self.progress)
        if outcome.files is not None:
            self._conclude(outcome)
            return
        self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        self._enter(RunPhase.EXPORTING)
        best = outcome.best
        self.progress.expect(RunPhase.EXPORTING, int(best is not None))
        if best is not None:
            driven = self._export()
            outcome = outcome.model_copy(update=driven.of_outcome())
            exports = self._repository.exports(self._run.id)
            outcome, said = remeasure(self._run, outcome, best, exports, driven, ladder, self._dispatcher)
            self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
            self._export()
            self._announcer.note("info", said)
        self._conclude(outcome)

    def _make_ladder(self) -> None:
        if not self._history.ladder:
            self._history.set_ladder(self._first_ladder())
        self._learn_latency_limit()

    def _search_begins_anew(self) -> bool:
        """Searches on; whether the CPUs have been divided anew on the way, so that all of it begins again."""
        going_on = self._dispatcher, self.progress, self._announcer
        if isinstance(self._search, Search):
            return self._search.carry_out(*going_on, self._divide_for)
        if self._search is not None:
            self._search.carry_out(*going_on)
        return False

    def _conclude(self, outcome: Outcome) -> None:
        self._repository.set_run_outcome(self._run.id, outcome.model_dump(mode="json"))
        self._announcer.note("info", outcome.sentence)
        self._enter(RunPhase.DONE)

    def _enter(self, phase: RunPhase) -> None:
        self._announcer.phase(phase)
        self.progress.enter_phase(phase)

    def _prepare(self) -> None:
        self._dispatcher.prepare(lambda done, total: self.progress.phase_done(done / total))

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
        self._dispatcher.limit = limit

    def _export(self) -> Driven:
        root = document_root(self._paths.file_sets, self._workload, self._site)
        if self._site is None:
            # Of a run on other hosts the files lie there; here servers only check what names their directory.
            root.mkdir(parents=True, exist_ok=True)
        return export_run(
            self._repository,
            self._run.id,
            workload=self._workload,
            root=root,
            directory=self._paths.exports(self._run.id),
            httpd=self._agent.httpd_path,
        )

    def _climb_alone(self) -> None:
        """The default's capacity is all that was asked for."""
        calibration = self._calibration()
        self._conclude(capacity_outcome(self._run, self._space, self._history, calibration))

    def _calibration(self) -> Calibration:
        """The default's calibration, again with other CPUs where the generator has too few of them, or spare
        ones.
        """
        settings, history = self._settings, self._history
        divided_after = self._run.layout.get(DIVIDED_AFTER, 0)
        calibration = recorded_calibration(settings, history, after_trial=divided_after)
        while calibration is None or self._divide_anew(calibration):
            before = recorded_calibration(settings, history)
            calibration = calibrate(
                settings,
                self._space.default(),
                self._dispatcher,
                settings.calibration_start_rps if before is None else before.next_start_rps,
                lambda done, expected: self.progress.phase_done(done / expected),
                lambda why: self._announcer.note("warning", why),
            )
        return calibration

    def _divide_anew(self, calibration: Calibration) -> bool:
        """Gives the generator more CPUs, if this calibration has shown that it needs them and there are any,
        or its spare ones to the server; whether it has.

        Cores go back only after the first calibration of a saturated server: so they do not go to and fro.
        """
        calibrations, limited = self._history.calibrations(), calibration.generator_limited
        here = not self._run.over_hosts
        spare = here and len(calibrations) == 1 and calibration.saturated
        if self._dispatcher.orders.placement is None or not (limited or spare):
            return False
        layout = self._divided_by(calibrations[-1], limited=limited)
        if layout is not None:
            self._take(layout, {DIVIDED_AFTER: calibrations[-1].number})
        return layout is not None

    def _divide_for(self, trial: Trial) -> bool:
        """Gives the generator more CPUs, if it gave out at this trial of the search and there are any, once;
        whether it has.

        What the search has measured is of other CPUs then, and the search begins anew, with that trial's
        configuration among the first.
        """
        if self._dispatcher.orders.placement is None or DRIVEN_AGAIN in self._run.layout:
            return False
        layout = self._divided_by(trial, limited=True)
        if layout is None:
            return False
        cpus = format_cpus(tuple(self._run.layout["server"]))
        self._history.begin_anew(f"Measured with the server on CPU {cpus}, which it does not have any more.")
        self._take(layout, {DIVIDED_AFTER: trial.number, DRIVEN_AGAIN: trial.configuration})
        return True

    def _divided_by(self, trial: Trial, *, limited: bool) -> CpuLayout | None:
        """The CPUs as they are to be divided by what was measured in that trial; None if that moves none."""
        topology = read_cpus(self._agent.sysfs)
        return divided_anew(self._layout, topology, trial.measurements, limited=limited)

    @property
    def _layout(self) -> CpuLayout:
        """The CPUs as they are divided now."""
        return CpuLayout(tuple(self._run.layout["server"]), tuple(self._run.layout["generator"]))

    def _take(self, layout: CpuLayout, since: dict[str, Any]) -> None:
        """Has everything from now on measured with the CPUs divided so; `since` is recorded with it."""
        changed: Configuration = {}
        before, after = len(self._layout.server), len(layout.server)
        here = not self._run.over_hosts
        if here:
            target, base = TARGETS[self._run.target], self._run.base.get("expanded")
            self._space, changed = following_cpus(self._space, target, base, before, after)
        again = {name: told for name, told in self._run.layout.items() if name == DRIVEN_AGAIN}
        divided = {**layout.document(), **again, **since}
        self._repository.set_run_layout(self._run.id, divided, self._space.model_dump(mode="json"))
        self._run = self._repository.run(self._run.id)
        if here:  # it looks at the CPUs of the calibration
            self._history.reference = self._space.default()
            self._search = search_of(self._repository, self._run, self._settings, self._space, self._history)
        self._dispatcher.orders.placement = Placement(server=layout.server, generator=layout.generator)
        kept = f"Ranges of knobs are those made for {counted(before, 'CPU')} of the server"
        followed = f"; the default has {describe(changed, {})} now" if changed else ""
        self._announcer.note(
            "info", f"The CPUs are divided anew: {layout.sentence()}, as {layout.reason}. {kept}{followed}."
        )

    def _first_ladder(self) -> tuple[float, ...]:
        """The ladder that the run begins with."""
        if self._clients.loop == "closed":
            return self._closed_ladder()
        if self._settings.ladder:
            self._announcer.note(
                "info", f"The ladder was asked for: {self._clients.level(*self._settings.ladder)}."
            )
            return self._settings.ladder
        calibration = self._calibration()
        ladder = calibration.ladder(self._settings.ladder_points)
        self._announcer.note(
            "warning" if calibration.generator_limited else "info",
            calibration_sentence(calibration, ladder, self._clients),
        )
        return ladder

    def _closed_ladder(self) -> tuple[float, ...]:
        """A closed loop has nothing to calibrate: its ladder is the numbers of connections."""
        ladder = tuple(float(number) for number in self._clients.connections)
        numbers = ", ".join(f"{number:,.0f}" for number in ladder)
        self._announcer.note("info", f"A closed loop: every trial is measured with {numbers} connections.")
        return ladder
